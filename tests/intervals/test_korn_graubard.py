"""Korn-Graubard is binomial limits at the effective sample size, and careful about rare errors."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta, binomtest, norm, t

from activetest.intervals import korn_graubard
from activetest.nouns.estimate import Estimate, Excess, Sides

# So many draws that Student's t is the normal.
MANY = 200_000
# Labels of the rarer kind with which the observed variance is believed: from a floor of 0.35 on;
# for the near end of a gate; for its far end, and below that floor.
ENOUGH, NEAR, DECIDING = 15, 8, 20


def estimate(
    mean: float,
    variance: float,
    *,
    draws: int = MANY,
    rare: float = 1000.0,
    max_weight: float = 1.0,
    expected: float = 0.0,
    items: float = np.inf,
) -> Estimate:
    """A mean with that variance, from draws of equal weight; rare is as uniform draws show it."""
    return Estimate(
        mean=np.array([mean]),
        variance=np.array([[variance]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(draws),
        minority_count=rare,
        sides=Sides((rare, rare), (1.0, 1.0)),
        max_weight=max_weight,
        model_variance=expected,
        open_items=items,
    )


def ends(one: Estimate, level: float = 0.95, *, decides: bool = False) -> tuple[float, float]:
    interval = korn_graubard.interval(one, level, decides=decides)
    return interval.lower, interval.upper


def variance_of(one: Estimate, *, decides: bool = False) -> float:
    """The variance of the far end: that towards more labels of the rarer kind."""
    return korn_graubard.interval(one, 0.95, decides=decides).variance


def shrunk(size: float, one: Estimate) -> float:
    """A number of draws that Student's t makes smaller, at 95 %."""
    return size * (norm.ppf(0.025) / t.ppf(0.025, one.freedom)) ** 2


# --- limits at an effective size


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("hits", "count"), [(1, 10), (3, 50), (25, 50), (199, 200)])
def test_with_the_variance_of_uniform_draws_it_is_clopper_pearson_and_jeffreys(hits, count, level):
    """Clopper and Pearson's limit near the closer bound, and Jeffreys' on the other side."""
    mean = hits / count
    exact = binomtest(hits, count).proportion_ci(level, method="exact")
    jeffreys = beta(hits + 0.5, count - hits + 0.5).interval(level)
    expected = (exact.low, jeffreys[1]) if mean <= 0.5 else (jeffreys[0], exact.high)
    assert ends(estimate(mean, mean * (1 - mean) / count), level) == approx(expected, rel=1e-3)


@pytest.mark.parametrize(("hits", "count"), [(1, 10), (3, 50), (25, 50), (199, 200)])
def test_the_ends_that_decide_are_clopper_and_pearsons(hits, count):
    mean = hits / count
    exact = binomtest(hits, count).proportion_ci(0.9, method="exact")
    one = estimate(mean, mean * (1 - mean) / count)
    assert ends(one, 0.9, decides=True) == approx(exact, rel=1e-3)


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
    jeffreys = beta(20.5, 80.5).interval(0.95)
    assert ends(estimate(0.2, 0.2 * 0.8 / 50 / 2)) == approx((exact.low, jeffreys[1]), rel=1e-3)


@pytest.mark.parametrize("decides", [False, True])
@pytest.mark.parametrize("rare", [0, 5, 100])
@pytest.mark.parametrize("mean", [0.0, 0.03, 0.4])
def test_accuracy_gets_the_mirror_image_of_error(mean, rare, decides):
    about = {"draws": 60, "rare": rare, "max_weight": 1.5}
    lower, upper = ends(estimate(mean, 1e-3, **about), decides=decides)
    mirrored = ends(estimate(1 - mean, 1e-3, **about), decides=decides)
    assert mirrored == approx((1 - upper, 1 - lower))


