"""Messages of the library name settings and calls in Python; the command line, its own options."""

import ast
import inspect
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.cli import app, formatter, options, spelling
from activetest.cli.spelling import CALLS, name_option, to_commands, translate_report
from activetest.errors import ChoiceError
from activetest.nouns.choices import list_columns
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import Counts, EstimateRow, Gate, Note, Report
from activetest.simulation.simulate import simulate
from activetest.study.inspect import inspect as look
from activetest.study.results import Report as SavedReport
from activetest.study.study import Study

COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}
# As the program has them: a command keeps the option of its help from the first time it is needed.
HELP = {"help_option_names": ["-h", "--help"]}
OWNERS = {"Study": Study, "study": Study, "report": SavedReport}


def list_arguments(call: str) -> set[str]:
    """The names of the arguments of a call in Python."""
    owner, _, name = call.rpartition(".")
    functions = {"simulate": simulate, "inspect": look}
    function = getattr(OWNERS[owner], name) if owner else functions[name]
    found = set(inspect.signature(function).parameters) - {"self"}
    return found | (set(list_columns()) if "settings" in found else set())


ARGUMENTS = {call: list_arguments(call) for call in CALLS}
OPTIONS = {name for names in ARGUMENTS.values() for name in names if spelling.find_options(name)}


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
        (r"positive='\d'", r"--positive '\d'"),
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
        ('Study.from_draws(pool, "log.csv")', "activetest import --pool POOL log.csv"),
        ("Study.check(pool)", "activetest init POOL --dry-run"),
        ("at.Study.create(pool)", "activetest init POOL"),
        ("Study.open(folder)", "--study DIR"),
        ("study.next()", "activetest next"),
        ("study.next(20)", "activetest next --n 20"),
        ('study.next(new=True, show=["a"])', "activetest next --new --show a"),
        ('study.ingest("a.csv", replace=True)', "activetest ingest a.csv --replace"),
        ("study.ingest(path)", "activetest ingest FILE"),
        ("study.ingest(sys.stdin.buffer)", "activetest ingest -"),
        ("map=path", "--map FILE"),
        ("map={'0': 'a`b', '1': 'c'}", "--map FILE"),
        ("map=error.mapping", "--map FILE"),
        ("missing=['N/A', '?']", "--missing 'N/A,?'"),
        ("as_is=True", "--as-is"),
        ("study.undo()", "activetest ingest --undo"),
        ("study.add(name, file)", "activetest add NAME=FILE"),
        (
            "study.add('v2', 'my new.csv', trained_on_labels=False)",
            "activetest add v2='my new.csv' --trained-on-labels no",
        ),
        ("trained_on_labels=True", "--trained-on-labels yes"),
        ("study.report()", "activetest report"),
        ('study.report(require=["error<=0.1"])', "activetest report --require 'error<=0.1'"),
        ("study.report(half_width=0.02)", "activetest report --half-width 0.02"),
        (
            "study.report(at='race=Black,sex=Female')",
            "activetest report --at race=Black,sex=Female",
        ),
        ('study.report(maps=["a*b"])', "activetest report --map 'a*b'"),
        ("study.surface()", "activetest export --surface"),
        ("study.curve('roc[a]', points=5)", "activetest export --curve 'roc[a]' --points 5"),
        ("study.surface(path='a.csv')", "activetest export --output a.csv --surface"),
        ("study.change(surface='beta')", "activetest init --surface beta"),
        ("surface='beta'", "--surface beta"),
        ("study.status()", "activetest status"),
        (
            'simulate(pool, key, estimators=["ase"], power=[1, 4])',
            "activetest simulate POOL --labels KEY --estimator ase --power 1,4",
        ),
    ],
)
def test_settings_and_calls_become_options_and_commands(span, command):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
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
        "floor=1, *x",
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
    given = COMMANDS["init"].make_context("init", words[2:], **HELP).params
    read = options.read_choices({name: given[name] for name in settings})
    assert read == settings


# --- the arguments of calls and the commands agree

# Options about files and formats of the command line itself, and about where it computes, which
# calls have no argument for.
OF_THE_COMMAND_LINE = {
    "add": {"--verbose"},
    "extend": {"--verbose"},
    "import": {"--engine", "--help-all", "--verbose"},
    "init": {"--engine", "--help-all", "--verbose"},
    "inspect": {"--format"},
    "next": {"--engine", "--verbose"},
    "plan": {"--format", "--verbose"},
    "report": {"--engine", "--format", "--verbose"},
    "status": {"--format"},
    "simulate": {
        "--engine",
        "--force",
        "--format",
        "--help-all",
        "--output",
        "--plot",
        "--verbose",
    },
    "verify": {"--engine"},
}
# Arguments of Python alone.
OF_PYTHON_ALONE = {
    "Study.open": {"damaged"},
    "report.save": {"verbose", "more"},
    "simulate": {"progress"},
    "inspect": {"settings"},
}


