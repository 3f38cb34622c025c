"""Gamma limits are the exact ones of a Poisson count, at an effective number of events."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import chi2

from activetest.intervals import gamma
from activetest.nouns.estimate import Estimate

# So many draws, and labels above the mean, that Student's t is the normal.
MANY = 200_000


def estimate(
    mean: float, variance: float, *, draws: int = MANY, minority_count: float = MANY, expected=None
) -> Estimate:
    """A mean of values from 0 up; the surrogate expects the variance that is seen."""
    return Estimate(
        mean=np.array([mean]),
        variance=np.array([[variance]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[0.0], [np.inf]]),
        inside=np.ones(draws),
        model_variance=variance if expected is None else expected,
        minority_count=minority_count,
    )


def ends(one: Estimate, level: float = 0.95):
    interval = gamma.interval(one, level)
    return interval.lower, interval.upper


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("count", [1, 4, 60])
def test_of_a_poisson_count_it_is_garwoods_interval(count, level):
    """A count has its own mean as variance; limits are half of quantiles of chi square."""
    tail = (1 - level) / 2
    exact = chi2.ppf(tail, 2 * count) / 2, chi2.ppf(1 - tail, 2 * count + 2) / 2
    assert ends(estimate(count, count), level) == approx(exact, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_does_not_matter(unit):
    lower, upper = ends(estimate(2.0, 0.3, draws=40, minority_count=9))
    found = ends(estimate(unit * 2.0, unit**2 * 0.3, draws=40, minority_count=9))
    assert found == approx((unit * lower, unit * upper))


def test_it_leans_towards_what_was_not_met_yet():
    lower, upper = ends(estimate(2.0, 0.5))
    assert upper - 2 > 1.2 * (2 - lower)
    lower, upper = ends(estimate(2.0, 1e-6))
    assert upper - 2 == approx(2 - lower, rel=0.01)


def test_the_fewer_labels_pull_the_mean_the_wider_it_is():
    """Two degrees of freedom each, and at least two; no more than the draws have."""
    widths = [
        np.diff(ends(estimate(2.0, 0.1, minority_count=minority_count)))[0]
        for minority_count in (1, 4, 12, 90)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.5 * widths[-1]
    few = estimate(2.0, 0.1, draws=7)
    assert ends(few) == approx(ends(replace(few, minority_count=3.0)))


def test_a_surrogate_that_expects_more_widens_the_interval():
    interval = gamma.interval(estimate(2.0, 0.1, draws=20, minority_count=20, expected=0.3), 0.95)
    assert interval.variance == approx(0.2)
    interval = gamma.interval(estimate(2.0, 0.1, draws=20, minority_count=19, expected=0.3), 0.95)
    assert interval.variance == 0.3


def test_without_a_loss_that_was_seen_everything_possible_is():
    one = replace(estimate(0.0, 0.1), limits=np.array([[0.0], [7.0]]))
    assert ends(one) == (0, 7)


def test_what_is_known_bounds_it():
    one = replace(estimate(2.0, 0.5), limits=np.array([[1.5], [2.5]]))
    assert ends(one) == (1.5, 2.5)
