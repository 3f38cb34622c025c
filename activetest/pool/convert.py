"""CSV and JSON-lines pools become Parquet, once, so that everything after reads one format."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from activetest import atomic
from activetest.errors import PoolError
from activetest.nouns.encodings import is_utf16
from activetest.pool.files import find_local_path, first_line

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
# Bytes in which a header is looked for.
_LONGEST_HEADER = 2**16
JSON_LINES = (".jsonl", ".ndjson", ".json")

# What is read at once, in bytes, and written at once, in rows.
_BLOCK = 2**24
ROW_GROUP = 131_072

# What means "no value" in a column of numbers.
_NO_VALUE = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A"]


def needs_conversion(uri: str) -> bool:
    """Whether the pool is CSV or JSON lines, by its name."""
    return Path(uri).suffix.lower() in (*DELIMITERS, *JSON_LINES)


def to_parquet(source: str, target: str, *, id: str | None = None) -> None:
    """Convert a CSV or JSON-lines file; the target appears whole or not at all.

    Column types are found from all rows, in a pass of their own; ids stay text: 007 is not 7.
    Raises PoolError naming the line for what cannot be parsed, OSError when target cannot be
    written.
    """
    path = check_source(source)
    if path.stat().st_size == 0:
        raise PoolError(
            f"{source} is empty (0 bytes)", hint="give a file with a header and at least one row"
        )
    with _raising_parse_errors(path), path.open("rb") as file:
        if is_utf16(file.read(2)):
            raise PoolError(f"{source} looks like UTF-16", hint="save it as UTF-8")
    batches = (
        _read_json_batches(path)
        if path.suffix.lower() in JSON_LINES
        else _read_csv_batches(path, id or "id")
    )
    with atomic.replacing_file(Path(target), durable=True) as building:
        write_parquet(batches, building)
        if not pq.read_metadata(building).num_rows:
            raise PoolError(f"{source} has no rows", hint="give a pool with at least one item")


@contextmanager
def open_as_parquet(source: str, *, id: str | None = None) -> Iterator[str]:
    """The address of a table as Parquet: its own, or a temporary file that is removed afterwards.

    Raises PoolError where it is not there or cannot be parsed.
    """
    if not needs_conversion(source):
        yield source
        return
    check_source(source)
    with atomic.temporary_folder() as folder:
        path = folder / f"{Path(source).stem[:50]}.parquet"
        to_parquet(source, str(path), id=id)
        yield str(path)


def check_source(source: str) -> Path:
    """The file that is converted. Raises PoolError where there is none on this machine."""
    if "://" in source:
        raise PoolError(
            f"{source} cannot be opened",
            hint="CSV and JSON lines are read from local files; remote pools are Parquet",
        )
    path = find_local_path(source)
    if not path.is_file():
        raise PoolError(
            f"there is no file {source}",
            hint=f"check the path (looked in {path.absolute().parent})",
        )
    return path


def write_parquet(batches: Iterator[pa.Table], target: Path) -> None:
    """Write tables of one schema as row groups of at least 131,072 rows, but for the last."""
    first = next(batches)
    with pq.ParquetWriter(target, first.schema, compression="snappy") as writer:
        waiting = [first]
        for table in batches:
            waiting.append(table)
            if sum(part.num_rows for part in waiting) >= ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)


def _read_csv_batches(path: Path, id: str) -> Iterator[pa.Table]:
    """The rows of a CSV file, typed; at least one table."""
    delimiter = DELIMITERS[path.suffix.lower()]
    header = _read_header(path, delimiter)
    candidates = {name: [pa.int64(), pa.float64(), pa.string()] for name in header}
    candidates |= {id: [pa.string()]} if id in header else {}
    for batch in _read_csv(path, delimiter, dict.fromkeys(header, pa.string())):
        for name, column in zip(header, batch.columns, strict=True):
            candidates[name] = _narrow_types(candidates[name], column)
    types = {name: types[0] for name, types in candidates.items()}
    yield pa.schema(list(types.items())).empty_table()
    for batch in _read_csv(path, delimiter, types):
        yield pa.Table.from_batches([batch])


def _read_csv(
    path: Path, delimiter: str, types: dict[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Batches with these column types. Raises PoolError."""
    with _raising_parse_errors(path):
        yield from pyarrow.csv.open_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types, null_values=_NO_VALUE),
        )


def _read_header(path: Path, delimiter: str) -> list[str]:
    """The column names. Raises PoolError when they repeat or another delimiter is in use."""
    _reject_other_delimiter(path, delimiter)
    with _raising_parse_errors(path):
        options = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        names = pyarrow.csv.open_csv(path, parse_options=options).schema.names
    for name in names:
        if names.count(name) > 1:
            raise PoolError(f"two columns of {path} are called {name!r}", hint="rename one of them")
    return names


def _reject_other_delimiter(path: Path, delimiter: str) -> None:
    """Raises PoolError where the header is one column with another delimiter in it.

    The rows do not matter: with decimal commas they seem to have more columns than the header.
    """
    with _raising_parse_errors(path), path.open("rb") as file:
        beginning = file.read(_LONGEST_HEADER).decode("utf-8-sig", "replace")
    try:
        rows = csv.reader(io.StringIO(beginning, newline=""), delimiter=delimiter)
        header = next(filter(None, rows), [])
    except csv.Error:
        return
    for character, word in _OTHER_DELIMITERS.items():
        if len(header) == 1 and character != delimiter and character in header[0]:
            decimals = "" if character == "," else ", and write decimals with a point"
            raise PoolError(
                f"the columns of {path} are separated by {word}",
                hint=f"separate them by commas (.csv) or tabs (.tsv){decimals}",
            )


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


def _read_json_batches(path: Path) -> Iterator[pa.Table]:
    """The rows of a JSON-lines file, typed; at least one table."""
    schema = None
    for block in _read_blocks(path):
        with _raising_parse_errors(path):
            found = pyarrow.json.read_json(io.BytesIO(block)).schema
            found = pa.schema([(field.name, _keep_dates_as_text(field.type)) for field in found])
            schema = (
                found
                if schema is None
                else pa.unify_schemas([schema, found], promote_options="permissive")
            )
    if schema is None:
        raise PoolError(f"{path} has no rows", hint="give one JSON object per line")
    yield schema.empty_table()
    options = pyarrow.json.ParseOptions(explicit_schema=schema)
    for block in _read_blocks(path):
        with _raising_parse_errors(path):
            yield pyarrow.json.read_json(io.BytesIO(block), parse_options=options)


def _keep_dates_as_text(kind: pa.DataType) -> pa.DataType:
    """The type as it is, but text that looks like a date stays text."""
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _read_blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, without blocks of blank ones."""
    with path.open("rb") as file:
        if file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        while block := file.read(_BLOCK):
            block += file.readline()
            if block.strip():
                yield block


@contextmanager
def _raising_parse_errors(path: Path) -> Iterator[None]:
    """Turn errors of the parser into a PoolError."""
    try:
        yield
    except UnicodeDecodeError as error:
        # Values are checked by Arrow, and names of columns here.
        raise PoolError(
            f"the names of columns in {path} are not UTF-8",
            hint="save it as UTF-8, or write the pool as Parquet",
        ) from error
    except pa.ArrowException as error:
        raise PoolError(
            f"{path} cannot be read: {first_line(error)}",
            hint="correct that row, or write the pool as Parquet",
        ) from error
    except PermissionError as error:
        raise PoolError(f"{path} may not be read", hint="check its permissions") from error
