"""Sparse arms take the counts of their nearest neighbours in the kernel (Piratla 2021, 3.3)."""

from collections.abc import Callable

import numpy as np

from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array

# Arms whose neighbours are found at once.
_CHUNK = 1024


def pool_counts(
    counts: Array,
    kernel: Callable[[Array], Array],
    *,
    pool: int,
    limit: str = "below",
    neighbours: int = 3,
    average: str = "kernel",
) -> Array:
    """(B, 2) counts of observed arms, where sparse ones have the mean of their neighbours' counts.

    counts      (B, 2) right and wrong labels of arms with labels
    kernel      from positions (R,) to the (R, B) kernel between those arms and all
    pool        an arm is sparse that has fewer labels than this; limit="up-to": no more than this
    neighbours  how many arms are averaged, the arm itself among them
    average     "kernel": weighted by the kernel; "plain": all the same
    """
    total = counts.sum(axis=1)
    sparse = np.flatnonzero(total <= pool if limit == "up-to" else total < pool)
    count = min(neighbours, len(counts))
    pooled = counts.astype(float).copy()
    for start in range(0, len(sparse), _CHUNK):
        rows = sparse[start : start + _CHUNK]
        near = kernel(rows)
        # The arm itself comes first, also where others have the same place.
        first = near.copy()
        first[np.arange(len(rows)), rows] = np.inf
        first = np.apply_along_axis(level_ties, 1, first)
        nearest = np.argsort(-first, axis=1, kind="stable")[:, :count]
        weights = np.take_along_axis(near, nearest, axis=1)
        if average == "plain":
            weights = np.ones_like(weights)
        weights = weights / weights.sum(axis=1, keepdims=True)
        pooled[rows] = (weights[:, :, None] * counts[nearest]).sum(axis=1)
    return pooled
