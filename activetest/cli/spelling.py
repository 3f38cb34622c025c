"""The library's words in the words of the command line.

Messages of the library name settings and calls in Python, in backticks. Here these become options
and commands; everything else in a text stays as it is. An argument is the option of its name, as
the command itself declares it; the few that are called otherwise are listed here.
"""

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from activetest.cli import formatter
from activetest.nouns.answer_fields import BETWEEN_PAIRS
from activetest.nouns.declarations import Kind, split_list

if TYPE_CHECKING:
    from activetest.nouns.group_report import Reliability
    from activetest.nouns.report import EstimateRow, Gate, Report

_Report = TypeVar("_Report", bound="Report")
_Record = TypeVar("_Record", "EstimateRow", "Gate", "Reliability")
# A name in quotes, as repr() writes it, or the backtick that opens a span. Quotes after a letter
# are apostrophes. Names from a user's file stand in quotes, and are never commands.
_TOKEN = re.compile(
    r"""(?<!\w)'(?:[^'\\]|\\.){0,4096}'(?!\w)|(?<!\w)"(?:[^"\\]|\\.){0,4096}"(?!\w)|`""", re.DOTALL
)
# A setting by its name alone, with a value, or a call: what may be worth parsing.
_HEAD = re.compile(r"([A-Za-z_][\w.]*)\s*([=(]|$)")
# A call, and a comment that says how often it was made.
_CALL_WITH_COMMENT = re.compile(r"(.*\))((?:  # [\d,]+ times)?)")
# Backticks that may close a span: names inside of it may have some of their own.
_CLOSINGS = 8
# Numbers from here on are no values of ours.
_LARGEST = 2**64
_PLACEHOLDERS = {"folder": "DIR", "path": "FILE", "sys.stdin.buffer": "-"}
# {call: (command, and an option that says what the call says by its name; arguments without names)}
CALLS = {
    "Study.create": ("init", "pool folder"),
    "Study.check": ("init --dry-run", "pool folder"),
    "Study.from_draws": ("import", "pool draws folder"),
    # An option of any command.
    "Study.open": ("", "folder"),
    "study.change": ("init", ""),
    "study.next": ("next", "n"),
    "study.labelling_config": ("next --config", "format"),
    "study.label": ("label", "n"),
    "study.ingest": ("ingest", "labels"),
    "study.undo": ("ingest --undo", ""),
    "study.add": ("add", "name file"),
    "study.extend": ("extend", "items"),
    "study.retire": ("extend --retire", "part"),
    "study.report": ("report", ""),
    "report.save": ("report", "path"),
    "study.plan": ("plan", ""),
    "study.status": ("status", ""),
    "study.verify": ("verify", ""),
    "study.export": ("export", ""),
    "study.surface": ("export --surface", ""),
    "study.curve": ("export", "name"),
    "simulate": ("simulate", "pool key"),
    "inspect": ("inspect", "file"),
}
# Arguments whose options are called otherwise.
_FLAGS = {
    "metrics": "--metric",
    "models": "--model",
    "estimators": "--estimator",
    "differences": "--difference",
    "maps": "--map",
    "budgets": "--budget",
    "path": "--output",
    "folder": "--study",
    "key": "--labels",
    "name": "--curve",
}
# Values of an option that is about a fact, which an argument states as true or false.
_ANSWERS = {True: "yes", False: "no"}
_YES_OR_NO = "|".join(_ANSWERS.values())
# Options that no argument is called like.
_OF_COMMANDS = {
    *("config", "curve", "difference", "estimator", "group", "help_all", "labels"),
    *("output", "study", "undo", "verbose"),
}


