"""Beta quantiles for a group's value between bounds, with the freedom its own labels allow.

Jeffreys' interval (Brown, Cai and DasGupta 2001) at an effective sample size, as Korn and Graubard
1998 have it for whole samples.
"""

import numpy as np

from activetest.intervals._belief import raise_variances, widen_loss
from activetest.intervals._shares import (
    CLOPPER_PEARSON,
    JEFFREYS,
    binomial_limits,
    effective_size,
)
from activetest.nouns.estimate import Estimate, Interval


def believe_variance(estimate: Estimate) -> float:
    """The larger one of the variances behind the two ends."""
    variance = max(float(estimate.variance[0, 0]), estimate.expected_variance)
    return max(raise_variances(estimate, variance, decides=False))


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Interval:
    """Interval for one value (d = 1) of a group, between the estimate's limits.

    Few draws fall inside a small group, and their variance collapses when they happen to agree: it
    is never taken to be less than is expected, see Estimate. The degrees of freedom are the draws
    inside, less one, and at least two. decides is for ends that have to hold alone: Clopper and
    Pearson's.
    """
    low, high = estimate.limits[:, 0]
    value = float(np.clip(estimate.mean[0], low, high))
    if estimate.exact or high <= low:
        return Interval(value, value, level, "exact", 0.0)
    variance = max(estimate.variance[0, 0], estimate.expected_variance)
    freedom = max(int(np.count_nonzero(estimate.inside)), 3) - 1
    share, draws = (value - low) / (high - low), estimate.inside.sum()
    added = CLOPPER_PEARSON if decides else JEFFREYS

    def limit(variance: float) -> tuple[float, float]:
        size = effective_size(share, variance / (high - low) ** 2, otherwise=draws)
        size = min(size, estimate.shown) if estimate.minority_count == 0 else size
        minority = estimate.minority_count
        return binomial_limits(share, size, freedom, level, minority_count=minority, added=added)

    raised = raise_variances(estimate, variance, decides=decides)
    ends = limit(raised[0])[0], limit(raised[1])[1]
    lower, upper = (low + (high - low) * end for end in ends)
    # Jeffreys' limits leave out a bound that the value itself is at.
    ends = float(min(lower, value)), float(max(upper, value))
    lower, upper = widen_loss(estimate, ends, level, decides=decides)
    return Interval(lower, upper, level, "group-beta", max(raised))
