"""Shared by readers of answers: JSON of any size and shape, and an answer of an annotator."""

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from activetest.errors import ColumnsUnclear, LabelError
from activetest.formats._tasks import write_text
from activetest.nouns.answer_fields import ID, SAMPLE, hint_column, require_columns
from activetest.nouns.csv_rows import SEPARATORS, open_table
from activetest.nouns.encodings import decode_answers
from activetest.nouns.name_lists import shorten_list

# A key of a JSON object; none inside of a text, whose quotes have a backslash.
KEY = r'(?<!\\)"{}"\s*:'
_EXPORT_AGAIN = "export the answers again"
# Lists and objects around one answer, and objects around a value of a row.
_NESTED, _DEEPEST = 4, 10
# Characters in which a header is looked for.
_HEADER = 2**16


def make_pattern(*names: str) -> re.Pattern[str]:
    """A pattern of these keys in JSON; the names are regular expressions."""
    return re.compile(KEY.format(f"(?:{'|'.join(names)})"))


def read_json(text: str, where: str) -> Any:
    """The value of a JSON document. Raises LabelError, with line and column."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise LabelError(f"{where}: its JSON is nested too deeply", _EXPORT_AGAIN) from error
    except json.JSONDecodeError as error:
        raise LabelError(
            f"{where}, line {error.lineno}: no JSON: {error.msg} (column {error.colno})",
            _EXPORT_AGAIN,
        ) from error
    except ValueError as error:
        raise LabelError(f"{where}: a number in it is too long", _EXPORT_AGAIN) from error


def read_objects(content: bytes, name: str, unit: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object) of a JSON array of objects, of a single one, or of one object a line.

    unit  what an object is called in its place, as "task". Raises LabelError.
    """
    text = decode_answers(content, name)
    try:
        found = json.loads(text)
        rows = found if isinstance(found, list) else [found]
        placed = [(f"{unit} {number}", each) for number, each in enumerate(rows, 1)]
    except (ValueError, RecursionError):
        if text.lstrip().startswith("["):
            read_json(text, name)
        lines = ((f"line {number}", line) for number, line in enumerate(text.split("\n"), 1))
        placed = [
            (place, read_json(line, f"{name}, {place}")) for place, line in lines if line.strip()
        ]
    for place, each in placed:
        if not isinstance(each, dict):
            raise LabelError(f"{name}, {place}: it is no JSON object", _EXPORT_AGAIN)
        yield place, each


def has_header(text: str, is_header: Callable[[Collection[str]], bool]) -> bool:
    """Whether the first row of a text that is not blank has such columns."""
    header = next(filter(str.strip, io.StringIO(text[:_HEADER], newline=None)), "")
    for delimiter in SEPARATORS:
        try:
            names = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error:
            continue
        if is_header([each.strip() for each in names]):
            return True
    return False


def read_table(
    content: bytes, name: str, is_header: Callable[[Collection[str]], bool]
) -> list[tuple[str, dict[str, Any]]]:
    """(place, row) of an export as CSV or TSV. Raises LabelError."""
    text = decode_answers(content, name)
    table = open_table(text, name, is_header, "export the answers again, as JSON")
    found: list[tuple[str, dict[str, Any]]] = []
    if table is None:
        return found
    for line, row in table.rows:
        place = f"line {line}"
        if len(row) != len(table.header):
            raise LabelError(
                f"{name}, {place}: {len(row)} fields, and the header has {len(table.header)}",
                "export the answers again",
            )
        found.append((place, dict(zip(table.header, row, strict=True))))
    return found


