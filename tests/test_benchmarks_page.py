"""The page of benchmarks names every script, which fills its tables; its commands can be run."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from argparse import Namespace
from functools import cache
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks import benchmark, picture
from tests.documents import DOCUMENTS, code_blocks

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "benchmarks"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
SOURCES = {file.name: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.py"))}
SCRIPTS = [name for name, source in SOURCES.items() if '__name__ == "__main__"' in source]
SHARED = sorted(set(SOURCES) - set(SCRIPTS))


def read_commands() -> list[str]:
    """The commands of indented blocks and of cells of tables."""
    lines = re.findall(r"^ {4}(.*)$", PAGE, flags=re.MULTILINE)
    lines += re.findall(r"`((?:python|activetest) [^`]*)`", PAGE)
    return [line for line in lines if "SCRIPT.py" not in line]


def read_elsewhere() -> list[str]:
    """The commands of benchmarks that README and pages show."""
    blocks = (block for text in DOCUMENTS.values() for block in code_blocks(text))
    lines = (line for block in blocks for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if "tests/benchmarks/" in line]


COMMANDS = read_commands() + read_elsewhere()


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
    """The output of a program with --help."""
    if hasattr(os, "fork"):
        return print_all_help()[words]
    done = subprocess.run(
        [sys.executable, *words, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def find_options(text: str) -> set[str]:
    """The long options that a text names."""
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_a_command(script):
    assert any(find_program(command) == (f"tests/benchmarks/{script}",) for command in COMMANDS)


@pytest.mark.parametrize("script", SHARED)
def test_every_file_without_a_command_is_named(script):
    assert f"`{script}`" in PAGE


@pytest.mark.ci
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_explains_its_options(script):
    first_line = re.match(r'"""(.*)', SOURCES[script])[1]
    assert " ".join(print_help(f"tests/benchmarks/{script}").split()).count(first_line) == 1


@pytest.mark.ci
@pytest.mark.parametrize("program", sorted({find_program(command) for command in COMMANDS}))
def test_a_program_has_the_options_that_it_is_shown_with(program):
    shown = [command for command in COMMANDS if find_program(command) == program]
    assert set().union(*map(find_options, shown)) <= find_options(print_help(*program))


@pytest.mark.ci
def test_every_option_that_is_named_exists():
    programs = [(f"tests/benchmarks/{script}",) for script in SCRIPTS]
    programs += [("-m", "activetest", verb) for verb in ("init", "next", "report", "simulate")]
    offered = set().union(*(find_options(print_help(*program)) for program in programs))
    assert find_options(PAGE) <= offered | {"--help"}


def test_every_script_that_is_named_exists():
    assert set(re.findall(r"\b(\w+\.py)\b", PAGE)) - {"SCRIPT.py"} == set(SOURCES)


def test_the_index_lists_every_section_and_nothing_else():
    headings = re.findall(r"^### .*$", PAGE, flags=re.MULTILINE)
    anchors = [benchmark.anchor(heading) for heading in headings]
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


def find_imports(source: str) -> list[tuple[str, str]]:
    """(module, name) of everything that is imported from the package, also within functions."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return [
        (node.module, each.name)
        for node in nodes
        if node.module and node.module.split(".")[0] == "activetest"
        for each in node.names
    ]


@pytest.mark.parametrize("script", [name for name in SOURCES if find_imports(SOURCES[name])])
def test_what_a_script_imports_exists(script):
    for module, name in find_imports(SOURCES[script]):
        found = import_module(module)
        if not hasattr(found, name):
            import_module(f"{module}.{name}")


# --- tables that scripts fill


def test_every_section_shows_a_table_with_the_columns_that_tell_its_rows_apart():
    sections = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
    for text in sections:
        found = re.findall(r"^<!-- by (.*) -->\n(\|.*)\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
        assert found, text.splitlines()[0]
        for keys, columns, rows in found:
            places = [benchmark.read_cells(columns).index(key) for key in keys.split(", ")]
            cells = map(benchmark.read_cells, rows.splitlines())
            told = [tuple(row[place] for place in places) for row in cells]
            assert len(set(told)) == len(told), text.splitlines()[0]


TABLE = """# Page

### Some pools

<!-- by pool -->
| pool | saved |
|---|---|
| digits | 1.0 ± 0.1 |
| adult | 2.0 |

### Other pools

<!-- by pool, metric -->
| pool | metric | saved |
|---|---|---|
| digits | error | |

