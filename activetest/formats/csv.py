"""Tables of text whose columns are separated by commas or tabs."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.nouns.file_head import FileHead, read_head

TITLE = "CSV"
SUFFIXES = (".csv", ".tsv")
# Any text could be a column without a header.
PRECEDENCE = -2
POOL = True

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_OTHER_DELIMITERS = {";": "semicolons", "|": "bars"}

# Bytes read at once.
_BLOCK = 2**24

# What means "no value" in a column of numbers.
_NO_VALUE = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A"]


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
    candidates = {name: [pa.int64(), pa.float64(), pa.string()] for name in header}
    candidates |= {id: [pa.string()]} if id in header else {}
    for batch in _read_batches(path, delimiter, dict.fromkeys(header, pa.string())):
        for name, column in zip(header, batch.columns, strict=True):
            candidates[name] = _narrow_types(candidates[name], column)
    types = {name: types[0] for name, types in candidates.items()}
    yield pa.schema(list(types.items())).empty_table()
    for batch in _read_batches(path, delimiter, types):
        yield pa.Table.from_batches([batch])


def _read_batches(
    path: Path, delimiter: str, types: dict[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Batches with these column types. Raises PoolError."""
    with raising_parse_errors(path):
        yield from pyarrow.csv.open_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, null_values=_NO_VALUE),
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

    The rows do not matter: with decimal commas they seem to have more columns than the header.
    Raises PoolError where semicolons or bars separate them.
    """
    with raising_parse_errors(path):
        head = read_head(path)
    beginning = head.start.decode("utf-8-sig", "replace")
    preferred = _DELIMITERS.get(head.suffix)
    if preferred and len(_split_header(beginning, preferred)) != 1:
        return preferred
    # Where the header is one column either way, the name decides: the first of the most is taken.
    usual = ("\t", ",") if preferred == "\t" else (",", "\t")
    delimiter = max(usual, key=lambda each: len(_split_header(beginning, each)))
    header = _split_header(beginning, delimiter)
    for character, word in _OTHER_DELIMITERS.items():
        if len(header) == 1 and character in header[0]:
            raise PoolError(
                f"the columns of {path} are separated by {word}",
                hint="separate them by commas or tabs, and write decimals with a point",
            )
    return delimiter


def _split_header(beginning: str, delimiter: str) -> list[str]:
    """The first row that is not blank; empty where it cannot be parsed."""
    try:
        rows = csv.reader(io.StringIO(beginning, newline=""), delimiter=delimiter)
        return next(filter(None, rows), [])
    except csv.Error:
        return []


def _narrow_types(types: list[pa.DataType], column: pa.Array) -> list[pa.DataType]:
    """The types from the first one on that can hold the text in the column."""
    values = column.filter(pc.invert(pc.is_in(column, pa.array(_NO_VALUE))))
    while len(types) > 1:
        try:
            values.cast(types[0])
            return types
        except pa.ArrowInvalid:
            types = types[1:]
    return types
