"""The page of benchmarks names every script, and its commands can be run as they stand."""

import json
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks import picture

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "benchmarks"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
SOURCES = {file.name: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.py"))}
SCRIPTS = [name for name, source in SOURCES.items() if '__name__ == "__main__"' in source]
SHARED = sorted(set(SOURCES) - set(SCRIPTS))


def read_commands() -> list[str]:
    """What the indented blocks run, one command each, joined where a line ends in a backslash."""
    lines = re.findall(r"^ {4}(.*)$", PAGE.replace("\\\n", " "), flags=re.MULTILINE)
    return [line for line in lines if re.search(r"\b(?:python|activetest) ", line)]


COMMANDS = read_commands()


def find_program(command: str) -> tuple[str, ...]:
    """The script of a command, or the verb of activetest, as arguments of Python."""
    script = re.search(r"python (tests/benchmarks/\w+\.py)", command)
    verb = re.search(r"\bactivetest (\w+)", command)
    return (script[1],) if script else ("-m", "activetest", verb[1])


PROGRAMS = {(f"tests/benchmarks/{script}",) for script in SCRIPTS} | {
    *map(find_program, COMMANDS),
    *(("-m", "activetest", verb) for verb in ("init", "next", "report", "simulate")),
}
# Runs each program with --help in a process of its own, forked where everything is imported.
FORK_EACH = """
import json, os, runpy, sys, traceback
import activetest.cli.app, activetest.simulation.simulate, activetest.study.study

def run(first, *others):
    if first == "-m":
        sys.argv = [first, *others[1:], "--help"]
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [first, *others, "--help"], os.path.dirname(first)
        runpy.run_path(first, run_name="__main__")

for number, program in enumerate(json.load(sys.stdin)):
    if not os.fork():
        os.dup2(os.open(f"{sys.argv[1]}/{number}", os.O_WRONLY | os.O_CREAT), 1)
        code = 1
        try:
            run(*program)
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)
    assert not os.wait()[1], program
"""


@cache
def print_all_help() -> dict[tuple[str, ...], str]:
    """{program: what it prints with --help}."""
    programs = sorted(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-c", FORK_EACH, folder],
            input=json.dumps(programs),
            cwd=ROOT,
            text=True,
            check=True,
        )
        texts = [(Path(folder) / str(number)).read_text() for number in range(len(programs))]
    return dict(zip(programs, texts, strict=True))


def print_help(*words: str) -> str:
    """What a program prints with --help."""
    if hasattr(os, "fork"):
        return print_all_help()[words]
    done = subprocess.run(
        [sys.executable, *words, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def find_options(text: str) -> set[str]:
    """The long options that a text names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def make_anchor(heading: str) -> str:
    """The link to a heading, as code hosts make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_a_command(script):
    assert any(find_program(command) == (f"tests/benchmarks/{script}",) for command in COMMANDS)


@pytest.mark.parametrize("script", SHARED)
def test_every_file_without_a_command_is_named(script):
    assert f"`{script}`" in PAGE


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_explains_its_options(script):
    first_line = re.match(r'"""(.*)', SOURCES[script])[1]
    assert " ".join(print_help(f"tests/benchmarks/{script}").split()).count(first_line) == 1


@pytest.mark.parametrize("program", sorted({find_program(command) for command in COMMANDS}))
def test_a_program_has_the_options_that_it_is_shown_with(program):
    shown = [command for command in COMMANDS if find_program(command) == program]
    assert set().union(*map(find_options, shown)) <= find_options(print_help(*program))


def test_every_option_that_is_named_exists():
    programs = [(f"tests/benchmarks/{script}",) for script in SCRIPTS]
    programs += [("-m", "activetest", verb) for verb in ("init", "next", "report", "simulate")]
    offered = set().union(*(find_options(print_help(*program)) for program in programs))
    assert find_options(PAGE) <= offered | {"--help"}


def test_every_script_that_is_named_exists():
    assert set(re.findall(r"\b(\w+\.py)\b", PAGE)) - {"SCRIPT.py"} == set(SOURCES)


def test_the_index_lists_every_table_and_nothing_else():
    headings = re.findall(r"^## (Other packages)$|^### (.*)$", PAGE, flags=re.MULTILINE)
    anchors = [make_anchor("".join(pair)) for pair in headings]
    assert len(anchors) > 20
    index = PAGE[: PAGE.index("\n## ")]
    assert re.findall(r"\]\(#([^)]*)\)", index) == anchors
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= set(anchors)


def test_every_row_of_a_table_has_a_cell_for_each_column():
    tables = re.findall(r"(?:^\|.*\n)+", PAGE, flags=re.MULTILINE)
    assert len(tables) > 30
    for table in tables:
        widths = {len(line.split("|")) for line in table.splitlines()}
        assert len(widths) == 1, table.splitlines()[0]


def test_the_picture_is_the_one_that_the_script_draws():
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.draw(PAGE)


def test_the_readme_shows_the_picture_and_says_what_is_on_it():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [(text, file)] = re.findall(r"!\[(.*)\]\((.*\.svg)\)", readme)
    assert ROOT / file == picture.PICTURE
    found = picture.read_savings(PAGE)
    assert f"{picture.LABELS} chosen labels" in text
    stated, alone = (sorted(round(row.random_labels[at]) for row in found) for at in (0, 1))
    assert f"{stated[0]} to {stated[-1]} random ones on six pools" in text
    assert f"{alone[0]} to {alone[-1]} where the model says only a class" in text


def test_the_readme_says_what_the_surrogate_saves_alone_on_every_pool():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for pool, cell, _ in picture.read_table(PAGE, "| pool | surrogate alone:"):
        saved, _, coverage, _ = cell.split(", ")
        shown = f"{float(saved.split()[0]):.1f}x, {100 * float(coverage):.0f} %"
        [line] = [each for each in readme.splitlines() if each.startswith(f"| {pool} (")]
        assert line.split(" | ")[2] == shown


def test_the_picture_shows_the_table_of_all_the_evidence():
    """m random labels have the squared error S^2 (1/m - 1/N)."""
    row = {row.pool: row for row in picture.read_savings(PAGE)}["reviews"]
    table = PAGE[PAGE.index("| pool | predictions alone:") :]
    line = re.search(r"^\| reviews \|.*$", table, re.MULTILINE)[0]
    ratios = [tuple(map(float, each)) for each in re.findall(r"([\d.]+) ± ([\d.]+) \|", line)]
    for at, (ratio, error) in enumerate((ratios[3], ratios[1])):
        exact = [
            1 / (1 / 1600 + (1 / 200 - 1 / 1600) / (ratio + step)) for step in (0, -error, error)
        ]
        assert row.random_labels[at] == pytest.approx(exact[0])
        assert row.whiskers[at] == pytest.approx(exact[2] - exact[1], rel=0.02)


def test_the_picture_can_be_read_aloud_and_brings_nothing_from_outside():
    root = ElementTree.fromstring(picture.draw(PAGE))
    namespace = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    described = [root.find(f"{namespace}{name}").get("id") for name in ("title", "desc")]
    assert root.get("aria-labelledby").split() == described
    for row in picture.read_savings(PAGE):
        for worth in row.random_labels:
            assert f"{row.pool} {worth:.0f}" in root.find(f"{namespace}desc").text
    text = picture.draw(PAGE).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|url\(|@import|@font-face|<script|<image|href", text)