def to_commands(text: str) -> str:
    """The text with every setting and call in backticks as the option or command it is.

    `floor=0.1` becomes --floor 0.1, `study.next(20)` becomes activetest next --n 20. Text in
    backticks that is no known setting or call stays as it is, with its backticks, and so does
    text in quotes.
    """
    parts: list[str] = []
    position = 0
    while token := _TOKEN.search(text, position):
        parts.append(text[position : token.start()])
        position = token.end()
        written = token.group()
        if written == "`":
            for closing in _find_closings(text, position):
                command = _translate(text[position:closing])
                if command is not None:
                    written, position = command, closing + 1
                    break
        parts.append(written)
    return "".join(parts) + text[position:]


def translate_report(report: _Report) -> _Report:
    """The report with its sentences in the words of the command line; names stay as they are."""
    answer, details = report.assessment, report.details
    if details:
        source = details.provenance
        commands = tuple(map(_translate_command, source.commands))
        details = replace(details, provenance=replace(source, commands=commands))
    if answer and answer.reliability:
        answer = replace(answer, reliability=_translate_reason(answer.reliability))
    return replace(
        report,
        estimates=tuple(map(_translate_reason, report.estimates)),
        notes=tuple(replace(note, text=to_commands(note.text)) for note in report.notes),
        gates=tuple(map(_translate_reason, report.gates)),
        surrogate_note=report.surrogate_note and to_commands(report.surrogate_note),
        population_setting=to_commands(report.population_setting),
        hindsight=to_commands(report.hindsight),
        assessment=answer,
        details=details,
    )


def _translate_command(line: str) -> str:
    """A call with the comment behind it as a command; as it is, where it is none."""
    found = _CALL_WITH_COMMENT.fullmatch(line)
    command = _translate(found.group(1)) if found else None
    return line if command is None or found is None else f"{command}{found.group(2)}"


def _translate_reason(record: _Record) -> _Record:
    """A part of a report with its reason in the words of the command line."""
    return replace(record, reason=to_commands(record.reason)) if record.reason else record


def _find_closings(text: str, start: int) -> Iterator[int]:
    """Where a span that starts there may end."""
    closing = start - 1
    for _ in range(_CLOSINGS):
        closing = text.find("`", closing + 1)
        if closing < 0:
            return
        yield closing


def _translate(span: str) -> str | None:
    """The form of a span on the command line; None where it is no known setting or call."""
    head = _HEAD.match(span)
    if not head or not span.isprintable():
        return None
    name, mark = head[1].removeprefix("at."), head[2]
    if mark == "(":
        return _write_call(span, head[1], *CALLS[name]) if name in CALLS else None
    if not find_options(name):
        return None
    return _write_call(f"_({span})", "_", "", "") if mark else name_option(name)


def name_option(argument: str) -> str:
    """The option that an argument is, as --prior-strength."""
    from activetest.nouns.choices import DECLARATIONS, option

    flag = option(argument) if argument in DECLARATIONS else f"--{argument.replace('_', '-')}"
    return _FLAGS.get(argument, flag)


def find_options(argument: str, command: str = "") -> list[Any]:
    """The option of a command that an argument is; without a command, those of all that have it."""
    if argument in _OF_COMMANDS:
        return []
    commands = [command] if command else formatter.COMMANDS
    found = (_list_options(each).get(name_option(argument)) for each in commands)
    return [each for each in found if each is not None]


@cache
def _list_options(command: str) -> dict[str, Any]:
    """{spelling: option} of the options of a command."""
    return {flag: each for each in formatter.load_command(command).params for flag in each.opts}


def _write_call(source: str, name: str, usage: str, places: str) -> str | None:
    """The command of a call, or the options that it has; None for what cannot be written.

    usage, places  as in CALLS
    """
    parsed, (command, _, ending) = _parse_call(source, name), usage.partition(" ")
    if parsed is None or not (command or parsed.args or parsed.keywords):
        return None
    names, values = places.split(), list(parsed.args)
    more = bool(values) and isinstance(values[-1], ast.Constant) and values[-1].value is ...
    values = values[:-1] if more else values
    if len(values) > len(names):
        return None
    given = list(zip(names, values, strict=False)) + [("", None)] * more
    given += [(each.arg or "", each.value) for each in parsed.keywords]
    words = [
        "..." if value is None else _write_argument(each, value, command, plain=each in names)
        for each, value in given
    ]
    found = [word for word in words if word is not None]
    if len(found) < len(words):
        return None
    if command == "add":
        found[:2] = ["=".join(found[:2])]
    start = f"activetest {command}" if command else ""
    return " ".join(filter(None, [start, *found, ending]))


