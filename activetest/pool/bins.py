"""Attributes that are numbers: which of them are cut into bins, and where."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from activetest.errors import ChoiceError
from activetest.pool import groups as grouping
from activetest.pool.columns import read_numbers
from activetest.pool.roles import is_amount, split_bins
from activetest.pool.schema import Schema

if TYPE_CHECKING:
    from activetest.pool.pool import Pool

# A column of numbers with more values than these is cut into so many bins of equal counts.
_MOST_DISCRETE, USUAL_BINS = 12, 5


def resolve_bins(
    pool: "Pool", attributes: Sequence[str], known: Mapping[str, Sequence[float]] | None
) -> Schema:
    """The schema with the bins of its attributes: those known, else found in the values.

    attributes are as the user wrote them, such as age[4]. Raises ChoiceError for bins of a column
    that holds no numbers, or a number of them that makes no sense.
    """
    table = pool.files.schema
    found: dict[str, Sequence[float]] = {}
    for attribute in attributes:
        column, count = split_bins(attribute, table.names)
        if column in pool.schema.uncertain:
            if count is not None:
                raise ChoiceError(
                    f"attribute {attribute!r}: {column!r} has probabilities of its values, and is "
                    "not cut into bins",
                    hint=f"name it without brackets: {column!r}",
                )
            continue
        numeric = column in table.names and is_amount(table.field(column).type)
        if count is not None and not numeric:
            raise ChoiceError(
                f"attribute {attribute!r}: column {column!r} holds no numbers to cut into bins",
                hint=f"name it without brackets: {column!r}",
            )
        if count is not None and not 2 <= count <= grouping.MOST_VALUES:
            raise ChoiceError(
                f"attribute {attribute!r} asks for {count} bins",
                hint=f"from 2 to {grouping.MOST_VALUES:,}",
            )
        if known is not None and count is None:
            found |= {column: known[column]} if column in known else {}
        elif numeric:
            cut = _find_edges(pool, column, count)
            found |= {} if cut is None else {column: cut}
    edges = tuple(tuple(map(float, each)) for each in found.values())
    return replace(pool.schema, binned=tuple(found), edges=edges)


def _find_edges(pool: "Pool", column: str, count: int | None) -> list[float] | None:
    """(B + 1,) edges of the bins of a column; None where its values are few, or all the same."""
    parts = (read_numbers(batch.column(column)) for _, batch in pool.files.scan([column]))
    values = np.concatenate([part.astype(float) for part in parts])
    values = values[np.isfinite(values)]
    if not len(values) or (count is None and len(np.unique(values)) <= _MOST_DISCRETE):
        return None
    edges = grouping.compute_bins(values, count or USUAL_BINS)
    return edges.tolist() if len(edges) > 2 else None
