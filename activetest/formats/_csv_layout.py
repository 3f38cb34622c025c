"""Where the table of a CSV file begins, and which of its columns and rows hold anything.

Programs and people write lines above the header, spreadsheets write `sep=;`, empty columns behind
the last and empty rows below the table, and pandas its row numbers under no name.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from activetest.errors import PoolError
from activetest.nouns.class_names import OURS
from activetest.nouns.name_lists import shorten_list

# Rows that are looked at.
_ROWS = 30
# What spreadsheets read as the letter between columns.
_DECLARED = re.compile(r'"?sep=([,;\t|])"?[,;\t|]*[ ]*(?:\r\n|\r|\n)', re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
# Letters of a line that a note shows.
_SHOWN = 40
NAME_COLUMNS = "write a first line with the names of the columns"


@dataclass(frozen=True)
class Layout:
    """Where a table begins.

    names    of its columns; those without one are called as pandas calls them
    skipped  lines above the rows, the header among them
    above    what stands in lines above the header, but for what tells the delimiter
    """

    names: list[str]
    skipped: int
    above: tuple[str, ...] = ()

    def describe(self, empty: int) -> dict[bytes, bytes] | None:
        """What is left out, with so many rows that hold nothing, as metadata of a schema."""
        notes = []
        if self.above:
            lines = "1 line is" if len(self.above) == 1 else f"{len(self.above)} lines are"
            notes.append(f"{lines} above the header, and left out: {shorten_list(self.above)}")
        if empty:
            rows = "1 row is" if empty == 1 else f"{empty:,} rows are"
            notes.append(f"{rows} empty, and left out")
        return {OURS: json.dumps({"notes": notes}).encode("ascii")} if notes else None


def find_declared_delimiter(beginning: str) -> str | None:
    """The letter that the first line tells spreadsheets; None without such a line."""
    found = _DECLARED.match(beginning)
    return found.group(1) if found else None


def find_table(beginning: str) -> str:
    """The text from the header on, whatever separates its columns, as far as it is clear."""
    declared = find_declared_delimiter(beginning)
    delimiter = declared or max(",;\t|", key=lambda each: _rate(beginning, each))
    above = _count_above(beginning, delimiter) if _rate(beginning, delimiter)[1] else 0
    return "".join(_split_lines(beginning)[above:])


def find_layout(beginning: str, delimiter: str, path: object, *, whole: bool) -> Layout | None:
    """Where the table begins; None where its header may not be there whole.

    whole  nothing follows

    Raises PoolError where the first row is one of values, and for two columns of one name.
    """
    count = _count_above(beginning, delimiter)
    lines = _split_lines(beginning)
    rows = _split_rows("".join(lines[count:]), delimiter)
    if not rows or (len(rows) == 1 and not whole):
        return None
    header, height = rows[0]
    _reject_values(header, [row for row, _ in rows[1:]], delimiter, path)
    names = [_name(name, place) for place, name in enumerate(header)]
    if any("\ufffd" in name for name in names):
        raise PoolError(
            f"the names of columns in {path} are not UTF-8",
            hint="save it as UTF-8, or write the pool as Parquet",
        )
    for name in names:
        if names.count(name) > 1:
            raise PoolError(f"two columns of {path} are called {name!r}", hint="rename one of them")
    declared = 1 if find_declared_delimiter(beginning) else 0
    above = [line.strip(f" \r\n{delimiter}") for line in lines[declared:count]]
    shown = (line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..." for line in above if line)
    return Layout(names, count + height, tuple(map(repr, shown)))


def drop_empty_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows that hold anything."""
    empty = None
    for column in batch.columns:
        blank = _are_blank(column)
        empty = blank if empty is None else pc.and_(empty, blank)
        if not pc.any(empty).as_py():
            return batch
    return batch if empty is None else batch.filter(pc.invert(empty))


