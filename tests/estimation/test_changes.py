"""The test of a change between parts errs as seldom as it says, and finds large changes."""

import numpy as np
import pytest

from activetest.estimation import changes
from activetest.estimation.changes import bound_capital
from activetest.intervals.betting import combine_log_capital, log_capital
from activetest.nouns.estimate import Increments


def draw(rng, share, count) -> Increments:
    """Increments of so many uniform draws with replacement from a part with this share."""
    values = (rng.random(count) < share).astype(float)
    zeros, ones = np.zeros(count), np.ones(count)
    return Increments(values, zeros, ones, zeros, zeros, ones)


def find_capital(parts, value) -> float:
    """Capital of all bettors at one value, without cells."""
    up, down = (
        np.array([log_capital(each, value, up=side)[-1] for each in parts])
        for side in (True, False)
    )
    found = [
        combine_log_capital(first[:place].sum(axis=0) + second[place:].sum(axis=0))
        for first, second in ((up, down), (down, up))
        for place in range(1, len(parts))
    ]
    return float(np.exp(found).mean())


def test_the_capital_at_the_true_value_is_one_on_average():
    rng = np.random.default_rng(1)
    found = np.array(
        [find_capital([draw(rng, 0.2, 15) for _ in range(3)], 0.2) for _ in range(4000)]
    )
    assert found.mean() < 1 + 3 * found.std() / len(found) ** 0.5
    assert found.mean() > 0.8


def test_the_bound_is_no_larger_than_the_capital_at_any_value():
    rng = np.random.default_rng(2)
    parts = [draw(rng, share, 40) for share in (0.1, 0.1, 0.6)]
    bound = bound_capital(parts, 0.0, 1.0)
    capital = [find_capital(parts, value) for value in np.linspace(0.001, 0.999, 777)]
    assert bound <= min(capital) * (1 + 1e-9)
    assert bound > min(capital) / 3


def test_a_large_change_is_found_in_either_direction_and_wherever_it_begins():
    rng = np.random.default_rng(3)
    for shares in ((0.05, 0.5, 0.5), (0.5, 0.05, 0.05), (0.05, 0.05, 0.05, 0.5)):
        assert bound_capital([draw(rng, share, 250) for share in shares], 0.0, 1.0) > 1000


def test_parts_without_draws_say_nothing():
    rng = np.random.default_rng(4)
    none = Increments(*np.empty((6, 0)))
    parts = [draw(rng, 0.05, 120), draw(rng, 0.5, 120)]
    with_none = bound_capital([*parts, none], 0.0, 1.0)
    assert with_none == pytest.approx(bound_capital(parts, 0.0, 1.0) / 2, rel=0.5)
    assert bound_capital([none, none], 0.0, 1.0) == pytest.approx(1.0)


def test_no_more_studies_than_the_error_find_a_change_that_is_not_there(monkeypatch):
    monkeypatch.setattr(changes, "_CELLS", 50)
    rng = np.random.default_rng(5)
    found = [
        bound_capital([draw(rng, 0.3, 40) for _ in range(4)], 0.0, 1.0) > 5 for _ in range(200)
    ]
    assert np.mean(found) <= 0.2
