"""Korn-Graubard: Clopper-Pearson at an effective sample size, for statistics that are 0 or 1.

Korn and Graubard 1998.
"""

import numpy as np

from activetest.intervals._shares import binomial_limits, effective_size
from activetest.nouns.estimate import RARE, Estimate, Interval


def interval(estimate: Estimate, level: float) -> Interval:
    """Interval for one mean (d = 1) of a statistic that is 0 or 1.

    A statistic that lies between would get an interval far too wide: its variance is not
    mean (1 - mean).
    """
    floor, ceiling = estimate.limits[:, 0]
    mean = float(np.clip(estimate.mean[0], floor, ceiling))
    if estimate.exact:
        return Interval(mean, mean, level, "exact", 0.0)
    variance = _reliable_variance(estimate, mean * (1 - mean))
    size = effective_size(mean, variance, otherwise=np.inf)
    if not 0 < mean < 1 or estimate.minority_count < RARE:
        plain = mean * (1 - mean) / variance if variance > 0 else 0.0
        size = min(size, max(estimate.inside.sum(), plain))
    lower, upper = binomial_limits(
        mean, size, estimate.freedom, level, minority_count=estimate.minority_count
    )
    lower, upper = np.clip([lower, upper], floor, ceiling)
    return Interval(float(lower), float(upper), level, "korn-graubard", variance)


def _reliable_variance(estimate: Estimate, uniform: float) -> float:
    """The observed variance, held up while labels of the rarer kind are few.

    uniform is the variance of one uniform draw. The observed variance is then at least its mean
    with that of uniform draws, weighted by the labels of the rarer kind that were seen and that are
    missing. It is also at least what the surrogate expects, as far as uniform draws would do no
    better: one that expects more is wrong, and a confident one expects too little.
    """
    observed, seen = estimate.variance[0, 0], estimate.minority_count
    if seen >= RARE:
        return float(observed)
    uniform /= estimate.inside.sum()
    mixed = (seen * observed + (RARE - seen) * uniform) / RARE
    return float(max(observed, min(estimate.model_variance, uniform), mixed))
