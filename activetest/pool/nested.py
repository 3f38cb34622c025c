"""Columns inside of columns, as a pool reads them: fields of records, Spark's vectors, binary ids.

Nothing is copied: a record `scores` with the fields `a` and `b` is read as the columns `scores.a`
and `scores.b`, and a record of probabilities, `prob` with a field for each class, as `prob_CLASS`.
A vector of Spark is a list of numbers, and an id in bytes is text.
"""

import re
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.errors import PoolError
from activetest.nouns.name_lists import find_repeated
from activetest.pool.roles import PART_OF, is_amount, is_scalar, is_vector

# Records inside of records, and fields of one record, that are read.
_DEEPEST, _MOST = 4, 1000
# Names of records that hold a probability for each class.
_PROBABILITIES = re.compile(r"(y_)?(pred_)?(class_)?prob(a|s|as|ability|abilities)?", re.I)
# Names of columns whose bytes are text.
_NAMES = re.compile(r"(^|_)(id|uuid|guid|key|pred|prediction|label)$", re.I)
# The fields of Spark's vectors: of kind 0 only some numbers are stored, of kind 1 all of them.
_VECTOR = ("type", "size", "indices", "values")
_SPARSE = 0
# Numbers that a batch of vectors may have when none is left out.
_LARGEST = 2**26


@dataclass(frozen=True)
class Inner:
    """A column of the pool that the file holds in another form.

    path    its column in the file, and the fields that lead to it
    type    as the pool reads it
    form    what it is in the file: "field", "probability", "vector", "uuid", "bytes" or "text"
    """

    path: tuple[str, ...]
    type: pa.DataType
    form: str

    @property
    def address(self) -> str:
        """Parquet's name for it."""
        return ".".join(self.path)

    def read(self, batch: pa.RecordBatch) -> pa.Array:
        """(R,) the column, from a batch with that of the file. Raises PoolError for bad vectors."""
        top = batch.column(self.path[0])
        if self.form == "vector":
            return _read_vectors(top, self.path[0])
        if self.form in ("uuid", "bytes"):
            return _write_bytes(top, plain=self.form == "bytes")
        if self.form == "text":
            # Whether it is UTF-8 is checked with all other text.
            return top.view(self.type)
        values = pc.struct_field(top, list(self.path[1:]))
        if self.form == "probability":
            # A class that is not among the probabilities of an item has none.
            absent = pc.and_(top.is_valid(), values.is_null())
            values = pc.if_else(absent, pa.scalar(0, self.type), values)
        return values


def find_inner(table: pa.Schema, uuids: Collection[str] = ()) -> dict[str, Inner]:
    """{name: column} of all columns of the pool that the file holds in another form.

    uuids  columns of bytes that the file says are UUIDs

    Fields whose names would be those of other columns, and records without a plain field, are left
    as they are.
    """
    found: dict[str, Inner] = {}
    names, repeated = dict.fromkeys(table.names), {*find_repeated(table.names)}
    for field in table:
        if field.name in repeated:
            continue
        inner = _find_in_column(field, field.name in uuids, names)
        if not any(name != field.name and (name in found or name in names) for name in inner):
            found |= inner
    return found


def view_schema(table: pa.Schema, inner: dict[str, Inner]) -> pa.Schema:
    """The schema of the pool: what is inside of a column stands in its place."""
    by_column: dict[str, list[pa.Field]] = {}
    for name, each in inner.items():
        metadata = {PART_OF: each.path[0].encode()} if len(each.path) > 1 else None
        by_column.setdefault(each.path[0], []).append(pa.field(name, each.type, metadata=metadata))
    fields = [new for field in table for new in by_column.get(field.name, [field])]
    return pa.schema(fields, table.metadata)


def view_batch(
    batch: pa.RecordBatch, columns: Sequence[str], inner: dict[str, Inner]
) -> pa.RecordBatch:
    """The columns of the pool in a batch with those of the file that they need."""
    arrays = [inner[name].read(batch) if name in inner else batch.column(name) for name in columns]
    return pa.RecordBatch.from_arrays(arrays, list(columns))


