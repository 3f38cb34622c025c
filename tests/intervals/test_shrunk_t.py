"""Student's t whose variance is shrunk to what the surrogate expects."""

from dataclasses import replace

import numpy as np
from pytest import approx
from scipy.stats import t

from activetest.intervals import shrunk_t
from activetest.nouns.estimate import Estimate


def estimate(observed: float, expected: float, *, draws: int = 30, rare: int = 20) -> Estimate:
    """A mean of 2 from draws of equal weight, with `rare` labels of the rarer kind."""
    return Estimate(
        mean=np.array([2.0]),
        variance=np.array([[observed]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[-np.inf], [np.inf]]),
        inside=np.ones(draws),
        model_variance=expected,
        minority_count=rare,
    )


def test_where_the_surrogate_agrees_it_is_students_t():
    interval = shrunk_t.interval(estimate(0.04, 0.04, draws=25), 0.9)
    assert (interval.lower, interval.upper) == approx(t.interval(0.9, 24, loc=2, scale=0.2))


def test_the_surrogate_counts_as_twenty_draws():
    assert shrunk_t.interval(estimate(0.04, 0.1, draws=20), 0.9).variance == approx(0.07)
    assert shrunk_t.interval(estimate(0.04, 0.1, draws=60), 0.9).variance == approx(0.055)


def test_draws_that_agree_by_chance_leave_the_surrogates_doubt():
    interval = shrunk_t.interval(estimate(0.0, 0.1), 0.95)
    assert interval.lower < 2 < interval.upper


def test_many_draws_outweigh_the_surrogate():
    assert shrunk_t.interval(estimate(0.04, 10.0, draws=10**6), 0.9).variance == approx(0.04, 0.01)


def test_while_errors_are_few_the_variance_is_at_least_the_surrogates():
    """The few that were seen may all be cheap ones."""
    assert shrunk_t.interval(estimate(0.04, 0.1, rare=19), 0.9).variance == approx(0.1)
    assert shrunk_t.interval(estimate(0.1, 0.04, rare=19), 0.9).variance == approx(0.076)


def test_what_is_known_bounds_the_interval_and_holds_the_estimate_inside():
    """Nearly everything is known: an estimate below what the known labels sum to is moved up."""
    one = replace(estimate(0.04, 0.04), limits=np.array([[2.5], [np.inf]]))
    interval = shrunk_t.interval(one, 0.95)
    assert interval.lower == 2.5
    assert interval.upper > 2.5