def test_the_value_lies_between_the_ends():
    """Jeffreys' far limit alone would be below a share of which hardly any doubt is left."""
    for mean in (0.0, 0.003, 0.4, 1.0):
        for rare in (0, 1, 30):
            lower, upper = ends(estimate(mean, 1e-9, draws=50, rare=rare, items=50.5))
            assert lower <= mean <= upper


# --- how far the observed variance is believed


def test_a_collapsed_variance_is_not_believed_without_labels_of_the_rarer_kind():
    """Then the interval is no narrower than that of as many uniform draws."""
    uniform = 0.02 * 0.98 / 100
    without = estimate(0.02, uniform / 50, draws=100, rare=0)
    assert variance_of(without) == approx(uniform)
    believed = estimate(0.02, uniform / 50, draws=100, rare=ENOUGH)
    assert variance_of(believed) == approx(uniform / 50)
    assert ends(believed)[1] < ends(without)[1]


@pytest.mark.parametrize(
    ("decides", "floor", "enough"),
    [
        (False, 1.0, ENOUGH),
        (False, 0.35, ENOUGH),
        (False, 0.34, DECIDING),
        (False, 0.0, DECIDING),
        (True, 1.0, DECIDING),
        (True, 0.05, DECIDING),
    ],
)
@pytest.mark.parametrize("max_weight", [1.0, 2.5])
def test_labels_that_uniform_draws_would_have_shown_support_the_variance(
    max_weight, decides, floor, enough
):
    """Draws 2.5 times less likely than uniform ones show 2.5 times fewer.

    This counts for the end of a gate, and where the floor is low.
    """
    enough *= max_weight if enough == DECIDING else 1
    uniform = 0.1 * 0.9 / 100
    for share in (0.0, 0.25, 0.5, 1.0, 1.5):
        one = estimate(0.1, uniform / 9, draws=100, rare=share * enough, max_weight=max_weight)
        one = replace(one, floor=floor)
        trust = min(share, 1)
        expected = trust * uniform / 9 + (1 - trust) * uniform
        assert variance_of(one, decides=decides) == approx(expected)