def _find_in_column(field: pa.Field, is_uuid: bool, names: Collection[str]) -> dict[str, Inner]:
    """Columns inside of a column: none, where the pool reads it as it is."""
    kind, path = field.type, (field.name,)
    if isinstance(kind, pa.BaseExtensionType) and kinds.is_fixed_size_binary(kind.storage_type):
        is_uuid, kind = kind.storage_type.byte_width == 16, kind.storage_type
    if kinds.is_fixed_size_binary(kind):
        return {field.name: Inner(path, pa.string(), "uuid" if is_uuid else "bytes")}
    if (kinds.is_binary(kind) or kinds.is_large_binary(kind)) and _NAMES.search(field.name):
        text = pa.string() if kinds.is_binary(kind) else pa.large_string()
        return {field.name: Inner(path, text, "text")}
    if is_spark_vector(kind):
        return {field.name: Inner(path, pa.list_(pa.float64()), "vector")}
    return _find_in_record(field, names) if kinds.is_struct(kind) else {}


def _find_in_record(field: pa.Field, names: Collection[str]) -> dict[str, Inner]:
    """The fields of a record; those of one of probabilities are called as their columns are."""
    kind, path = field.type, (field.name,)
    leaves = list(_list_fields(kind, path))
    if len(leaves) > _MOST or len({*map(".".join, dict(leaves))}) < len(leaves):
        return {}
    others = (name for name in names if name != field.name)
    if (
        _PROBABILITIES.fullmatch(field.name)
        and len(leaves) == kind.num_fields > 1
        and all(is_amount(each) and len(path) == 2 for path, each in leaves)
        and not any(name == "prob" or name.startswith("prob_") for name in others)
    ):
        return {f"prob_{path[1]}": Inner(path, each, "probability") for path, each in leaves}
    return {".".join(path): Inner(path, each, "field") for path, each in leaves}


def is_spark_vector(kind: pa.DataType) -> bool:
    """Whether this is the type of Spark's vectors."""
    if not kinds.is_struct(kind) or tuple(each.name for each in kind) != _VECTOR:
        return False
    number, size, indices, values = (each.type for each in kind)
    return (
        kinds.is_integer(number)
        and kinds.is_integer(size)
        and kinds.is_list(indices)
        and kinds.is_integer(indices.value_type)
        and kinds.is_list(values)
        and kinds.is_floating(values.value_type)
    )


def _list_fields(
    kind: pa.DataType, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """(path, type) of the plain fields of a record: text, numbers, times and lists of numbers."""
    for each in kind:
        below = (*path, each.name)
        if kinds.is_struct(each.type) and len(path) < _DEEPEST:
            yield from _list_fields(each.type, below)
        elif is_scalar(each.type) or is_vector(each.type) or kinds.is_temporal(each.type):
            yield below, each.type


def _read_vectors(vectors: pa.StructArray, column: str) -> pa.Array:
    """(R,) lists of numbers. Raises PoolError for vectors whose parts do not fit together."""
    number, size, indices, values = (pc.struct_field(vectors, [name]) for name in _VECTOR)
    sparse = pc.fill_null(pc.equal(number, _SPARSE), False)
    if not pc.any(sparse).as_py():
        return values.cast(pa.list_(pa.float64()))
    sizes = pc.if_else(sparse, size, 0).fill_null(0).to_numpy(zero_copy_only=False)
    if sizes.min(initial=0) < 0 or sizes.sum(dtype=np.float64) > _LARGEST:
        raise _describe_vector(column, f"they have more than {_LARGEST:,} numbers in a batch")
    rows: list[list[float] | None] = []
    parts = (each.to_pylist() for each in (sparse, size, indices, values))
    for is_sparse, length, places, numbers in zip(*parts, strict=True):
        if not is_sparse or numbers is None:
            rows.append(numbers)
            continue
        if (
            length is None
            or places is None
            or len(places) != len(numbers)
            or any(place is None or not 0 <= place < length for place in places)
        ):
            raise _describe_vector(column, "its indices do not fit its size")
        row = [0.0] * length
        for place, value in zip(places, numbers, strict=True):
            row[place] = value
        rows.append(row)
    return pa.array(rows, pa.list_(pa.float64()))


def _describe_vector(column: str, problem: str) -> PoolError:
    return PoolError(
        f"column {column!r} holds vectors of Spark that cannot be read: {problem}",
        hint="write them as lists, by vector_to_array of pyspark.ml.functions, or leave them out",
    )


def _write_bytes(values: pa.Array, *, plain: bool) -> pa.Array:
    """Bytes as text: digits, in the groups of a UUID unless plain."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    texts = [
        None if value is None else value.hex() if plain else str(uuid.UUID(bytes=value))
        for value in values.to_pylist()
    ]
    return pa.array(texts, pa.string())
