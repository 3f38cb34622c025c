"""Doubly robust: LURE with the surrogate's predictions as control variates.

Zrnic and Candes 2024, here without replacement. Each step is
(1/N)[sum of what is known + sum of guesses over the rest + (h - guess) / q]. It is unbiased for any
guess that was made before the draw, and has little variance for a good one. The guess is the
surrogate's expectation, with level and slope estimated from earlier draws.
"""

import numpy as np

from activetest.estimators._steps import weighted_mean
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rows import Array

# Imaginary draws, made before the first, that agreed with the surrogate.
_PSEUDO_DRAWS = 100.0


def estimate(sample: Sample) -> Estimate:
    """Means (d,), unbiased whatever the surrogate believes.

    With nothing imputed and no earlier draw a step is LURE's.
    """
    center = sample.imputed_sum / np.maximum(sample.left, 1)[:, None]
    level, slope = _calibration(sample, center)
    inside = sample.inside[:, None]
    guess = inside * (level + slope * (sample.imputed - center))
    rest = sample.left[:, None] * level
    terms = (sample.known_sum + rest + (sample.stats - guess) / sample.prob[:, None]) / sample.size
    return weighted_mean(terms, guess, sample)


def _calibration(sample: Sample, center: Array) -> tuple[Array, Array]:
    """(M, d) level and slope of the guess before each draw, from the draws before it.

    level is the surrogate's mean, moved by the weighted mean of the residuals so far; slope is the
    weighted regression of the statistic on the surrogate's expectation, clipped to [0, 1]: both
    shrunk to what the surrogate says.
    """
    # A round that recorded nothing about the group has no guess to calibrate.
    recorded = sample.inside * (sample.left > 0)
    weight = (recorded / (np.maximum(sample.left, 1) * sample.prob))[:, None]
    residual = weight * (sample.stats - sample.inside[:, None] * sample.imputed)
    level = center + _sum_before(residual) / (_PSEUDO_DRAWS + _sum_before(weight))
    across = weight * (sample.imputed - center) * sample.inside[:, None]
    along = weight * (sample.stats - center) * sample.inside[:, None]
    count = np.arange(len(weight))[:, None]
    prior = _PSEUDO_DRAWS * _sum_before(across**2) / np.maximum(count, 1)
    shrunk = prior + _sum_before(across**2)
    slope = np.where(
        shrunk > 0, (prior + _sum_before(across * along)) / np.where(shrunk > 0, shrunk, 1), 1.0
    )
    # Nothing left, or nothing recorded about the group: no guess, on either side of the term.
    return np.where(sample.left[:, None] > 0, level, 0.0), np.clip(slope, 0.0, 1.0)


def _sum_before(values: Array) -> Array:
    """(M, d) sum over earlier draws."""
    return np.cumsum(values, axis=0) - values