def find_filled(names: Sequence[str], batch: pa.RecordBatch) -> set[str]:
    """The columns that have a name, or a value in some row."""
    unnamed = [name for name in names if is_unnamed(name)]
    return {name for name in names if name not in unnamed} | {
        name for name in unnamed if not pc.all(_are_blank(batch.column(name))).as_py()
    }


def is_unnamed(name: str) -> bool:
    """Whether it stands for no name."""
    return bool(re.fullmatch(r"Unnamed: \d+", name))


def _name(name: str, place: int) -> str:
    return name if name.strip() else f"Unnamed: {place}"


def _are_blank(column: pa.Array) -> pa.Array:
    if pa.types.is_string(column.type):
        return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), True)
    return column.is_null()


def _count_above(beginning: str, delimiter: str) -> int:
    """Lines above the header.

    The header is the first row with a name for each column, the first aside, that holds something
    in most of the rows below it, or for most columns of a row that is as long. Comments are no
    header where the rows below have other columns.
    """
    declared = _DECLARED.match(beginning)
    start = 1 if declared else 0
    text = beginning[declared.end() :] if declared else beginning
    rows = _split_rows(text, delimiter)
    at = start
    for place, (row, height) in enumerate(rows):
        below = [cells for cells, _ in rows[place + 1 :]]
        if not below:
            break
        comment = row[0].lstrip().startswith("#") and len(row) != len(below[-1])
        if not comment and any(map(str.strip, row)) and _names_columns(row, below):
            return at
        at += height
    return start


def _names_columns(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    width = max(map(len, below))
    if len(row) == width and 2 * sum(map(bool, map(str.strip, row))) > width > 1:
        return True
    for place in range(1, width):
        filled = sum(len(cells) > place and bool(cells[place].strip()) for cells in below)
        if 2 * filled > len(below) and not (len(row) > place and row[place].strip()):
            return False
    return True


def _rate(text: str, delimiter: str) -> tuple[float, int]:
    """The share of the first rows that have as many columns as most, and how many; 0 for one."""
    widths = sorted(len(row) for row, _ in _split_rows(text, delimiter))
    width = widths[len(widths) // 2] if widths else 0
    return (widths.count(width) / len(widths), width) if width > 1 else (0.0, 0)


def _split_lines(text: str) -> list[str]:
    """The lines as parsers of CSV count them."""
    return io.StringIO(text, newline="").readlines()


def _split_rows(text: str, delimiter: str) -> list[tuple[list[str], int]]:
    """(cells, lines that it takes up with blank ones above) of the first rows; none if broken."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[list[str], int]] = []
    before = 0
    try:
        for row in islice(filter(None, reader), _ROWS):
            rows.append((row, reader.line_num - before))
            before = reader.line_num
    except csv.Error:
        return []
    return rows


def _reject_values(
    header: Sequence[str], below: Sequence[Sequence[str]], delimiter: str, path: object
) -> None:
    """Raises PoolError for a first row that holds numbers wherever the rows below do."""
    rows = [row for row in below if len(row) == len(header)]
    numeric = [
        place
        for place in range(len(header))
        if rows and all(_NUMBER.fullmatch(row[place].strip()) for row in rows)
    ]
    if not numeric or not all(_NUMBER.fullmatch(header[place].strip()) for place in numeric):
        return
    numbers = [header[place].strip() for place in numeric]
    # Columns may be called by numbers, as years are.
    if all(name.isdigit() for name in numbers) and len(numbers) > 1:
        whole = [int(name) for name in numbers]
        if whole == sorted({*whole}):
            return
    shown = delimiter.join(header)
    shown = shown if len(shown) <= 2 * _SHOWN else f"{shown[: 2 * _SHOWN - 3]}..."
    names = delimiter.join(["id", "pred", "score"][: len(header)])
    raise PoolError(
        f"the first line of {path} is no header, it looks like a row: {shown}",
        hint=f"{NAME_COLUMNS}, for example {names}",
    )
