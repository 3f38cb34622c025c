"""The README names everything there is, and everything it names is there."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

import activetest
from activetest import catalog
from activetest.cli import app, main
from activetest.render import json as as_json
from activetest.report import Counts, Line, Report

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands


def code_blocks() -> list[str]:
    """The indented blocks, without their indentation."""
    blocks = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", README, flags=re.MULTILINE)
    return [re.sub(r"^ {4}", "", block.strip("\n"), flags=re.MULTILINE) for block in blocks]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown(name):
    assert f"`activetest {name}" in README


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_says_what_it_does(name):
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{name} {parameter.opts[0]}"


def test_every_option_is_named():
    missing = [
        f"{name} {parameter.opts[0]}"
        for name, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        and not any(re.search(rf"{option}\b", README) for option in parameter.opts)
    ]
    assert missing == []


def test_every_option_that_is_named_exists():
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    offered = {
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in parameter.opts + parameter.secondary_opts
    }
    of_other_programs = {"--rows", "--repeats", "--layout"}
    assert named - offered - of_other_programs <= {"--help", "--version"}


@pytest.mark.parametrize(
    ("family", "name"),
    [(family, name) for family in catalog.FAMILIES for name in catalog.names(family)],
)
def test_every_method_is_named(family, name):
    assert re.search(rf"[`| ]{name}[`|]", README)


def test_every_file_that_is_named_exists():
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|parquet|csv))`", README)
    folders = (ROOT, ROOT / "activetest")
    missing = [name for name in named if not any((each / name).exists() for each in folders)]
    assert missing == []


def test_the_documented_json_has_the_keys_that_are_printed():
    line = Line("error", "lure", 0.1, 0.0, 0.2, 0.95, "korn-graubard", 10, 100)
    counts = Counts(100, 10, 10, 0, 0, 0, 1, None)
    report = Report("p", "f", 1, "error", "agreement", "optimal", 0.35, counts, (line,))
    printed = re.findall(r'"(\w+)":', as_json.render(report))
    documented = next(block for block in code_blocks() if '"estimates"' in block)
    assert set(printed) == set(re.findall(r'"(\w+)"', documented))


def test_the_set_up_commands_are_the_ones_that_ci_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    run = [line for line in script if line.startswith("python -m ")]
    lines = (line for block in code_blocks() for line in block.splitlines())
    shown = [line for line in lines if line.startswith("python -m pip")]
    assert run == shown


def test_the_console_command_is_the_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"activetest": "activetest.cli:run"}
    assert "Apache" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_version_is_the_package_s(capsys):
    assert main(["--version"]) == 0
    assert activetest.__version__ in capsys.readouterr().out


def test_the_walk_through_is_what_the_demo_prints(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    shown = [block for block in code_blocks() if block.startswith("$ ")]
    assert shown
    for block in shown:
        assert block in printed
