"""Sums over the whole pool and every group: what a round records."""

from collections.abc import Sequence

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce
from activetest.pool.groups import name_of


def list_group_names(cache: PoolView) -> tuple[str, ...]:
    """(G,) "" for the whole pool, then a name for every value of every group column."""
    named = (
        name_of(column, value)
        for column, values in zip(cache.group_names, cache.group_values, strict=True)
        for value in values
    )
    return ("", *named)


def measure_groups(cache: PoolView) -> Array | None:
    """(G, 2) sum of the weights of each group, and its items of a weight above 0; None without."""
    if not cache.roles.get("weight"):
        return None

    def sum_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        return sum_by_group(cache, rows.codes, [rows.mass, rows.mass > 0])

    return cache.compute_once("masses", lambda: map_reduce(cache.chunks(), sum_piece, np.add))


def sum_by_group(cache: PoolView, codes: Array, terms: Sequence[Array]) -> Array:
    """(G, terms) sums of (R,) terms, over all rows and each group; codes as in Rows."""
    sums = [np.array([term.sum(dtype=float) for term in terms])[None]]
    for column, values in enumerate(cache.group_values):
        by_value = [np.bincount(codes[:, column], term, minlength=len(values)) for term in terms]
        sums.append(np.stack(by_value, axis=1))
    return np.concatenate(sums)
