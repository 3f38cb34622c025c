"""The floor for bets: as even as the item that is least likely to be drawn needs it."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import cache, rounds
from activetest.evidence import Choices, Log
from activetest.pool import Pool
from activetest.sampling_floor import FLOORS, expected_width, narrowest

ENDS = np.array([[0.0], [1.0]]) * np.ones(1000)


def believed(wrong: np.ndarray):
    """Guess, variance and ends of the zero-one loss of items that are wrong with these chances."""
    return wrong, wrong * (1 - wrong), ENDS[:, : len(wrong)]


def optimal(wrong: np.ndarray, floor: float) -> np.ndarray:
    score = np.sqrt(wrong * (1 - wrong))
    return (1 - floor) * score / score.sum() + floor / len(wrong)


def width(wrong: np.ndarray, floor: float, *, draws: int = 200, level: float = 0.95) -> float:
    return expected_width(*believed(wrong), optimal(wrong, floor), draws=draws, level=level)


def test_more_draws_and_a_lower_level_promise_a_narrower_interval():
    wrong = np.random.default_rng(1).beta(1, 4, size=1000)
    by_draws = [width(wrong, 0.35, draws=draws) for draws in (20, 50, 200, 1000)]
    by_level = [width(wrong, 0.35, level=level) for level in (0.99, 0.9, 0.5)]
    for widths in (by_draws, by_level):
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < 0.8 * widths[0]


def test_it_is_never_more_than_what_is_possible():
    assert width(np.full(1000, 0.3), 0.35, draws=1) == approx(1)
    assert (
        expected_width(*believed(np.full(1000, 0.3)), np.full(1000, 1e-3), draws=1, level=0.9) <= 1
    )


def test_of_items_about_which_nothing_is_in_doubt_the_mean_is_known():
    ends = np.zeros((2, 50)) + np.array([0.2])
    found = expected_width(
        np.full(50, 0.2), np.zeros(50), ends, np.full(50, 1 / 50), draws=10, level=0.95
    )
    assert found == 0


def test_turning_the_statistic_round_changes_nothing():
    wrong = np.random.default_rng(2).beta(1, 9, size=1000)
    probs = optimal(wrong, 0.5)
    one = expected_width(wrong, wrong * (1 - wrong), ENDS, probs, draws=100, level=0.95)
    other = expected_width(1 - wrong, wrong * (1 - wrong), ENDS, probs, draws=100, level=0.95)
    assert one == approx(other)


def test_the_rarer_errors_are_the_more_even_the_draws():
    """Nearly all items are nearly certain: one of them, wrong after all, would cost a bettor most.

    Where errors are as frequent as right answers the scores may have their way.
    """

    def best(wrong):
        strengths = [optimal(wrong, floor) for floor in FLOORS]
        return FLOORS[narrowest(*believed(wrong), strengths, draws=200, level=0.95)]

    rng = np.random.default_rng(3)
    rare, frequent = rng.beta(0.1, 9, size=1000), rng.beta(3, 3, size=1000)
    assert best(rare) >= 0.75
    assert best(frequent) <= 0.5


def test_of_strengths_that_promise_the_same_the_first_is_taken():
    wrong = np.full(100, 0.2)
    same = [np.full(100, 0.01)] * 3
    assert narrowest(*believed(wrong), same, draws=50, level=0.95) == 0


# --- in rounds


@pytest.fixture
def pool(tmp_path, write_pool):
    path = write_pool(tmp_path / "pool.parquet", 60, seed=4)
    return cache.build(Pool.open(str(path)), tmp_path / "cache")


@pytest.mark.parametrize("metric", ["error", "f1[dog]"])
def test_a_round_for_bets_records_the_floor_it_chose(pool, metric):
    choices = Choices(metric, (metric,), "agreement", floor=0.2, interval="anytime")
    one = rounds.plan(Log.empty(), pool, choices, seed=1, count=5)
    floor = one.choices["floor"]
    assert floor in FLOORS
    fixed = replace(choices, interval="fixed", floor=floor)
    same = rounds.plan(Log.empty(), pool, fixed, seed=1, count=5)
    assert (one.rows == same.rows).all()
    assert one.probs == approx(same.probs)


def test_without_bounds_on_a_loss_there_are_no_bets_and_the_floor_stays(pool):
    choices = Choices("log-loss", ("log-loss",), "agreement", floor=0.2, interval="anytime")
    assert rounds.plan(Log.empty(), pool, choices, seed=1, count=5).choices["floor"] == 0.2


def test_a_round_for_fixed_intervals_keeps_the_floor_of_the_user(pool):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    frozen = rounds.freeze(Log.empty(), pool, choices, seed=1)
    assert frozen.choices == choices
    assert frozen.strength.min() >= 0.2 / 60
