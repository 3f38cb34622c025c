"""What every design-based estimate shares: a weighted mean of unbiased terms, one per draw."""

import numpy as np

from activetest.errors import NotEstimable
from activetest.evidence import Array, Estimate, Sample


def weighted(terms: Array, sample: Sample, model_variance: Array) -> Estimate:
    """Weighted mean of (M, d) terms with its martingale variance.

    model_variance is (d, d). The terms are uncorrelated given the past, so
    sum_m w_m^2 (a_m - mean)^2 sees adaptivity and sampling without replacement. When nothing is
    unknown the estimate is the exact mean and the variance zero. Raises NotEstimable for fewer than
    two draws that leave something unknown.
    """
    weights = sample.weights
    if sample.unknown == 0:
        nothing = np.zeros((len(sample.total), len(sample.total)))
        mean = sample.total / sample.size
        return Estimate(
            mean,
            nothing,
            terms,
            weights,
            sample.tally,
            sample.limits,
            sample.inside,
            nothing,
            exact=True,
        )
    if len(terms) < 2:
        raise NotEstimable(
            "an estimate from draws needs at least two labelled ones", hint="activetest next --n 10"
        )
    mean = weights @ terms
    residuals = weights[:, None] * (terms - mean)
    variance = residuals.T @ residuals / (1 - (weights**2).sum())
    return Estimate(
        mean, variance, terms, weights, sample.tally, sample.limits, sample.inside, model_variance
    )


def expected_variance(sample: Sample, slope: Array, shift: Array) -> Array:
    """(d, d) variance of the estimate that the surrogate expects, for guesses slope g + shift.

    slope and shift are (M, d). sum_m w_m^2 sum_{R_m} E[(h - slope g - shift)^2] (1 / q - 1) / N^2,
    from the sums that each round recorded; diagonal, since rounds record no covariances.
    """
    noise, square, linear, constant = np.moveaxis(sample.doubt, -1, 0)
    inner = (
        noise + (1 - slope) ** 2 * square - 2 * (1 - slope) * shift * linear + shift**2 * constant
    )
    return np.diag((sample.weights**2) @ inner) / sample.size**2
