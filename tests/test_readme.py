"""The README names everything there is, and everything it names is there."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

import activetest
from activetest import catalog
from activetest.cli import formatter
from activetest.cli.app import main
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.report import RENAMED_KEYS, SimulatedStrategy
from activetest.render import json as as_json
from activetest.reporting.requirements import parse_requirement
from activetest.study.init import init
from activetest.study.report import report
from activetest.study.stored import StoredStudy

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}


def code_blocks() -> list[str]:
    """The indented blocks, without their indentation."""
    blocks = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", README, flags=re.MULTILINE)
    return [re.sub(r"^ {4}", "", block.strip("\n"), flags=re.MULTILINE) for block in blocks]


def section(title: str) -> str:
    """What stands under the heading, up to the next one."""
    return re.search(rf"^#+ {title}\n(.*?)(?=^#)", README, flags=re.MULTILINE | re.DOTALL)[1]


def options(name: str) -> list[list[str]]:
    """The spellings of every option of a command."""
    parameters = COMMANDS[name].params
    return [each.opts for each in parameters if each.param_type_name == "option"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_shown(name):
    assert f"`activetest {name}" in README


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_says_what_it_does(name):
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{name} {parameter.opts[0]}"


@pytest.mark.parametrize("name", [name for name in COMMANDS if options(name)])
def test_the_section_of_a_command_names_its_options_and_no_others(name):
    named = set(re.findall(r"`(--?[a-z][a-z-]*)", section(name)))
    allowed = {spelling for spellings in options(name) for spelling in spellings}
    assert [spellings for spellings in options(name) if not named & set(spellings)] == []
    # `next --new` and `init POOL --dry-run` are commands, not options by themselves.
    assert named <= allowed


def test_the_commands_that_take_a_study_are_listed():
    listed = re.search(r"^(.*) work on a study and take `--study DIR`", README, re.MULTILINE)[1]
    taking = {name for name in COMMANDS if ["--study"] in options(name)}
    assert set(re.findall(r"`(\w+)`", listed)) == taking


def test_every_option_that_is_named_exists():
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    offered = {
        option
        for command in COMMANDS.values()
        for parameter in command.params
        for option in parameter.opts + parameter.secondary_opts
    }
    of_benchmarks = {"--pools", "--aim", "--peers", "--toy", "--ways"}
    of_benchmarks |= {"--judged", "--tables", "--studies"}
    assert named - offered - of_benchmarks <= {"--help", "--version", "--install-completion"}


@pytest.mark.parametrize(
    ("family", "name"),
    [(family, name) for family in catalog.FAMILIES for name in catalog.names(family)],
)
def test_every_method_is_named(family, name):
    assert re.search(rf"[`| ]{name}[`|]", README)


@pytest.mark.parametrize("name", catalog.names("metrics"))
def test_every_metric_has_its_paper(name):
    assert f"`{name}`" in section("Papers")


@pytest.mark.parametrize("family", ["estimators", "intervals"])
def test_every_estimator_and_interval_has_its_paper(family):
    files = [f"`{family}/{name.replace('-', '_')}.py`" for name in catalog.names(family)]
    assert [file for file in files if file not in section("Papers")] == []


def test_every_metric_that_is_shown_with_brackets_exists():
    shown = re.findall(r"`([a-z0-9-]+)\[[^\]`]+\]`", README)
    assert shown
    assert set(shown) <= set(catalog.names("metrics"))


def test_every_requirement_that_is_shown_can_be_read():
    shown = re.findall(r"--require '([^']*)'", README)
    shown += re.findall(r"`(\S+@\S+[<>]=\S+)`", README)
    assert shown
    for requirement in shown:
        name, _ = specification.split_specification(parse_requirement(requirement).metric)
        assert name in catalog.names("metrics")


def test_every_file_that_is_named_exists():
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|parquet|csv))`", README)
    folders = (ROOT, ROOT / "activetest")
    missing = [name for name in named if not any((each / name).exists() for each in folders)]
    assert missing == []


def test_the_documented_json_has_the_keys_that_are_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init(
        ROOT / "sample_data" / "digits.parquet",
        question="compare",
        compare="3,8",
        groups=("predicted",),
        seed=1,
    )
    said = report(StoredStudy.open(), requirements=("error<=0.5",))
    printed = re.findall(r'"(\w+)":', as_json.render(said))
    documented = next(block for block in code_blocks() if '"estimates"' in block)
    assert set(printed) == set(re.findall(r'"(\w+)"', documented))
    assert set(printed) <= fields_in_tables()


def test_the_keys_that_were_renamed_are_documented():
    table = re.search(r"^\| key of version 1 \|.*?\n\n", section("JSON"), re.MULTILINE | re.DOTALL)
    assert table is not None
    assert dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", table[0], re.MULTILINE)) == RENAMED_KEYS


def test_the_documented_json_of_a_simulation_has_the_keys_that_are_printed():
    documented = next(block for block in code_blocks() if '"results"' in block)
    printed = {"schema_version", "results", *(field.name for field in fields(SimulatedStrategy))}
    assert set(re.findall(r'"(\w+)"', documented)) == printed
    assert printed <= fields_in_tables() | {"results"}


def fields_in_tables() -> set[str]:
    """Every name in the first column of the tables about JSON."""
    cells = re.findall(r"^\| (`[^|]*) \|", section("JSON"), flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_choice_that_study_toml_holds_is_named():
    text = section("The study folder")
    assert [field.name for field in fields(Choices) if f"`{field.name}`" not in text] == []


def test_the_set_up_commands_are_the_ones_that_ci_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    run = [line for line in script if line.startswith("python -m ")]
    lines = (line for block in code_blocks() for line in block.splitlines())
    shown = [line for line in lines if line.startswith("python -m pip")]
    assert run == shown


def test_the_console_command_is_the_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"activetest": "activetest.cli.app:run"}
    assert "Apache" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_version_is_the_package_s(capsys):
    assert main(["--version"]) == 0
    assert activetest.__version__ in capsys.readouterr().out


def test_the_walk_through_is_what_the_demo_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["demo"]) == 0
    printed = re.sub(r"^# .*\n", "", capsys.readouterr().out, flags=re.MULTILINE)
    shown = [block for block in code_blocks() if block.startswith("$ ")]
    verbs = re.findall(r"^\$ activetest (\w+)", "\n".join(shown), flags=re.MULTILINE)
    assert verbs == ["init", "next", "ingest", "report", "report", "status"]
    for block in shown:
        # The commands of a block stand somewhere in the demo, each with all that came back.
        for command in re.split(r"\n\n(?=\$ )", block):
            assert f"{command}\n\n" in printed
