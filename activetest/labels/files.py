"""Label files: CSV with a header, `id,label[,annotator][,status]`; other columns are left alone.

Semicolons, tabs or bars may separate the columns instead, as spreadsheets write them.
"""

import csv
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

from activetest.errors import LabelConflict, LabelError
from activetest.labels.matching import ClassMatcher
from activetest.nouns.answer_fields import SAMPLE, find_columns, require_columns
from activetest.nouns.arguments import read_path
from activetest.nouns.canonical import make_canonical
from activetest.nouns.csv_rows import SEPARATORS, Table, open_table
from activetest.nouns.encodings import decode_answers
from activetest.nouns.log import DECLINED, LABELLED, PENDING

_STATUS = {"labelled": LABELLED, "labeled": LABELLED, "declined": DECLINED, "skipped": DECLINED}
# Words of other tools: an answer counts if it is there.
_FINISHED = {"done", "complete", "completed", "finished", "annotated", "submitted", "answered"} | {
    *("accepted", "approved", "validated", "verified")
}
_WAITING = {"pending", "open", "new", "todo", "to do", "not started", "in progress"} | {
    *("unlabelled", "unlabeled")
}
SWITCH_OFF = "if that column means something else, `columns={'status': ''}` leaves it out"
_EXPECTED = "expected CSV with the header id,label[,annotator][,status]"
_BY_SHEET = "; where each sheet is of one annotator, `columns={'annotator': 'sheet'}` says so"


class Label(NamedTuple):
    """One row: its place ("line 3" of a file), and its answer; a PENDING row has none yet."""

    place: str
    id: str
    annotator: str
    status: int
    label: str


# The format in which hints tell to save labels.
CSV = "UTF-8 CSV"

# Changes rows before those about one item are compared with each other: see `mapping`.
Edit = Callable[[Iterable[Label]], Iterable[Label]]


def read_columns(path: str | Path) -> set[str]:
    """The columns of a label file. Raises LabelError where it cannot be read."""
    name = name_source(path)
    table = _open_table(read_text(path, name), name, {}, _EXPECTED)
    return set(table.header) if table else set()


