"""Korn-Graubard: Clopper-Pearson at an effective sample size, for statistics that are 0 or 1.

Korn and Graubard 1998.
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from activetest.evidence import Estimate, Interval

# With fewer labels of the rarer kind than this, the observed variance misses on the dangerous side.
_RARE = 20
# A floor under the draws bounds their variance by that of uniform ones over the floor: what the surrogate
# expects beyond this says that the surrogate is wrong.
_MOST = 3.0


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one mean (d = 1) of a statistic that is 0 or 1.

    A statistic that lies between would get an interval far too wide: its variance is not
    mean (1 - mean).
    """
    floor, ceiling = estimate.limits[:, 0]
    mean = float(np.clip(estimate.mean[0], floor, ceiling))
    if estimate.exact:
        return Interval(mean, mean, level, "exact", 0.0)
    variance = _trusted(estimate, mean * (1 - mean))
    tail = (1 - level) / 2
    effective = (
        mean * (1 - mean) / variance if variance > 0 and 0 < mean < 1 else len(estimate.terms)
    )
    effective *= (ndtri(tail) / stdtrit(estimate.freedom, tail)) ** 2
    hits, misses = mean * effective, (1 - mean) * effective
    lower = betaincinv(hits, misses + 1, tail) if hits > 0 else 0.0
    upper = betaincinv(hits + 1, misses, 1 - tail) if misses > 0 else 1.0
    lower, upper = np.clip([lower, upper], floor, ceiling)
    return Interval(float(lower), float(upper), level, "korn-graubard", variance)


def _trusted(estimate: Estimate, uniform: float) -> float:
    """The observed variance, held up while labels of the rarer kind are few.

    uniform is the variance of one uniform draw. The observed variance is then at least what the
    surrogate expects (a confident one expects too little), and at least its mean with that of
    uniform draws, weighted by the labels of the rarer kind that were seen and those that are
    missing.
    """
    observed, seen = estimate.variance[0, 0], estimate.tally[0]
    if seen >= _RARE:
        return observed
    uniform /= len(estimate.terms)
    mixed = (seen * observed + (_RARE - seen) * uniform) / _RARE
    return max(observed, min(estimate.model_variance[0, 0], _MOST * uniform), mixed)
