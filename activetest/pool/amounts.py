"""Weights of items and prices of their labels: columns of numbers that every item has."""

import numpy as np
import pyarrow as pa

from activetest.nouns.rows import Array
from activetest.pool.columns import BadRow, read_numbers, reject_nulls
from activetest.pool.schema import Schema


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
