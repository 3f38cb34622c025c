"""Gamma limits for the mean of a statistic that is never negative: few items make most of it.

Fay and Feuer 1997, for weighted sums of rare events; here at an effective number of events from the
shrunk variance, as Korn and Graubard 1998 do for proportions. Seldom, large values make a mean too
small far more often than too large, and these limits lean that way; Student's t does not.
"""

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from activetest.intervals._shrunk import shrink_variance
from activetest.nouns.estimate import Estimate, Interval


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one mean (d = 1) of values from 0 up.

    Rare events carry two degrees of freedom each (Garwood 1936), and no variance more than those
    labels that are above the mean, or below it.
    """
    mean = float(np.clip(estimate.mean[0], *estimate.limits[:, 0]))
    if estimate.exact:
        return Interval(mean, mean, level, "exact", 0.0)
    variance, tail = shrink_variance(estimate), (1 - level) / 2
    freedom = min(estimate.freedom, max(2 * estimate.minority_count, 2.0))
    if mean <= 0 or variance <= 0:
        lower, upper = estimate.limits[:, 0]
        return Interval(float(lower), float(upper), level, "gamma", variance)
    events = mean**2 / variance * (ndtri(tail) / stdtrit(freedom, tail)) ** 2
    ends = mean / events * gammaincinv([events, events + 1], [tail, 1 - tail])
    if estimate.minority_count == 0:
        # Nothing that was seen speaks against a mean of 0.
        ends[0] = 0.0
    lower, upper = np.clip(ends, *estimate.limits[:, 0])
    return Interval(float(lower), float(upper), level, "gamma", variance)
