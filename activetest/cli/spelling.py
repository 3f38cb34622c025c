"""The library's words in the words of the command line.

Messages of the library name settings and calls in Python, in backticks. Here these become options
and commands; everything else in a text stays as it is.
"""

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from activetest.nouns.answer_fields import BETWEEN_PAIRS
from activetest.nouns.choices import (
    DECLARATIONS,
    Declaration,
    Kind,
    list_columns,
    list_declarations,
    option,
    split_list,
)

if TYPE_CHECKING:
    from activetest.nouns.group_report import Reliability
    from activetest.nouns.report import EstimateRow, Gate, Report

_Report = TypeVar("_Report", bound="Report")
_Record = TypeVar("_Record", "EstimateRow", "Gate", "Reliability")
# A name in quotes, as repr() writes it, or the backtick that opens a span. Quotes after a letter
# are apostrophes. What a user's file calls something stands in quotes, and is never a command.
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


class Takes(StrEnum):
    """What an option takes."""

    NOTHING = "nothing: it is there or not"
    VALUE = "one value"
    NAMES = "names, joined by commas"
    METRICS = "metrics, joined by commas outside of brackets"
    PAIR = "two values, joined by a comma"
    REPEATED = "the option once for each"
    MAPPING = "a file, where Python takes a mapping as well"
    PAIRS = "name=value, joined by commas, where Python takes a mapping"


@dataclass(frozen=True)
class Parameter:
    """How an argument of a call is written as an option; without a flag, as a plain argument."""

    flag: str
    takes: Takes = Takes.VALUE


def _declared(name: str, declaration: Declaration, *, simulated: bool = False) -> Parameter:
    """The option of a declared choice, as `init` takes it, or `simulate`."""
    if name == "compare":
        takes = Takes.PAIR
    elif declaration.kind == Kind.METRICS:
        takes = Takes.METRICS
    elif declaration.takes_several(simulated=simulated):
        takes = Takes.NAMES
    else:
        takes = Takes.VALUE
    return Parameter(option(name), takes)


_SETTINGS = {name: _declared(name, each) for name, each in DECLARATIONS.items()}
_FOLDER = {"folder": Parameter("--study")}
_DRY_RUN = {"dry_run": Parameter("--dry-run", Takes.NOTHING)}
_NEXT = {
    "n": Parameter("--n"),
    "new": Parameter("--new", Takes.NOTHING),
    "again": Parameter("--again"),
    "show": Parameter("--show", Takes.NAMES),
    "path": Parameter("--output"),
    "format": Parameter("--format"),
    "spreadsheet": Parameter("--spreadsheet", Takes.NOTHING),
    "force": Parameter("--force", Takes.NOTHING),
}
_LABEL = {
    "n": Parameter("--n"),
    "show": Parameter("--show", Takes.NAMES),
    "annotator": Parameter("--annotator"),
    "again": Parameter("--again"),
}
_INGEST = {
    "labels": Parameter(""),
    "replace": Parameter("--replace", Takes.NOTHING),
    "map": Parameter("--map", Takes.MAPPING),
    "missing": Parameter("--missing", Takes.NAMES),
    "as_is": Parameter("--as-is", Takes.NOTHING),
    "columns": Parameter("--columns", Takes.PAIRS),
    "decimal": Parameter("--decimal"),
    **_DRY_RUN,
}
_METHODS = {
    "metrics": Parameter("--metric", Takes.METRICS),
    "estimators": Parameter("--estimator", Takes.NAMES),
    "interval": Parameter("--interval"),
}
_REPORT = {
    **_METHODS,
    "groups": Parameter("--group", Takes.NAMES),
    "differences": Parameter("--difference", Takes.NAMES),
    "require": Parameter("--require", Takes.REPEATED),
    "simultaneous": Parameter("--simultaneous", Takes.NOTHING),
    "half_width": Parameter("--half-width"),
    "bound": Parameter("--bound"),
    "assume": Parameter("--assume", Takes.REPEATED),
    "population": Parameter("--population", Takes.NOTHING),
    "cluster": Parameter("--cluster"),
    "surface": Parameter("--surface", Takes.NOTHING),
    "at": Parameter("--at", Takes.REPEATED),
    "maps": Parameter("--map", Takes.REPEATED),
    "plot": Parameter("--plot", Takes.REPEATED),
    "details": Parameter("--details", Takes.NOTHING),
    "force": Parameter("--force", Takes.NOTHING),
}
_SAVE = {
    "path": Parameter("--output", Takes.REPEATED),
    "force": Parameter("--force", Takes.NOTHING),
}
_EXPORT = {
    "rescue": Parameter("--rescue", Takes.NOTHING),
    "path": Parameter("--output"),
    "force": Parameter("--force", Takes.NOTHING),
}
_SURFACE = {
    "path": Parameter("--output"),
    "all": Parameter("--all", Takes.NOTHING),
    "force": Parameter("--force", Takes.NOTHING),
}
_CURVE = {
    "name": Parameter("--curve"),
    "simultaneous": Parameter("--simultaneous", Takes.NOTHING),
    "points": Parameter("--points"),
    "bins": Parameter("--bins"),
    "path": Parameter("--output"),
    "format": Parameter("--format"),
    "force": Parameter("--force", Takes.NOTHING),
}
_SIMULATE = {
    "pool": Parameter(""),
    "key": Parameter("--labels"),
    "columns": _INGEST["columns"],
    **_METHODS,
    "aim": Parameter("--aim"),
    "budgets": Parameter("--budget", Takes.NAMES),
    "runs": Parameter("--runs"),
    "batch": Parameter("--batch"),
    "seed": Parameter("--seed"),
    "workers": Parameter("--workers"),
    "save": Parameter("--save"),
    **{
        name: _declared(name, each, simulated=True)
        for name, each in list_declarations(simulated=True).items()
    },
}
_COLUMNS = {name: _SETTINGS[name] for name in list_columns()}
_CREATE = {"pool": Parameter(""), **_FOLDER, **_SETTINGS}
_FROM_DRAWS = {
    "draws": Parameter(""),
    "pool": Parameter("--pool"),
    **_FOLDER,
    "design": Parameter("--design"),
    "draws_floor": Parameter("--draws-floor"),
    "drawn_from": Parameter("--drawn-from", Takes.NAMES),
    **{name: _INGEST[name] for name in ("columns", "map", "missing", "as_is")},
    **_SETTINGS,
}


