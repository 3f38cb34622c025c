"""Credible intervals of groups and cells of the finite pool."""

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from activetest.arms import ECE, Arms, expected
from activetest.arms_comparison import described
from activetest.arms_ranks import draws
from activetest.evidence import Array

# Groups whose quantiles are taken at a time.
_TOGETHER = 100


def entries(arms: Arms, level: float) -> tuple[Array, Array, Array]:
    """(L, J) share of each outcome among all items of a cell, and the ends of its interval.

    The share of the rest is Beta-binomial, taken for a Beta with the same mean and variance, and
    rounded to whole items. Ends are equal-tailed, and moved where they would leave out the mean.
    """
    own = arms.posterior
    both = np.stack([own, own.sum(axis=-1, keepdims=True) - own], axis=-1)
    shape = described(np.maximum(both, 0), arms.known, arms.rest[:, None], arms.size[:, None])
    certain, room, here, others = np.moveaxis(shape, -1, 0)
    tail = (1 - level) / 2
    size = np.maximum(arms.size, 1)[:, None]
    lower, upper = (
        np.rint((certain + room * betaincinv(here, others, end)) * size) / size
        for end in (tail, 1 - tail)
    )
    mean = expected(arms)
    return mean, np.minimum(lower, mean), np.maximum(upper, mean)


def intervals(
    arms: Arms, values: Array, level: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(A,) ends of the intervals of the arms' values, of which these are draws (S, A).

    Equal-tailed, but for calibration: what doubt about a bin's accuracy adds to the distances it
    adds to all draws, whatever the truth is, and their interval can miss the truth always. There it
    is E0 -+ Q, with E0 the value at the posterior means of all cells, and Q the quantile of the
    mean distance from these means: the error of E0 is never more than that distance.
    """
    tail = (1 - level) / 2
    if arms.kind != ECE:
        return _quantiles(values, (tail, 1 - tail))
    mean = (expected(arms) * arms.worth).sum(axis=-1)
    whole = np.maximum(arms.total(arms.size.astype(float)), 1)
    centre = arms.total(np.abs(mean - arms.score) * arms.size) / whole
    (reach,) = _quantiles(draws(replace(arms, score=mean), len(values), rng), (level,))
    return np.maximum(centre - reach, 0), centre + reach


def _quantiles(values: Array, ends) -> Array:
    """(E, A) quantiles of draws (S, A)."""
    pieces = range(0, values.shape[1], _TOGETHER)
    parts = [np.quantile(values[:, start : start + _TOGETHER], ends, axis=0) for start in pieces]
    return np.concatenate(parts, axis=1)
