"""Sums over the whole pool and every group: what a round records."""

from collections.abc import Sequence

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.pool.groups import name_of
from activetest.system.parallel import map_reduce

# Levels of weights: for each power of two, above and below the mean, and in all.
_LEVELS, _MOST = 8, 256
_WIDTH = 2 * _MOST + 1


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
    levels = measure_levels(cache)
    return None if levels is None else levels.sum(axis=2)[::-1].T


def measure_levels(cache: PoolView) -> Array | None:
    """(2, G, V) items of each group and their weights, by V levels of weight; None without.

    An item of weight 0 has no level.
    """
    if not cache.roles.get("weight"):
        return None

    def sum_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        counted = rows.mass > 0
        weight, codes = rows.mass[counted], rows.codes[counted]
        level = np.rint(_LEVELS * np.log2(weight)).astype(np.int64)
        level = np.clip(level, -_MOST, _MOST) + _MOST
        sums = []
        for column, values in [(None, 1), *enumerate(map(len, cache.group_values))]:
            place = level if column is None else level + _WIDTH * codes[:, column].astype(np.int64)
            pairs = [np.bincount(place, each, values * _WIDTH) for each in (None, weight)]
            sums.append(np.reshape(pairs, (2, values, _WIDTH)))
        return np.concatenate(sums, axis=1)

    return cache.compute_once("levels", lambda: map_reduce(cache.chunks(), sum_piece, np.add))


def sum_by_group(cache: PoolView, codes: Array, terms: Sequence[Array]) -> Array:
    """(G, terms) sums of (R,) terms, over all rows and each group; codes as in Rows."""
    sums = [np.array([term.sum(dtype=float) for term in terms])[None]]
    for column, values in enumerate(cache.group_values):
        by_value = [np.bincount(codes[:, column], term, minlength=len(values)) for term in terms]
        sums.append(np.stack(by_value, axis=1))
    return np.concatenate(sums)
