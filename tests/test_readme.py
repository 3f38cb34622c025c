"""The README shows commands, pages and outputs that exist; see also test_pages."""

import re
import tomllib

import pytest

import activetest
from activetest.cli import formatter
from activetest.cli.app import main
from tests.documents import PAGES, README, ROOT, code_blocks


@pytest.mark.parametrize("name", formatter.COMMANDS)
def test_every_command_is_shown(name):
    assert re.search(rf"activetest {name}\b", README)


def test_every_page_is_listed_once():
    listed = README.split("\n## Pages\n")[1]
    shown = re.findall(r"\[(\w+)\]\(activetest/docs/(\w+)\.md\)", listed)
    assert all(name == page for name, page in shown)
    assert sorted(name for name, _ in shown) == sorted(PAGES)


def test_the_set_up_commands_are_the_ones_that_ci_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    run = [line for line in script if line.startswith("python -m ")]
    lines = (line for block in code_blocks(README) for line in block.splitlines())
    shown = [line for line in lines if line.startswith("python -m pip")]
    assert run == [*shown, "python -m pytest -m ci"]


def test_the_console_command_is_the_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"activetest": "activetest.__main__:run"}
    assert "Apache" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_version_is_the_package_s(capsys):
    assert main(["--version"]) == 0
    assert activetest.__version__ in capsys.readouterr().out


def test_the_walk_through_is_what_the_demo_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo"]) == 0
    printed = re.sub(r"^# .*\n", "", capsys.readouterr().out, flags=re.MULTILINE)
    shown = [block for block in code_blocks(README) if block.startswith("$ ")]
    verbs = re.findall(r"^\$ activetest (\w+)", "\n".join(shown), flags=re.MULTILINE)
    assert verbs == ["init", "next", "ingest", "report", "report"]
    for block in shown:
        # The commands of a block stand somewhere in the demo, each with all that came back.
        for command in re.split(r"\n\n(?=\$ )", block):
            assert f"{command}\n\n" in printed
