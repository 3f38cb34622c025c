"""Draws of groups' values, and how groups rank in them."""

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.wings.groups.arms import Arms
from activetest.wings.groups.ranks import draw_values, rank_arms


def arms(known, size, prior=1.0, kind="accuracy") -> Arms:
    """Groups with these labels (A, 2), right and wrong ones, all of them drawn uniformly."""
    known = np.array(known, float)
    count = len(known)
    return Arms(
        kind=kind,
        groups=tuple({"group": str(place)} for place in range(count)),
        arm_of_cell=np.arange(count),
        size=np.array(size),
        value=np.tile([1.0, 0.0], (count, 1)),
        mean_confidence=np.full(count, 0.5),
        known_counts=known,
        exchangeable_counts=known,
        prior=np.full((count, 2), prior),
    )


def found(some: Arms, worst=1, level=0.95, seed=0):
    rng = np.random.default_rng(seed)
    values = draw_values(some, 10_000, rng)
    return rank_arms(values, np.arange(len(some.groups)), some.worse_sign, worst, level, rng)


def test_the_chance_of_being_the_worse_of_two_is_that_of_their_beta_binomials():
    some = arms([[6, 4], [16, 4]], [30, 50])
    first = betabinom(20, 7, 5).pmf(np.arange(21))
    second = betabinom(30, 17, 5).pmf(np.arange(31))
    apart = np.subtract.outer((6 + np.arange(21)) / 30, (16 + np.arange(31)) / 50)
    worse = (apart < -1e-12) + (np.abs(apart) <= 1e-12) / 2
    exact = first @ worse @ second
    assert found(some).worst[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 1e4))


def test_what_is_fully_labelled_ranks_for_certain():
    some = arms([[10, 20], [20, 10], [30, 0]], [30, 30, 30])
    ranks = found(some)
    assert ranks.worst.tolist() == [1, 0, 0]
    assert ranks.best.tolist() == [0, 0, 1]
    assert ranks.lower.tolist() == ranks.upper.tolist() == [1, 2, 3]
    assert ranks.answer_probability == 1


def test_ranks_come_in_the_order_that_is_asked_for():
    some, rng = arms([[20, 10], [30, 0], [10, 20]], [30, 30, 30]), np.random.default_rng(0)
    ranks = rank_arms(draw_values(some, 1000, rng), np.array([2, 1]), some.worse_sign, 1, 0.95, rng)
    assert ranks.worst.tolist() == [1, 0]
    assert ranks.upper.tolist() == [1, 2]


def test_equal_values_share_their_ranks():
    some = arms([[10, 20]] * 4, [30] * 4)
    ranks = found(some)
    assert ranks.worst == pytest.approx([0.25] * 4, abs=0.02)
    assert ranks.worst.sum() == pytest.approx(1)
    assert ranks.best.sum() == pytest.approx(1)
    assert (ranks.lower.tolist(), ranks.upper.tolist()) == ([1] * 4, [4] * 4)


def test_a_tie_does_not_speak_against_what_is_named():
    rng = np.random.default_rng(0)
    values = np.array([[0.5, 0.5], [0.4, 0.5], [0.5, 0.4], [0.3, 0.6]])
    assert rank_arms(values, np.array([0, 1]), -1, 1, 0.95, rng).answer_probability == 0.75
    assert rank_arms(values, np.array([0, 1]), 1, 1, 0.95, rng).answer_probability == 0.5
    same = found(arms([[10, 20]] * 3, [30] * 3), worst=2)
    assert same.answer_probability == 1
    assert same.among_worst == pytest.approx([2 / 3] * 3, abs=0.02)


def test_being_among_the_worst_adds_up_to_how_many_there_are():
    some = arms([[5, 5], [6, 4], [7, 3], [9, 1], [10, 0]], [200] * 5)
    ranks = found(some, worst=2)
    assert ranks.among_worst.sum() == pytest.approx(2)
    assert np.all(ranks.among_worst >= ranks.worst)
    assert ranks.answer_probability <= ranks.among_worst[:2].min()


def test_of_accuracies_the_smallest_is_the_worst_and_of_errors_the_largest():
    counts = [[2, 28], [28, 2]]
    assert found(arms(counts, [100, 100])).worst[0] > 0.99
    assert found(arms(counts, [100, 100], kind="error")).worst[1] > 0.99


def test_blocks_leave_no_draw_out(monkeypatch):
    some = arms([[5, 5], [6, 4]], [100, 100])
    whole = found(some)
    monkeypatch.setattr("activetest.wings.groups.ranks._BLOCK", 64)
    assert found(some).worst == pytest.approx(whole.worst, abs=0.03)
    assert found(some).worst.sum() == pytest.approx(1)


def test_where_draws_are_dear_there_are_fewer_but_never_few(monkeypatch):
    rng, some = np.random.default_rng(0), arms(np.ones((30, 2)), np.full(30, 50))
    assert len(draw_values(some, 10_000, rng)) == 10_000
    monkeypatch.setattr("activetest.wings.groups.ranks._MOST", 5000 * 60)
    assert len(draw_values(some, 10_000, rng)) == 5000
    monkeypatch.setattr("activetest.wings.groups.ranks._MOST", 60)
    assert len(draw_values(some, 10_000, rng)) == 1000


def test_large_values_tie_although_the_smallest_is_zero():
    """The first two are equal but for rounding; the answer names the smaller of them."""
    values = np.tile([1e9, np.nextafter(1e9, 2e9), 0.0], (200, 1))
    ranks = rank_arms(values, np.arange(3), 1, 1, 0.95, np.random.default_rng(0))
    assert ranks.answer_probability == 1
    assert 0.3 < ranks.worst[0] < 0.7
    assert ranks.worst[2] == 0