def _parse_call(source: str, name: str) -> ast.Call | None:
    """The call of that name that is all of this text; None where the text is something else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != name:
        return None
    # Brackets that close too early, and comments, leave something behind the call.
    return node if node.end_col_offset == len(source.encode()) else None


def _write_argument(name: str, node: ast.expr, command: str, *, plain: bool) -> str | None:
    """An option with its value, as a shell takes it; None where it cannot be written.

    plain  whether it may be an argument of the command, where that has no such option
    """
    found = find_options(name, command)
    if found or not plain:
        written = (_write_value(name_option(name), name, node, each) for each in found)
        return next(filter(None, written), None)
    return _write_value("", name, node, None)


def _write_value(flag: str, name: str, node: ast.expr, option: Any) -> str | None:
    """As _write_argument, with one option, or without any."""
    if getattr(option, "metavar", None) == _YES_OR_NO:
        node = _write_answer(node)
    if getattr(option, "is_flag", False):
        return flag if isinstance(node, ast.Constant) and node.value is True else None
    if name == "map" and isinstance(node, ast.Dict | ast.Attribute):
        return f"{flag} FILE"
    if name == "columns" and isinstance(node, ast.Dict):
        return _write_pairs(flag, node)
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    values = [value for value in map(_read_value, nodes) if value]
    texts, bare = [text for text, _ in values], all(bare for _, bare in values)
    joined = ",".join(texts)
    metavar = getattr(option, "metavar", None) or ""
    joins = name != "require" and metavar.endswith(",...")
    if joins:
        kind = Kind.METRICS if flag == "--metric" else Kind.NAMES
        exact = split_list(kind, [joined]) == tuple(texts)
    else:
        # A,B stands for two values.
        most = len(metavar.split(","))
        exact = len(texts) <= most or (option is not None and option.multiple)
    # A file with the name of an option would be read as one.
    misread = not flag and joined.startswith("-") and not bare
    if not texts or len(texts) < len(nodes) or misread or not exact:
        return None
    if not joins and getattr(option, "multiple", False):
        return " ".join(f"{flag} {shlex.quote(text)}" for text in texts)
    return f"{flag} {joined if bare else shlex.quote(joined)}".strip()


def _write_answer(node: ast.expr) -> ast.expr:
    """The word for true or false; anything else as it is."""
    match node:
        case ast.Constant(value=bool(stated)):
            return ast.Constant(_ANSWERS[stated])
    return node


def _write_pairs(flag: str, node: ast.Dict) -> str | None:
    """An option with the pairs of a mapping; None where it would read them as others."""
    found = [
        (None if key is None else _read_value(key), _read_value(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    texts = [f"{key[0]}={value[0]}" for key, value in found if key and value]
    joined = ",".join(texts)
    exact = BETWEEN_PAIRS.split(joined) == texts and all(text == text.strip() for text in texts)
    return f"{flag} {shlex.quote(joined)}" if exact and len(texts) == len(found) else None


def _read_value(node: ast.expr) -> tuple[str, bool] | None:
    """The text of a text or number, or what stands for one, which needs no quotes; None of others.

    The second says whether it stands for a value.
    """
    match node:
        case ast.Constant(value=str(text)) if text.isprintable():
            return text, False
        case ast.Constant(value=int(number) | float(number)) if not isinstance(number, bool):
            return (str(number), False) if abs(number) < _LARGEST else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float()) as negated):
            value = _read_value(negated)
            return value and (f"-{value[0]}", False)
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            word = _PLACEHOLDERS.get(name) or ("" if "." in name else name.upper())
            return (word, True) if word else None
    return None
