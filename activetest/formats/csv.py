"""Tables of text whose columns are separated by commas, tabs, semicolons or bars."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.formats._text_columns import NO_VALUE, TextColumns
from activetest.nouns.file_head import FileHead, read_head

TITLE = "CSV"
SUFFIXES = (".csv", ".tsv")
# Any text could be a column without a header.
PRECEDENCE = -2
POOL = True

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_OTHER_DELIMITERS = (";", "|")

# Bytes read at once.
_BLOCK = 2**24
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
    header = _read_header(path, delimiter)
    columns = TextColumns(header, {id})
    for batch in _read_batches(path, delimiter, dict.fromkeys(header, pa.string())):
        columns.add(batch)
    columns.decide()
    yield columns.schema.empty_table()
    for batch in _read_batches(path, delimiter, columns.parsed):
        yield columns.convert(batch)


def _read_batches(
    path: Path, delimiter: str, types: dict[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Batches with these column types. Raises PoolError."""
    with raising_parse_errors(path):
        yield from pyarrow.csv.open_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, null_values=NO_VALUE),
        )


def _read_header(path: Path, delimiter: str) -> list[str]:
    """The column names. Raises PoolError when they repeat."""
    with raising_parse_errors(path):
        options = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        names = pyarrow.csv.open_csv(path, parse_options=options).schema.names
    for name in names:
        if names.count(name) > 1:
            raise PoolError(f"two columns of {path} are called {name!r}", hint="rename one of them")
    return names


def _find_delimiter(path: Path) -> str:
    """What separates the columns of the header: what the name says if it can be, else what does.

    Semicolons and bars do where they make more columns of the header, and as many of each row.
    """
    with raising_parse_errors(path):
        head = read_head(path)
    beginning = head.start.decode("utf-8-sig", "replace")
    preferred = _DELIMITERS.get(head.suffix)
    # Where the header is one column either way, the name decides: the first of the most is taken.
    usual = ("\t", ",") if preferred == "\t" else (",", "\t")
    delimiter = max(usual, key=lambda each: len(_split_header(beginning, each)))
    if preferred and len(_split_header(beginning, preferred)) != 1:
        delimiter = preferred
    for character in _OTHER_DELIMITERS:
        widths = [len(row) for row in _split_rows(beginning, character, _FEW)]
        # The last row may be cut off.
        rows = widths if head.whole else widths[:-1]
        width = len(_split_header(beginning, delimiter))
        if widths and widths[0] > width and (len({*rows}) <= 1 or width <= 1):
            return character
    return delimiter


def _split_header(beginning: str, delimiter: str) -> list[str]:
    """The first row that is not blank; empty where it cannot be parsed."""
    return next(iter(_split_rows(beginning, delimiter, 1)), [])


def _split_rows(beginning: str, delimiter: str, most: int) -> list[list[str]]:
    """The first rows that are not blank; none where they cannot be parsed."""
    try:
        rows = csv.reader(io.StringIO(beginning, newline=""), delimiter=delimiter)
        return list(islice(filter(None, rows), most))
    except csv.Error:
        return []
