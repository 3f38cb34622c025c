"""Attributes that are uncertain: columns of probabilities, and values that are known for some rows.

Probabilities of an attribute are in the list column attr_prob_ATTRIBUTE, or in columns
attr_prob_ATTRIBUTE_VALUE. A column with the attribute's own name holds known values, and nothing
where there are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from activetest.errors import PoolError
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.pool.classes import find_codes, find_list_length
from activetest.pool.columns import (
    BadRow,
    encode_values,
    read_numbers,
    read_vectors,
    reject_nulls,
)
from activetest.pool.groups import LABEL, NULL
from activetest.pool.outputs import NO_GAPS, correct_probabilities
from activetest.pool.roles import ATTRIBUTE_PREFIX, is_vector
from activetest.pool.schema import Schema

if TYPE_CHECKING:
    from activetest.pool.pool import Pool


@dataclass(frozen=True)
class ReadAttribute:
    """An uncertain attribute of R rows.

    probs  (R, V) float32 probability of each value
    known  (R,) int32 code of the known value, -1 without
    """

    probs: Array
    known: Array

    @property
    def likeliest(self) -> Array:
        """(R,) int64 code of the known value, or of the most probable one."""
        return np.where(self.known >= 0, self.known, self.probs.argmax(axis=1))


def resolve_values(pool: "Pool") -> Schema:
    """The schema with the values of its uncertain attributes.

    They are what the columns' names end in, or 0, 1, ... for lists. Raises PoolError for fewer than
    two.
    """
    schema = pool.schema
    found = []
    for name, columns in zip(schema.uncertain, schema.uncertain_columns, strict=True):
        if is_vector(pool.files.schema.field(columns[0]).type):
            count = find_list_length(pool, columns[0])
            values = tuple(map(str, range(count)))
        else:
            start = f"{ATTRIBUTE_PREFIX}{name}_"
            values = tuple(column.removeprefix(start).strip() for column in columns)
        if len(values) < 2:
            raise PoolError(
                f"the attribute {name!r} has the probability of {len(values)} value",
                hint=f"give one of each value: a list, or columns {ATTRIBUTE_PREFIX}{name}_VALUE",
            )
        found.append(values)
    return replace(schema, uncertain_values=tuple(found))


def read_uncertain(batch: pa.RecordBatch, schema: Schema) -> dict[str, ReadAttribute]:
    """{name: what is known} of every uncertain attribute.

    Probabilities are checked, and corrected where that is safe, as those of the outputs are. Raises
    BadRow for the first row that cannot be right, or whose known value is none of the values.
    """
    described = zip(
        schema.uncertain, schema.uncertain_columns, schema.uncertain_values, strict=True
    )
    return {
        name: ReadAttribute(
            _read_probabilities(batch, columns, values),
            _read_known(batch, name, values)
            if name in schema.gold
            else np.full(batch.num_rows, -1, np.int32),
        )
        for name, columns, values in described
    }


def _read_probabilities(
    batch: pa.RecordBatch, columns: Sequence[str], values: Sequence[str]
) -> Array:
    if len(columns) == 1:
        array = batch.column(columns[0])
        reject_nulls(array, columns[0], NO_GAPS)
        probs = read_vectors(array, columns[0], len(values))
    else:
        probs = np.stack([read_numbers(batch.column(each)) for each in columns], axis=1)
    sources = columns if len(columns) > 1 else list(columns) * len(values)
    return correct_probabilities(probs.astype(np.float32), sources, values)[0]


def _read_known(batch: pa.RecordBatch, name: str, values: Sequence[str]) -> Array:
    codes, written = encode_values(batch.column(name))
    table = find_codes(written, values).astype(np.int32)
    # A value may be called like what stands for none: then it is none where the column is empty.
    empty = np.array([not text.strip() or text in (NULL, "nan") for text in written], bool)
    table = np.where(empty & ~np.isin(written, values), -1, np.where(table < 0, -2, table))
    if batch.column(name).null_count:
        table[-1] = -1
    known = table[codes].astype(np.int32) if len(table) else np.empty(0, np.int32)
    if len(wrong := np.flatnonzero(known == -2)):
        row = int(wrong[0])
        raise BadRow(
            row,
            f"{name!r} is {written[codes[row]]!r}, and it has probabilities of "
            f"{', '.join(values[:12])}",
            f"write one of these values, or nothing where {name!r} is not known",
        )
    return known


def list_uncertain(cache: PoolView, attributes: Sequence[str]) -> list[str]:
    """Those of the attributes that are not known for every item."""
    roles = cache.roles
    computed = {LABEL} & {*roles.get("computed", ())}
    uncertain = {*roles.get("uncertain", ())} | computed
    return [name for name in attributes if name in uncertain]
