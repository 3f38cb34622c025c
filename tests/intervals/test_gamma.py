"""Gamma limits as skewed as the terms, with the degrees of freedom that their kurtosis leaves."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import chi2, norm, t

from activetest.intervals import gamma
from activetest.nouns.estimate import Estimate, Shape

# So many draws that the observed variance counts alone.
MANY = 200_000
FREE = np.array([[-np.inf], [np.inf]])


def estimate(terms, *, expected: float | None = None, rare: float = 20, limits=FREE) -> Estimate:
    """The mean of terms of equal weight; the surrogate expects the variance that is seen."""
    terms = np.asarray(terms, float)
    variance = terms.var(ddof=1) / len(terms)
    return Estimate(
        mean=np.array([terms.mean()]),
        variance=np.array([[variance]]),
        terms=terms[:, None],
        weights=np.full(len(terms), 1 / len(terms)),
        guess=np.zeros((len(terms), 1)),
        limits=limits,
        inside=np.ones(len(terms)),
        model_variance=variance if expected is None else expected,
        minority_count=rare,
    )


def ends(one: Estimate, level: float = 0.95):
    interval = gamma.interval(one, level)
    return interval.lower, interval.upper


def seen(one: Estimate, observed: float) -> Estimate:
    """The estimate with another observed variance."""
    return replace(one, variance=np.array([[observed]]))


SKEWED = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 0.5, 0.9, 4.0] * 5)
EVEN = np.array([1.0, 3.0] * 20)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("count", [1, 4, 60])
def test_as_skewed_as_a_count_it_is_garwoods_interval(count, level):
    """A count has its own mean as variance; limits are half of quantiles of chi square."""
    tail = (1 - level) / 2
    exact = chi2.ppf(tail, 2 * count) / 2, chi2.ppf(1 - tail, 2 * count + 2) / 2
    found = gamma._standard_limits(count**-0.5, tail)
    assert count + count**0.5 * found == approx(exact)
    assert gamma._standard_limits(-(count**-0.5), tail) == approx(-found[::-1])


def test_without_skewness_it_is_normal_and_nothing_jumps_there():
    normal = norm.ppf([0.05, 0.95])
    assert gamma._standard_limits(0.0, 0.05) == approx(normal)
    for skewness in (1.001e-3, -1.001e-3):
        assert gamma._standard_limits(skewness, 0.05) == approx(normal, abs=2e-3)


@pytest.mark.parametrize(("skewness", "even"), [(0.99e-3, True), (1.0e-3, False), (2e-3, False)])
def test_below_a_thousandth_skewness_is_none_and_from_there_on_it_moves_the_limits(skewness, even):
    """By k (z^2 - 1) / 3 each (Cornish and Fisher), the upper one by k more: it counts an event."""
    for sign in (1, -1):
        limits = gamma._standard_limits(sign * skewness, 0.05)
        moved = 0.0 if even else sign * skewness * (2 * norm.ppf(0.05) ** 2 + 1) / 3
        assert limits.sum() == approx(moved, abs=5e-6)


def test_few_events_have_finite_limits():
    for skewness in (2.0, 3.0, 50.0):
        lower, upper = gamma._standard_limits(skewness, 0.025)
        assert -1 < lower < 0
        assert 1 < upper < 15


def test_terms_as_often_above_as_below_have_students_interval():
    """Kurtosis 1 leaves all degrees of freedom; a fifth of its error is added to the variance."""
    deviation = (EVEN.var(ddof=1) / 40 * (1 + 0.2 * (2 / 39) ** 0.5)) ** 0.5
    assert ends(estimate(EVEN), 0.9) == approx(t.interval(0.9, 39, loc=2, scale=deviation))


def test_the_degrees_of_freedom_are_those_of_the_kurtosis():
    """2 n / (kurtosis - 1) of n terms, at least 3 and at most n - 1."""
    parts = SKEWED - SKEWED.mean()
    kurtosis = (parts**4).mean() / (parts**2).mean() ** 2
    one = estimate(SKEWED)
    assert one.spread_freedom == approx(2 * 40 / (kurtosis - 1))
    assert one.skewness == approx((parts**3).mean() / (parts**2).mean() ** 1.5 / 40**0.5)
    assert estimate(EVEN).spread_freedom == approx(39)
    assert estimate(np.eye(40)[0]).spread_freedom == 3
    assert estimate([1.0, 2.0]).spread_freedom == approx(1)
    assert estimate(np.ones(40)).spread_freedom == approx(39)
    assert estimate(np.ones(40)).skewness == 0


def test_it_is_garwoods_with_the_deviation_of_students_t():
    """More skewed than the terms show, and with more variance on the side of the large ones."""
    one = estimate(SKEWED)
    freedom = one.spread_freedom
    error = (2 / freedom) ** 0.5
    events = (one.skewness * (1 + 0.75 * error)) ** -2
    upper = (chi2.ppf(0.975, 2 * events + 2) / 2 - events) / events**0.5
    lower = (chi2.ppf(0.025, 2 * events) / 2 - events) / events**0.5
    doubt = 0.2 * error + 0.4 * one.skewness * np.array([0, 1])
    variances = SKEWED.var(ddof=1) / 40 * (1 + doubt)
    scale = variances**0.5 * t.ppf(0.025, freedom) / norm.ppf(0.025)
    assert ends(one) == approx(SKEWED.mean() + scale * [lower, upper])


def test_the_fewer_degrees_of_freedom_the_further_the_limit_towards_the_tail():
    """The same variance and skewness; only how many terms show them differs."""
    found = [
        ends(replace(estimate(SKEWED), shape=Shape(freedom, 0.3, freedom)))
        for freedom in (5.0, 20.0, 1e9)
    ]
    scale = [t.ppf(0.975, freedom) for freedom in (5.0, 20.0, 1e9)]
    reach = np.array([(end[1] - SKEWED.mean()) / by for end, by in zip(found, scale, strict=True)])
    assert (reach[:-1] > 1.03 * reach[1:]).all()
    lean = [(end[1] - SKEWED.mean()) / (SKEWED.mean() - end[0]) for end in found]
    assert lean == sorted(lean, reverse=True)


@pytest.mark.parametrize("unit", [1e-6, -1.0, 1e6])
def test_neither_the_unit_nor_the_direction_matters(unit):
    lower, upper = ends(estimate(SKEWED + 7))
    assert sorted(ends(estimate(unit * (SKEWED + 7)))) == approx(
        sorted((unit * lower, unit * upper))
    )


def test_it_leans_towards_what_was_not_met_yet():
    lower, upper = ends(estimate(SKEWED))
    assert upper - SKEWED.mean() > 1.2 * (SKEWED.mean() - lower)
    lower, upper = ends(estimate(-SKEWED))
    assert upper + SKEWED.mean() < 0.8 * (-SKEWED.mean() - lower)


def test_a_surrogate_that_expects_more_counts_as_a_hundred_draws():
    """The few large values that were seen may all be among the smaller ones."""
    one = seen(estimate(EVEN[:20], expected=0.1), 0.04)
    assert gamma.interval(one, 0.9).variance == approx(0.09)
    one = seen(estimate(np.tile(EVEN, 5), expected=0.1), 0.04)
    assert gamma.interval(one, 0.9).variance == approx(0.06)


def test_a_surrogate_that_expects_less_does_not_count():
    one = seen(estimate(EVEN, expected=0.001), 0.04)
    assert gamma.interval(one, 0.9).variance == 0.04


def test_draws_that_agree_by_chance_leave_the_surrogates_doubt():
    lower, upper = ends(estimate(np.full(30, 2.0), expected=0.1))
    assert lower < 1.8
    assert upper > 2.2


def test_many_draws_outweigh_the_surrogate():
    one = seen(estimate(np.tile(EVEN, MANY // 40), expected=10.0), 0.04)
    assert gamma.interval(one, 0.9).variance == approx(0.045, rel=0.01)


@pytest.mark.parametrize("lowest", [0.0, -np.inf])
def test_where_nothing_varies_and_nothing_is_expected_to_everything_possible_is(lowest):
    one = estimate(np.zeros(30), limits=np.array([[lowest], [7.0]]))
    assert ends(one) == (lowest, 7)


def test_where_no_label_pulls_down_nothing_speaks_against_the_smallest_mean():
    limits = np.array([[0.5], [np.inf]])
    assert ends(estimate(SKEWED + 9, rare=0, limits=limits))[0] == 0.5
    assert ends(estimate(SKEWED + 9, rare=0))[0] > 8


def test_what_is_known_bounds_the_interval_and_holds_the_estimate_inside():
    """Nearly everything is known: an estimate below what the known labels sum to is moved up."""
    assert ends(estimate(EVEN, limits=np.array([[1.9], [2.1]]))) == (1.9, 2.1)
    lower, upper = ends(estimate(EVEN, limits=np.array([[2.5], [np.inf]])))
    assert lower == 2.5
    assert upper > 2.5
