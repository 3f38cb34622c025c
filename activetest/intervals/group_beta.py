"""Beta quantiles for a group's value between bounds, with the freedom its own labels allow.

Jeffreys' limit (Brown, Cai and DasGupta 2001) on the far side and Clopper and Pearson's on the near
one, at an effective sample size, as Korn and Graubard 1998 have it for whole samples.
"""

import numpy as np

from activetest.intervals._belief import raise_variances, widen_loss, widen_unmet
from activetest.intervals._shares import (
    CLOPPER_PEARSON,
    JEFFREYS,
    binomial_limits,
    effective_size,
    round_outward,
)
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above, is_below


def believe_variance(estimate: Estimate) -> float:
    """The larger one of the variances behind the two ends."""
    variance = max(float(estimate.variance[0, 0]), estimate.model_variance)
    return max(raise_variances(estimate, variance, decides=False))


def interval(
    estimate: Estimate, level: float, *, decides: bool = False, counted: bool = False
) -> Quantity:
    """Interval for one value (d = 1) of a group, between the estimate's limits.

    Few draws fall inside a small group, and their variance collapses when they happen to agree: it
    is never taken to be less than the surrogate expects. The degrees of freedom are the draws
    inside, less one, and at least two. The limit towards the nearer bound is Clopper and Pearson's:
    where nearly all that can be found was found, the truth lies at that bound. decides is for ends
    that have to hold alone: both are. counted is for a share of items, whose ends are whole items.
    """
    low, high = estimate.limits[:, 0]
    value = float(np.clip(estimate.mean[0], low, high))
    if estimate.exact or high <= low:
        return Quantity(value, value, value, level, "exact", variance=0.0)
    variance = max(estimate.variance[0, 0], estimate.model_variance)
    freedom = max(int(np.count_nonzero(estimate.inside)), 3) - 1
    share, draws = (value - low) / (high - low), estimate.inside.sum()
    nearer = not is_above(share, 0.5), not is_below(share, 0.5)

    def limit(variance: float, side: int) -> float:
        size = effective_size(share, variance / (high - low) ** 2, otherwise=draws)
        size = min(size, estimate.shown) if estimate.minority_count == 0 else size
        minority = estimate.minority_count
        added = CLOPPER_PEARSON if decides or nearer[side] else JEFFREYS
        limits = binomial_limits(share, size, freedom, level, minority_count=minority, added=added)
        return float(low + (high - low) * limits[side])

    raised = raise_variances(estimate, variance, decides=decides)
    lower, upper = (limit(variance, side) for side, variance in enumerate(raised))
    if counted:
        lower, upper = round_outward(lower, upper, estimate.open_items)
    # Jeffreys' limits leave out a bound that the value itself is at.
    ends = float(max(min(lower, value), low)), float(min(max(upper, value), high))
    ends = widen_unmet(estimate, ends, level)
    lower, upper = widen_loss(estimate, ends, level, decides=decides)
    return Quantity(value, lower, upper, level, "group-beta", variance=float(max(raised)))
