"""Doubly robust: LURE with the surrogate's predictions as control variates.

Zrnic and Candes 2024, here without replacement. Each step is
(1/N)[sum of what is known + sum of guesses over the rest + (h - guess) / q]. It is unbiased for any
guess that was made before the draw, and has little variance for a good one. The guess is the
surrogate's expectation, with level and slope estimated from earlier draws: cautiously for shares,
freely for values, where those draws say so.
"""

from dataclasses import replace

import numpy as np

from activetest.estimators._own_labels import find_own_guesses
from activetest.estimators._scores import learn_scale
from activetest.estimators._steps import weigh_labels, weighted_mean
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array, sum_before

# Imaginary draws, made before the first, that agreed with the surrogate.
_PSEUDO_DRAWS = 100.0


def estimate(sample: Sample) -> Estimate:
    """Means (d,), unbiased whatever the surrogate believes.

    With nothing imputed and no earlier draw a step is LURE's.
    """
    center = sample.imputed_sum / np.where(sample.left > 0, sample.left, 1)[:, None]
    level, slope, free = _calibration(sample, center)
    inside, mass = sample.inside[:, None], sample.drawn_mass[:, None]
    guess = inside * (level + slope * (sample.per_unit(sample.imputed) - center))
    rest = sample.left[:, None] * level
    # By the other labels of their own round, shares follow a line as values do.
    own, own_rest, holds = find_own_guesses(sample, center, _find_inside(sample))
    guess, rest = np.where(holds, own, guess), np.where(holds, own_rest, rest)
    miss = sample.stats - mass * guess
    terms = (sample.known_sum + rest + miss / sample.q[:, None]) / sample.size
    found = weighted_mean(terms, guess, sample)
    return replace(found, follows=free) if free.any() else found


def label_weights(sample: Sample, low: Array, high: Array) -> tuple[Array, Array]:
    """Smallest and largest weight (M, d) of the drawn items' statistics in the mean.

    low, high (M, d) bound the statistics. A statistic moves the mean as in LURE, and through the
    level and the slope of later guesses. It does so linearly but for the clipping of the slope:
    where that may or may not clip, the change of the slope is between none and all of it. Items
    must count alike: it knows no weights of theirs.
    """
    center = sample.imputed_sum / np.maximum(sample.left, 1)[:, None]
    weight, shrunk, _ = _slope_parts(sample, center, sample.stats)
    inverse = (sample.inside / sample.q)[:, None]
    share = sample.weights[:, None] / sample.size
    rest = np.where(sample.left > 0, sample.left, 0.0)[:, None]
    level = share * (rest - inverse * (rest > 0)) / (_PSEUDO_DRAWS + sum_before(weight))
    # Guesses that follow from their own round are as they are.
    alone = np.ones(share.shape, bool)
    alone &= True if sample.crossed is None else ~sample.crossed[:, None]
    alone &= True if sample.own is None else (sample.own < 0)[:, None]
    share, level = share * alone, level * alone
    deviation = _find_deviations(sample, center)
    there = shrunk > 0
    slope = -share * inverse * deviation / np.where(there, shrunk, 1) * there
    up = deviation > 0
    smallest, largest = (
        _slope_parts(sample, center, np.where(side, high, low))[2] for side in (~up, up)
    )
    free = (smallest < 1) & (largest > 0)
    certain = (smallest >= 0) & (largest <= 1)
    moves = np.sort([np.where(certain, slope, 0.0), np.where(free, slope, 0.0)], axis=0)
    pull = weight**2 * deviation * sample.inside[:, None]
    through_slope = np.sort([pull * _sum_after(move) for move in moves], axis=0)
    plain = weigh_labels(sample) + weight * _sum_after(level)
    return plain + through_slope[0], plain + through_slope[1]


