"""A part of a population as a pool, and its log."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.nouns.choices import Choices
from activetest.nouns.study_lists import PartDraws
from activetest.rounds.fit import list_learned
from activetest.rounds.part_pool import PartPool, cut_log, list_part_pools
from activetest.rounds.replay import list_known

pytestmark = pytest.mark.pool(rows=40, groups=("place",))
CHOICES = Choices("error", ("error",), "agreement", floor=0.2)


@pytest.fixture
def parts(pool) -> list[PartPool]:
    """Three parts of 10, 25 and 5 items."""
    pool.part_ends, pool.part_names = (10, 35, 40), ("a", "b", "c")
    return list_part_pools(pool)


def test_parts_have_the_items_of_the_population_in_order(pool, parts):
    ids = [part.ids(np.arange(part.size)) for part in parts]
    assert [id for each in ids for id in each] == pool.ids(np.arange(40))
    assert [part.part_names for part in parts] == [("a",), ("b",), ("c",)]
    for part in parts:
        assert part.part_ends == (part.size,) and part.whole is pool
        chunks = [part.rows(*each).outputs.pred for each in part.chunks(4)]
        assert np.array_equal(np.concatenate(chunks), part.take(np.arange(part.size)).outputs.pred)
        assert np.array_equal(part.scores(), part.rows(0, part.size).outputs.confidence)


def test_items_of_other_parts_follow_behind_those_of_a_part(pool, parts):
    for part in parts:
        places = part.find_places(np.arange(40))
        assert sorted(places) == list(range(40))
        assert np.array_equal(part.find_positions(places), np.arange(40))
        assert part.ids(places) == pool.ids(np.arange(40))
        assert np.array_equal(part.hashes[places], pool.hashes)


def test_what_is_computed_once_is_of_a_part(parts):
    found = [part.compute_once("size", lambda part=part: part.size) for part in parts]
    again = [part.compute_once("size", lambda: 0) for part in parts]
    assert found == again == [10, 25, 5]


def test_the_log_of_a_part_has_its_draws_and_learns_from_all_labels(pool, parts, play_rounds):
    log = play_rounds((CHOICES, 6), (CHOICES, 6))
    of_part = np.searchsorted(pool.part_ends, log.rows, side="right")
    first, second = log.history
    log = replace(
        log,
        history=(
            replace(first, parts=(PartDraws(2, 6),)),
            replace(second, parts=(PartDraws(1, 6),)),
        ),
        rows=np.concatenate([np.arange(10, 16), np.arange(6)]),
    )
    assert len(of_part) == 12
    one, two, three = (cut_log(log, part) for part in parts)
    assert [len(each.rows) for each in (one, two, three)] == [6, 6, 0]
    assert np.array_equal(two.rows, np.arange(6)) and np.array_equal(one.rows, np.arange(6))
    assert [each.number for each in one.history] == [1] and set(one.round) == {1}
    # The first round of part b knew nothing, that of part a the labels of part b.
    assert len(list_known(two, 1)[0]) == 0 and len(list_known(one, 1)[0]) == 6
    for cut, part in ((one, parts[0]), (two, parts[1]), (three, parts[2])):
        places, labels = list_learned(cut, CHOICES)
        positions = part.find_positions(places)
        order = np.argsort(positions)
        assert np.array_equal(positions[order], np.sort(log.rows))
        assert np.array_equal(labels[order], log.labels[np.argsort(log.rows)])
