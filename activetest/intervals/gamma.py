"""Gamma limits as skewed as the estimate, for statistics with fewer than two useful bounds.

A Poisson count of c events has skewness c^-1/2. An estimate of skewness k is taken for such a count
of 1 / k^2 events, in another unit and from another origin, with limits by gamma quantiles (Garwood
1936; Fay and Feuer 1997 for weighted sums of rare events). To first order they correct Student's t
as Hall 1992 does, without its cubic's explosion: where values are skewed an estimate and its
variance err together, and a symmetric interval misses on one side. The variance's degrees of
freedom follow from the kurtosis of the terms (Satterthwaite 1946); where the surrogate expects
more variance, it is drawn towards that. Few terms hide their tail: the fewer the degrees of
freedom, the more skewed they are taken to be, and the more skewed they are, the more variance has
the limit on that side.
"""

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from activetest.intervals._belief import widen_loss
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array

# Imaginary draws that showed the surrogate's variance.
_PSEUDO_DRAWS = 100
# Of the variance's own standard error, so much is added to it: few terms hide their kurtosis.
_DOUBT = 0.2
# They hide their skewness, too. It grows by so many relative standard errors of the variance, and
# so much of it is added to the variance of the limit on its side.
_HIDDEN_SKEWNESS, _DOUBT_OF_TAIL = 0.75, 0.4
# Less skewness than this is none; with more, less than one event in nine would be left.
_LEAST_SKEWNESS, _MOST_SKEWNESS = 1e-3, 3.0


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Quantity:
    """Interval for one mean (d = 1); what is known bounds it.

    Of a loss between bounds, what was not met yet may put the ends farther apart. decides is for
    ends that have to hold alone.
    """
    lower, upper = estimate.limits[:, 0]
    mean = float(np.clip(estimate.mean[0], lower, upper))
    if estimate.exact:
        return Quantity(mean, mean, mean, level, "exact", variance=0.0)
    variance, tail = _raise_variance(estimate), (1 - level) / 2
    if variance > 0:
        freedom, skewness = estimate.spread_freedom, estimate.skewness
        error = (2 / freedom) ** 0.5
        tails = np.clip([-skewness, skewness], 0, _MOST_SKEWNESS)
        deviation = (variance * (1 + _DOUBT * error + _DOUBT_OF_TAIL * tails)) ** 0.5
        deviation *= stdtrit(freedom, tail) / ndtri(tail)
        skewness *= 1 + _HIDDEN_SKEWNESS * error
        ends = mean + deviation * _standard_limits(skewness, tail)
        if estimate.minority_count > 0 or not np.isfinite(lower):
            lower = np.clip(ends[0], lower, upper)
        # Otherwise nothing that was seen speaks against the smallest mean.
        upper = np.clip(ends[1], lower, upper)
    lower, upper = widen_loss(estimate, (lower, upper), level, decides=decides)
    return Quantity(mean, float(lower), float(upper), level, "gamma", variance=variance)


def _standard_limits(skewness: float, tail: float) -> Array:
    """(2,) limits in deviations from an estimate of this skewness."""
    size = min(abs(skewness), _MOST_SKEWNESS)
    if size < _LEAST_SKEWNESS:
        return np.array([ndtri(tail), -ndtri(tail)])
    events = 1 / size**2
    limits: Array = size * gammaincinv([events, events + 1], [tail, 1 - tail]) - 1 / size
    return limits if skewness > 0 else -limits[::-1]


def _raise_variance(estimate: Estimate) -> float:
    """The observed variance, drawn towards the surrogate's as 100 draws would if that is larger.

    The large values that few draws met may all be among the smaller of them.
    """
    draws = len(estimate.terms)
    observed, expected = estimate.variance[0, 0], estimate.model_variance
    shrunk = (draws * observed + _PSEUDO_DRAWS * expected) / (draws + _PSEUDO_DRAWS)
    return float(max(observed, shrunk))
