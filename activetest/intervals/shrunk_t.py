"""Student's t with a variance shrunk to the surrogate's, for statistics without bounds."""

import numpy as np
from scipy.special import stdtrit

from activetest.intervals._shrunk import shrink_variance
from activetest.nouns.estimate import Estimate, Interval


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one mean (d = 1); what is known bounds it."""
    mean = float(np.clip(estimate.mean[0], *estimate.limits[:, 0]))
    if estimate.exact:
        return Interval(mean, mean, level, "exact", 0.0)
    variance = shrink_variance(estimate)
    half = -stdtrit(estimate.freedom, (1 - level) / 2) * variance**0.5
    lower, upper = np.clip([mean - half, mean + half], *estimate.limits[:, 0])
    return Interval(float(lower), float(upper), level, "shrunk-t", variance)