def _calibration(sample: Sample, center: Array) -> tuple[Array, Array, Array]:
    """(M, d) level and slope of the guess before each draw, and whether these are free.

    All from the draws before it; those of a round that predicts from its own labels are as they
    are. level is the surrogate's mean, moved by the weighted mean of the
    residuals so far; slope is the weighted regression of the statistic on the surrogate's
    expectation, clipped to [0, 1]: both shrunk to what the surrogate says. Of graded values
    over the whole pool, both are as free as the draws before it say.
    """
    weight, _, slope = _slope_parts(sample, center, sample.stats)
    stats, imputed = sample.per_unit(sample.stats), sample.per_unit(sample.imputed)
    residual = stats - sample.inside[:, None] * imputed
    level = center + sum_before(weight * residual) / (_PSEUDO_DRAWS + sum_before(weight))
    slope, free = np.clip(slope, 0.0, 1.0), _find_free(sample)
    if free.any():
        learned = np.zeros(len(weight)) if sample.learned is None else sample.learned
        deviation = _find_deviations(sample, center)
        shift, freely = learn_scale(weight, residual, deviation, learned[:, None])
        level, slope = np.where(free, center + shift, level), np.where(free, freely, slope)
    if sample.crossed is not None:
        # A level that earlier draws of a round say follows labels of later ones there.
        fixed = sample.crossed[:, None]
        level, slope = np.where(fixed, center, level), np.where(fixed, 1.0, slope)
    # Nothing left, or nothing recorded about the group: no guess, on either side of the term.
    return np.where(sample.left[:, None] > 0, level, 0.0), slope, free


def _find_free(sample: Sample) -> Array:
    """(M, d) whether level and slope are free: of graded values, if all draws were inside.

    Of a group, hardly any draw may say something, and a mistake that is one of few is the rule for
    shares: both are held to what the surrogate says.
    """
    graded = np.zeros(1, bool) if sample.graded is None else sample.graded
    free: Array = graded & _find_inside(sample)
    return free


def _find_inside(sample: Sample) -> Array:
    """(M, d) whether all earlier draws were inside."""
    outside = 1.0 - sample.inside * (sample.left > 0)
    return np.broadcast_to((sum_before(outside) == 0)[:, None], sample.stats.shape)


def _slope_parts(sample: Sample, center: Array, stats: Array) -> tuple[Array, Array, Array]:
    """(M, 1) weights of draws, (M, d) what slopes are divided by, and (M, d) slopes, not clipped.

    stats (M, d) of the drawn items.
    """
    # A round that recorded nothing about the group has no guess to calibrate.
    recorded = sample.inside * (sample.left > 0)
    left, inside = np.where(sample.left > 0, sample.left, 1), sample.inside[:, None]
    weight = (recorded * sample.drawn_mass / (left * sample.q))[:, None]
    across = weight * _find_deviations(sample, center) * inside
    along = weight * (sample.per_unit(stats) - center) * inside
    count = np.arange(len(weight))[:, None]
    prior = _PSEUDO_DRAWS * sum_before(across**2) / np.maximum(count, 1)
    shrunk = prior + sum_before(across**2)
    slope = np.where(
        shrunk > 0, (prior + sum_before(across * along)) / np.where(shrunk > 0, shrunk, 1), 1.0
    )
    return weight, shrunk, slope


def _find_deviations(sample: Sample, center: Array) -> Array:
    """(M, d) how far the surrogate's expectations are from their centre.

    Where all are alike, rounding is nothing that a slope could be of.
    """
    imputed = sample.per_unit(sample.imputed)
    size = np.maximum(np.abs(imputed), np.abs(sample.per_unit(sample.stats))).max(axis=0, initial=0)
    deviation: Array = imputed - center
    return np.where(np.abs(deviation) <= MARGIN * size, 0.0, deviation)


def _sum_after(values: Array) -> Array:
    """(M, d) sum over later draws."""
    after: Array = values.sum(axis=0) - np.cumsum(values, axis=0)
    return after
