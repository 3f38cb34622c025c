"""The help: sections, values, defaults and examples, in 80 columns."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from activetest import catalog
from activetest.cli import formatter, options
from activetest.cli.app import main
from activetest.nouns.choices import DECLARATIONS, default_words, option
from activetest.nouns.declarations import Section
from tests.cli.programs import COMMANDS, program

SECTIONED = ("init", "simulate")
NEEDED = {name: formatter.list_needed(command) for name, command in COMMANDS.items()}
SHORTENED = sorted(name for name, needed in NEEDED.items() if needed)


def show_help(capsys, monkeypatch, *words: str, columns: int = 80) -> str:
    """All options of a command."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*words, "--help-all" if set(words) & set(SHORTENED) else "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_the_help_fits_the_terminal(capsys, monkeypatch, command, columns):
    shown = show_help(capsys, monkeypatch, *filter(None, [command]), columns=columns)
    assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize("command", SECTIONED)
def test_options_stand_in_sections_in_their_order(capsys, monkeypatch, command):
    shown = show_help(capsys, monkeypatch, command)
    titles = re.findall(r"^(\w+):$", shown, flags=re.MULTILINE)
    assert [title for title in titles if title.lower() in tuple(Section)] == [
        section.capitalize() for section in Section
    ]
    assert titles[-1] == "Examples"
    for name, declaration in DECLARATIONS.items():
        if f"  {option(name)} " in shown:
            _, _, after = shown.partition(f"\n{declaration.section.capitalize()}:\n")
            assert f"  {option(name)} " in after


def test_the_help_of_init_says_the_values_and_the_default_of_every_option(capsys, monkeypatch):
    shown = " ".join(show_help(capsys, monkeypatch, "init").split())
    for name, declaration in DECLARATIONS.items():
        assert option(name) in shown
        assert " ".join(declaration.meaning.split()) in shown
        assert all(value in shown for value in declaration.values)
        if default := default_words(name):
            assert f"[default: {default}]" in shown
    for family in ("metrics", "surrogates", "acquisition"):
        known = catalog.usable_names(family, simulated=False)
        assert f"One of {', '.join(known)}." in shown


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", SHORTENED)
def test_of_many_options_ten_are_explained_and_all_others_named_by_topic(
    capsys, monkeypatch, command, columns
):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert len(shown.splitlines()) <= 80
    explained, _, named = shown.partition("Further options")
    needed = NEEDED[command]
    panels = [getattr(each, "rich_help_panel", None) for each in COMMANDS[command].params]
    ranks = sorted(filter(None, (getattr(each, "rank", 0) for each in panels)))
    assert ranks == list(range(1, 11)) and len(set(needed)) == 10
    rows = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", explained, flags=re.MULTILINE)
    assert rows == list(needed)
    topics = named.partition("Options with")[0].partition(":\n")[2]
    flags = {
        next(flag for flag in each.opts if flag.startswith("--"))
        for each in COMMANDS[command].params
        if each.param_type_name == "option"
    }
    others = re.findall(r"--[a-z-]+", topics)
    assert len(set(others)) == len(others)
    assert {*needed, *others} == flags - {formatter.ALL} | {"--help"}
    assert f"activetest {command} {formatter.ALL}" in " ".join(named.split())
    # The short help is where people look first, and says how to see the rest.
    whole = show_help(capsys, monkeypatch, command, columns=columns)
    assert all(flag in whole for flag in flags - {formatter.ALL})


def test_simulate_has_defaults_of_its_own(capsys, monkeypatch):
    shown = " ".join(show_help(capsys, monkeypatch, "simulate").split())
    assert "[default: optimal and uniform;" in shown
    assert "[default: 50,100,200]" in shown
    assert "Without" not in shown.partition("Data:")[0]


def test_a_flag_with_the_name_of_a_setting_takes_no_method(capsys, monkeypatch):
    for command, methods in (("init", True), ("report", False), ("export", False)):
        text = show_help(capsys, monkeypatch, command)
        assert "--surface" in text and ("beta-gp-slp" in text) == methods


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_with_examples_that_can_be_parsed(capsys, monkeypatch, command):
    shown = show_help(capsys, monkeypatch, command)
    examples = shown.partition("\nExample")[2].splitlines()[1:]
    assert len(examples) >= (2 if command in SECTIONED else 1)
    for example in examples:
        assert example.startswith(f"  activetest {command}")
        words = re.sub(r"\s+#.*", "", example.strip()).replace("'", "").split()[2:]
        known = {flag for each in COMMANDS[command].params for flag in each.opts}
        assert {word for word in words if word.startswith("-")} - {"-"} <= known


def test_the_help_is_the_same_in_a_pipe(capsys, monkeypatch):
    shown = show_help(capsys, monkeypatch, "init")
    assert program("init", "--help-all", env={"COLUMNS": "80"}).stdout.strip() == shown.strip()


def test_the_program_lists_its_commands_by_their_first_sentence(capsys, monkeypatch):
    shown = show_help(capsys, monkeypatch)
    for name, command in COMMANDS.items():
        assert re.search(rf"^  {name} ", shown, flags=re.MULTILINE)
        first = command.callback.__doc__.partition("\n")[0]
        assert first in " ".join(shown.split())


def test_the_table_for_the_documentation_has_a_row_for_every_option():
    rows = options.write_table().splitlines()
    assert rows[0] == "| option | meaning | values | default |"
    assert [re.match(r"\| `(--[a-z-]+)", row)[1] for row in rows[2:]] == [
        *map(option, DECLARATIONS)
    ]


def test_declarations_need_no_library():
    code = "import sys, activetest.nouns.choices, activetest.cli.app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "pyarrow", "scipy", "sklearn", "torch", "activetest.catalog"}
    assert not set(done.stdout.split()) & heavy
    ours = {each for each in done.stdout.split() if each.startswith("activetest.wings.")}
    assert {each for each in ours if each.count(".") > 2} == {
        "activetest.wings.best.choices",
        "activetest.wings.groups.choices",
        "activetest.wings.surfaces.choices",
    }


def test_formatter_lists_methods_of_simulations_for_simulations_alone():
    from activetest import catalog

    alone = catalog.having("acquisition", "SIMULATION_ONLY")
    assert alone
    for name in alone:
        assert name not in catalog.usable_names("acquisition", simulated=False)
        assert name in catalog.usable_names("acquisition", simulated=True)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("'x' is not a valid integer.", "--n is 'x', not a whole number"),
        ("'x' is not a valid int.", "--n is 'x', not a whole number"),
        ('"it\'s" is not a valid float.', '--n is "it\'s", not a number'),
        ("-1 is not in the range x>=0.", "as the parser says"),
    ],
)
def test_older_parsers_word_a_wrong_number_in_their_message_alone(message, problem):
    option = SimpleNamespace(param_type_name="option", opts=["-n", "--n"])
    error = ValueError(message)
    vars(error).update(
        ctx=None, param=option, message=message, format_message=lambda: "as the parser says"
    )
    assert formatter.explain_usage(error) == (problem, "see activetest --help")
