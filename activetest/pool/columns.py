"""Arrow columns as numpy arrays. Rows in errors are those of the batch."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.nouns.rows import Array
from activetest.pool.groups import NULL
from activetest.pool.ids import Text
from activetest.pool.roles import is_text, is_vector
from activetest.pool.schema import Schema


class BadRow(Exception):
    """A value that cannot be right in one row of a batch; the pool turns it into a PoolError."""

    def __init__(self, row: int, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.row, self.problem, self.hint = row, problem, hint


def decode(values: pa.Array) -> pa.Array:
    """The values themselves, where they are stored as codes of a dictionary."""
    return values.dictionary_decode() if kinds.is_dictionary(values.type) else values


def read_text(array: pa.Array, column: str) -> Text:
    """The column as text. Raises BadRow for a null."""
    reject_nulls(array, column, "every item needs an id")
    array = array.cast(pa.large_string())
    _, offsets, letters = array.buffers()
    offsets = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(letters or b"", np.uint8)[offsets[0] : offsets[-1]]
    return Text(letters, offsets - offsets[0])


def reject_blanks(ids: Text, column: str) -> None:
    """Raises BadRow at the first id that is empty or white space: no label file could name it."""
    row = ids.find_blank()
    if row is not None:
        raise BadRow(
            row, f"column {column!r} is {ids[row]!r}", "every item needs an id that can be seen"
        )


def row_numbers(start: int, rows: int) -> Text:
    """The row numbers start, start + 1, ... as ids."""
    return read_text(pa.array(np.arange(start, start + rows)), "row number")


def read_numbers(array: pa.Array) -> Array:
    """(R,) the column in its own precision; nulls are NaN, decimals and true/false are floats."""
    if kinds.is_boolean(array.type) or kinds.is_decimal(array.type):
        array = array.cast(pa.float64())
    return view_numbers(array)


def view_numbers(array: pa.Array) -> Array:
    """(R,) the numbers; nulls are NaN. The usual way to them would import pandas."""
    if array.null_count or not (kinds.is_integer(array.type) or kinds.is_floating(array.type)):
        return array.to_numpy(zero_copy_only=False)
    return np.from_dlpack(array)


def read_vectors(array: pa.Array, column: str, width: int) -> Array:
    """(R, W) the list column; a null list or a null inside becomes NaN.

    Raises BadRow for a list whose length is not width, as that of the others.
    """
    if not kinds.is_fixed_size_list(array.type):
        lengths = pc.list_value_length(array)
        wrong = pc.fill_null(pc.not_equal(lengths, width), False)
        if (row := pc.index(wrong, True).as_py()) >= 0:
            raise BadRow(
                row,
                f"column {column!r} has a list of {lengths[row]} numbers where others have {width}",
                "lists need one length",
            )
        fixed = pa.list_(array.type.value_type, width)
        array = array.cast(fixed)
    width = array.type.list_size
    if not array.null_count:
        return read_numbers(array.flatten()).reshape(len(array), width)
    values = np.full((len(array), width), np.nan, np.float32)
    lists = array.drop_null()
    values[np.asarray(array.is_valid())] = read_numbers(lists.flatten()).reshape(len(lists), width)
    return values


def read_columns(
    batch: pa.RecordBatch, names: tuple[str, ...], widths: dict[str, int]
) -> list[Array]:
    """Each column as (R,) or, for lists, (R, W) with W as in widths."""
    arrays = ((name, batch.column(name)) for name in names)
    return [
        read_vectors(array, name, widths[name]) if is_vector(array.type) else read_numbers(array)
        for name, array in arrays
    ]


def encode_values(array: pa.Array) -> tuple[Array, list[str]]:
    """(R,) int64 codes and the names they stand for; null is the name "null"."""
    dictionary = array if kinds.is_dictionary(array.type) else array.dictionary_encode()
    names = class_names(dictionary.dictionary)
    codes = dictionary.indices.cast(pa.int64())
    if codes.null_count:
        codes, names = codes.fill_null(len(names)), [*names, NULL]
    return view_numbers(codes), names


def class_names(values: pa.Array) -> list[str]:
    """Values as the strings that labels are compared with: 3.0 is "3", true is "True"."""
    if is_text(values.type):
        return [str(value) for value in values.cast(pa.string()).to_pylist()]
    return [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in values.to_pylist()
    ]


def reject_nulls(array: pa.Array, column: str, rule: str) -> None:
    """Raises BadRow at the first null."""
    if array.null_count:
        row = int(pc.index(array.is_null(), True).as_py())
        raise BadRow(row, f"column {column!r} is null", rule)


def read_amounts(batch: pa.RecordBatch, schema: Schema) -> dict[str, Array]:
    """{column: (R,) numbers} of the weights and prices.

    Raises BadRow for one that is missing, not finite or negative, and for a price of 0.
    """
    found = {}
    for name, column in (("weight", schema.weight), ("price", schema.price)):
        if column is None:
            continue
        reject_nulls(batch.column(column), column, f"every item needs a {name}")
        values = read_numbers(batch.column(column)).astype(float)
        least = "above 0" if name == "price" else "0 or more"
        wrong = ~np.isfinite(values) | (values < 0) | ((name == "price") & (values == 0))
        if wrong.any():
            row = int(np.argmax(wrong))
            hint = f"a {name} is {least}; correct it, or leave out `{name}`"
            raise BadRow(row, f"column {column!r} is {values[row]:g}", hint)
        found[column] = values
    return found
