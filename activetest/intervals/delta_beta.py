"""Beta quantiles for a metric between bounds that is a function of several means.

The device of Korn and Graubard 1998 on the scale of the metric: an effective sample size from the
variance of its linear part (the delta method), and exact binomial limits at that size. Such a
variance fails where few labels make it: so it is never taken to be less than the surrogate expects,
and carries no more degrees of freedom than rare events do, two for each (Garwood 1936).
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from activetest.evidence_numbers import Estimate, Interval


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one value (d = 1) between the estimate's limits, which are the metric's."""
    low, high = estimate.limits[:, 0]
    value = float(np.clip(estimate.mean[0], low, high))
    if estimate.exact:
        return Interval(value, value, level, "exact", 0.0)
    variance = max(estimate.variance[0, 0], estimate.model_variance)
    freedom = min(estimate.freedom, max(2 * estimate.support, 2.0))
    tail, range_ = (1 - level) / 2, high - low
    share, spread = (value - low) / range_, variance**0.5 / range_
    # Within a deviation of a bound, share (1 - share) over the variance is no sample size any more.
    inner = np.clip(share, min(spread, 0.5), 1 - min(spread, 0.5))
    effective = inner * (1 - inner) / spread**2 if spread > 0 else estimate.inside.sum()
    if estimate.tally == 0:
        effective = min(effective, estimate.inside.sum())
    effective *= (ndtri(tail) / stdtrit(freedom, tail)) ** 2
    hits, misses = share * effective, (1 - share) * effective
    lower = betaincinv(hits, misses + 1, tail) if hits > 0 else 0.0
    upper = betaincinv(hits + 1, misses, 1 - tail) if misses > 0 else 1.0
    if estimate.tally == 0:
        # Nothing that was seen speaks against the nearer bound: only what was expected does.
        lower, upper = 0.0 if share < 0.5 else lower, 1.0 if share > 0.5 else upper
    ends = low + range_ * np.array([lower, upper])
    return Interval(float(ends[0]), float(ends[1]), level, "delta-beta", variance)
