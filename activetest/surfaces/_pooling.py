"""Sparse arms take the counts of their nearest neighbours in the kernel (Piratla 2021, 3.3)."""

import numpy as np

from activetest.nouns.rows import Array


def pool_counts(
    counts: Array,
    kernel: Array,
    *,
    pool: int,
    limit: str = "below",
    neighbours: int = 3,
    average: str = "kernel",
) -> Array:
    """(B, 2) counts of observed arms, where sparse ones have the mean of their neighbours' counts.

    counts      (B, 2) right and wrong labels of arms with labels
    kernel      (B, B) of these arms
    pool        an arm is sparse that has fewer labels than this; limit="up-to": no more than this
    neighbours  how many arms are averaged, the arm itself among them
    average     "kernel": weighted by the kernel; "plain": all the same
    """
    total = counts.sum(axis=1)
    sparse = np.flatnonzero(total <= pool if limit == "up-to" else total < pool)
    count = min(neighbours, len(counts))
    # The arm itself comes first, also where others have the same place.
    near = kernel[sparse].copy()
    near[np.arange(len(sparse)), sparse] = np.inf
    nearest = np.argsort(-near, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(kernel[sparse], nearest, axis=1)
    if average == "plain":
        weights = np.ones_like(weights)
    weights = weights / weights.sum(axis=1, keepdims=True)
    pooled = counts.astype(float).copy()
    pooled[sparse] = (weights[:, :, None] * counts[nearest]).sum(axis=1)
    return pooled
