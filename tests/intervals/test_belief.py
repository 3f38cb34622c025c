"""An observed variance is believed as far as labels support it, on the side of each limit."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.intervals import delta_beta, gamma, group_beta, group_t
from activetest.intervals._belief import ENOUGH, believe, raise_variances, widen_loss
from activetest.nouns.estimate import Estimate, Excess, Sides

# Labels that make an end hold alone, as that of a gate; and large losses for either end.
ALONE, LOSSES = 24, 20
DRAWS = 100
OBSERVED, ONE_DRAW = 0.0001, 0.09


def estimate(
    below: float = 0.0, above: float = 0.0, *, shares=(0.25, 0.75), mean: float = 0.1, **given
) -> Estimate:
    """A value from 0 to 1 of 100 draws with so many labels on either side of it."""
    return Estimate(
        mean=np.array([mean]),
        variance=np.array([[OBSERVED]]),
        terms=mean + 0.1 * np.tile([[-1.0], [1.0]], (DRAWS // 2, 1)),
        weights=np.full(DRAWS, 1 / DRAWS),
        guess=np.zeros((DRAWS, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(DRAWS),
        one_draw=ONE_DRAW,
        minority_count=50.0,
        weighted_minority_count=50.0,
        sides=Sides((below, above), shares),
        **given,
    )


def test_what_is_not_supported_is_expected_and_nothing_is_less_than_observed():
    assert believe(1.0, 5.0, 0.0) == 5
    assert believe(1.0, 5.0, 0.25) == 4
    assert believe(1.0, 5.0, 1.0) == believe(1.0, 5.0, 7.0) == 1
    assert believe(1.0, 0.5, 0.0) == 1


def test_a_side_without_labels_has_the_variance_of_uniform_draws_as_far_as_it_makes_it():
    """Of 0.0009 that 100 uniform draws leave, a quarter stems from labels below, the rest from
    those above: so much is added where no label of the side was met."""
    below, above = raise_variances(estimate(), OBSERVED, decides=False)
    added = ONE_DRAW / DRAWS - OBSERVED
    assert (below, above) == approx((OBSERVED + added / 4, OBSERVED + added * 3 / 4))
    half = raise_variances(estimate(ENOUGH / 2, ENOUGH), OBSERVED, decides=False)
    assert half == approx((OBSERVED + added / 8, OBSERVED))


def test_an_end_that_holds_alone_takes_more_labels():
    enough = estimate(ENOUGH, ENOUGH)
    assert raise_variances(enough, OBSERVED, decides=False) == (OBSERVED, OBSERVED)
    assert min(raise_variances(enough, OBSERVED, decides=True)) > OBSERVED
    alone = estimate(ALONE, ALONE)
    assert raise_variances(alone, OBSERVED, decides=True) == (OBSERVED, OBSERVED)


def test_draws_with_a_low_floor_take_more_labels():
    """Of the least likely draw, a fifth as likely as a uniform one, five times as many."""
    low = {"floor": 0.1, "max_weight": 5.0}
    enough = estimate(ALONE * 5, ALONE * 5, **low)
    assert raise_variances(enough, OBSERVED, decides=False) == (OBSERVED, OBSERVED)
    assert min(raise_variances(estimate(ALONE, ALONE, **low), OBSERVED, decides=False)) > OBSERVED
    far = replace(loss(LOSSES), **low)
    assert widen_loss(far, (0.08, 0.1), 0.95, decides=False)[1] > 0.1
    assert widen_loss(replace(loss(LOSSES * 5), **low), (0.08, 0.1), 0.95, decides=False)[1] == 0.1


def test_of_a_finite_pool_uniform_draws_doubt_only_what_they_have_not_drawn():
    whole = raise_variances(estimate(open_items=DRAWS), OBSERVED, decides=False)
    assert whole == (OBSERVED, OBSERVED)
    _, above = raise_variances(estimate(open_items=2.0 * DRAWS), OBSERVED, decides=False)
    assert above == approx(OBSERVED + 0.75 * (ONE_DRAW / DRAWS / 2 - OBSERVED))


def test_without_sides_or_a_variance_of_one_draw_nothing_is_raised():
    for unknown in (replace(estimate(), sides=None), replace(estimate(), one_draw=np.nan)):
        assert raise_variances(unknown, OBSERVED, decides=False) == (OBSERVED, OBSERVED)


@pytest.mark.parametrize("method", [delta_beta, group_beta, group_t])
def test_each_limit_rests_on_the_labels_of_its_own_side(method):
    """Those below are the fewer ones: only the lower limit moves when they are too few."""
    enough, hidden = (
        method.interval(estimate(below, 50.0, mean=0.5, shares=(0.9, 0.1)), 0.95)
        for below in (50.0, 1.0)
    )
    assert hidden.lower < enough.lower - 0.005
    assert hidden.upper == approx(enough.upper)
    assert hidden.variance > enough.variance


@pytest.mark.parametrize("method", [delta_beta, group_beta, group_t, gamma])
def test_a_gate_needs_more_than_a_table(method):
    one = estimate(ENOUGH, ENOUGH, mean=0.5, shares=(0.5, 0.5))
    if method is gamma:
        one = replace(one, excess=Excess((0.5, 0.02), (1.0, 1.0), (50.0, 5.0)))
    plain, alone = (method.interval(one, 0.9, decides=each) for each in (False, True))
    assert alone.lower < plain.lower or method is gamma
    assert plain.upper < alone.upper


def test_where_no_side_shows_how_far_losses_move_tables_are_as_careful_as_gates():
    one = estimate(50, 50, mean=0.5, excess=Excess((0.02, 0.02), (1.0, 1.0), (5.0, 5.0)))
    plain, alone = (widen_loss(one, (0.5, 0.5), 0.9, decides=each) for each in (False, True))
    assert plain == alone


def loss(count: float, mean: float = 0.02) -> Estimate:
    """A loss that so many labels moved up; below, enough did."""
    return estimate(50, 50, excess=Excess((0.5, mean), (1.0, 1.0), (50.0, count)))


def test_large_losses_that_were_not_met_may_raise_a_loss():
    """With none of 100 uniform draws Clopper and Pearson's limit is 0.036: so far may it be."""
    ends = (0.08, 0.12)
    lower, upper = widen_loss(loss(0.0, mean=0.0), ends, 0.95, decides=False)
    assert lower == 0.08
    # Student's t for 99 degrees of freedom makes 100 draws 97.6.
    assert upper == approx(0.1 + 1 - 0.025 ** (1 / 97.6), abs=1e-3)
    assert widen_loss(loss(LOSSES), ends, 0.95, decides=False) == ends
    assert widen_loss(replace(loss(0.0), excess=None), ends, 0.95, decides=False) == ends


