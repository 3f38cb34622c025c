"""The values of a ratio that are refuted, against bets on each of many values."""

from dataclasses import fields

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import anytime
from activetest.estimation.anytime import find_first_unrefuted
from activetest.intervals import betting
from activetest.nouns.estimate import Increments

GRID = np.linspace(0, 1, 9)
NAMES = [field.name for field in fields(Increments)]


def sums(count: int, *, seed: int, strange: float = 0.0):
    """Draws with above and below the line, and what they were guessed to be, as fields of t.

    at(t) are the increments on above - t below. The more strange, the larger are the guesses of
    what is below the line: a draw can then speak the more for a value, the larger it is.
    """
    rng, size = np.random.default_rng(seed), 2 * count
    below = (rng.random(count) < 0.6).astype(float)
    above = below * (rng.random(count) < 0.7)
    guesses = np.stack([0.4 + 0 * below, 0.6 + strange * rng.random(count)])
    odds = rng.uniform(0.5, 1.5, count)
    before = np.cumsum(np.stack([above, below]), axis=1) - np.stack([above, below])
    left = 1 - np.arange(count) / size

    def at(t: float) -> Increments:
        guess, known = guesses[0] - t * guesses[1], (before[0] - t * before[1]) / size
        ends = np.array([0.0, -t, 1 - t])
        return Increments(
            left * (guess + (above - t * below - guess) * odds),
            left * (guess + (ends.min() - guess) * 2.0),
            left * (guess + (ends.max() - guess) * 2.0),
            known,
            left * ends.min(),
            left * ends.max(),
        )

    return at


def refuted(increments: list[Increments], value: float, limit: float, *, up: bool) -> bool:
    """Whether bets on one value refute it: its piece's outcome_values, and ranges from chords."""
    places = (len(GRID) - 1) * anytime._PIECES
    piece = min(int(value * places), places - 1)
    cell = piece // anytime._PIECES

    def between(t: float) -> Increments:
        share = (t - GRID[cell]) * (len(GRID) - 1)
        one, two = increments[cell], increments[cell + 1]
        parts = ((1 - share) * getattr(one, name) + share * getattr(two, name) for name in NAMES)
        return Increments(*parts)

    def room(now: Increments):
        return -now.offset - now.low if up else now.high + now.offset

    now, ends = between(value), [between((piece + step) / places) for step in (0, 1)]
    spread = betting.scale_bets(between((piece + 0.5) / places))[:-1]
    gain = now.value + now.offset
    factors = betting.log_factors(gain if up else -gain, np.maximum(*map(room, ends)), spread)
    impossible = (-now.offset - now.least if up else now.most + now.offset) < -1e-12
    path = betting.combine_log_capital(np.cumsum(factors, axis=0))
    return bool(impossible.any() or (path >= limit).any())


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("strange", [0.0, 2.0, 10.0])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(1, 4))]
)
def test_every_value_up_to_the_end_is_refuted_and_the_next_is_not(up, strange, seed):
    at = sums(60, seed=seed, strange=strange)
    increments = [at(value) for value in GRID]
    for limit in np.log([2.0, 5.0, 40.0]):
        end = find_first_unrefuted(GRID, increments, limit, up=up)
        values = np.linspace(0, 1, 301)
        open_ = values[[not refuted(increments, value, limit, up=up) for value in values]]
        if end is None:
            assert not len(open_)
            continue
        # No value that stands is left out, and no more is left in than rounding and a step.
        if len(open_):
            assert end <= open_[0] if up else open_[-1] <= end
        nearby = end + (1 if up else -1) * np.array([0, 1e-7, 2e-7])
        assert any(not refuted(increments, min(max(one, 0), 1), limit, up=up) for one in nearby)


def test_a_value_that_stands_between_refuted_ones_is_found():
    """40 draws speak against what is below 7/16, and 120 against what is above.

    Every value of the grid is refuted, and so is what is between them but for a few: bisection
    between values of the grid would never look there.
    """
    signs = np.repeat([1.0, -1.0], [40, 120])
    nothing, one = np.zeros(160), np.ones(160)
    increments = [Increments(signs * (7 / 16 - t), -one, one, nothing, -one, one) for t in GRID]
    limit = np.log(2)
    values = np.linspace(0, 1, 4001)
    open_ = values[[not refuted(increments, value, limit, up=True) for value in values]]
    assert not set(GRID) & set(open_)
    assert 0.375 < open_.min() < 7 / 16 < open_.max() < 0.5
    end = find_first_unrefuted(GRID, increments, limit, up=True)
    assert open_.min() - 1 / 4000 <= end <= open_.min()


@pytest.mark.parametrize("up", [True, False])
def test_without_draws_nothing_is_refuted(up):
    increments = [Increments(*np.empty((6, 0)))] * len(GRID)
    assert find_first_unrefuted(GRID, increments, np.log(2), up=up) == (0 if up else 1)


def test_more_draws_never_bring_a_value_back():
    at, ends = sums(200, seed=3, strange=2.0), []
    for count in range(10, 201, 10):
        whole = [at(value) for value in GRID]
        increments = [Increments(*(getattr(one, name)[:count] for name in NAMES)) for one in whole]
        ends.append(
            [find_first_unrefuted(GRID, increments, np.log(40), up=up) for up in (True, False)]
        )
    lower, upper = np.array(ends).T
    assert (np.diff(lower) >= -1e-7).all()
    assert (np.diff(upper) <= 1e-7).all()
    assert 0.2 < lower[-1] < upper[-1] < 0.95


def test_capital_between_two_values_is_at_least_what_chords_of_its_logarithm_say():
    rng = np.random.default_rng(1)
    for _ in range(200):
        one, two = rng.normal(0, 5, (2, 4))
        bound = betting.bound_log_capital_between(one, two)
        shares = np.linspace(0, 1, 101)[:, None]
        least = betting.combine_log_capital((1 - shares) * one + shares * two).min()
        assert bound <= least + 1e-9
        close = betting.bound_log_capital_between(one, one + (two - one) / 1e6)
        assert close == approx(betting.combine_log_capital(one), abs=1e-4)


def test_what_rounding_may_leave_is_that_of_the_larger_end():
    """In either direction: values below zero round as those above do."""
    small, large = np.full((6, 3), 0.5), np.full((6, 3), -8.0)
    expected = betting.rounding(Increments(*np.full((6, 3), 8.0)))
    for ends in ((small, large), (large, small), (large, large)):
        assert anytime._Side(*ends, True).rounding == approx(expected)
