"""A group's value between bounds: binomial limits at an effective size."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta, norm, t

from activetest.intervals import group_beta
from activetest.nouns.estimate import Estimate, Sides

# So many draws that Student's t is the normal.
MANY = 200_000


def estimate(value: float, variance: float, *, inside: int = MANY, expected: float = 0.0):
    """A value from 0 to 1 with that variance, of a group that so many draws fell into."""
    draws = inside + 20
    return Estimate(
        mean=np.array([value]),
        variance=np.array([[variance]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.repeat([1.0, 0.0], [inside, 20]),
        model_variance=expected,
        minority_count=float(MANY),
    )


def ends(one: Estimate, level: float = 0.95):
    interval = group_beta.interval(one, level)
    return interval.lower, interval.upper


@pytest.mark.parametrize("value", [0.015, 0.985])
def test_what_was_only_expected_excludes_no_bound(value):
    """No draw inside was of the rarer kind: all there is of it is the surrogate's word."""
    one = replace(estimate(value, 1e-7, inside=16), minority_count=0.0)
    assert (ends(one)[0] == 0) == (value < 0.5)
    assert (ends(one)[1] == 1) == (value > 0.5)
    assert np.diff(ends(one))[0] > 0.1


def binomial(share: float, size: float, level: float) -> tuple[float, float]:
    """Jeffreys' limits, and towards the nearer bound Clopper and Pearson's: towards both at .5."""
    hits, misses, tails = share * size, (1 - share) * size, [(1 - level) / 2, (1 + level) / 2]
    below, above = (1.0 if near else 0.5 for near in (share <= 0.5, share >= 0.5))
    lower = beta(hits + 1 - below, misses + below).ppf(tails[0])
    return lower, beta(hits + above, misses + 1 - above).ppf(tails[1])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("hits", "count"), [(1, 10), (3, 50), (25, 50), (199, 200)])
def test_with_the_variance_of_a_share_it_is_binomial(hits, count, level):
    share = hits / count
    exact = binomial(share, count, level)
    # It holds the share itself, where Jeffreys' ends may not.
    exact = min(exact[0], share), max(exact[1], share)
    assert ends(estimate(share, share * (1 - share) / count), level) == approx(exact, rel=1e-3)


def test_the_ends_of_a_share_are_whole_items():
    """4 of 218 items are known to be wrong; the fifth is not known to exist."""
    limits = np.array([[4 / 218], [1.0]])
    one = replace(estimate(0.0212, 1e-4, inside=60), limits=limits, open_items=218.0)
    plain = group_beta.interval(one, 0.95)
    assert 4 / 218 < plain.lower < 5 / 218
    counted = group_beta.interval(one, 0.95, counted=True)
    assert counted.lower == 4 / 218
    assert plain.upper < counted.upper < plain.upper + 1 / 218
    assert counted.upper * 218 == approx(round(counted.upper * 218))


def test_the_degrees_of_freedom_are_the_draws_inside_less_one_and_at_least_two():
    """Fewer of them are as if the variance were larger: t over z, squared."""
    widths = [np.diff(ends(estimate(0.4, 0.01, inside=n)))[0] for n in (0, 2, 3, 4, 12, 50)]
    assert widths[0] == widths[1] == widths[2] > widths[3] > widths[4] > widths[5]


def test_the_variance_is_never_less_than_the_surrogate_expects():
    for observed, expected in ((0.0, 0.01), (0.002, 0.01), (0.01, 0.002)):
        one = group_beta.interval(estimate(0.6, observed, inside=15, expected=expected), 0.95)
        assert one.variance == 0.01
        assert (one.lower, one.upper) == ends(estimate(0.6, 0.01, inside=15))


@pytest.mark.parametrize("value", [0.0, 0.02, 0.5, 0.9])
def test_the_value_turned_round_gets_the_mirror_image(value):
    lower, upper = ends(estimate(value, 0.004, inside=12))
    assert ends(estimate(1 - value, 0.004, inside=12)) == approx((1 - upper, 1 - lower))


def test_a_value_with_another_range_is_a_share_of_it():
    lower, upper = ends(estimate(0.7, 0.01, inside=12))
    limits = np.array([[-1.0], [1.0]])
    wide = replace(estimate(2 * 0.7 - 1, 4 * 0.01, inside=12), limits=limits)
    assert ends(wide) == approx((2 * lower - 1, 2 * upper - 1))


@pytest.mark.parametrize("value", [-0.1, 0.0, 1.0, 1.2])
def test_it_stays_within_what_is_possible_and_holds_the_value(value):
    one = replace(estimate(value, 0.02, inside=11), limits=np.array([[0.05], [0.9]]))
    lower, upper = ends(one)
    assert 0.05 <= lower < upper <= 0.9
    assert (lower == 0.05) if value <= 0 else (upper == 0.9)


def test_draws_that_agree_leave_a_width():
    lower, upper = ends(estimate(0.0, 0.0, inside=30))
    assert lower == 0
    assert 0.02 < upper < 0.12


def test_where_nothing_else_is_possible_the_value_is_exact():
    interval = group_beta.interval(replace(estimate(0.3, 0.1), limits=np.full((2, 1), 0.3)), 0.95)
    assert (interval.lower, interval.upper, interval.method) == (0.3, 0.3, "exact")


@pytest.mark.parametrize(("inside", "freedom"), [(12, 11), (4, 3), (3, 2), (1, 2)])
def test_it_is_binomial_at_a_size_that_students_t_shrinks(inside, freedom):
    """The effective size v / (s (1 - s)), times the square of the normal over Student's quantile.

    The draws inside, less one, are the degrees of freedom (Korn and Graubard 1998); at least two.
    """
    share, variance, level = 0.3, 0.01, 0.9
    size = share * (1 - share) / variance * (norm.ppf(0.05) / t.ppf(0.05, freedom)) ** 2
    exact = binomial(share, size, level)
    assert ends(estimate(share, variance, inside=inside), level) == approx(exact)


def test_an_end_that_no_label_speaks_for_leaves_room_for_what_draws_can_miss():
    one = replace(estimate(0.8, 0.001, inside=30), sides=Sides((0.0, 30.0), (0.0, 1.0)))
    lower, upper = ends(replace(one, unmet=0.3))
    assert lower == approx(0.8 / (1 + 3.689 * 0.3), rel=1e-3) and lower < ends(one)[0]
    assert upper == ends(one)[1]
    narrow = replace(one, unmet=0.3, limits=np.array([[0.6], [1.0]]))
    assert ends(narrow)[0] == 0.6


def draw_on_purpose(shown: float, *, floor: float = 0.1, seen: float = 5.0) -> Estimate:
    """30 labels that agree, of which uniform draws would have shown so many."""
    return replace(
        estimate(0.9, 1e-6, inside=30),
        floor=floor,
        uniform_count=shown,
        one_draw=0.09,
        minority_count=seen,
        open_items=1000.0,
    )


def test_labels_of_one_kind_count_as_uniform_draws_would_have_shown_them():
    few, many = (replace(draw_on_purpose(n, seen=0.0), one_draw=0.0) for n in (2.0, 25.0))
    # A Beta with 1.8 + .5 and .2 + .5, at t of 29 degrees of freedom.
    size = 2.0 * (norm.ppf(0.025) / t(29).ppf(0.025)) ** 2
    assert ends(few)[0] == approx(beta(0.9 * size + 0.5, 0.1 * size + 0.5).ppf(0.025))
    assert ends(many)[0] > ends(few)[0] + 0.2