| question | answer |
|---|---|
| digits | 1.0 |
"""


def fill(section: str, **values: str) -> list[str]:
    """The lines of TABLE that change."""
    text = benchmark.fill_page(TABLE, section, values)
    return sorted(set(text.splitlines()) - set(TABLE.splitlines()))


def test_a_row_is_filled_where_the_page_has_it():
    assert fill("some-pools", pool="digits", saved="3.0") == ["| digits | 3.0 |"]
    assert fill("some-pools", pool="digits", metric="f1", saved="3.0") == ["| digits | 3.0 |"]
    assert fill("other-pools", pool="digits", metric="error", saved="3.0") == [
        "| digits | error | 3.0 |"
    ]


def test_rows_and_columns_that_the_page_does_not_show_are_left_out():
    assert fill("some-pools", pool="reviews", saved="3.0") == []
    assert fill("some-pools", saved="3.0") == []
    assert fill("other-pools", pool="digits", metric="f1", saved="3.0") == []
    assert fill("other-pools", pool="digits", saved="3.0") == []
    assert fill("some-pools", pool="digits", width="3.0") == []


def test_a_section_has_to_be_there():
    with pytest.raises(ValueError, match="no section 'pools'"):
        fill("pools", pool="digits")


def test_a_table_is_printed_and_fills_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "PAGE", tmp_path / "page.md")
    benchmark.PAGE.write_text(TABLE, encoding="utf-8")
    for options in (None, Namespace(page=None), Namespace(page="some-pools")):
        benchmark.Table(options, "pool | metric", "saved").add("digits", "error | 3.0 +- 0.2")
        assert capsys.readouterr().out.splitlines()[1:] == [
            "| pool | metric | saved |",
            "|---|---|---|",
            "| digits | error | 3.0 ± 0.2 |",
        ]
        filled = "| digits | 3.0 ± 0.2 |" in benchmark.PAGE.read_text(encoding="utf-8")
        assert filled == bool(options and options.page)
    with pytest.raises(ValueError, match="zip"):
        benchmark.Table(None, "pool | saved").add("digits")


def test_what_was_kept_is_not_computed_again_and_a_torn_line_is_written_anew(tmp_path):
    path = tmp_path / "kept" / "cells.jsonl"
    benchmark.append_lines(path, [{"é": 1}])
    path.write_bytes(path.read_bytes() + b'{"torn": ')
    assert benchmark.read_lines(path) == [{"é": 1}]
    benchmark.append_lines(path, [2, 3])
    assert benchmark.read_lines(path) == [{"é": 1}, 2, 3]
    cells = tmp_path / "computed.jsonl"
    assert [benchmark.KeptCells(cells).compute({"run": 1}, lambda: 7) for _ in range(2)] == [7, 7]
    assert benchmark.KeptCells(cells).compute({"run": 1}, lambda: 8) == 7
    assert benchmark.KeptCells(cells).compute({"run": 2}, lambda: 8) == 8
    assert benchmark.KeptCells(None).compute({"run": 2}, lambda: 9) == 9


def test_options_have_the_types_of_their_defaults(monkeypatch):
    monkeypatch.setattr("sys.argv", ["script", "here", "--runs", "3", "--batch-size", "2"])
    options = benchmark.read_options(
        "About.", "folder", runs=1, batch_size=int, save=Path, fast=False, pools=""
    )
    assert options == Namespace(
        folder=Path("here"), runs=3, batch_size=2, save=None, fast=False, pools="", page=None
    )


# --- the picture


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
    for row in picture.read_table(PAGE, "The surrogate alone"):
        pool, cell = row.values()
        saved, _, coverage, _ = cell.split(", ")
        shown = f"{float(saved.split()[0]):.1f}x, {100 * float(coverage):.0f} %"
        [line] = [each for each in readme.splitlines() if each.startswith(f"| {pool} (")]
        assert line.split(" | ")[2] == shown


def test_the_picture_shows_what_the_tables_of_evidence_say():
    """m random labels have the squared error S^2 (1/m - 1/N)."""
    row = {row.pool: row for row in picture.read_savings(PAGE)}["reviews"]
    for at, title in enumerate(("All the evidence", "Predictions alone")):
        text = PAGE[PAGE.index(f"### {title}\n") :]
        line = re.search(r"^\| reviews \|.*$", text, re.MULTILINE)[0]
        ratio, error = map(float, re.findall(r"([\d.]+) ± ([\d.]+)", line)[1])
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
