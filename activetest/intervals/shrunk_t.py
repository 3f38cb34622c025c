"""Student's t with a variance shrunk to the surrogate's, for statistics without bounds."""

import numpy as np
from scipy.special import stdtrit

from activetest.evidence import Estimate, Interval
from activetest.intervals._rare import RARE

# Imaginary draws that showed the surrogate's variance.
_PSEUDO_DRAWS = 20


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one mean (d = 1).

    Heavy tails that were not met yet enter through the variance that the surrogate expects; what
    is known bounds the mean.
    """
    mean = float(np.clip(estimate.mean[0], *estimate.limits[:, 0]))
    if estimate.exact:
        return Interval(mean, mean, level, "exact", 0.0)
    draws = len(estimate.terms)
    observed, expected = estimate.variance[0, 0], estimate.model_variance[0, 0]
    variance = (draws * observed + _PSEUDO_DRAWS * expected) / (draws + _PSEUDO_DRAWS)
    if estimate.tally < RARE:
        # The few errors seen may all be cheap ones.
        variance = max(variance, expected)
    half = -stdtrit(estimate.freedom, (1 - level) / 2) * variance**0.5
    lower, upper = np.clip([mean - half, mean + half], *estimate.limits[:, 0])
    return Interval(float(lower), float(upper), level, "shrunk-t", variance)