def flags(command: str) -> set[str]:
    """The first long spelling of every option of a command."""
    params = COMMANDS[command].params
    return {
        next(flag for flag in param.opts if flag.startswith("--"))
        for param in params
        if any(flag.startswith("--") for flag in param.opts)
    } - {"--help"}


def calls_of(command: str) -> list[str]:
    return [call for call, (usage, _) in CALLS.items() if usage.split()[:1] == [command]]


@pytest.mark.parametrize(
    "command", sorted({usage.split()[0] for usage, _ in CALLS.values() if usage})
)
def test_every_option_of_a_command_is_an_argument_of_its_calls(command):
    own = OF_THE_COMMAND_LINE.get(command, set())
    calls = calls_of(command)
    reached = {ending for call in calls for ending in CALLS[call][0].split()[1:]}
    reached |= {name_option(name) for call in calls for name in ARGUMENTS[call]}
    assert flags(command) - own - {"--study"} <= reached
    assert own <= flags(command)


@pytest.mark.parametrize("call", [call for call in CALLS if CALLS[call][0]])
def test_every_argument_of_a_call_is_an_option_of_its_command(call):
    (usage, places), known = CALLS[call], OF_PYTHON_ALONE.get(call, set())
    named = {name_option(name) for name in ARGUMENTS[call] - known - set(places.split())}
    assert set(places.split()) <= ARGUMENTS[call]
    assert named <= flags(usage.split()[0])


def test_every_command_of_a_study_is_reached():
    assert {command for command in COMMANDS if not calls_of(command)} == {"demo", "help"}


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


def test_sentences_of_reports_speak_of_options_and_names_stay():
    """Names of groups are the user's own, whatever they look like."""
    quantity = Quantity(0.1, 0.0, 0.2, 0.95, "t")
    counts = Counts(9, 3, 3, 3, 0, 0, 0, 3, 1, None)
    group, reason = {"`floor`": "`floor=1`"}, "use `study.next(10)`"
    row = {"quantity": quantity, "metric": "error", "n_labeled": 3, "group": group}
    gate = {"requirement": "error@`floor`=`floor=1`<=1", "op": "<=", "threshold": 1.0}
    report = Report(
        *("`floor`", "", 1, "error", "agreement", "optimal", 0.1, counts),
        estimates=(EstimateRow(**row, estimator="ase", n_pool=9, reason=reason),),
        gates=(Gate(**row, **gate, verdict="pass", reason=reason),),
        notes=(Note("A higher `floor` prevents this."), Note("`shrunk` is a column.")),
        population_setting="`population=True`",
    )
    found = translate_report(report)
    assert found.population_setting == "--population"
    assert [str(note) for note in found.notes] == [
        "A higher --floor prevents this.",
        "`shrunk` is a column.",
    ]
    for now, before in ((found.estimates, report.estimates), (found.gates, report.gates)):
        assert [each.reason for each in now] == ["use activetest next --n 10"]
        assert now == tuple(replace(each, reason=now[0].reason) for each in before)
    changed = {"notes": (), "gates": (), "estimates": (), "population_setting": ""}
    assert replace(found, **changed) == replace(report, **changed)


@pytest.fixture
def run_line(folder, capsys):
    """The output of a command, on both streams, in one line."""
    rows = [f"{row},0.{row + 10},{'male' if row % 2 else 'female'}" for row in range(30)]
    (folder / "pool.csv").write_text("\n".join(["id,score,sex", *rows]) + "\n")

    def run(*words: str) -> str:
        assert app.main(list(words)) in (0, 2, 3)
        out, err = capsys.readouterr()
        return " ".join(f"{out} {err}".split())

    return run


def test_what_commands_say_names_options(run_line):
    assert "could be a group: sex (--group sex reports by it)" in run_line(
        *("init", "pool.csv", "--seed", "1", "--selection", "top")
    )
    assert "20 items with the largest scores" in run_line("next", "-n", "20", "-o", "batch.csv")
    assert "still waiting for labels (--new chooses others)" in run_line("next")
    for format in ("text", "json", "markdown"):
        assert "next with --new chooses others" in run_line("status", "--format", format)
    batch = Path("batch.csv").read_text().replace(",\n", ",1\n")
    Path("batch.csv").write_text(batch)
    run_line("ingest", "batch.csv")
    for format in ("text", "json", "markdown"):
        assert "activetest init --selection draw draws items instead" in run_line(
            *("report", "--format", format)
        ).replace("\\", "")
    assert "activetest init --group sex adds it" in run_line("report", "--group", "sex")


