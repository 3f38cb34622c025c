"""Empirical-Bayes shrinkage: group estimates move towards their expectation, by their variance."""

import numpy as np

from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array


def shrink(estimates: Array, variances: Array, expected: Array | float) -> Array:
    """(G,) estimates of the groups of one column, each moved towards what is expected of it.

    estimates   (G,) values; NaN where there is none
    variances   (G,) their sampling variances V: 0 where the value is known, NaN or infinite where
                nothing is known about it. A variance that is small only because few labels happen
                to agree must not come here: take the larger of the draws' and the surrogate's
    expected    (G,) or one number: the value of the whole pool, and better, of what the surrogate
                predicts for each group, moved to the value of the whole pool

    The share B = tau^2 / (tau^2 + V) of a group's distance from what is expected stays, with
    tau^2 the variance of the true distances by DerSimonian & Laird (1986), "Meta-analysis in
    clinical trials", the estimate from Cochran's Q. A known group stays as it is, one without an
    estimate becomes what is expected, and neither enters tau^2.
    """
    expected = np.broadcast_to(np.asarray(expected, float), np.shape(estimates))
    estimates, variances = np.asarray(estimates, float), np.asarray(variances, float)
    known = np.isfinite(estimates) & np.isfinite(variances)
    distance = np.where(known, estimates - expected, 0.0)
    # A deviation that is nothing but rounding is none.
    size = np.maximum(np.abs(np.where(known, estimates, 0.0)), np.abs(expected))
    measured = known & (variances > (MARGIN * size) ** 2)
    between = _between(distance[measured], variances[measured])
    kept = between / (between + np.where(measured, variances, 1.0))
    return expected + np.where(measured, kept, 1.0) * distance


def _between(distances: Array, variances: Array) -> float:
    """tau^2 of (k,) distances with these sampling variances: (Q - (k - 1)) / (S - sum w^2 / S).

    w = 1 / V, S = sum w and Q = sum w (distance - weighted mean)^2; never below zero.
    """
    if len(distances) < 2:
        return 0.0
    # In units of the smallest variance: weights may differ by any factor, and none overflows.
    unit = variances.min()
    weights = unit / variances
    total = weights.sum()
    spread = weights @ (distances - weights @ distances / total) ** 2
    excess = spread - (len(distances) - 1) * unit
    # S^2 - sum w^2 as a sum of products: a difference would vanish where one weight outweighs all.
    after = np.append(np.cumsum(weights[::-1])[-2::-1], 0.0)
    room = 2 * (weights @ after) / total
    return max(excess / room, 0.0) if room > 0 else 0.0
