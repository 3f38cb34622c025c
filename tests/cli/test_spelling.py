"""Messages of the library name settings and calls in Python; the command line, its own options."""

import shlex
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.cli import app, formatter, options, spelling
from activetest.cli.spelling import CALLS, OPTIONS, to_commands
from activetest.errors import ChoiceError

COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}


@pytest.mark.parametrize(
    ("span", "command"),
    [
        # settings
        ("floor", "--floor"),
        ("groups", "--group"),
        ("prior_strength", "--prior-strength"),
        ("folder", "--study"),
        ("estimators", "--estimator"),
        ("floor=0.1", "--floor 0.1"),
        ("seed=-1", "--seed -1"),
        ('question="none"', "--question none"),
        ("budgets=[50, 100], runs=200", "--budget 50,100 --runs 200"),
        ('groups=["region"]', "--group region"),
        ("groups='region'", "--group region"),
        ('groups=["region", "a b"]', "--group 'region,a b'"),
        ('metric="recall[fraud]"', "--metric 'recall[fraud]'"),
        ('metric=["recall[a,b]", "f1"]', "--metric 'recall[a,b],f1'"),
        ('compare=["a", "b"]', "--compare a,b"),
        ('require=["error<=0.1", "f1>=0.9"]', "--require 'error<=0.1' --require 'f1>=0.9'"),
        ('train=""', "--train ''"),
        ("replace=True", "--replace"),
        ("simultaneous=True", "--simultaneous"),
        # what stands for a value
        ("costs=path", "--costs FILE"),
        ("folder=folder", "--study DIR"),
        ("compare=[a, b]", "--compare A,B"),
        ("groups=[column]", "--group COLUMN"),
        # calls
        ("study.change(floor=1)", "activetest init --floor 1"),
        ("study.change(floor=1, dry_run=True)", "activetest init --floor 1 --dry-run"),
        ("Study.create(pool)", "activetest init POOL"),
        ("Study.create(pool, folder)", "activetest init POOL --study DIR"),
        ('Study.create("my pool.csv", seed=1)', "activetest init 'my pool.csv' --seed 1"),
        ("Study.create(pool, ...)", "activetest init POOL ..."),
        ("Study.check(pool)", "activetest init POOL --dry-run"),
        ("at.Study.create(pool)", "activetest init POOL"),
        ("Study.open(folder)", "--study DIR"),
        ("study.next()", "activetest next"),
        ("study.next(20)", "activetest next --n 20"),
        ('study.next(new=True, show=["a"])', "activetest next --new --show a"),
        ('study.ingest("a.csv", replace=True)', "activetest ingest a.csv --replace"),
        ("study.ingest(path)", "activetest ingest FILE"),
        ("study.undo()", "activetest ingest --undo"),
        ("study.report()", "activetest report"),
        ('study.report(require=["error<=0.1"])', "activetest report --require 'error<=0.1'"),
        ("study.report(half_width=0.02)", "activetest report --half-width 0.02"),
        ("study.status()", "activetest status"),
        (
            'simulate(pool, key, estimators=["ase"], power=[1, 4])',
            "activetest simulate POOL --labels KEY --estimator ase --power 1,4",
        ),
    ],
)
def test_settings_and_calls_become_options_and_commands(span, command):
    assert to_commands(f"Use `{span}`, or not.") == f"Use {command}, or not."


@pytest.mark.parametrize(
    "span",
    [
        "",
        "shrunk",
        "label",
        "study.toml",
        "study.folder",
        "Study.open()",
        "unknown=1",
        "floor=0.1, unknown=1",
        "study.change(unknown=1)",
        "study.next(floor=1)",
        "study.next(1, 2)",
        "study.next(1)(2)",
        "study.erase()",
        "os.remove('x')",
        "study.change(floor=open('x'))",
        "floor=__import__('os')",
        "floor=None",
        "floor=True",
        "replace=False",
        "replace=1",
        "floor=f'{x}'",
        "floor=b'x'",
        "floor=-'x'",
        "floor=1)",
        "floor=1)#",
        "floor=1)(seed=2",
        "study.next(20)#",
        "study.next(*x)",
        "study.change(**x)",
        "floor=" + "(" * 3000,
        "seed=" + "-" * 3000 + "1",
        "seed=0x" + "f" * 9000,
        # what the command line would read as something else
        "groups=['a,b']",
        "groups=[]",
        "floor=[1, 2]",
        "compare=['a', 'b', 'c']",
        "groups=['a\\x1b[0m']",
        "groups=['a\\nb']",
        "groups=['\\ud800']",
        "groups=['a\x1b[0m']",
        "floor=1\x00",
    ],
)
def test_everything_else_stays_as_it_is(span):
    text = f"Use `{span}`, or not."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to_commands(text) == text