# --- what the library says

PACKAGE = Path(spelling.__file__).parents[1]
VERBS = "|".join(COMMANDS)
OF_A_SHELL = re.compile(rf"(?<![\w-])--[a-z]|\bactivetest ({VERBS})\b(?!\.)")
# Where options are declared; and what is no command of ours.
DECLARED = ("nouns/choices.py", "nouns/declarations.py")
# Variables of a style sheet are written as options are.
STYLE = "render/page/style.py"
OTHERS = (
    *("python -m pip install --upgrade activetest", "activetest report of "),
    *('content="activetest report"', 'content="activetest simulate"'),
)
# Regular expressions about backticks.
PATTERNS = ("`([^`]+)`",)
# In backticks, and not of the command line: Python of notebooks and frames, and names of columns.
OF_PYTHON = re.compile(
    r"shrunk|confidence|study\.toml|(frame|report|batch)\b.*|\.answers|\.columns|(\.|result\.)?to_frame\(.*\)"
)


def library() -> Iterator[tuple[str, ast.AST]]:
    """(file, tree) of every module below the command line."""
    for file in sorted(PACKAGE.rglob("*.py")):
        inside = file.relative_to(PACKAGE)
        if inside.parts[0] not in ("cli", "sample_data"):
            yield inside.as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def templates(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings of a module, docstrings excepted; values inside are \\0."""
    described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    left = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts):
                left |= {id(part) for part in parts}
                yield (
                    node.lineno,
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "\0"
                        for part in parts
                    ),
                )
            case ast.Constant(value=str(text)) if id(node) not in left:
                yield node.lineno, text


def is_understood(span: str) -> bool:
    """Whether a span becomes a command, with some values in its places."""
    values = ("1", "'x'", "['x']", "floor", "floor=1")
    return any(
        to_commands(f"`{written}`") != f"`{written}`"
        for chosen in product(values, repeat=span.count("\0"))
        for written in [fill(span, chosen)]
    )


def fill(span: str, values: tuple[str, ...]) -> str:
    """The span with values in its places."""
    parts = span.split("\0")
    return parts[0] + "".join(map("".join, zip(values, parts[1:], strict=True)))


def not_understood(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, span) of what is in backticks and neither of the command line nor of Python."""
    found = []
    for line, text in templates(tree):
        if text in PATTERNS:
            continue
        spans = text.split("`")[1:]
        if len(spans) % 2:
            found.append((line, text))
        for span in spans[:-1:2]:
            if not OF_PYTHON.fullmatch(span) and not is_understood(span):
                found.append((line, span))
    return found


def test_the_library_names_no_options_and_no_commands():
    """Docstrings included: whoever reads them writes Python."""
    found = [
        f"{file}:{node.lineno}: {hit.group(0)}: {node.value!r}"
        for file, tree in library()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and file not in (*DECLARED, STYLE)
        if (hit := OF_A_SHELL.search(node.value)) and not any(each in node.value for each in OTHERS)
    ]
    assert not found, "\n".join(found)


def test_every_span_of_a_message_is_understood():
    found = [
        f"{file}:{line}: {span!r}"
        for file, tree in library()
        for line, span in not_understood(tree)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("code", "spans"),
    [
        ('x = f"use `floor={x:g}`"', []),
        ('x = f"use `{name}` or `study.change({name}={value!r})`"', []),
        ('x = f"`{without}`" + "`study.next(10)`"', []),
        ('x = "use `flor=1`"', ["flor=1"]),
        ('x = f"use `study.nxt({n})`"', ["study.nxt(\0)"]),
        ('x = "use `floor=1` or `groups=[a` b"', ["groups=[a"]),
        ('x = "use `floor=1, or not"', ["use `floor=1, or not"]),
        ('def f():\n    "Like `--this`."', []),
    ],
)
def test_the_search_finds_what_is_not_understood(code, spans):
    assert [span for _, span in not_understood(ast.parse(code))] == spans


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use --floor 1", True),
        ("activetest init POOL", True),
        ("`activetest next --n 10`", True),
        ("a -- b, --: x--y", False),
        ("activetest.report", False),
    ],
)
def test_the_search_knows_options_and_commands(text, found):
    assert bool(OF_A_SHELL.search(text)) == found


@pytest.mark.parametrize("name", ["--undo", "-x.csv"])
def test_a_file_with_the_name_of_an_option_is_no_command(name):
    assert to_commands(f"`study.ingest({name!r})`") == f"`study.ingest({name!r})`"