def take_rows(
    rows: Sequence[tuple[str, Mapping[str, Any]]], name: str, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The answers of (place, row), each with an id and a label. Raises LabelError."""
    present = list(dict.fromkeys(key for _, row in rows for key in row))
    found = require_columns(present, columns, name, lambda: sample_rows([row for _, row in rows]))
    for place, row in rows:
        missing = [found[field] for field in ("id", "label") if found[field] not in row]
        if missing:
            raise LabelError(
                f"{name}, {place}: there is no {missing[0]!r}", "an empty label is written as null"
            )
        answer = {field: row[column] for field, column in found.items() if column in row}
        yield {"place": place} | answer


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an object and of those inside of it: {"a": {"b": 1}} has a.b.

    An object may stand alone in a list. The id that our own tasks have is found at every depth,
    under its own name.
    """
    found: dict[str, Any] = {}
    waiting: list[tuple[str, Mapping[str, Any], int]] = [("", row, 0)]
    for before, inside, depth in waiting:
        for key, value in inside.items():
            found[f"{before}{key}"] = value
            if key == ID:
                found.setdefault(ID, value)
            inner = value[0] if isinstance(value, list) and len(value) == 1 else value
            if isinstance(inner, Mapping) and depth < _DEEPEST:
                waiting.append((f"{before}{key}.", inner, depth + 1))
    return found


def sample_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """{key: the first of its values, as text} of rows, where they are no objects."""
    found: dict[str, list[str]] = {}
    for row in rows[:SAMPLE]:
        for key, value in row.items():
            several = value if isinstance(value, list) else [value]
            if len(several) < 2 and not any(isinstance(each, dict) for each in several):
                found.setdefault(key, []).append(write_text(next(iter(several), None)))
    return found


def take_id(
    known: Mapping[str, Any],
    columns: Mapping[str, str],
    where: str,
    *,
    usual: Sequence[str] = (ID, "id"),
    hidden: Collection[str] = (),
    remark: str = "",
) -> Any:
    """The id of the item. Raises ColumnsUnclear where it has none.

    known   what a task has, by its names
    usual   the names of ids that are looked for
    hidden  names that are no ids of items
    remark  stands before the hint
    """
    names = [columns["id"]] if "id" in columns else usual
    key = next((name for name in names if name in known), None)
    if key is not None:
        return known[key]
    sample = sample_rows([known])
    values = {name: sample[name] for name in sample if name not in ("label", *hidden)}
    likely = next(iter(values), None)
    raise ColumnsUnclear(
        f"{where} has no {names[-1]!r}; it has {shorten_list(known)}",
        remark + (hint_column("id", likely) if likely else "add the ids of the batch"),
        {"label": "label"},
        values,
    )


def check_type(value: Any, kind: type, what: str, where: str) -> Any:
    """The value. Raises LabelError where it is of another type; None is an empty one."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise LabelError(f"{where}: {what} is of type {type(value).__name__}", _EXPORT_AGAIN)
    return value


def take_single(value: Any, where: str, inside: Sequence[str] = ()) -> Any:
    """The one answer in lists and objects around it; None where there is none.

    inside  keys of objects that hold answers

    Raises LabelError for several answers, and for what is none.
    """
    for _ in range(_NESTED):
        if isinstance(value, Mapping):
            key = next((key for key in inside if key in value), None)
            if key is None:
                break
            value = value[key]
        elif isinstance(value, list):
            if not value:
                return None
            if len(value) > 1:
                named = [repr(each)[:40] for each in value[:3]] + ["..."] * (len(value) > 3)
                raise LabelError(
                    f"{where}: several answers of one annotator: {', '.join(named)}",
                    "an item has one label: let annotators choose one class each",
                )
            value = value[0]
        else:
            return value
    raise LabelError(
        f"{where}: the answer is no class and no number", "labels are one class or number per item"
    )


def find_question(
    answers: Iterable[tuple[str, Any]], chosen: str | None, name: str, what: str
) -> str | None:
    """The question of a file that gives the labels; None where there is none at all.

    answers  (question, answer)
    chosen   what the user said
    what     a question is called in messages

    Raises ColumnsUnclear where it cannot be known.
    """
    given: dict[str, list[str]] = {}
    for question, answer in answers:
        given.setdefault(question, [])
        given[question] += sample_rows([{question: answer}]).get(question, [])
    found = sorted(given)
    if chosen is not None:
        if found and chosen not in found:
            raise LabelError(
                f"{name} has no {what} {chosen!r}; it has {', '.join(found)}", "check `columns`"
            )
        return chosen
    if len(found) <= 1:
        return found[0] if found else None
    if "label" in found:
        return "label"
    # The name of a class or a number is shorter than a comment.
    likely = min(found, key=lambda question: max(map(len, given[question]), default=0))
    raise ColumnsUnclear(
        f"{name} has more than one {what}: {', '.join(found)}",
        f"say which gives the labels: `columns={ {'label': likely}!r}`",
        {},
        given,
        questions=True,
    )
