"""Frames of pandas, Polars, Arrow and others: what goes into a pool, and what comes out.

A frame is read through the Arrow C stream interface, or by pandas' own columns. Neither pandas nor
Polars is imported unless a frame of that kind is asked for.
"""

import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest import catalog
from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.nouns.arguments import read_name
from activetest.pool.convert import ROW_GROUP, write_parquet
from activetest.pool.roles import reject_duplicates
from activetest.pool.stored_types import CONVERT, NO_VALUE, find_stored_schema, store_batch
from activetest.system import atomic
from activetest.system.safe_text import first_line

KINDS = PANDAS, POLARS, PYARROW = ("pandas", "polars", "pyarrow")

# Arrow's types of the columns that write_frame makes.
_TYPES = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
_FRAMES = "give a pandas or Polars DataFrame, an Arrow table, or the address of a file"


def is_frame(value: Any) -> bool:
    """Whether this is a table of named columns: pandas, Polars, Arrow, or another Arrow stream.

    A pandas Series is none, and neither is a mapping.
    """
    if _is_pandas(value, "Series"):
        return False
    arrow = isinstance(value, pa.RecordBatch) or hasattr(value, "__arrow_c_stream__")
    return arrow or _is_pandas(value, "DataFrame")


def save_frame(frame: Any, path: Path) -> int:
    """Write a frame as Parquet, whole or not at all; returns its number of rows.

    A named index of pandas, or a named level of one, is a column; an index without a name is left
    out. Text is text whatever holds it, also as categories. An Arrow stream is written as it comes:
    it may be larger than memory. Raises PoolError for what is no frame or has no rows, columns
    without a name of their own, and values that Arrow or Parquet cannot hold; OSError when the file
    cannot be written.
    """
    reader = _open_reader(frame)
    schema = find_stored_schema(reader.schema)
    with atomic.replacing_file(path) as building:
        write_parquet(_slice_batches(reader, schema), building)
        rows: int = pq.read_metadata(building).num_rows
        if not rows:
            raise PoolError(
                "the frame has no rows",
                hint="give a pool with at least one item; a reader can be read only once",
            )
    return rows


def check_row_numbers(frame: Any) -> None:
    """For a pool without ids. Raises PoolError where the index of pandas is not 0, 1, 2 ...

    The ids are the numbers of the rows then, and labels looked up by another index would go to
    other items.
    """
    if not _is_pandas(frame, "DataFrame"):
        return
    index = frame.index
    if np.array_equal(index.to_numpy(), np.arange(len(index))):
        return
    names = [name for name in index.names if name is not None]
    named = f"the index is called {names[0]!r}, and is" if names else "the index of the frame is"
    use = f"`id={names[0]!r}`" if names else '`frame.rename_axis("id")`'
    raise PoolError(
        f"there is no column of ids, and {named} not 0, 1, 2 ...",
        hint=f"{use} takes the ids from it, and `frame.reset_index(drop=True)` numbers the rows",
    )


class Columns(Mapping[str, list[Any]]):
    """{name: Python values} of a frame; a column is converted when it is read."""

    def __init__(self, columns: Mapping[str, Any], error: type[ActivetestError]) -> None:
        self._columns, self._error = columns, error

    def __getitem__(self, name: str) -> list[Any]:
        """The values. Raises `error` where Python has no such value."""
        column = self._columns[name]
        try:
            values: list[Any] = column.tolist() if hasattr(column, "tolist") else column.to_pylist()
        except NO_VALUE as problem:
            raise self._error(
                f"column {name!r} cannot be read: {first_line(problem)}",
                CONVERT,
            ) from problem
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def read_columns(frame: Any, *, error: type[ActivetestError] = PoolError) -> Columns:
    """The columns of a frame as Python values; of pandas as they are, even of different types.

    Raises `error`, with a problem and a hint, for what is no frame or has columns without a name of
    their own.
    """
    try:
        if _is_pandas(frame, "DataFrame"):
            return Columns(_name_columns(frame), error)
        with _raising_pool_errors():
            table = _open_reader(frame).read_all()
        return Columns(dict(zip(table.column_names, table.columns, strict=True)), error)
    except PoolError as problem:
        raise error(problem.problem, problem.hint) from problem


def write_frame(
    columns: Mapping[str, Sequence[Any]], kind: str = PANDAS, *, types: Mapping[str, type] = {}
) -> Any:
    """A frame of columns of equal length.

    kind   "pandas", "polars" or "pyarrow"
    types  of the columns whose values do not tell it: str, float, int or bool

    Raises ChoiceError for another kind, where its package is not installed, and for values that
    make no column.
    """
    if read_name("kind", kind) not in KINDS:
        raise ChoiceError(f"no frame is called {kind!r}", hint=catalog.nearest(str(kind), KINDS))
    package = _load_package(kind)
    table = pa.table(
        {
            name: _make_array(name, values, _TYPES[types[name]] if name in types else None)
            for name, values in columns.items()
        }
    )
    if kind == PANDAS:
        return table.to_pandas()
    return package.from_arrow(table) if kind == POLARS else table


