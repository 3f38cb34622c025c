"""Credible intervals of groups and cells of the finite pool."""

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from activetest.arms import ACCURACY, ECE, ERROR, Arms, expected
from activetest.arms_comparison import described
from activetest.arms_ranks import draws
from activetest.evidence import Array

# Labels that every outcome counts as at least.
_HALF = 0.5
# Groups whose quantiles are taken at a time.
_TOGETHER = 100


def entries(arms: Arms, level: float) -> tuple[Array, Array, Array]:
    """(..., L, J) share of each outcome among all items of a cell, and the ends of its interval.

    The share of the rest is Beta-binomial, taken for a Beta with the same mean and variance, and
    rounded to whole items. Ends are equal-tailed, but for two precautions. An outcome, and all
    others together, count as half a label at least (Jeffreys): a prior that is all but sure of one
    outcome would leave no doubt at all. And where no label, or every one, is of the outcome the
    interval reaches as far as it can (Brown, Cai and DasGupta 2001): equal tails would leave out
    the very value that is most likely.
    """
    own, size = arms.posterior, np.maximum(arms.size, 1)[:, None]
    both = np.stack([own, own.sum(axis=-1, keepdims=True) - own], axis=-1)
    rest = np.broadcast_to(np.asarray(arms.rest, float)[..., None], own.shape)
    shape = described(np.maximum(both, _HALF), arms.known, rest, size)
    certain, room, here, others = np.moveaxis(shape, -1, 0)
    tail = (1 - level) / 2
    lower, upper = (
        np.rint((certain + room * betaincinv(here, others, end)) * size) / size
        for end in (tail, 1 - tail)
    )
    told = arms.evidence.sum(axis=-1, keepdims=True)
    lower = np.where((arms.evidence == 0) & (told > 0), certain, lower)
    upper = np.where((arms.evidence == told) & (told > 0), certain + rest / size, upper)
    mean = expected(arms)
    return mean, np.minimum(lower, mean), np.maximum(upper, mean)


def intervals(
    arms: Arms, values: Array, level: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(A,) ends of the intervals of the arms' values, of which these are draws (S, A).

    Of accuracy and error those of entries; else equal-tailed, but for calibration: what doubt about
    a bin's accuracy adds to the distances it adds to all draws, whatever the truth is, and their
    interval can miss the truth always. There it is E0 -+ Q, with E0 the value at the posterior
    means of all cells, and Q the quantile of the mean distance from these means: the error of E0 is
    never more than that distance.
    """
    tail = (1 - level) / 2
    if arms.kind in (ACCURACY, ERROR):
        _, lower, upper = entries(arms, level)
        counted = [ACCURACY, ERROR].index(arms.kind)
        return lower[..., counted], upper[..., counted]
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