@pytest.mark.parametrize("decides", [False, True])
def test_trust_in_the_observed_variance_grows_with_the_labels_of_the_rarer_kind(decides):
    widths = [
        np.diff(ends(estimate(0.1, 1e-4, draws=100, rare=rare), decides=decides))[0]
        for rare in (0, 2, 5, 7.9, 8, 11, 20)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[3] > widths[4] * 1.0001


def test_only_the_far_end_of_an_interval_doubts_the_observed_variance():
    """Labels of the rarer kind that were not met can only be missing."""
    found = [ends(estimate(0.1, 1e-4, draws=100, rare=rare)) for rare in (1, 100)]
    assert found[0][0] == found[1][0]
    assert found[0][1] > found[1][1] + 0.01
    # A gate may rest on the near end alone.
    deciding = [
        ends(estimate(0.1, 1e-4, draws=100, rare=rare), decides=True) for rare in (1, NEAR, 100)
    ]
    assert deciding[0][0] < deciding[1][0] == deciding[2][0] == found[1][0]


@pytest.mark.parametrize("rare", [0, ENOUGH / 2, ENOUGH, 1000])
def test_an_observed_variance_that_few_draws_make_has_fewer_degrees_of_freedom(rare):
    """Half of the error that kurtosis leaves it, for the part of it that is observed."""
    terms = np.zeros((100, 1))
    terms[:4] = 2.5
    one = replace(estimate(0.1, 1e-3, draws=100, rare=rare), terms=terms)
    freedom = one.spread_freedom
    assert freedom < 20
    part = min(rare / ENOUGH, 1) ** 2 / 2
    freedom = 1 / ((1 - part) / 99 + part / freedom)
    variance = korn_graubard.interval(one, 0.95).variance
    size = 0.1 * 0.9 / variance * (norm.ppf(0.025) / t.ppf(0.025, freedom)) ** 2
    size_near = shrunk(0.1 * 0.9 / 1e-3, one)
    added = 0.5 if rare else 1.0
    far = beta.ppf(0.975, 0.1 * size + added, 0.9 * size + 1 - added)
    near = beta.ppf(0.025, 0.1 * size_near, 0.9 * size_near + 1)
    assert ends(replace(one, minority_count=max(rare, 1)))[0] == approx(near)
    assert ends(one)[1] == approx(far)
    # Gates have their own way to be careful.
    assert ends(one, decides=True) == ends(replace(one, terms=np.zeros((100, 1))), decides=True)


def test_what_the_surrogate_expects_counts_where_it_is_more_than_uniform_draws_leave():
    """Draws are worse than uniform where a model is confident and wrong."""
    uniform = 0.1 * 0.9 / 100
    one = estimate(0.1, uniform / 9, draws=100, rare=ENOUGH / 4, expected=3 * uniform)
    assert variance_of(one) == approx(uniform / 9 / 4 + 3 * uniform * 3 / 4)
    less = replace(one, model_variance=uniform / 2)
    assert variance_of(less) == variance_of(replace(one, model_variance=0.0))
    assert variance_of(replace(one, sides=Sides((ENOUGH, ENOUGH), (1.0, 1.0)))) == approx(
        uniform / 9
    )


def test_an_observed_variance_above_all_others_stays():
    uniform = 0.1 * 0.9 / 100
    for rare in (0, 3, 30):
        one = estimate(0.1, 5 * uniform, draws=100, rare=rare, expected=2 * uniform)
        assert variance_of(one) == approx(5 * uniform)


def test_of_a_small_pool_uniform_draws_leave_a_doubt_only_about_what_they_have_not_drawn():
    """95 of 100: a twentieth of the variance of draws from an endless pool."""
    one = estimate(0.1, 0.0, draws=95, rare=0, items=100)
    assert variance_of(one) == approx(0.1 * 0.9 / 95 * 0.05)
    widths = [np.diff(ends(replace(one, open_items=items)))[0] for items in (np.inf, 190, 100)]
    assert widths == sorted(widths, reverse=True)
    assert widths[2] < widths[0] * 0.7
    # At most one of the other five is an error: 1 of 100.
    assert ends(estimate(0.0, 0.0, draws=95, rare=0, items=100)) == (0, approx(0.01))


def test_a_pool_that_is_drawn_altogether_leaves_the_doubt_about_its_labels():
    one = estimate(0.0, 0.0, draws=20, rare=0, items=20)
    lower, upper = ends(one)
    assert lower == 0
    assert upper == approx(0.05)
    doubtful = replace(estimate(0.3, 1e-4, draws=20, items=20), model_variance=1e-4)
    assert variance_of(doubtful) == approx(1e-4)


def test_the_ends_are_whole_numbers_of_items():
    """Of 40 items the truth is a multiple of 0.025."""
    free = estimate(0.23, 0.23 * 0.77 / 30, draws=30)
    few = replace(free, open_items=40.0)
    for decides in (False, True):
        lower, upper = ends(free, decides=decides)
        exact = np.floor(lower * 40) / 40, np.ceil(upper * 40) / 40
        assert ends(few, decides=decides) == approx(exact)
        assert exact[0] < lower < upper < exact[1]


# --- what was answered, and what is known


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
    whole = estimate(0.16, uniform / 9, draws=100, rare=ENOUGH / 4)
    answered = replace(whole, inside=np.repeat([1.0, 0.0], [40, 60]))
    # A quarter of the labels of the rarer kind that are needed weighs a quarter.
    assert variance_of(answered) == approx((uniform / 9 + 3 * uniform) / 4)
    assert variance_of(replace(answered, sides=None)) == approx(uniform)


@pytest.mark.parametrize("draws", [100, 130])
def test_a_share_within_a_deviation_of_a_bound_counts_as_no_more_draws_than_it_shows(draws):
    """While labels of the rarer kind are few: the larger of the draws and m (1 - m) / v."""
    mean, rare = 0.002, 5
    uniform = mean * (1 - mean) / draws
    variance = (rare * 0.003**2 + (ENOUGH - rare) * uniform) / ENOUGH
    # The observed one is less than that of so few draws where these are 100.
    variance = max(variance, 0.003**2)
    one = estimate(mean, 0.003**2, draws=draws, rare=rare)
    size = max(draws, mean * (1 - mean) / variance)
    # One deviation away from the bound it would be more.
    assert size < variance**0.5 * (1 - variance**0.5) / variance
    size = shrunk(size, one)
    assert ends(one)[1] == approx(beta.ppf(0.975, mean * size + 0.5, (1 - mean) * size + 0.5))


def test_with_enough_labels_of_the_rarer_kind_the_share_counts_as_one_deviation_away():
    """0.002 with a deviation of 0.003 is as many draws as 0.003 would be."""
    one = estimate(0.002, 0.003**2, draws=100, rare=ENOUGH)
    size = shrunk(0.003 * 0.997 / 0.003**2, one)
    hits, misses = 0.002 * size, 0.998 * size
    exact = beta.ppf(0.025, hits, misses + 1), beta.ppf(0.975, hits + 0.5, misses + 0.5)
    assert ends(one) == approx(exact)


@pytest.mark.parametrize("max_weight", [1.0, 2.0])
def test_without_a_label_of_the_rarer_kind_draws_count_as_the_least_likely_of_them(max_weight):
    """Clopper and Pearson's limit without a hit, 1 - tail^(1 / n), at what Student's t leaves."""
    whole = estimate(0.0, 0.0, draws=100, rare=0, max_weight=max_weight)
    answered = replace(whole, inside=np.repeat([1.0, 0.0], [40, 60]))
    size = shrunk(40 / max_weight, whole)
    assert ends(answered) == (0, approx(1 - 0.025 ** (1 / size)))
    assert ends(answered, decides=True) == ends(answered)


# --- guesses that follow labels of their own round


@pytest.mark.parametrize("decides", [False, True])
@pytest.mark.parametrize(("below", "above"), [(0, 0), (2, 0), (1, 4), (5, 3)])
def test_few_labels_that_contradict_their_guesses_put_the_ends_apart(below, above, decides):
    """As Clopper and Pearson's limits of their shares do, with distances added up as squares."""
    draws, level, enough = 100, 0.95, DECIDING if decides else ENOUGH
    shares = below / draws, above / draws
    one = replace(
        estimate(0.7, 1e-6, draws=draws),
        uniform_count=float(draws),
        excess=Excess(shares, (1.0, 1.0), (float(below), float(above)), of_share=True),
    )
    size = shrunk(draws, one)
    limits = [
        (
            beta.ppf(0.025, x * size, (1 - x) * size + 1) if x else 0.0,
            beta.ppf(0.975, x * size + 1, (1 - x) * size),
        )
        for x in shares
    ]
    (a, b), (c, d) = limits
    plain = ends(replace(one, excess=None), level, decides=decides)
    far = 0.7 - np.hypot(b - shares[0], shares[1] - c), 0.7 + np.hypot(d - shares[1], shares[0] - a)
    hidden = 1 - (below + above) / enough
    expected = [end + hidden * (to - end) for end, to in zip(plain, far, strict=True)]
    found = ends(one, level, decides=decides)
    assert found == approx(expected, rel=1e-9)
    assert found[0] < plain[0] - 0.01 and found[1] > plain[1] + 0.01


def test_with_enough_of_them_the_ends_are_as_the_variance_says():
    one = estimate(0.7, 1e-4, draws=100)
    contradicted = replace(
        one, uniform_count=100.0, excess=Excess((0.1, 0.06), (1.0, 1.0), (10.0, 6.0), of_share=True)
    )
    assert ends(contradicted) == ends(one)