def _make_array(name: str, values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    """A column. Raises ChoiceError for values that no column of a frame holds together."""
    try:
        try:
            return pa.array(values, kind)
        except OverflowError:
            # Whole numbers that only the unsigned type holds.
            return pa.array(values, pa.uint64())
    except NO_VALUE as error:
        raise ChoiceError(
            f"column {name!r} cannot be in a frame: {first_line(error)}", hint="leave it out"
        ) from error


def _load_package(name: str) -> Any:
    """The package that makes frames of this kind. Raises ChoiceError where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        others = " or ".join(f'`to_frame("{kind}")`' for kind in KINDS if kind != name)
        raise ChoiceError(
            f"{name} is not installed", hint=f"pip install {name}, or use {others}"
        ) from error


def _is_pandas(value: Any, name: str) -> bool:
    """Whether this is an object of this class of pandas, which then has been imported."""
    class_ = getattr(sys.modules.get(PANDAS), name, None)
    return class_ is not None and isinstance(value, class_)


def _open_reader(frame: Any) -> pa.RecordBatchReader:
    """The record batches of a frame, whose columns have different names."""
    if _is_pandas(frame, "DataFrame"):
        columns = _name_columns(frame)
        table = pa.table({name: _convert_series(name, each) for name, each in columns.items()})
        return _check_names(table.to_reader())
    if isinstance(frame, pa.RecordBatch):
        return _check_names(pa.Table.from_batches([frame]).to_reader())
    if isinstance(frame, pa.Table):
        return _check_names(frame.to_reader())
    if isinstance(frame, pa.RecordBatchReader):
        return _check_names(frame)
    name = type(frame).__name__
    if not is_frame(frame):
        raise PoolError(f"{name} is no frame", hint=_FRAMES)
    try:
        return _check_names(pa.RecordBatchReader.from_stream(frame))
    except (KeyError, *NO_VALUE) as error:
        # A Series is a stream too, but one of values without a name.
        raise PoolError(f"{name} is no frame: {first_line(error)}", hint=_FRAMES) from error


def _check_names(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The reader. Raises PoolError where it has no columns, or two of one name."""
    if not reader.schema.names:
        raise PoolError("the frame has no columns", hint="give a frame with the model's outputs")
    reject_duplicates(reader.schema)
    return reader


def _name_columns(frame: Any) -> dict[str, Any]:
    """{name: Series} of a pandas frame and of the named levels of its index."""
    levels = [
        (name, frame.index.get_level_values(level))
        for level, name in enumerate(frame.index.names)
        if name is not None
    ]
    columns = [(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]
    named: dict[str, Any] = {}
    for name, values in (*levels, *columns):
        if not isinstance(name, str):
            raise PoolError(
                f"a column is called {name!r}, which is no text",
                hint="rename it: `frame.columns = [str(name) for name in frame.columns]`",
            )
        if name in named:
            index = any(name == level for level, _ in levels)
            raise PoolError(
                f"the index and a column are both called {name!r}"
                if index
                else f"two columns are called {name!r}",
                hint="`frame.reset_index(drop=True)`" if index else "rename one of them",
            )
        named[str(name)] = values
    return named


def _convert_series(name: str, series: Any) -> pa.Array | pa.ChunkedArray:
    """A column of pandas; missing values of any kind are null."""
    try:
        # A sparse array is unknown to Arrow; what it stands for is not.
        dense = series.sparse.to_dense() if hasattr(series.dtype, "fill_value") else series
        return pa.array(dense, from_pandas=True)
    except NO_VALUE as error:
        if mixture := _describe_mixture(series):
            raise PoolError(
                f"column {name!r} {mixture}",
                hint="give it values of one type, for example "
                f"`frame[{name!r}] = frame[{name!r}].astype(str)`, or leave it out",
            ) from error
        raise PoolError(
            f"column {name!r} cannot be read: {first_line(error)}", hint=CONVERT
        ) from error


def _describe_mixture(series: Any) -> str:
    """Where the values of a column begin to be of another sort; empty where all are of one."""
    first = None
    for row, (value, missing) in enumerate(zip(series, series.isna(), strict=True)):
        sort = None if missing else _name_sort(value)
        first = first or (sort and (row, sort))
        if first and sort and sort != first[1]:
            return f"holds {first[1]} in row {first[0]:,} and {sort} in row {row:,}"
    return ""


def _name_sort(value: Any) -> str:
    """The sort of a value: what may stand together in a column has one name."""
    number = value.item() if hasattr(value, "item") and value.ndim == 0 else value
    if isinstance(number, bool):
        return "true/false"
    if isinstance(number, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    lists = isinstance(value, list | tuple) or bool(getattr(value, "ndim", 0))
    return "a list" if lists else type(value).__name__


def _slice_batches(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.Table]:
    """Tables of at most a row group, the first without rows."""
    yield schema.empty_table()
    for batch in _read_batches(reader, schema):
        for start in range(0, batch.num_rows, ROW_GROUP):
            yield pa.Table.from_batches([batch.slice(start, ROW_GROUP)])


def _read_batches(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches, with the columns of the schema."""
    while True:
        with _raising_pool_errors():
            batch = next(reader, None)
        if batch is None:
            return
        yield store_batch(batch, schema)


@contextmanager
def _raising_pool_errors() -> Iterator[None]:
    """Turn what goes wrong in the producer of a stream into a PoolError."""
    try:
        yield
    except (OSError, *NO_VALUE) as error:
        raise PoolError(
            f"the frame cannot be read: {first_line(error)}",
            hint="give it again; a reader can be read only once",
        ) from error
