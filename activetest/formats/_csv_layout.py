"""Where the table of a CSV file begins, and which of its columns and rows hold anything.

Programs and people write lines above the header, spreadsheets write `sep=;`, empty columns behind
the last and empty rows below the table, and pandas its row numbers under no name.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from activetest.errors import PoolError
from activetest.nouns.csv_rows import split_declared
from activetest.nouns.name_lists import find_repeated, shorten_list

# Rows that are looked at.
_ROWS = 30
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

    def describe(self, empty: int, again: int) -> list[str]:
        """Rows left out, in sentences: so many rows hold nothing, or the header again."""
        notes = []
        if self.above:
            lines = "1 line is" if len(self.above) == 1 else f"{len(self.above)} lines are"
            notes.append(f"{lines} above the header, and left out: {shorten_list(self.above)}")
        if empty:
            rows = "1 row is" if empty == 1 else f"{empty:,} rows are"
            notes.append(f"{rows} empty, and left out")
        if again:
            rows = "1 row repeats" if again == 1 else f"{again:,} rows repeat"
            notes.append(f"{rows} the header, as in files that were joined, and left out")
        return notes


def find_table(beginning: str) -> str:
    """The text from the header on, whatever separates its columns, as far as it is clear."""
    declared, _ = split_declared(beginning)
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
    rows = split_rows("".join(lines[count:]), delimiter)
    if not rows or (len(rows) == 1 and not whole):
        return None
    header, height = rows[0]
    _reject_values(header, [row for row, _ in rows[1:]], delimiter, path)
    names = [name if name.strip() else f"Unnamed: {at}" for at, name in enumerate(header)]
    for name in find_repeated(names):
        raise PoolError(f"two columns of {path} are called {name!r}", hint="rename one of them")
    declared = 1 if split_declared(beginning)[0] else 0
    above = [line.strip(f" \r\n{delimiter}") for line in lines[declared:count]]
    shown = (line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..." for line in above if line)
    return Layout(names, count + height, tuple(map(repr, shown)))


class EmptyRows:
    """The rows of text of a file that hold nothing but the header, left out and counted.

    empty, again  how many hold nothing, and the header of two columns or more
    """

    def __init__(self) -> None:
        self.empty = self.again = 0

    def leave_out(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that hold anything, of text: NA is no number, and yet something."""
        unused = empty = _match_all(batch, [""] * batch.num_columns)
        if batch.num_columns > 1:
            again = _match_all(batch, batch.schema.names)
            self.again += pc.sum(again).as_py() or 0
            unused = pc.or_(empty, again)
        self.empty += pc.sum(empty).as_py() or 0
        return batch.filter(pc.invert(unused)) if pc.any(unused).as_py() else batch


def find_filled(names: Sequence[str], batch: pa.RecordBatch) -> set[str]:
    """The columns that have a name, or a value in some row."""
    return {
        name
        for name in names
        if not is_unnamed(name) or not pc.all(_match(batch.column(name), "")).as_py()
    }


def is_unnamed(name: str) -> bool:
    """Whether it stands for no name."""
    return bool(re.fullmatch(r"Unnamed: \d+", name))


def _match(column: pa.Array, text: str) -> pa.Array:
    return pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), text)


def _match_all(batch: pa.RecordBatch, texts: Sequence[str]) -> pa.Array:
    """(R,) whether a row holds these texts."""
    found = pa.repeat(True, batch.num_rows)
    for column, text in zip(batch.columns, texts, strict=True):
        found = pc.and_(found, _match(column, text.strip()))
        if not pc.any(found).as_py():
            break
    return found


def _count_above(beginning: str, delimiter: str) -> int:
    """Lines above the header.

    The header is the first row with a name for each column, the first aside, that holds something
    in most of the rows below it, or for most columns of a row that is as long. Comments are no
    header where the rows below have other columns.
    """
    declared, text = split_declared(beginning)
    start = 1 if declared else 0
    rows = split_rows(text, delimiter)
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
    widths = sorted(len(row) for row, _ in split_rows(text, delimiter))
    width = widths[len(widths) // 2] if widths else 0
    return (widths.count(width) / len(widths), width) if width > 1 else (0.0, 0)


def _split_lines(text: str) -> list[str]:
    """The lines as parsers of CSV count them."""
    return io.StringIO(text, newline="").readlines()


def split_rows(text: str, delimiter: str, most: int = _ROWS) -> list[tuple[list[str], int]]:
    """(cells, lines that it takes up with blank ones above) of the first rows; none if broken."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[list[str], int]] = []
    before = 0
    try:
        for row in islice(filter(None, reader), most):
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
