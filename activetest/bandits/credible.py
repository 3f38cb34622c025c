"""Credible intervals of groups and cells of the finite pool."""

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from activetest.bandits.arms import ACCURACY, ECE, ERROR, Arms, expected, values
from activetest.bandits.comparison import matched_beta
from activetest.bandits.ranks import draws
from activetest.nouns.rows import Array

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
    shape = matched_beta(np.maximum(both, _HALF), arms.known, rest, size)
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
    if arms.told is not None:
        least = arms.told / size
        most = least + 1 - least.sum(axis=-1, keepdims=True)
        # Where all that was believed is ruled out, anything possible may be true.
        beside = (lower > most) | (upper < least)
        lower = np.where(beside, least, np.clip(lower, least, most))
        upper = np.where(beside, most, np.clip(upper, least, most))
    return mean, np.minimum(lower, mean), np.maximum(upper, mean)


def intervals(
    arms: Arms, drawn: Array, level: float, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """(A,) the arms' values and the ends of their intervals, from draws of them (S, A).

    Values are those at the posterior means of all cells. Intervals of accuracy and error are those
    of entries; else equal-tailed, but for calibration: what doubt about a bin's accuracy adds to
    the distances it adds to all draws, whatever the truth is, and their mean and their interval can
    miss the truth always. There it is E0 -+ Q, with E0 the value, and Q the quantile of the mean
    distance from the means of the cells: the error of E0 is never more than that distance.
    """
    tail = (1 - level) / 2
    if arms.kind in (ACCURACY, ERROR):
        counted = [ACCURACY, ERROR].index(arms.kind)
        return tuple(each[..., counted] for each in entries(arms, level))
    told = expected(arms)
    value = values(arms, told)
    if arms.kind != ECE:
        lower, upper = _quantiles(drawn, (tail, 1 - tail))
        return value, np.minimum(lower, value), np.maximum(upper, value)
    mean = (told * arms.value).sum(axis=-1)
    (reach,) = _quantiles(draws(replace(arms, score=mean), len(drawn), rng), (level,))
    return value, np.maximum(value - reach, 0), np.minimum(value + reach, 1)


def _quantiles(drawn: Array, ends) -> Array:
    """(E, A) quantiles of draws (S, A)."""
    pieces = range(0, drawn.shape[1], _TOGETHER)
    parts = [np.quantile(drawn[:, start : start + _TOGETHER], ends, axis=0) for start in pieces]
    return np.concatenate(parts, axis=1)