def test_losses_that_may_be_missed_on_both_sides_add_up_as_squares():
    one = estimate(50, 50, mean=0.5, excess=Excess((0.0, 0.0), (1.0, 1.0), (0.0, 0.0)))
    lower, upper = widen_loss(one, (0.5, 0.5), 0.95, decides=False)
    assert 0.5 - lower == approx(upper - 0.5)
    apart = replace(one, excess=Excess((0.1, 0.0), (1.0, 1.0), (10.0, 0.0)))
    assert widen_loss(apart, (0.5, 0.5), 0.95, decides=False)[1] > upper


def test_a_gate_allows_for_one_more_label_that_moved_a_loss_far():
    """Its variance is added, the more the rarer a draw was."""
    ends = (0.08, 0.12)
    plain, alone, rarer = (
        widen_loss(replace(loss(5.0), max_weight=weight), ends, 0.9, decides=decides)[1]
        for weight, decides in ((1.0, False), (1.0, True), (3.0, True))
    )
    assert plain < alone - 0.01 and alone < rarer - 0.01


def test_an_end_nearer_to_what_is_known_than_one_item_can_move_it_is_there():
    """Of 200 open items, each can move the mean by .002: nearly all that can be found was found."""
    one = replace(loss(LOSSES * 5), limits=np.array([[0.03], [0.9]]), open_items=200.0)
    rise = one.excess.most[1] / 200
    assert rise > 0
    near, far = 0.03 + 0.9 * rise, 0.03 + 1.1 * rise
    assert widen_loss(one, (near, 0.5), 0.95, decides=False)[0] == 0.03
    assert widen_loss(one, (far, 0.5), 0.95, decides=False)[0] == far
    fall = one.excess.most[0] / 200
    top = widen_loss(one, (0.5, 0.9 - 0.9 * fall), 0.95, decides=False)[1]
    assert (top == 0.9) == (fall > 0)


def test_no_end_leaves_what_is_possible():
    one = estimate(50, 50, mean=0.99, excess=Excess((0.0, 0.0), (1.0, 1.0), (50.0, 0.0)))
    assert widen_loss(one, (0.98, 1.0), 0.95, decides=False)[1] == 1