@dataclass(frozen=True)
class Call:
    """What a call is on the command line.

    command     the words it begins with; empty where it is an option of any command
    parameters  {name of an argument: its option}
    places      names of the arguments without a name, in order
    ending      options that say what the call says by its name
    """

    command: str
    parameters: dict[str, Parameter] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    ending: str = ""


CALLS = {
    "Study.create": Call("activetest init", _CREATE, ("pool", "folder")),
    "Study.check": Call("activetest init", _CREATE, ("pool", "folder"), "--dry-run"),
    "Study.from_draws": Call("activetest import", _FROM_DRAWS, ("pool", "draws", "folder")),
    "Study.open": Call("", _FOLDER, ("folder",)),
    "study.change": Call("activetest init", {**_DRY_RUN, **_SETTINGS}),
    "study.next": Call("activetest next", _NEXT, ("n",)),
    "study.labelling_config": Call(
        "activetest next",
        {name: _NEXT[name] for name in ("format", "show")},
        ("format",),
        "--config",
    ),
    "study.label": Call("activetest label", _LABEL, ("n",)),
    "study.ingest": Call("activetest ingest", _INGEST, ("labels",)),
    "study.undo": Call("activetest ingest", ending="--undo"),
    "study.report": Call("activetest report", _REPORT),
    "report.save": Call("activetest report", _SAVE, ("path",)),
    "study.status": Call("activetest status"),
    "study.verify": Call("activetest verify", {"contains": Parameter("--contains")}),
    "study.export": Call("activetest export", _EXPORT),
    "study.surface": Call("activetest export", _SURFACE, ending="--surface"),
    "study.curve": Call("activetest export", _CURVE, ("name",)),
    "simulate": Call("activetest simulate", _SIMULATE, ("pool", "key")),
    "inspect": Call("activetest inspect", {"file": Parameter(""), **_COLUMNS}, ("file",)),
}
# Every setting and argument that has an option, by its name alone; settings come first.
OPTIONS = {
    name: parameter
    for call in reversed(CALLS.values())
    for name, parameter in call.parameters.items()
    if parameter.flag
}


