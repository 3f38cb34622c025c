"""Credible intervals of groups and cells of the finite pool."""

from dataclasses import replace

import numpy as np
from scipy.special import betaincinv

from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array
from activetest.wings.groups.arms import (
    ACCURACY,
    ECE,
    ERROR,
    Arms,
    compute_values,
    expect_outcome_shares,
)
from activetest.wings.groups.comparison import match_beta
from activetest.wings.groups.ranks import draw_values

# Smallest number of labels that an outcome counts as.
_HALF = 0.5
# Groups whose quantiles are computed at a time.
_BLOCK = 100


def outcome_share_intervals(arms: Arms, level: float) -> tuple[Array, Array, Array]:
    """(..., L, J) share of each outcome among all items of a cell, and the ends of its interval.

    The share among the unlabelled items is Beta-binomial, approximated by a Beta with the same mean
    and variance, and rounded to whole items. Intervals are equal-tailed, with two precautions. An
    outcome, and all others together, count as at least half a label (Jeffreys), since otherwise a
    prior that is almost certain of one outcome leaves no uncertainty. If none or all of the labels
    are of the outcome, the interval extends to the limit of what is possible (Brown, Cai and
    DasGupta 2001), since equal tails exclude the most likely value.
    """
    parameters, size = arms.posterior, np.maximum(arms.size, 1)[:, None]
    pairs = np.stack([parameters, parameters.sum(axis=-1, keepdims=True) - parameters], axis=-1)
    unlabelled = np.broadcast_to(np.asarray(arms.unlabelled, float)[..., None], parameters.shape)
    shape = match_beta(np.maximum(pairs, _HALF), arms.known_counts, unlabelled, size)
    certain, variable, inside, others = np.moveaxis(shape, -1, 0)
    tail = (1 - level) / 2
    lower, upper = (
        np.rint((certain + variable * betaincinv(inside, others, end)) * size) / size
        for end in (tail, 1 - tail)
    )
    labels = arms.exchangeable_counts.sum(axis=-1, keepdims=True)
    lower = np.where((arms.exchangeable_counts == 0) & (labels > 0), certain, lower)
    upper = np.where(
        (arms.exchangeable_counts == labels) & (labels > 0), certain + unlabelled / size, upper
    )
    mean = expect_outcome_shares(arms)
    if arms.observed_counts is not None:
        minimum = arms.observed_counts / size
        maximum = minimum + 1 - minimum.sum(axis=-1, keepdims=True)
        # If the labels rule the whole interval out, it becomes everything that is possible.
        impossible = (lower > maximum + MARGIN) | (upper < minimum - MARGIN)
        lower = np.where(impossible, minimum, np.clip(lower, minimum, maximum))
        upper = np.where(impossible, maximum, np.clip(upper, minimum, maximum))
    return mean, np.minimum(lower, mean), np.maximum(upper, mean)


def value_intervals(
    arms: Arms, drawn: Array, level: float, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """(A,) the arms' values and the ends of their intervals, from draws of them (S, A).

    Values are those at the posterior means of all cells. Intervals of accuracy and error are those
    of outcome_share_intervals, and other intervals are equal-tailed, except for calibration. There,
    uncertainty about a bin's accuracy increases the distance in all draws whatever the truth is, so
    that their mean and their quantiles can always miss the truth. The interval is E0 -+ Q instead,
    with E0 the value and Q the quantile of the mean distance from the means of the cells: the error
    of E0 is never larger than that distance.
    """
    tail = (1 - level) / 2
    if arms.kind in (ACCURACY, ERROR):
        index = [ACCURACY, ERROR].index(arms.kind)
        shares, lower, upper = outcome_share_intervals(arms, level)
        return shares[..., index], lower[..., index], upper[..., index]
    shares = expect_outcome_shares(arms)
    value = compute_values(arms, shares)
    if arms.kind != ECE:
        lower, upper = _take_quantiles(drawn, (tail, 1 - tail))
        return value, np.minimum(lower, value), np.maximum(upper, value)
    mean = (shares * arms.value).sum(axis=-1)
    (distance,) = _take_quantiles(
        draw_values(replace(arms, mean_confidence=mean), len(drawn), rng), (level,)
    )
    return value, np.maximum(value - distance, 0), np.minimum(value + distance, 1)


def _take_quantiles(drawn: Array, ends: tuple[float, ...]) -> Array:
    """(E, A) quantiles of draws (S, A)."""
    pieces = range(0, drawn.shape[1], _BLOCK)
    parts = [np.quantile(drawn[:, start : start + _BLOCK], ends, axis=0) for start in pieces]
    return np.concatenate(parts, axis=1)
