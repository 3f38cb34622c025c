"""Logs of draws: which item was drawn in which round, with which probability, and its label."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

from activetest import catalog
from activetest.errors import LabelError
from activetest.formats import FAMILY
from activetest.labels import exports, files
from activetest.labels.files import Label, parse_row
from activetest.labels.values import write_value
from activetest.nouns.answer_fields import FIELDS, find_columns
from activetest.nouns.arguments import read_path
from activetest.nouns.encodings import decode_answers
from activetest.nouns.log import PENDING
from activetest.nouns.name_lists import shorten_list

# Columns of a row of a log besides an answer. Answers that are superseded do not count any more.
# Items that were never drawn may say which round was the first that knew their labels.
ROUND, PROBABILITY, SUPERSEDED, KNOWN_TO = "round", "probability", "superseded", "known_to"
LOG_FIELDS = (*FIELDS, ROUND, PROBABILITY)
# Looked for under their own names.
_FURTHER = dict.fromkeys((ROUND, PROBABILITY, SUPERSEDED, KNOWN_TO), "")
# How a probability is written: no other spelling of a number that Python reads.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MOST_ROUNDS = 2**31
# Squares of inverses of smaller ones are no numbers.
_SMALLEST = 1e-100
_EXPECTED = (
    "a log has the columns id, probability, label and round; name those that are called otherwise: "
    "`columns={'probability': 'q'}`"
)


class LoggedLabel(NamedTuple):
    """One row of a log: an answer, or none yet, about an item that was drawn.

    label        the answer, with its place in the log
    round        number of the round that drew the item; None where the log has none
    probability  of the draw; None where the log has none
    superseded   whether the answer does not count any more
    known_to     first round that knew the label of an item that was not drawn; math.inf where none
                 did, and None where the log does not say
    """

    label: Label
    round: int | None
    probability: float | None
    superseded: bool = False
    known_to: float | None = None


def read_draw_log(
    draws: Any,
    *,
    columns: Mapping[str, str] = MappingProxyType({}),
    stdin: BinaryIO | None = None,
) -> tuple[str, list[LoggedLabel]]:
    """The name of a log in messages, and its rows, in order.

    draws    path of a file (`-` is standard input) of any format that has labels, a frame, a
             DrawLog, or rows: mappings with the keys id, probability, label and round
    columns  {field: column} of a file or a frame whose columns are called otherwise

    Raises LabelError, naming the row, for anything else, and for what is no probability or round.
    """
    name, rows = _open_log(draws, {**_FURTHER, **columns}, stdin)
    found = [_parse(cells, place, name) for place, cells in rows]
    if not found:
        raise LabelError(f"{name} has no rows", _EXPECTED)
    return name, found


def _open_log(
    draws: Any, columns: Mapping[str, str], stdin: BinaryIO | None
) -> tuple[str, Iterator[tuple[str, Mapping[str, Any]]]]:
    """The name of a log, and (place, {field: value}) of its rows. Raises LabelError."""
    if isinstance(draws, str | PathLike):
        path = "-" if draws == "-" else read_path("draws", draws, LabelError)
        name = files.name_source(path)
        return name, _read_file(files.read_content(path, name, stdin), name, columns)
    # A file needs none of this.
    from activetest.pool import frames

    if frames.is_frame(draws):
        return "the frame", _read_frame(frames.read_columns(draws, error=LabelError), columns)
    if isinstance(draws, Iterable) and not isinstance(draws, Mapping | bytes):
        return "the rows", _read_rows(draws, columns)
    raise LabelError(
        f"a log of draws cannot be a {type(draws).__name__}",
        "give the path of a file, a frame, or rows with id, probability, label and round",
    )


def _read_file(
    content: bytes, name: str, columns: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    format = exports.find_answer_format(content, name)
    if format is None:
        text = decode_answers(content, name, form=files.CSV)
        yield from files.parse_cells(text, name, columns, _EXPECTED)
        return
    for row in catalog.load(FAMILY, format).read_answers(content, name, columns=columns):
        yield row["place"], row


def _read_frame(
    found: Mapping[str, Sequence[Any]], columns: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    fields = find_columns(list(found), columns, "the frame")
    _check_fields(fields, list(found), "the frame")
    rows = zip(*(found[column] for column in fields.values()), strict=True)
    for number, values in enumerate(rows):
        yield f"row {number}", dict(zip(fields, values, strict=True))


def _read_rows(
    draws: Iterable[Any], columns: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(draws):
        # Rows of a log that was exported are named tuples.
        cells = row._asdict() if hasattr(row, "_asdict") else row
        if not isinstance(cells, Mapping):
            raise LabelError(
                f"the rows, row {number}: of type {type(row).__name__}, not a mapping", _EXPECTED
            )
        fields = find_columns(list(cells), columns, f"the rows, row {number}")
        _check_fields(fields, list(cells), f"the rows, row {number}")
        yield f"row {number}", {field: cells[column] for field, column in fields.items()}


def _check_fields(fields: Mapping[str, str], present: Sequence[str], name: str) -> None:
    for field in ("id", "label"):
        if field not in fields:
            raise LabelError(
                f"{name} has no column {field!r}; it has {shorten_list(present)}", _EXPECTED
            )


def _parse(cells: Mapping[str, Any], place: str, name: str) -> LoggedLabel:
    """A row. Raises LabelError for an answer that contradicts itself, and for what is no number."""
    where = f"{name}, {place}"
    id = write_value(cells["id"], where, "id")
    where += f", id {id!r}" if id else ""
    texts = {each: write_value(cells[each], where, each) for each in FIELDS[1:] if each in cells}
    superseded = bool(write_value(cells.get(SUPERSEDED), where, SUPERSEDED).strip())
    label = parse_row({"id": id} | texts, place, where)
    known_to = _parse_round(cells.get(KNOWN_TO), where, KNOWN_TO)
    return LoggedLabel(
        label._replace(status=PENDING, label="") if superseded else label,
        _parse_round(cells.get(ROUND), where),
        _parse_probability(cells.get(PROBABILITY), where),
        superseded,
        math.inf if known_to is None and KNOWN_TO in cells else known_to,
    )


def _parse_probability(value: Any, where: str) -> float | None:
    """A number from _SMALLEST to 1; None for nothing. Raises LabelError."""
    text = _write_number(value, where, PROBABILITY)
    if not text:
        return None
    number = float(text) if _NUMBER.fullmatch(text) and text.isascii() else math.nan
    # A sum over all items may be off by a few digits.
    if not _SMALLEST <= number <= 1 + 1e-9:
        raise LabelError(
            f"{where}: the probability is {text[:40]!r}",
            "it is a number above 0 and at most 1, with a point for decimals"
            + (f"; the smallest that can be used is {_SMALLEST:g}" if number > 0 else ""),
        )
    return min(number, 1.0)


def _parse_round(value: Any, where: str, field: str = ROUND) -> int | None:
    """A whole number from 0; None for nothing. Raises LabelError."""
    text = _write_number(value, where, field)
    if not text:
        return None
    number = float(text) if _NUMBER.fullmatch(text) and text.isascii() else math.nan
    if not (0 <= number < _MOST_ROUNDS and number.is_integer()):
        raise LabelError(
            f"{where}: the {field} is {text[:40]!r}", "rounds are whole numbers from 0"
        )
    return int(number)


def _write_number(value: Any, where: str, field: str) -> str:
    """A cell as text; empty for nothing. Raises LabelError for what is no number, NaN included."""
    number = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
    if isinstance(number, bool):
        raise LabelError(f"{where}: the {field} is {number}", "it is a number")
    if isinstance(number, float) and not number.is_integer():
        # NaN stands for nothing in a frame of pandas.
        return "" if math.isnan(number) else repr(number)
    return write_value(number, where, field).strip()
