"""Label files: CSV with a header, `id,label[,annotator][,status]`; other columns are left alone.

Semicolons may separate the columns instead, as spreadsheets write them in many countries.
"""

import csv
import io
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, BinaryIO, NamedTuple

from activetest.errors import LabelConflict, LabelError
from activetest.nouns.answer_fields import FIELDS, find_columns, hint_column
from activetest.nouns.arguments import read_path
from activetest.nouns.encodings import decode_answers
from activetest.nouns.log import DECLINED, LABELLED, PENDING

_STATUS = {"labelled": LABELLED, "labeled": LABELLED, "declined": DECLINED, "skipped": DECLINED}
_DELIMITERS = {",": "comma", ";": "semicolon"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_EXPECTED = "expected CSV with the header id,label[,annotator][,status]"


class Label(NamedTuple):
    """One row: its place ("line 3" of a file), and its answer; a PENDING row has none yet."""

    place: str
    id: str
    annotator: str
    status: int
    label: str


# What hints tell to save labels as.
CSV = "UTF-8 CSV"

# Changes a row before it is compared with others about the same item: see `mapping`.
Edit = Callable[[Label], Label]


def read_labels(
    path: str | Path,
    *,
    stdin: BinaryIO | None = None,
    edit: Edit | None = None,
) -> list[Label]:
    """The rows of a label file, in order; `-` is standard input. Repeated rows are merged.

    edit  changes rows before they are merged, see `mapping.make_edit`

    Raises LabelError, naming file and line, for anything that is not such a file, and LabelConflict
    for two different answers about one item by one annotator.
    """
    name = name_source(path)
    rows = parse_rows(read_text(path, name, stdin), name)
    return merge_repeated(map(edit, rows) if edit else rows, name)


def read_columns(path: str | Path) -> set[str]:
    """The columns of a label file. Raises LabelError where it cannot be read."""
    text = read_text(path, name_source(path))
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=find_delimiter(text, ("id", "label"))
    )
    return {column.strip() for column in next((row for row in lines if row), [])}


def write_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV whose lines end with a line feed; a cell with a carriage return is quoted."""
    lines: list[str] = []
    # Some versions of the module quote it only where it ends lines.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def make_label_encoder(classes: Sequence[str]) -> Callable[[str], float]:
    """A function from a label to the code of its class; without classes, to its value.

    Any other class has the code -1: no prediction has it, so the prediction is wrong. A value that
    is not a number raises ValueError.
    """
    if not classes:
        return float
    codes = {name: float(code) for code, name in enumerate(classes)}
    return lambda label: codes.get(label, -1.0)


def name_source(path: str | PathLike[str]) -> str:
    """The name of a label file in messages and in the ledger."""
    return "standard input" if str(path) == "-" else str(path)


def read_text(path: str | PathLike[str], name: str, stdin: BinaryIO | None = None) -> str:
    """The whole file, without a byte-order mark. Raises LabelError where it cannot be read."""
    return decode_answers(read_content(path, name, stdin), name, form=CSV)


def read_content(path: str | PathLike[str], name: str, stdin: BinaryIO | None = None) -> bytes:
    """The whole file. Raises LabelError where it cannot be read."""
    if str(path) != "-":
        path = read_path("labels", path, LabelError)
    try:
        return _read_bytes(path, stdin)
    except FileNotFoundError as error:
        raise LabelError(f"there is no file {name}", "check the path of the labels") from error
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
    delimiter = find_delimiter(text, [columns.get(field, field) for field in ("id", "label")])
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next((row for row in lines if any(map(str.strip, row))), None)
        if header is None:
            raise LabelError(f"{name} is empty", expected)
        header = [column.strip() for column in header]
        fields = {column: field for field, column in find_columns(header, columns, name).items()}
        # A column of a field's name that is not asked for is one like any other.
        check_header(
            [fields.get(each, f"({each})" if each in fields.values() else each) for each in header],
            name,
            expected,
        )
        for row in lines:
            if not row:
                continue
            place = f"line {lines.line_num}"
            if len(row) != len(header):
                raise LabelError(
                    f"{name}, {place}: {len(row)} fields, and the header has {len(header)}",
                    f"quote labels that hold a {_DELIMITERS[delimiter]}",
                )
            named = zip(header, row, strict=True)
            yield place, {fields[column]: cell for column, cell in named if column in fields}
    except csv.Error as error:
        raise LabelError(f"{name}, line {lines.line_num}: {error}", expected) from error


def find_delimiter(text: str, columns: Collection[str]) -> str:
    """A semicolon where the header has these columns between semicolons and no comma; else a comma.

    A file whose header has no comma could not be read otherwise.
    """
    header = next(filter(str.strip, io.StringIO(text, newline=None)), "")
    if "," in header:
        return ","
    try:
        found = next(csv.reader([header], delimiter=";", strict=True), [])
    except csv.Error:
        return ","
    return ";" if set(columns) <= {column.strip() for column in found} else ","


def check_header(header: list[str], name: str, expected: str = _EXPECTED) -> None:
    """Raises LabelError for columns that are no labels, or two of one name."""
    for column in header:
        if header.count(column) > 1:
            raise LabelError(f"{name}: two columns are called {column!r}", "remove one of them")
    missing = [column for column in ("id", "label") if column not in header]
    if not missing:
        return
    for character, word in _SEPARATORS.items():
        if any(character in column for column in header):
            raise LabelError(f"{name} is separated by {word}", "separate columns by commas")
    if {"id", "label"} <= {column.lower() for column in header}:
        expected = f"the names are in lower case: {expected}"
    elif others := [column for column in header if column and column not in FIELDS]:
        # Ids come first as a rule, and labels last.
        example = others[0 if missing[0] == "id" else -1]
        expected = f"{expected}, or {hint_column(missing[0], example)}"
    raise LabelError(f"{name} has no column {missing[0]!r}; it has {', '.join(header)}", expected)


def parse_row(row: dict[str, str], place: str, where: str) -> Label:
    """The answer of a row with id and label, and annotator and status where it has them.

    place  of the row, for Label
    where  the same for messages, with the name of the source

    Raises LabelError for an answer that contradicts itself.
    """
    label, word = row["label"].strip(), row.get("status", "").strip().lower()
    if not row["id"]:
        raise LabelError(f"{where}: the id is empty", "every row names an item")
    if word not in (*_STATUS, "", "pending"):
        raise LabelError(f"{where}: {word!r} is no status", "a status is labelled or declined")
    status = _STATUS.get(word, LABELLED if label and not word else PENDING)
    if status == LABELLED and not label:
        raise LabelError(f"{where}: labelled, but the label is empty", "fill it in, or no status")
    if status != LABELLED and label:
        raise LabelError(f"{where}: {word}, but there is a label", "remove one of the two")
    return Label(place, row["id"], row.get("annotator", "").strip(), status, label)


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
                "keep one of them, or say who said it in a column annotator",
            )
    return list(found.values())


def describe_answer(status: int, label: str) -> str:
    """An answer in words."""
    return "declined" if status == DECLINED else f"labelled {label!r}"
