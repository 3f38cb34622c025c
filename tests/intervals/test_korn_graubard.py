"""Korn-Graubard is Clopper-Pearson at the effective sample size, and careful about rare errors."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta, binomtest, norm, t

from activetest.intervals import korn_graubard
from activetest.nouns.estimate import Estimate

# So many draws that Student's t is the normal.
MANY = 200_000


def estimate(mean: float, variance: float, *, draws: int = MANY, rare: int = 1000) -> Estimate:
    """A mean with that variance, from draws of equal weight."""
    return Estimate(
        mean=np.array([mean]),
        variance=np.array([[variance]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(draws),
        minority_count=rare,
    )


def ends(one: Estimate, level: float = 0.95):
    interval = korn_graubard.interval(one, level)
    return interval.lower, interval.upper


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("hits", "count"), [(1, 10), (3, 50), (25, 50), (199, 200)])
def test_with_the_variance_of_uniform_draws_it_is_clopper_pearson(hits, count, level):
    mean = hits / count
    exact = binomtest(hits, count).proportion_ci(level, method="exact")
    assert ends(estimate(mean, mean * (1 - mean) / count), level) == approx(exact, rel=1e-3)


@pytest.mark.parametrize("draws", [10, 50, 300])
def test_without_a_hit_it_is_clopper_pearson_at_a_few_draws_less(draws):
    """Student's t makes it a little wider than the exact one."""
    exact = binomtest(0, draws).proportion_ci(0.95, method="exact")
    lower, upper = ends(estimate(0.0, 0.0, draws=draws, rare=0))
    assert lower == exact.low == 0
    assert exact.high < upper < 1.35 * exact.high


def test_a_smaller_variance_counts_as_more_draws():
    """Half the variance is twice the draws."""
    exact = binomtest(20, 100).proportion_ci(0.95, method="exact")
    assert ends(estimate(0.2, 0.2 * 0.8 / 50 / 2)) == approx(exact, rel=1e-3)


@pytest.mark.parametrize("rare", [0, 5, 100])
@pytest.mark.parametrize("mean", [0.0, 0.03, 0.5])
def test_accuracy_gets_the_mirror_image_of_error(mean, rare):
    lower, upper = ends(estimate(mean, 1e-3, draws=60, rare=rare))
    assert ends(estimate(1 - mean, 1e-3, draws=60, rare=rare)) == approx((1 - upper, 1 - lower))


def test_a_collapsed_variance_is_not_believed_without_labels_of_the_rarer_kind():
    """Then the interval is no narrower than that of as many uniform draws."""
    uniform = 0.02 * 0.98 / 100
    interval = korn_graubard.interval(estimate(0.02, uniform / 50, draws=100, rare=0), 0.95)
    assert interval.variance == approx(uniform)
    believed = korn_graubard.interval(estimate(0.02, uniform / 50, draws=100, rare=20), 0.95)
    assert believed.variance == approx(uniform / 50)
    assert believed.upper < interval.upper


def test_trust_in_the_observed_variance_grows_with_the_labels_of_the_rarer_kind():
    widths = [
        np.diff(ends(estimate(0.1, 1e-4, draws=100, rare=rare)))[0] for rare in (0, 5, 10, 19, 20)
    ]
    assert widths == sorted(widths, reverse=True)


def test_draws_that_were_declined_say_nothing():
    """Of 100 draws without a hit only the 40 that were answered count."""
    whole = estimate(0.0, 0.0, draws=100, rare=0)
    half = replace(whole, inside=np.repeat([1.0, 0.0], [40, 60]))
    assert ends(half)[1] > 2 * ends(whole)[1]


def test_what_is_known_bounds_the_interval():
    one = replace(estimate(0.2, 0.01, draws=20), limits=np.array([[0.15], [0.3]]))
    assert ends(one) == (0.15, 0.3)
    outside = replace(one, mean=np.array([-0.1]))
    lower, upper = ends(outside)
    assert 0.15 == lower < upper <= 0.3


def test_a_mean_that_is_nearly_zero_is_no_worse_than_one_that_is():
    """mean (1 - mean) over the variance would be a sample of nobody."""
    none, hardly = (ends(estimate(mean, 1e-4, draws=50, rare=0)) for mean in (0.0, 1e-4))
    assert hardly[1] < 1.5 * none[1]


@pytest.mark.parametrize("mean", [0.002, 0.998])
def test_a_bound_that_nothing_seen_speaks_against_stays_in(mean):
    unseen, seen = (estimate(mean, 0.003**2, draws=100, rare=rare) for rare in (0, 30))
    assert (ends(unseen)[0] == 0) == (mean < 0.5)
    assert (ends(unseen)[1] == 1) == (mean > 0.5)
    assert 0 < ends(seen)[0] < ends(seen)[1] < 1


def test_the_variance_of_uniform_draws_is_that_of_the_answered_ones():
    """16 % of 40 answered draws: 0.16 * 0.84 / 40, whatever was declined beside them."""
    uniform = 0.16 * 0.84 / 40
    whole = estimate(0.16, uniform / 9, draws=100, rare=5)
    answered = replace(whole, inside=np.repeat([1.0, 0.0], [40, 60]))
    found = korn_graubard.interval(answered, 0.95)
    # Five labels of the rarer kind of the 20 that are needed weigh a quarter.
    assert found.variance == approx((5 * uniform / 9 + 15 * uniform) / 20)
    assert korn_graubard.interval(replace(answered, minority_count=0), 0.95).variance == approx(
        uniform
    )


@pytest.mark.parametrize("draws", [100, 130])
def test_a_share_within_a_deviation_of_a_bound_counts_as_no_more_draws_than_it_shows(draws):
    """While labels of the rarer kind are few: the larger of the draws and m (1 - m) / v."""
    mean, rare = 0.002, 5
    uniform = mean * (1 - mean) / draws
    variance = (rare * 0.003**2 + (20 - rare) * uniform) / 20
    one = estimate(mean, 0.003**2, draws=draws, rare=rare)
    size = max(draws, mean * (1 - mean) / variance)
    # One deviation away from the bound it would be more.
    assert size < variance**0.5 * (1 - variance**0.5) / variance
    size *= (norm.ppf(0.025) / t.ppf(0.025, one.freedom)) ** 2
    hits = mean * size
    exact = beta.ppf(0.025, hits, size - hits + 1), beta.ppf(0.975, hits + 1, size - hits)
    assert ends(one) == approx(exact)


def test_with_twenty_labels_of_the_rarer_kind_the_share_counts_as_one_deviation_away():
    """0.002 with a deviation of 0.003 is as many draws as 0.003 would be."""
    one = estimate(0.002, 0.003**2, draws=100, rare=20)
    size = 0.003 * 0.997 / 0.003**2 * (norm.ppf(0.025) / t.ppf(0.025, one.freedom)) ** 2
    hits = 0.002 * size
    exact = beta.ppf(0.025, hits, size - hits + 1), beta.ppf(0.975, hits + 1, size - hits)
    assert ends(one) == approx(exact)


def test_the_size_is_at_most_the_answered_draws_where_no_label_is_of_the_rarer_kind():
    """Clopper and Pearson's limit without a hit, 1 - tail^(1 / n), at what Student's t leaves."""
    whole = estimate(0.0, 0.0, draws=100, rare=0)
    answered = replace(whole, inside=np.repeat([1.0, 0.0], [40, 60]))
    size = 40 * (norm.ppf(0.025) / t.ppf(0.025, whole.freedom)) ** 2
    assert ends(answered) == (0, approx(1 - 0.025 ** (1 / size)))
