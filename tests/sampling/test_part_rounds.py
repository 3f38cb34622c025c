"""How many draws parts get follows sizes and numbers of draws, and no label."""

import numpy as np
import pytest

from activetest.errors import NotEstimable
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.sampling.part_rounds import allocate_draws, plan_rounds

CHOICES = Choices("error", ("error",), "agreement", floor=0.2)


@pytest.mark.parametrize(
    ("count", "sizes", "drawn", "free", "expected"),
    [
        (30, [100, 200], [0, 0], [100, 200], [10, 20]),
        (100, [2000, 1000], [100, 0], [1900, 1000], [33, 67]),
        (10, [1000, 10], [0, 0], [1000, 10], [8, 2]),
        (3, [10, 1000, 10], [0, 0, 0], [10, 1000, 10], [1, 2, 0]),
        (50, [20, 20], [0, 18], [20, 2], [20, 2]),
        (5, [100, 100], [3, 90], [97, 10], [5, 0]),
        (4, [100, 100], [50, 50], [50, 0], [4, 0]),
    ],
    ids=str,
)
def test_parts_get_two_draws_first_and_then_what_they_lack(count, sizes, drawn, free, expected):
    found = allocate_draws(count, *map(np.array, (sizes, drawn, free)))
    assert found.tolist() == expected


def test_all_draws_are_given_and_none_too_many():
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = rng.integers(1, 60, rng.integers(1, 9))
        drawn = rng.integers(0, sizes + 1)
        count = int(rng.integers(1, 80))
        found = allocate_draws(count, sizes, drawn, sizes - drawn)
        assert found.sum() == min(count, (sizes - drawn).sum())
        assert (found <= sizes - drawn).all() and (found >= 0).all()


@pytest.mark.pool(rows=40)
def test_rounds_of_parts_share_the_surrogate_of_the_first(pool):
    pool.part_ends, pool.part_names = (30, 40), ("a", "b")
    rounds = plan_rounds(Log.empty(), pool, CHOICES, seed=1, count=12)
    assert [(each.number, each.part, each.fit_round) for each in rounds] == [(1, 1, 1), (2, 2, 1)]
    assert [len(each.rows) for each in rounds] == [9, 3]
    assert (rounds[0].rows < 30).all() and (rounds[1].rows >= 30).all()
    assert [each.count[0] for each in rounds] == [30, 10]
    (alone,) = plan_rounds(Log.empty(), pool, CHOICES, seed=1, count=4, among=[2])
    assert alone.part == 2 and (alone.rows >= 30).all()


@pytest.mark.pool(rows=40)
def test_a_population_of_one_part_has_one_round(pool):
    (one,) = plan_rounds(Log.empty(), pool, CHOICES, seed=1, count=5)
    assert one.part == 1 and one.parts[0].planned == 5


@pytest.mark.pool(rows=4)
def test_nothing_is_drawn_from_parts_that_are_known(pool, truth):
    from activetest.simulation.simulate import answered

    pool.part_ends, pool.part_names = (2, 4), ("a", "b")
    log = Log.empty()
    for each in plan_rounds(log, pool, CHOICES, seed=1, count=2, among=[1]):
        log = answered(log, each, truth)
    with pytest.raises(NotEstimable, match="drawn or labelled"):
        plan_rounds(log, pool, CHOICES, seed=1, count=2, among=[1])
