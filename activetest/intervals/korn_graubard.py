"""Korn-Graubard: Clopper-Pearson at an effective sample size, for statistics that are 0 or 1.

Korn and Graubard 1998.
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from activetest.evidence_numbers import Estimate, Interval
from activetest.intervals._rare import RARE


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
    # Within a deviation of a bound, mean (1 - mean) over the variance is no sample size any more.
    deviation = min(variance**0.5, 0.5)
    inner = np.clip(mean, deviation, 1 - deviation)
    effective = inner * (1 - inner) / variance if variance > 0 else np.inf
    if not 0 < mean < 1 or estimate.tally < RARE:
        plain = mean * (1 - mean) / variance if variance > 0 else 0.0
        effective = min(effective, max(estimate.inside.sum(), plain))
    effective *= (ndtri(tail) / stdtrit(estimate.freedom, tail)) ** 2
    hits, misses = mean * effective, (1 - mean) * effective
    lower = betaincinv(hits, misses + 1, tail) if hits > 0 else 0.0
    upper = betaincinv(hits + 1, misses, 1 - tail) if misses > 0 else 1.0
    if estimate.tally == 0:
        # Nothing that was seen speaks against the nearer bound: only what was expected does.
        lower, upper = 0.0 if mean < 0.5 else lower, 1.0 if mean > 0.5 else upper
    lower, upper = np.clip([lower, upper], floor, ceiling)
    return Interval(float(lower), float(upper), level, "korn-graubard", variance)


def _trusted(estimate: Estimate, uniform: float) -> float:
    """The observed variance, held up while labels of the rarer kind are few.

    uniform is the variance of one uniform draw. The observed variance is then at least its mean
    with that of uniform draws, weighted by the labels of the rarer kind that were seen and that are
    missing. It is also at least what the surrogate expects, as far as uniform draws would do no
    better: one that expects more is wrong, and a confident one expects too little.
    """
    observed, seen = estimate.variance[0, 0], estimate.tally
    if seen >= RARE:
        return observed
    uniform /= estimate.inside.sum()
    mixed = (seen * observed + (RARE - seen) * uniform) / RARE
    return max(observed, min(estimate.model_variance, uniform), mixed)
