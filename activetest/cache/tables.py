"""Auxiliary tables in any format the pool may have: opened, read in strips, errors located."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from activetest.errors import PoolError
from activetest.labels.matching import ClassMatcher
from activetest.nouns.rows import Array
from activetest.pool import convert
from activetest.pool.classes import find_codes
from activetest.pool.columns import BadRow, encode_values
from activetest.pool.files import BATCH, Files
from activetest.pool.roles import reject_duplicates

# Values decoded at once, and the fewest rows.
_VALUES, _FEWEST = 2**22, 1024


@contextmanager
def open_table(source: str, *, id: str | None = None) -> Iterator[Files]:
    """The files of a table of any format; a converted copy is removed afterwards.

    id  a column that stays text

    Raises PoolError for anything that is no such table or has no rows.
    """
    with convert.open_as_parquet(source, id=id) as path:
        files = Files(path)
        reject_duplicates(files.schema)
        if not files.pieces:
            raise PoolError(f"{source} has no rows", hint="give a file with at least one row")
        yield files


def read_strips(
    files: Files, columns: list[str], values: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(first row, batch) of all rows; `values` is how many numbers a row of the columns holds."""
    most = min(BATCH, max(_FEWEST, _VALUES // max(values, 1)))
    return files.blocks(columns, most)


@contextmanager
def locating_bad_rows(
    source: str, start: int, batch: pa.RecordBatch, id: str | None = None
) -> Iterator[None]:
    """Turn a BadRow of a batch into a PoolError that names the file, the row and its id."""
    try:
        yield
    except BadRow as bad:
        place = f"row {start + bad.row:,} of {source} (counting from 0)"
        name = batch.column(id)[bad.row].as_py() if id in batch.schema.names else None
        place += "" if name is None else f", id {str(name)!r}"
        raise PoolError(f"{place}: {bad.problem}", hint=bad.hint) from None


def encode_classes(
    array: pa.Array, classes: Sequence[str], *, numbered: bool
) -> tuple[Array, Counter[str]]:
    """(R,) codes of classes, -1 for those that the pool does not have; {unknown class: rows}.

    numbered  whether a class may be written as its number
    """
    codes, names = encode_values(array)
    if numbered:
        find = ClassMatcher(classes, numbered=True).find
        names = [find(name) or name for name in names]
    found = find_codes(names, classes)
    counts = np.bincount(codes, minlength=len(names)).tolist()
    several = zip(names, found.tolist(), counts, strict=True)
    unknown = Counter({name: count for name, code, count in several if code < 0 and count})
    return found[codes] if len(found) else np.empty(0, np.int64), unknown