def write_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV whose lines end with a line feed; a cell with a carriage return is quoted."""
    lines: list[str] = []
    # Some versions of the module quote it only where it ends lines.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def make_label_encoder(
    classes: Sequence[str], further: Sequence[str] = ()
) -> Callable[[str], float]:
    """A function from a label to the code of its class; without classes, to its value.

    further  classes that other models alone predict: -2, -3 and so on, however they are spelled

    Any other class has the code -1: no prediction has it, so the prediction is wrong. A value that
    is not a number raises ValueError.
    """
    if not classes:
        return float
    codes = {name: float(code) for code, name in enumerate(classes)}
    if not further:
        return lambda label: codes.get(label, -1.0)
    known = codes | {name: -2.0 - place for place, name in enumerate(further)}
    find = ClassMatcher(known).find
    return lambda label: codes[label] if label in codes else known.get(find(label) or "", -1.0)


def name_source(path: str | PathLike[str]) -> str:
    """The name of a label file in messages and in the ledger."""
    return "standard input" if str(path) == "-" else str(path)


def read_text(path: str | PathLike[str], name: str, stdin: BinaryIO | None = None) -> str:
    """The whole file, without a byte-order mark. Raises LabelError where it cannot be read."""
    return decode_answers(read_content(path, name, stdin), name, form=CSV, notes=[])


def read_content(path: str | PathLike[str], name: str, stdin: BinaryIO | None = None) -> bytes:
    """The whole file. Raises LabelError where it cannot be read."""
    if str(path) != "-":
        path = read_path("labels", path, LabelError)
    try:
        return _read_bytes(path, stdin)
    except FileNotFoundError as error:
        raise LabelError(f"there is no file {name}", "check the path of the labels") from error
    except IsADirectoryError as error:
        hint = "give each of its files by itself"
        raise LabelError(f"{name} is a folder", hint) from error
    except OSError as error:
        raise LabelError(f"{name} cannot be read: {error.strerror}", "check the path") from error


def _read_bytes(path: str | PathLike[str], stdin: BinaryIO | None) -> bytes:
    """The content of a file, or of standard input."""
    if str(path) != "-":
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty()):
                # Some have no end.
                raise LabelError(f"{path} is a device", "give the path of a file")
            return file.read()
    if stdin is None:
        raise ValueError("standard input was not passed")
    return stdin.read()


def parse_rows(
    text: str, name: str, columns: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Label]:
    """One Label per row of CSV that is not blank. Raises LabelError.

    columns  {field: column} where a column is not called like its field
    """
    for place, cells in parse_cells(text, name, columns):
        yield parse_row(cells, place, f"{name}, {place}")


def parse_cells(
    text: str,
    name: str,
    columns: Mapping[str, str] = MappingProxyType({}),
    expected: str = _EXPECTED,
) -> Iterator[tuple[str, dict[str, str]]]:
    """(place, {field: cell}) of each row of CSV that is not blank. Raises LabelError.

    columns   {field: column} where a column is not called like its field: see find_columns
    expected  the hint where it is no such file
    """
    table = _open_table(text, name, columns, expected)
    if table is None:
        raise LabelError(f"{name} is empty", expected)
    width = len(table.header)

    def sample() -> dict[str, list[str]]:
        rows = [row for _, row in islice(table.rows, SAMPLE) if len(row) == width]
        return dict(zip(table.header, map(list, zip(*rows, strict=True)), strict=False))

    found = require_columns(table.header, columns, name, sample, expected)
    places = {field: table.header.index(column) for field, column in found.items()}
    for line, row in table.rows:
        place = f"line {line}"
        if len(row) != width and (len(row) < width or any(map(str.strip, row[width:]))):
            raise LabelError(
                f"{name}, {place}: {len(row)} fields, and the header has {width}",
                f"quote labels that hold a {SEPARATORS[table.comma]}",
            )
        yield place, {field: row[at] for field, at in places.items()}


def _open_table(text: str, name: str, columns: Mapping[str, str], expected: str) -> Table | None:
    """The table below the first row that names the ids and the labels."""

    def is_header(row: list[str]) -> bool:
        try:
            return {"id", "label"} <= set(find_columns(row, columns, name))
        except LabelError:
            return False

    return open_table(text, name, is_header, expected)


def parse_row(
    row: dict[str, str], place: str, where: str, *, switch_off: str = SWITCH_OFF
) -> Label:
    """The answer of a row with id and label, and annotator and status where it has them.

    place       of the row, for Label
    where       the same for messages, with the name of the source
    switch_off  how hints say that the status can be left out

    Raises LabelError for an answer that contradicts itself.
    """
    label, word = row["label"].strip(), row.get("status", "").strip().lower()
    if not row["id"]:
        raise LabelError(
            f"{where}: the id is empty", "every row names an item: remove totals and the like"
        )
    if word not in {"", *_STATUS, *_FINISHED, *_WAITING}:
        raise LabelError(
            f"{where}: {word!r} is no status",
            "a status is labelled or pending, or declined for an item that cannot be answered; "
            + switch_off,
        )
    status = _STATUS.get(word, LABELLED if label and word not in _WAITING else PENDING)
    if status == LABELLED and not label:
        raise LabelError(f"{where}: labelled, but the label is empty", "fill it in, or no status")
    if status != LABELLED and label:
        raise LabelError(
            f"{where}: {word}, but there is a label", f"remove one of the two; {switch_off}"
        )
    annotator = make_canonical(row.get("annotator", "").strip())
    return Label(place, row["id"], annotator, status, label)


def merge_repeated(rows: Iterable[Label], name: str) -> list[Label]:
    """Each answer once; an empty one contradicts none.

    Raises LabelConflict for two that differ.
    """
    found: dict[tuple, Label] = {}
    for row in rows:
        first = found.setdefault((row.id, row.annotator), row)
        if PENDING in (first.status, row.status):
            found[row.id, row.annotator] = first if row.status == PENDING else row
        elif (first.status, first.label) != (row.status, row.label):
            raise LabelConflict(
                f"{name}: id {row.id!r} is {describe_answer(first.status, first.label)} "
                f"in {first.place} and {describe_answer(row.status, row.label)} "
                f"in {row.place}",
                "keep one of them, or say who said it in a column annotator"
                + (_BY_SHEET if _name_sheet(row.place) != _name_sheet(first.place) else ""),
            )
    return list(found.values())


def _name_sheet(place: str) -> str:
    """The sheet of a place in a workbook of several; empty for any other."""
    return place.rpartition(", row ")[0]


def describe_answer(status: int, label: str) -> str:
    """An answer in words."""
    return "declined" if status == DECLINED else f"labelled {label!r}"
