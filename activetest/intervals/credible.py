"""Quantiles of what the members of a surrogate say: as right as the surrogate is."""

import numpy as np

from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity


def interval(estimate: Estimate, level: float) -> Quantity:
    """Equal-tailed credible interval for one mean (d = 1), from the surrogate's members.

    The posterior of an active surrogate estimate (Kossen 2022), with labels drawn. For ALT-MAS the
    values of the metric in single passes, whose mean is its eq. (3); the paper has no interval. It
    holds the estimate, also where few draws far away move that beyond a quantile.
    """
    if estimate.draws is None:
        raise ValueError("this estimate has no posterior draws")
    tail = (1 - level) / 2
    lower, upper = np.quantile(estimate.draws[:, 0], [tail, 1 - tail])
    mean = estimate.mean[0]
    lower, upper = np.fmin(lower, mean), np.fmax(upper, mean)
    method = "exact" if estimate.exact else "credible"
    variance = float(estimate.variance[0, 0])
    return Quantity(float(mean), float(lower), float(upper), level, method, variance=variance)
