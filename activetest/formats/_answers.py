"""What readers of answers share: JSON of any size and shape, and one answer of one annotator."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from activetest.errors import LabelError
from activetest.nouns.answer_fields import find_columns, hint_column
from activetest.nouns.encodings import decode_answers
from activetest.nouns.name_lists import shorten_list

# A key of a JSON object; none inside of a text, whose quotes have a backslash.
KEY = r'(?<!\\)"{}"\s*:'
_EXPORT_AGAIN = "export the answers again"
# Lists and objects around one answer.
_NESTED = 4


def make_pattern(*names: str) -> re.Pattern[str]:
    """What finds one of these keys in JSON; the names are regular expressions."""
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
        placed = [(f"{unit} {number}", each) for number, each in enumerate(_list(found), 1)]
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


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def find_fields(present: Collection[str], columns: Mapping[str, str], name: str) -> dict[str, str]:
    """{field: column} of a table of answers. Raises LabelError where it has no id or no label."""
    found = find_columns(present, columns, name)
    for column in found.values():
        if list(present).count(column) > 1:
            raise LabelError(f"{name}: two columns are called {column!r}", "remove one of them")
    missing = [field for field in ("id", "label") if field not in found]
    if missing:
        known = [each for each in present if each not in found.values()]
        raise LabelError(
            f"{name} has no column {missing[0]!r}; it has {shorten_list(present)}",
            hint_column(missing[0], known[0] if known else "column"),
        )
    return found


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
                raise LabelError(
                    f"{where}: several answers of one annotator: {_list_answers(value)}",
                    "an item has one label: let annotators choose one class each",
                )
            value = value[0]
        else:
            return value
    raise LabelError(
        f"{where}: the answer is no class and no number", "labels are one class or number per item"
    )


def find_question(questions: Iterable[str], chosen: str | None, name: str, what: str) -> str | None:
    """Which of the questions of a file gives the labels; None where there is none at all.

    chosen  what the user said
    what    a question is called in messages

    Raises LabelError where it cannot be known.
    """
    found = sorted(set(questions))
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
    raise LabelError(
        f"{name} has more than one {what}: {', '.join(found)}",
        f"say which gives the labels: `columns={ {'label': found[0]}!r}`",
    )


def _list_answers(values: Sequence[Any]) -> str:
    named = [repr(each)[:40] for each in values[:3]]
    return ", ".join(named) + ", ..." * (len(values) > len(named))
