"""A further part of a population as a file: the columns of the pool, from a file with its items."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from activetest.errors import PoolError
from activetest.nouns.canonical import make_canonical
from activetest.nouns.class_names import write_further_classes
from activetest.nouns.rows import Array
from activetest.pool.classes import find_predicted
from activetest.pool.columns import decode
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema


def write_part(
    first: Files,
    files: Files,
    title: str,
    schema: Schema,
    target: Path,
    *,
    kept: Array | None = None,
    further: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write the items of files with the columns and types of the first part's; missing features.

    first   the pool so far, whose names of classes and forms of numbers are not read
    title   of the files in messages
    schema  the roles of its columns
    kept    (R,) bool, which rows are written; None for all
    further  classes that its items are predicted as and those of the pool are not, where classes
             are open: the file says them

    Features that are not there are empty, and so are columns without a role. Raises PoolError where
    another column with a role is missing, or holds values that are none of the pool's type.
    """
    fields = [first.schema.field(name) for name in first.schema.names]
    there = {*files.schema.names}
    missing = tuple(name for name in schema.features if name not in there)
    if lacking := [each for each in schema.columns if each not in there and each not in missing]:
        raise PoolError(
            f"{title} has no column {lacking[0]!r}, which the pool has",
            "give the new items with the columns of the pool: features alone may be missing",
        )
    columns = [field.name for field in fields if field.name in there]
    about = pa.schema(fields, write_further_classes(further))
    with pq.ParquetWriter(target, about) as writer:
        for start, batch in files.scan(columns):
            arrays = [
                _read_as(batch.column(field.name), field, title, start)
                if field.name in there
                else pa.nulls(batch.num_rows, field.type)
                for field in fields
            ]
            found = pa.RecordBatch.from_arrays(arrays, schema=about)
            if kept is not None:
                found = found.filter(pa.array(kept[start : start + batch.num_rows]))
            writer.write_batch(found)
    return missing


def find_further(pool: Pool) -> tuple[str, ...]:
    """Classes that the items of a part are predicted as, and those of the pool so far are not."""
    known = {make_canonical(name) for name in pool.schema.classes}
    return tuple(name for name in find_predicted(pool) if name not in known)


def _read_as(values: pa.Array, field: pa.Field, title: str, start: int) -> pa.Array:
    """A column in the type that the pool has it in. Raises PoolError where that cannot be."""
    if values.type == field.type:
        return values
    plain = decode(values)
    try:
        if pa.types.is_dictionary(field.type):
            return plain.cast(field.type.value_type).dictionary_encode().cast(field.type)
        return plain.cast(field.type)
    except pa.ArrowInvalid as error:
        raise PoolError(
            f"column {field.name!r} of {title} is {values.type}, and {field.type} in the pool: "
            f"{str(error).splitlines()[0]} (from row {start:,} on, counting from 0)",
            "write it as the pool has it",
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise PoolError(
            f"column {field.name!r} of {title} is {values.type}, and {field.type} in the pool",
            "write it as the pool has it",
        ) from error
