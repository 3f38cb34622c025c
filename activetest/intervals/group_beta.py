"""Beta quantiles for a group's value between bounds, with the freedom its own labels allow.

Jeffreys' interval (Brown, Cai and DasGupta 2001) at an effective sample size, as Korn and Graubard
1998 have it for whole samples.
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from activetest.evidence_numbers import Estimate, Interval


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one value (d = 1) of a group, between the estimate's limits.

    Few draws fall inside a small group, and their variance collapses when they happen to agree: it
    is never taken to be less than the surrogate expects. The degrees of freedom are the draws
    inside, less one, and at least two.
    """
    low, high = estimate.limits[:, 0]
    value = float(np.clip(estimate.mean[0], low, high))
    if estimate.exact or high <= low:
        return Interval(value, value, level, "exact", 0.0)
    variance = max(estimate.variance[0, 0], estimate.model_variance)
    freedom = max(np.count_nonzero(estimate.inside), 3) - 1
    tail, range_ = (1 - level) / 2, high - low
    share, spread = (value - low) / range_, min(variance**0.5 / range_, 0.5)
    inner = np.clip(share, spread, 1 - spread)
    effective = inner * (1 - inner) / spread**2 if spread > 0 else estimate.inside.sum()
    if estimate.tally == 0:
        effective = min(effective, estimate.inside.sum())
    effective *= (ndtri(tail) / stdtrit(freedom, tail)) ** 2
    hits, misses = share * effective + 0.5, (1 - share) * effective + 0.5
    lower, upper = low + range_ * betaincinv(hits, misses, [tail, 1 - tail])
    if estimate.tally == 0:
        # Nothing that was seen speaks against the nearer bound: only what was expected does.
        lower, upper = low if share < 0.5 else lower, high if share > 0.5 else upper
    # Jeffreys' limits leave out a bound that the value itself is at.
    lower, upper = min(lower, value), max(upper, value)
    return Interval(float(lower), float(upper), level, "group-beta", variance)
