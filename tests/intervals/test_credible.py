"""A credible interval is quantiles of the posterior."""

import numpy as np
from pytest import approx
from scipy.stats import norm

from activetest.intervals import credible
from activetest.nouns.estimate import Estimate


def posterior(draws: np.ndarray) -> Estimate:
    empty = np.empty(0)
    return Estimate(
        mean=draws.mean(keepdims=True),
        variance=np.full((1, 1), draws.var()),
        terms=empty[:, None],
        weights=empty,
        guess=empty[:, None],
        limits=np.array([[-np.inf], [np.inf]]),
        inside=empty,
        draws=draws[:, None],
    )


def test_its_ends_are_equal_tails():
    interval = credible.interval(posterior(np.linspace(0, 1, 1001)), 0.9)
    assert (interval.lower, interval.upper) == approx((0.05, 0.95))


def test_for_a_gaussian_posterior_they_are_those_of_the_normal():
    draws = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    interval = credible.interval(posterior(draws), 0.95)
    assert (interval.lower, interval.upper) == approx((-1.95996, 1.95996), rel=1e-3)


def test_it_needs_no_symmetry():
    draws = np.random.default_rng(1).exponential(size=4000)
    interval = credible.interval(posterior(draws), 0.95)
    assert interval.upper - draws.mean() > 2 * (draws.mean() - interval.lower)


def test_it_holds_the_mean_that_a_few_draws_move_beyond_a_quantile():
    draws = np.append(np.ones(99), 0.9)
    interval = credible.interval(posterior(draws), 0.95)
    assert (interval.lower, interval.upper) == approx((0.999, 1))
    turned = credible.interval(posterior(1 - draws), 0.95)
    assert (turned.lower, turned.upper) == approx((0, 0.001))
