"""Arrow's types as the file of a pool holds them: what Parquet and the pool can read."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

from activetest.errors import PoolError
from activetest.nouns.class_names import HUGGING_FACE, OURS
from activetest.system.safe_text import first_line

CONVERT = "convert it to text, numbers or lists of numbers, or leave it out"
# Errors of Arrow, NumPy and pandas for a value or a type that they cannot convert.
NO_VALUE = (pa.ArrowException, ValueError, TypeError, OverflowError)

# Keys of a schema's metadata that are kept.
_METADATA = (OURS, HUGGING_FACE)
# Types that any Parquet file holds.
_PLAIN = {pa.string(), pa.large_string(), pa.int64(), pa.float64(), pa.bool_()}
_VIEWS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}


def find_stored_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as they are stored, with the metadata that the pool reads.

    Raises PoolError for a type that Parquet cannot hold.
    """
    fields = [pa.field(field.name, _choose_stored_type(field.type)) for field in schema]
    for field, before in zip(fields, schema, strict=True):
        if field.type in _PLAIN:
            continue
        try:
            pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream())
        except NO_VALUE as error:
            raise PoolError(
                f"column {field.name!r} is {before.type}, which a Parquet file cannot hold",
                hint=CONVERT,
            ) from error
    metadata = {key: value for key, value in (schema.metadata or {}).items() if key in _METADATA}
    return pa.schema(fields, metadata or None)


def _choose_stored_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column in the file: views, categories and extensions become what they show."""
    name, stored = str(kind), kind
    if isinstance(kind, pa.BaseExtensionType):
        # Ids of a database: their bytes are no text.
        stored = pa.string() if _is_uuid(kind) else _choose_stored_type(kind.storage_type)
    elif kinds.is_dictionary(kind) or name.startswith("run_end_encoded"):
        stored = _choose_stored_type(kind.value_type)
    elif name in _VIEWS:
        stored = _VIEWS[name]
    elif kinds.is_timestamp(kind) and kind.unit == "s":
        # As Parquet stores them: Arrow up to 21 does not see there that a large one overflows.
        stored = pa.timestamp("ms", kind.tz)
    elif kinds.is_fixed_size_list(kind):
        stored = pa.list_(_choose_stored_type(kind.value_type), kind.list_size)
    elif kinds.is_list(kind):
        stored = pa.list_(_choose_stored_type(kind.value_type))
    elif kinds.is_large_list(kind):
        stored = pa.large_list(_choose_stored_type(kind.value_type))
    elif kinds.is_struct(kind):
        stored = pa.struct([(each.name, _choose_stored_type(each.type)) for each in kind])
    return stored


def store_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the columns as they are stored. Raises PoolError as store_column does."""
    columns = [
        store_column(array, field) for array, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def store_column(array: pa.Array, field: pa.Field) -> pa.Array:
    """A column as it is stored. Raises PoolError for values that it cannot hold."""
    if array.type == field.type:
        return array
    try:
        if isinstance(array.type, pa.BaseExtensionType):
            if _is_uuid(array.type):
                texts = [None if value is None else str(value) for value in array.to_pylist()]
                return pa.array(texts, field.type)
            return store_column(array.storage, field)
        if kinds.is_dictionary(array.type):
            return array.dictionary.cast(field.type).take(array.indices)
        if str(array.type).startswith("run_end_encoded"):
            return store_column(pc.run_end_decode(array), field)
        return array.cast(field.type)
    except NO_VALUE as error:
        raise PoolError(
            f"column {field.name!r} is {array.type} and cannot be stored: {first_line(error)}",
            hint=CONVERT,
        ) from error


def _is_uuid(kind: pa.BaseExtensionType) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"