def to_commands(text: str) -> str:
    """The text with every setting and call in backticks as the option or command it is.

    `floor=0.1` becomes --floor 0.1, `study.next(20)` becomes activetest next --n 20. What is in
    backticks and no known setting or call stays as it is, with its backticks, and so does what
    stands in quotes.
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
    """What a span is on the command line; None where it is no known setting or call."""
    head = _HEAD.match(span)
    if not head or not span.isprintable():
        return None
    name, mark = head.group(1).removeprefix("at."), head.group(2)
    if mark != "(" and name in OPTIONS:
        return OPTIONS[name].flag if not mark else _write_settings(span)
    if mark == "(" and name in CALLS:
        return _write_call(CALLS[name], _parse_call(span, head.group(1)))
    return None


def _write_settings(span: str) -> str | None:
    """Options of `name=value, name=value`."""
    call = _parse_call(f"_({span})", "_")
    return None if call is None or call.args else _join(_write_keywords(call, OPTIONS))


def _write_call(call: Call, parsed: ast.Call | None) -> str | None:
    """The command of a call."""
    if parsed is None or not (call.command or parsed.args or parsed.keywords):
        return None
    values = list(parsed.args)
    more = bool(values) and _is_ellipsis(values[-1])
    values = values[:-1] if more else values
    if len(values) > len(call.places):
        return None
    words: list[str | None] = [call.command]
    for place, value in zip(call.places, values, strict=False):
        words.append(_write_argument(call.parameters[place], value))
    words += ["..."] * more
    words += _write_keywords(parsed, call.parameters)
    return _join([*words, call.ending])


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


def _write_keywords(call: ast.Call, parameters: dict[str, Parameter]) -> list[str | None]:
    """An option for each argument with a name; None where one is not known."""
    return [
        _write_argument(parameters[each.arg], each.value) if each.arg in parameters else None
        for each in call.keywords
    ]


def _join(words: list[str | None]) -> str | None:
    """The words with blanks between them; None where one of them cannot be written."""
    found = [word for word in words if word is not None]
    return " ".join(filter(None, found)) if len(found) == len(words) else None


def _write_argument(parameter: Parameter, node: ast.expr) -> str | None:
    """An option with its value, as a shell takes it; None where it cannot be written."""
    if parameter.takes == Takes.NOTHING:
        return parameter.flag if isinstance(node, ast.Constant) and node.value is True else None
    mapping = parameter.takes in (Takes.MAPPING, Takes.PAIRS)
    if mapping and isinstance(node, ast.Dict | ast.Attribute):
        return _write_mapping(parameter, node)
    match node:
        case ast.List(elts=nodes) | ast.Tuple(elts=nodes):
            values = [_read_value(each) for each in nodes]
        case _:
            values = [_read_value(node)]
    texts = [value.text for value in values if value is not None]
    if not texts or len(texts) < len(values) or not _can_join(texts, parameter.takes):
        return None
    bare = all(value is not None and value.bare for value in values)
    if not parameter.flag and texts[0].startswith("-") and not bare:
        # A file with such a name would be read as an option.
        return None
    if parameter.takes == Takes.REPEATED:
        return " ".join(f"{parameter.flag} {shlex.quote(text)}" for text in texts)
    joined = ",".join(texts)
    return f"{parameter.flag} {joined if bare else shlex.quote(joined)}".strip()


def _write_mapping(parameter: Parameter, node: ast.Dict | ast.Attribute) -> str | None:
    """An option with a mapping: a file, or its pairs where the option reads them as they are."""
    if parameter.takes == Takes.MAPPING:
        return f"{parameter.flag} FILE"
    if not isinstance(node, ast.Dict):
        return None
    found = [
        (None if key is None else _read_value(key), _read_value(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    texts = [
        f"{key.text}={value.text}" for key, value in found if key is not None and value is not None
    ]
    joined = ",".join(texts)
    exact = BETWEEN_PAIRS.split(joined) == texts and all(text == text.strip() for text in texts)
    if not texts or len(texts) < len(found) or not exact:
        return None
    return f"{parameter.flag} {shlex.quote(joined)}"


def _can_join(texts: list[str], takes: Takes) -> bool:
    """Whether an option takes these values, and reads them as they are."""
    match takes:
        case Takes.REPEATED:
            return True
        case Takes.PAIR:
            return len(texts) <= 2
        case Takes.NAMES:
            return split_list(Kind.NAMES, [",".join(texts)]) == tuple(texts)
        case Takes.METRICS:
            return split_list(Kind.METRICS, [",".join(texts)]) == tuple(texts)
        case _:
            return len(texts) == 1


@dataclass(frozen=True)
class _Value:
    """The text of a value; bare where it stands for one and needs no quotes."""

    text: str
    bare: bool = False


def _read_value(node: ast.expr) -> _Value | None:
    """A text, a number, or a name that stands for a value; None for anything else."""
    match node:
        case ast.Constant(value=str(text)) if text.isprintable():
            return _Value(text)
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(number) | float(number)) if abs(number) < _LARGEST:
            return _Value(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as negated):
            value = _read_value(negated)
            number = isinstance(negated.value, int | float)
            return _Value(f"-{value.text}") if value and number else None
        case ast.Name() | ast.Attribute():
            return _read_name(ast.unparse(node))
    return None


def _read_name(name: str) -> _Value | None:
    """What stands for a value; None for an attribute that is not known."""
    word = _PLACEHOLDERS.get(name) or (None if "." in name else name.upper())
    return _Value(word, bare=True) if word else None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...
