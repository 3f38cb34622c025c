"""Squared calibration error: a weighted sum of squared gaps, bin by bin.

The square of an estimated gap is on average too large by the gap's variance (Kumar, Liang and Ma
2019, who take it off again).
"""

import numpy as np
from scipy.special import stdtrit

from activetest.intervals.calibration import estimate_gaps
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array

REMOVES_BIAS = True


def interval(estimate: Estimate, level: float) -> Quantity:
    """Interval for sum_b (a_b - c_b)^2 / w_b, from means (3B,) of a, of c, and of the shares w.

    The debiased sum has variance 4 sum_b d^2 V / w^2 + 2 sum_b V^2 / w^2 for normal gaps d. An
    error that no draw has met yet is in what is claimed.
    """
    mean, variance, share = _squares(estimate)
    value = remove_bias(estimate)
    if estimate.exact:
        return Quantity(value, value, value, level, "exact", variance=0.0)
    freedom = min(estimate.freedom, max(int(np.count_nonzero(estimate.inside)), 3) - 1)
    spread = 4 * mean**2 * variance + 2 * variance**2
    total = float((spread / share**2).sum())
    half = -stdtrit(freedom, (1 - level) / 2) * total**0.5
    lower, upper = max(value - half, 0.0), value + half
    return Quantity(value, lower, upper, level, "calibration-squared", variance=total)


def remove_bias(estimate: Estimate) -> float:
    """The sum of squares, less what estimation errors add to it on average; at least 0."""
    mean, variance, share = _squares(estimate)
    return max(float(((mean**2 - variance) / share).sum()), 0.0)


def _squares(estimate: Estimate) -> tuple[Array, Array, Array]:
    """Gap, its variance and share of every bin that holds an item."""
    found, bins = estimate_gaps(estimate, blocks=3), len(estimate.mean) // 3
    share = estimate.mean[2 * bins : 3 * bins]
    occupied = share > 1e-9
    variance = np.maximum(found.variance, found.claimed)
    return found.mean[occupied], variance[occupied], share[occupied]
