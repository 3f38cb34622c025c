"""Tables of text whose columns are separated by commas, tabs, semicolons or bars."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from activetest.errors import PoolError
from activetest.formats import add_notes
from activetest.formats._csv_layout import (
    NAME_COLUMNS,
    EmptyRows,
    Layout,
    find_filled,
    find_layout,
    find_table,
    is_unnamed,
    split_rows,
)
from activetest.formats._errors import raising_parse_errors
from activetest.formats._text_columns import TextColumns
from activetest.nouns.csv_rows import split_declared
from activetest.nouns.encodings import describe_invalid
from activetest.nouns.file_head import LENGTH, FileHead, read_head
from activetest.nouns.written_numbers import NO_VALUE

TITLE = "CSV"
SUFFIXES = (".csv", ".tsv")
# Any text could be a column without a header.
PRECEDENCE = -2
POOL = True

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_OTHER_DELIMITERS = (";", "|")

# Bytes read at once.
_BLOCK = 2**24
# Bytes in which a header ends.
_LONGEST = 2**28
# Rows that tell whether a letter separates columns.
_FEW = 20


def recognise(head: FileHead) -> bool:
    """Whether this is text whose first row has several columns; any text whose name says so."""
    if head.suffix in SUFFIXES:
        return b"\0" not in head.start
    delimiters = (*_DELIMITERS.values(), *_OTHER_DELIMITERS)
    return any(len(_split_header(head.text or "", each)) > 1 for each in delimiters)


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, typed; at least one table.

    Column types are found from all rows, in a pass of their own; ids stay text: 007 is not 7.
    Raises PoolError naming the line for what cannot be parsed.
    """
    id = id or "id"
    delimiter = _find_delimiter(path)
    layout = _read_layout(path, delimiter)
    header, filled, unused = layout.names, set[str](), EmptyRows()
    columns = TextColumns(header, {id})
    texts = dict.fromkeys(header, pa.string())
    for batch in _read_batches(path, delimiter, layout, texts):
        rows = unused.leave_out(batch)
        filled |= find_filled(header, rows)
        columns.add(rows)
    columns.decide()
    kept = [name for name in header if name in filled or not is_unnamed(name)]
    schema, notes = columns.schema, layout.describe(unused.empty, unused.again)
    schema = schema.with_metadata(add_notes(schema.metadata, notes, last=True))
    yield schema.empty_table().select(kept)
    if not unused.empty + unused.again:
        for batch in _read_batches(path, delimiter, layout, columns.parsed):
            yield columns.convert(batch).select(kept)
        return
    # Rows that hold nothing are known while all values are text, and a header is no number.
    for batch in _read_batches(path, delimiter, layout, texts):
        yield columns.convert(columns.parse(unused.leave_out(batch))).select(kept)


def _read_batches(
    path: Path, delimiter: str, layout: Layout, types: dict[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Batches with these column types. Raises PoolError."""
    options = pyarrow.csv.ReadOptions(
        block_size=_BLOCK, skip_rows=layout.skipped, column_names=layout.names
    )
    with raising_parse_errors(path):
        yield from pyarrow.csv.open_csv(
            path,
            read_options=options,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, null_values=NO_VALUE),
        )


def _read_layout(path: Path, delimiter: str) -> Layout:
    """Where the table begins. Raises PoolError."""
    length, layout = LENGTH, None
    with raising_parse_errors(path), path.open("rb") as file:
        while layout is None:
            file.seek(0)
            start = file.read(length)
            whole = len(start) < length
            beginning = start.decode("utf-8-sig", "replace")
            layout = find_layout(beginning, delimiter, path, whole=whole)
            length *= 4
            if layout is None and (whole or length > _LONGEST):
                raise PoolError(f"{path} has no header", hint=NAME_COLUMNS)
        if any("\ufffd" in name for name in layout.names) and (found := describe_invalid(path)):
            raise PoolError(*found)
    return layout


def _find_delimiter(path: Path) -> str:
    """The delimiter of the header: as the name of the file says if possible, else as found.

    Semicolons and bars do where they make more columns of the header, and as many of each row.
    """
    with raising_parse_errors(path):
        head = read_head(path)
    beginning = head.start.decode("utf-8-sig", "replace")
    declared, _ = split_declared(beginning)
    if declared:
        return declared
    beginning = find_table(beginning)
    preferred = _DELIMITERS.get(head.suffix)
    # Where the header is one column either way, the name decides: the first of the most is taken.
    usual = ("\t", ",") if preferred == "\t" else (",", "\t")
    delimiter = max(usual, key=lambda each: len(_split_header(beginning, each)))
    if preferred and len(_split_header(beginning, preferred)) != 1:
        delimiter = preferred
    for character in _OTHER_DELIMITERS:
        widths = [len(row) for row, _ in split_rows(beginning, character, _FEW)]
        # The last row may be cut off.
        rows = widths if head.whole else widths[:-1]
        width = len(_split_header(beginning, delimiter))
        if widths and widths[0] > width and (len({*rows}) <= 1 or width <= 1):
            return character
    return delimiter


def _split_header(beginning: str, delimiter: str) -> list[str]:
    """The first row that is not blank; empty where it cannot be parsed."""
    return next((row for row, _ in split_rows(beginning, delimiter, 1)), [])
