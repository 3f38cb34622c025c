"""Delta-beta is Clopper-Pearson at an effective size, on the scale of the metric."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import binomtest

from activetest.intervals import delta_beta
from activetest.nouns.estimate import Estimate, Sides

# So many draws, and labels that matter, that Student's t is the normal.
MANY = 200_000


def estimate(
    value: float,
    variance: float,
    *,
    draws: int = MANY,
    weighted_minority_count: float = MANY,
    expected=0.0,
) -> Estimate:
    """A metric from 0 to 1 with that variance, from draws of equal weight."""
    return Estimate(
        mean=np.array([value]),
        variance=np.array([[variance]]),
        terms=np.zeros((draws, 1)),
        weights=np.full(draws, 1 / draws),
        guess=np.zeros((draws, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(draws),
        model_variance=expected,
        minority_count=weighted_minority_count,
        weighted_minority_count=weighted_minority_count,
    )


def ends(one: Estimate, level: float = 0.95):
    interval = delta_beta.interval(one, level)
    return interval.lower, interval.upper


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("hits", "count"), [(1, 10), (3, 50), (25, 50), (199, 200)])
def test_with_the_variance_of_a_share_it_is_clopper_pearson(hits, count, level):
    share = hits / count
    exact = binomtest(hits, count).proportion_ci(level, method="exact")
    assert ends(estimate(share, share * (1 - share) / count), level) == approx(exact, rel=1e-3)


def test_a_metric_with_another_range_is_a_share_of_it():
    """Between -1 and 1, as correlation coefficients: everything twice as far apart."""
    lower, upper = ends(estimate(0.7, 0.01, weighted_minority_count=30))
    wide = replace(
        estimate(2 * 0.7 - 1, 4 * 0.01, weighted_minority_count=30),
        limits=np.array([[-1.0], [1.0]]),
    )
    assert ends(wide) == approx((2 * lower - 1, 2 * upper - 1))


@pytest.mark.parametrize("value", [0.0, 0.02, 0.5, 0.9])
def test_the_metric_turned_round_gets_the_mirror_image(value):
    lower, upper = ends(estimate(value, 0.004, draws=60, weighted_minority_count=7))
    mirrored = ends(estimate(1 - value, 0.004, draws=60, weighted_minority_count=7))
    assert mirrored == approx((1 - upper, 1 - lower))


def test_the_variance_is_never_less_than_the_surrogate_expects():
    for observed, expected in ((0.0, 0.01), (0.002, 0.01), (0.01, 0.002)):
        one = delta_beta.interval(estimate(0.6, observed, expected=expected), 0.95)
        assert one.variance == 0.01
        assert (one.lower, one.upper) == approx(ends(estimate(0.6, 0.01)))


def test_rare_labels_carry_two_degrees_of_freedom_each():
    """As many as draws of equal weight would have, one more than them."""
    for weighted_minority_count in (2, 7, 40):
        rare = estimate(0.6, 0.01, weighted_minority_count=weighted_minority_count)
        assert ends(rare) == approx(
            ends(estimate(0.6, 0.01, draws=2 * weighted_minority_count + 1))
        )
    assert ends(estimate(0.6, 0.01, weighted_minority_count=0.3)) == approx(
        ends(estimate(0.6, 0.01, weighted_minority_count=1))
    )
    few = estimate(0.6, 0.01, draws=10)
    assert ends(few) == ends(replace(few, weighted_minority_count=5.0))


def test_the_fewer_labels_matter_the_wider_it_is():
    widths = [
        np.diff(ends(estimate(0.6, 0.01, weighted_minority_count=weighted_minority_count)))[0]
        for weighted_minority_count in (1, 3, 10, 99)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.5 * widths[-1]


def test_where_no_draw_differs_from_another_it_still_has_a_width():
    """The rule of three: what was never seen in 50 draws is below 3 / 50 or so."""
    one = estimate(1.0, 0.0, draws=50, weighted_minority_count=50)
    lower, upper = ends(one, 0.9)
    assert upper == 1
    assert lower == approx(0.05 ** (1 / 50), abs=0.005)
    # Draws without an answer say nothing.
    half = ends(replace(one, inside=np.repeat([1.0, 0.0], [25, 25])), 0.9)
    assert 1 - half[0] > 1.8 * (1 - lower)


@pytest.mark.parametrize("value", [-0.2, 0.0, 1.0, 1.3])
def test_it_stays_within_the_range_and_holds_its_own_end(value):
    lower, upper = ends(estimate(value, 0.003, draws=40, weighted_minority_count=2))
    assert 0 <= lower < upper <= 1
    assert (lower == 0) if value <= 0 else (upper == 1)


def test_a_value_that_is_nearly_at_the_bound_is_no_worse_than_one_that_is():
    """value (1 - value) over the variance would be a sample of nobody."""
    at, near = (ends(estimate(value, 1e-3, draws=50)) for value in (1.0, 1 - 1e-5))
    assert 1 - near[0] < 1.2 * (1 - at[0])


@pytest.mark.parametrize("value", [0.01, 0.99])
def test_a_bound_that_nothing_seen_speaks_against_stays_in(value):
    unseen, seen = (
        estimate(value, 0.02**2, weighted_minority_count=weighted_minority_count)
        for weighted_minority_count in (0.0, 30.0)
    )
    assert (ends(unseen)[0] == 0) == (value < 0.5)
    assert (ends(unseen)[1] == 1) == (value > 0.5)
    assert 0 < ends(seen)[0] < ends(seen)[1] < 1


@pytest.mark.parametrize(("counts", "side"), [((0.0, 30.0), 0), ((30.0, 0.0), 1)])
def test_an_end_that_no_label_speaks_for_leaves_room_for_what_draws_can_miss(counts, side):
    """No label lowers a share of 1: draws may have missed 3.7 times what they were to meet once."""
    value, level = 1.0 - side, 0.95
    plain = replace(estimate(value, 0.0), sides=Sides(counts, (0.0, 1.0)))
    room = 3.689 * 0.2
    expected = 1 / (1 + room) if side == 0 else room / (1 + room)
    found = ends(replace(plain, unmet=0.2), level)
    assert found[side] == approx(expected, rel=1e-3)
    assert found[1 - side] == ends(plain, level)[1 - side] == value
    # Of what is left to draw alone.
    half = replace(plain, unmet=0.2, open_items=2.0 * MANY)
    assert ends(half)[side] == approx(ends(replace(plain, unmet=0.1))[side])
    met = replace(plain, unmet=0.2, sides=Sides((30.0, 30.0), (0.5, 0.5)))
    assert ends(met) == ends(replace(met, unmet=0.0))