def test_a_lone_backtick_does_not_hide_the_span_behind_it():
    assert to_commands("group a`b: `floor=1`") == "group a`b: --floor 1"
    assert to_commands("`shrunk` or `x`: `floor=1` `") == "`shrunk` or `x`: --floor 1 `"


def test_names_in_a_call_may_have_backticks():
    assert to_commands("`groups=['a`b', 'c`d`']`") == "--group 'a`b,c`d`'"


@given(st.text())
def test_no_text_is_too_much(text):
    to_commands(text)
    to_commands(f"`{text}`")
    to_commands(f"`study.change(groups={text})`")


SPANS = st.sampled_from([*CALLS, *OPTIONS, "(", ")", "=", "'", '"', "`", "[", "]", "1", ",", " "])


@given(st.lists(SPANS).map("".join))
def test_no_text_of_the_words_that_are_looked_for_is_too_much(text):
    to_commands(text)
    unquoted = text.replace("`", "")
    assert to_commands(unquoted) == unquoted


@given(st.text())
def test_names_of_users_in_quotes_come_through_unharmed(name):
    """As messages write them: with repr()."""
    for each in (name, f"`{name}`", f"`floor=1` {name}", f"{name} `groups`"):
        message = f"no column is called {each!r}: "
        assert to_commands(f"{message}`floor=1`") == f"{message}--floor 1"


@given(st.lists(st.text(), min_size=1))
def test_text_without_known_spans_stays_as_it_is(texts):
    text = "`".join(each.replace("=", "").replace("(", "") for each in texts)
    if not any(name in text for name in OPTIONS):
        assert to_commands(text) == text


@given(st.text(min_size=1))
def test_a_value_arrives_in_the_shell_as_it_is_or_the_call_stays(value):
    span = f"`study.change(positive={value!r})`"
    command = to_commands(span)
    if value.isprintable() and value.count("`") < 8:
        assert shlex.split(command) == ["activetest", "init", "--positive", value]
    else:
        assert command in (span, f"activetest init --positive {shlex.quote(value)}")


@pytest.mark.parametrize(
    "settings",
    [
        {"groups": ("region", "a b", "it's")},
        {"metric": ("recall[a,b]", "f1"), "floor": 0.123456789},
        {"seed": 2**63 - 1, "positive": "-x", "classes": ("a", "b")},
        {"train": "", "question": "none", "compare": "a,b"},
        {"rope": 1e-05, "prior_strength": 1000000.0, "refit": "25"},
    ],
)
def test_the_command_reads_what_the_call_says(settings):
    written = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    words = shlex.split(to_commands(f"`study.change({written})`"))
    assert words[:2] == ["activetest", "init"]
    given = COMMANDS["init"].make_context("init", words[2:]).params
    declared = {name: value for name, value in given.items() if name in spelling.OPTIONS}
    read = options.read_choices({name: declared[name] for name in settings})
    assert read == settings


# --- the table of arguments and the commands agree

# Options about files and formats of the command line itself, which calls have no argument for.
OF_THE_COMMAND_LINE = {
    "report": {"--format", "--verbose"},
    "status": {"--format"},
    "simulate": {"--format", "--plot"},
}


def flags(command: str) -> set[str]:
    """The first long spelling of every option of a command."""
    params = COMMANDS[command].params
    return {
        next(flag for flag in param.opts if flag.startswith("--"))
        for param in params
        if any(flag.startswith("--") for flag in param.opts)
    } - {"--help"}


def reached(command: str) -> set[str]:
    """The options that the arguments of calls become."""
    calls = [call for call in CALLS.values() if call.command == f"activetest {command}"]
    calls += [CALLS["Study.open"]] * (command != "simulate")
    found = {each.flag for call in calls for each in call.parameters.values()}
    return (found | {call.ending for call in calls}) - {""}


@pytest.mark.parametrize(
    "command", sorted({c.command.split()[-1] for c in CALLS.values() if c.command})
)
def test_every_option_of_a_command_is_reached_and_exists(command):
    own = OF_THE_COMMAND_LINE.get(command, set())
    assert own <= flags(command) | {"--verbose"}
    assert reached(command) == flags(command) - own


def test_every_command_of_a_study_is_reached():
    commands = {call.command.removeprefix("activetest ") for call in CALLS.values()} - {""}
    assert set(COMMANDS) - commands == {"demo", "help"}


# --- in what users see


def test_errors_speak_of_options(monkeypatch, capsys):
    def refuse(**_):
        raise ChoiceError("`floor` is 2 in 'a`b'", "use `study.change(floor=1)`")

    monkeypatch.setattr(COMMANDS["status"], "callback", refuse)
    monkeypatch.setattr(formatter, "load_command", COMMANDS.__getitem__)
    assert app.main(["status"]) == 2
    assert capsys.readouterr().err == (
        "error: --floor is 2 in 'a`b'\nhint:  use activetest init --floor 1\n"
    )
