"""Draws that serve a metric, of how many items they could be, and what was known before them."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.certain import (
    count_ahead,
    count_predictions,
    find_part,
    find_remaining,
    find_steps,
    sum_supplied_before,
)
from activetest.estimation.evidence import list_groups
from activetest.estimation.samples import build_sample, collect_evidence
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING, Log, Round
from tests.makers import build_table, set_status, supply_labels

SIZE = 60
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))

pytestmark = pytest.mark.pool(rows=SIZE, groups=("place",))


def aim(name: str) -> Choices:
    return replace(CHOICES, metric=name, metrics=(name,))


def gather(log: Log, pool, name: str):
    metric = find_metric(name, describe_pool(pool.roles, None, pool))
    return collect_evidence(log, pool, CHOICES, [metric], seed=1), metric


def round_of(number: int, count: int, drawn_from=None, *, deterministic: bool = False) -> Round:
    prob = np.full(count, np.nan if deterministic else 0.1)
    nothing = np.empty((count, 0))
    return Round(
        number, np.arange(count), prob, {}, {}, (), (), nothing, nothing, nothing, (),
        drawn_from=drawn_from,
    )  # fmt: skip


def log_of(*rounds: Round) -> Log:
    numbers = np.concatenate([np.full(len(each.rows), each.number) for each in rounds])
    prob = np.concatenate([each.q for each in rounds])
    empty = Log.empty()
    status = np.ones(len(prob), np.int64)
    return replace(
        empty, rows=np.arange(len(prob)), q=prob, round=numbers, status=status, history=rounds
    )


def test_draws_serve_metrics_whose_items_they_could_all_be_of():
    log = log_of(
        round_of(1, 2),
        round_of(2, 3, (0, 1)),
        round_of(3, 1, deterministic=True),
        round_of(4, 2, (1,)),
    )
    assert find_steps(log, 8, None).tolist() == [0, 1]
    assert find_steps(log, 8, frozenset({0})).tolist() == [0, 1, 2, 3, 4]
    assert find_steps(log, 8, frozenset({1})).tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert find_steps(log, 8, frozenset({0, 2})).tolist() == [0, 1]
    # Among the first that are used.
    assert find_steps(log, 4, frozenset({1})).tolist() == [0, 1, 2, 3]


def test_items_ahead_are_those_that_draws_from_as_many_classes_left():
    """100 items in all: 50 predicted as 0, 30 as 1 and 20 as 2."""
    of_class = np.array([50, 30, 20])
    plain = log_of(round_of(1, 2), round_of(2, 2))
    assert count_ahead(plain, np.arange(4), 4, of_class, 100).tolist() == [
        [100, 100],
        [100, 99],
        [100, 98],
        [100, 97],
    ]
    mixed = log_of(
        round_of(1, 2),
        round_of(2, 2, (0, 1)),
        round_of(3, 2, (1,)),
        round_of(4, 1),
        round_of(5, 1, (1,)),
    )
    found = count_ahead(mixed, np.arange(8), 8, of_class, 100)
    # Of all items the seven that were drawn before are gone; of some, only those drawn from them.
    assert found.tolist() == [
        [100, 100],
        [100, 99],
        [80, 80],
        [80, 79],
        [30, 30],
        [30, 29],
        [100, 94],
        [30, 28],
    ]
    # Some of the draws, and fewer that are used.
    some = count_ahead(mixed, np.array([0, 2, 7]), 8, of_class, 100)
    assert some.tolist() == [[100, 100], [80, 80], [30, 28]]
    assert count_ahead(mixed, np.arange(3), 3, None, 100)[:, 1].tolist() == [100, 99, 98]


def test_what_was_supplied_is_known_from_its_round_on():
    log = replace(
        log_of(round_of(1, 2), round_of(2, 1), round_of(3, 2)),
        supplied_round=np.array([3, 1, 2, 4]),
    )
    values = np.array([[1.0, 10], [2, 20], [4, 40], [8, 80]])
    found = sum_supplied_before(log, values)
    assert found[:, 0].tolist() == [2, 2, 6, 7, 7]
    assert found[:, 1].tolist() == [20, 20, 60, 70, 70]


def test_items_left_to_a_round_of_some_classes_are_counted_without_those_known(
    pool, truth, play_rounds
):
    log = play_rounds((CHOICES, 8))
    free = np.setdiff1d(np.arange(SIZE), log.rows)
    log = supply_labels(log, free[:9], truth)
    log = play_rounds((aim("precision[owl]"), 5), (CHOICES, 4), log=log)
    evidence, _ = gather(log, pool, "precision[owl]")
    pred = pool.rows(0, SIZE).outputs.pred
    steps = np.arange(17)
    found = find_remaining(evidence, steps, np.arange(17.0))
    # Rounds of all items keep what was recorded.
    assert found[:8].tolist() == list(range(8)) and found[13:].tolist() == [13, 14, 15, 16]
    owls = (pred == 2).sum() - (pred[log.rows[:8]] == 2).sum()
    owls -= (pred[log.supplied_rows] == 2).sum()
    assert (pred[log.supplied_rows] == 2).any()
    assert found[8:13].tolist() == [owls - drawn for drawn in range(5)]
    assert find_remaining(evidence, steps[9:11], np.zeros(2)).tolist() == [owls - 1, owls - 2]


@pytest.mark.parametrize("place", [0, 1])
def test_the_part_that_can_change_a_metric_is_that_of_its_predicted_class(
    pool, truth, play_rounds, place
):
    log = play_rounds((CHOICES, 12), (CHOICES, 8))
    log = supply_labels(log, np.setdiff1d(np.arange(SIZE), log.rows)[:6], truth)
    log = set_status(log, [13, 14, 15, 16], PENDING)
    evidence, metric = gather(log, pool, "precision[owl]")
    group = evidence.groups[place]
    part = find_part(evidence, metric, group)
    rows = pool.rows(0, SIZE)
    inside = group.membership(rows.codes) * (rows.outputs.pred == 2)
    assert part.drawn.tolist() == inside[log.rows].tolist()
    assert part.supplied.tolist() == inside[log.supplied_rows].tolist()
    assert part.count == inside.sum()
    known = np.append(np.delete(log.rows, [13, 14, 15, 16]), log.supplied_rows)
    assert part.count_unknown(log) == inside.sum() - inside[known].sum()
    assert part.unknown.tolist() == [0, 0, inside.sum() - inside[known].sum()]
    assert not part.certain.any()


def test_metrics_of_one_evidence_keep_the_draws_of_their_own_items(pool, play_rounds):
    """Of 6 draws among all items, and 4 among those predicted as a class."""
    name = f"precision[{pool.classes[0]}]"
    log = play_rounds((CHOICES, 6), (aim(name), 4))
    facts = describe_pool(pool.roles, None, pool)
    metrics = [find_metric(each, facts) for each in (name, "error")]
    evidence = collect_evidence(log, pool, CHOICES, metrics, seed=1)
    assert [len(build_sample(evidence, each).q) for each in metrics] == [10, 6]


def test_with_declined_items_all_matter_but_to_ratios_of_counts(pool, truth, play_rounds):
    log = set_status(play_rounds((CHOICES, 12)), [3], DECLINED)
    for name, alone in (("precision[owl]", True), ("confusion[dog as owl]", False)):
        evidence, metric = gather(log, pool, name)
        part = find_part(evidence, metric, evidence.groups[0])
        owls = (pool.rows(0, SIZE).outputs.pred == 2).sum()
        assert part.count == (owls if alone else SIZE)


def test_predictions_are_counted_by_group_and_by_weight(tmp_path):
    columns = {"id": range(7), "pred": ["a", "b", "b", "c", "a", "c", "c"]}
    columns |= {"place": ["x", "y", "x", "x", "y", "y", "x"], "visits": [1.0, 2, 3, 4, 5, 6, 7]}
    pool = build_table(tmp_path, columns, groups=("place",), weight="visits")
    pool.chunks = lambda: [(0, 3), (3, 7)]
    assert [group.name for group in list_groups(pool)] == ["", "place=x", "place=y"]
    found = count_predictions(pool) * 4
    assert found == approx(np.array([[6, 5, 17], [1, 3, 11], [5, 2, 6]]))
