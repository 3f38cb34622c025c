"""Shared by all design-based estimates: a weighted mean of unbiased terms, one per draw."""

import numpy as np

from activetest.errors import NotEstimable
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rows import Array


def weighted_mean(
    terms: Array, guess: Array | None, sample: Sample, *, replaced: bool = False
) -> Estimate:
    """Weighted mean of (M, d) terms with its martingale variance.

    guess (M, d) is what each term took the drawn item's statistics to be; None for terms without.
    Means without guesses weigh real items, so a function of several is that of the means as they
    are: cutting off one of them at what known labels leave possible, and not another, would distort
    their ratio. The terms are uncorrelated given the past, so sum_m w_m^2 (a_m - mean)^2 sees
    adaptivity and sampling without replacement. When nothing is unknown the estimate is the exact
    mean and the variance zero.
    replaced says which draws the terms are for, those with replacement or those without. Raises
    NotEstimable for the other ones, and for fewer than two draws that leave something unknown.
    """
    if sample.replaced != replaced:
        kind, fitting = ("with", "importance") if sample.replaced else ("without", "lure")
        raise NotEstimable(
            f"this estimate does not fit draws {kind} replacement",
            hint=f"`estimators=['{fitting}']`",
        )
    weights, exact = sample.weights, sample.unknown == 0
    if len(terms) < 2 and not exact:
        raise NotEstimable("label at least 2 of the drawn items", hint="`study.next(10)`")
    if exact:
        mean = sample.total / sample.size
        variance = np.zeros((len(mean), len(mean)))
    else:
        mean = weights @ terms
        residuals = weights[:, None] * (terms - mean)
        variance = residuals.T @ residuals / (1 - (weights**2).sum())
    limits = sample.limits
    if guess is None:
        guess = np.zeros_like(terms)
        if len(mean) > 1:
            limits = sample.no_limits
    return Estimate(mean, variance, terms, weights, guess, limits, sample.inside, exact=exact)


def weigh_labels(sample: Sample) -> Array:
    """(M, 1) weight of each drawn item's statistics in the mean of steps without guesses.

    An item counts w / q at its own draw, and w at each draw after it, which knows it.
    """
    after = sample.weights.sum() - np.cumsum(sample.weights)
    weights: Array = (sample.weights / sample.q + after)[:, None] / sample.size
    return weights
