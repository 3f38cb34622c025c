"""Student's t (Student 1908) for a group, with the degrees of freedom its own labels allow."""

import numpy as np
from scipy.special import stdtrit

from activetest.intervals._belief import raise_variances
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity

NEEDS_INSIDE = 10


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Quantity:
    """Interval for one mean (d = 1) of a group.

    Few draws fall inside a small group, and their variance collapses when they happen to agree: it
    is never taken to be less than the surrogate expects. The degrees of freedom are the draws
    inside, less one, and at least two. decides is for ends that have to hold alone.
    """
    mean = float(np.clip(estimate.mean[0], *estimate.limits[:, 0]))
    if estimate.exact:
        return Quantity(mean, mean, mean, level, "exact", variance=0.0)
    variance = max(estimate.variance[0, 0], estimate.model_variance)
    freedom = max(int(np.count_nonzero(estimate.inside)), 3) - 1
    raised = raise_variances(estimate, variance, decides=decides)
    below, above = -stdtrit(freedom, (1 - level) / 2) * np.sqrt(raised)
    lower, upper = np.clip([mean - below, mean + above], *estimate.limits[:, 0])
    ends = float(lower), float(upper)
    return Quantity(mean, *ends, level, "group-t", variance=float(max(raised)))
