"""Beta quantiles for a metric between bounds that is a function of several means.

The device of Korn and Graubard 1998 on the scale of the metric: an effective sample size from the
variance of its linear part (the delta method), and exact binomial limits at that size. Such a
variance fails where few labels make it: so it is never taken to be less than the surrogate expects,
and carries no more degrees of freedom than rare events do, two for each (Garwood 1936).
"""

import numpy as np

from activetest.intervals._belief import raise_variances, widen_unmet
from activetest.intervals._shares import binomial_limits, effective_size
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Quantity:
    """Interval for one value (d = 1) between the estimate's limits, which are the metric's.

    Each end is the farther one of two: by the variance as it stands, with its own degrees of
    freedom, and by that which labels of this side support. decides is for ends that hold alone.
    """
    low, high = estimate.limits[:, 0]
    value = float(np.clip(estimate.mean[0], low, high))
    if estimate.exact:
        return Quantity(value, value, value, level, "exact", variance=0.0)
    variance = max(estimate.variance[0, 0], estimate.model_variance)
    freedom = min(estimate.freedom, max(2 * estimate.weighted_minority_count, 2.0))
    share, draws = (value - low) / (high - low), estimate.inside.sum()

    def limit(variance: float, freedom: float) -> tuple[float, float]:
        size = effective_size(share, variance / (high - low) ** 2, otherwise=draws)
        size = min(size, draws) if estimate.minority_count == 0 else size
        return binomial_limits(share, size, freedom, level, minority_count=estimate.minority_count)

    lower, upper = limit(variance, freedom)
    raised = raise_variances(estimate, variance, decides=decides)
    if max(raised) > variance:
        lower = min(lower, limit(raised[0], estimate.freedom)[0])
        upper = max(upper, limit(raised[1], estimate.freedom)[1])
    ends = low + (high - low) * float(lower), low + (high - low) * float(upper)
    lower, upper = widen_unmet(estimate, ends, level)
    return Quantity(value, lower, upper, level, "delta-beta", variance=float(max(raised)))
