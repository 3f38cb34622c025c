"""Guesses of values from the other labels of a round, against enumerations and plain formulas."""

from itertools import permutations

import numpy as np
import pytest

from activetest.estimators._own_labels import (
    _leave_one_out,
    find_first_chances,
    find_odds_of_last,
)


def race(chance, order):
    """The probability of an order of a race, and that of each draw."""
    left, prob = 1.0, []
    for item in order:
        prob.append(chance[item] / left)
        left -= chance[item]
    return float(np.prod(prob)), np.array(prob)


@pytest.mark.parametrize(("items", "drawn"), [(6, 1), (6, 3), (5, 4), (4, 4), (7, 2)])
def test_the_last_draw_is_each_item_as_often_as_orders_say(items, drawn):
    chance = np.random.default_rng(items).random(items) ** 3 + 1e-4
    chance /= chance.sum()
    odds = np.zeros(drawn)
    for order in permutations(range(drawn)):
        odds[order[-1]] += race(chance, order)[0]
    assert find_odds_of_last(chance[:drawn]) == pytest.approx(odds / odds.sum(), abs=1e-13)


def test_of_uniform_draws_each_is_as_likely_the_last():
    assert find_odds_of_last(np.full(50, 1 / 2000)) == pytest.approx(1 / 50, rel=1e-12)


@pytest.mark.parametrize("chance", [[1e-9, 0.5, 0.4], [1e-30, 1 - 1e-9], [0.25, 0.75]])
def test_the_last_draw_is_found_for_chances_of_any_size(chance):
    odds = [0.0] * len(chance)
    for order in permutations(range(len(chance))):
        odds[order[-1]] += race(chance, order)[0]
    assert find_odds_of_last(np.array(chance)) == pytest.approx(np.divide(odds, sum(odds)))


def test_chances_at_the_first_draw_are_those_of_the_race():
    chance = np.random.default_rng(1).random(8)
    chance /= chance.sum()
    order = np.array([5, 0, 7, 2])
    _, prob = race(chance, order)
    assert find_first_chances(prob) == pytest.approx(chance[order], rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.1, 0.5])
def test_the_level_is_that_of_the_other_labels_however_little_weights_differ(spread):
    """A judge is 4.7 too high: weights that are nearly alike would not show it by themselves."""
    rng = np.random.default_rng(2)
    weight = 1 + spread * rng.uniform(-1, 1, (60, 1))
    deviation = rng.normal(size=(60, 1))
    residual = -4.7 - 0.4 * deviation + 0.3 * rng.normal(size=(60, 1))
    shift, slope = _leave_one_out(weight, residual, deviation, np.zeros(60), 0)
    assert shift == pytest.approx(-4.7, abs=0.35)
    assert slope == pytest.approx(0.6, abs=0.15)
    # Nothing of it is of the draw's own label.
    changed = residual.copy()
    changed[7] += 3.0
    other, steeper = _leave_one_out(weight, changed, deviation, np.zeros(60), 0)
    assert other[7] == pytest.approx(shift[7], abs=1e-9) and other[8] != shift[8]
    assert steeper[7] == pytest.approx(slope[7], abs=1e-9)
