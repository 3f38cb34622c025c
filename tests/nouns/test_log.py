"""The rest of a log when a part of it is left out."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import estimate, samples
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import (
    DECLINED,
    LABELLED,
    PENDING,
    Log,
    count_usable_draws,
    drop_waiting_rounds,
    supply_draws_before,
)
from tests.makers import set_status, supply_labels

ERROR = Choices("error", ("error",), "agreement")


def test_rounds_that_wait_for_their_first_answer_are_left_out(pool, truth, play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 4)
    assert drop_waiting_rounds(log).round.tolist() == log.round.tolist()
    # Labels that were supplied after the last round are known to none of them.
    log = supply_labels(log, [row for row in range(40) if row not in log.rows][:3], truth)
    waiting = drop_waiting_rounds(set_status(log, slice(8, None), PENDING))
    assert [each.number for each in waiting.history] == [1, 2]
    assert waiting.status.tolist() == [LABELLED] * 8
    assert waiting.rows.tolist() == log.rows[:8].tolist()
    assert waiting.supplied_rows.tolist() == log.supplied_rows.tolist()


def test_a_round_without_an_answer_stays_where_a_later_one_has_some(play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 4)
    later = drop_waiting_rounds(set_status(log, [4, 5, 6, 7, 8, 10, *range(12, 16)], PENDING))
    assert [each.number for each in later.history] == [1, 2, 3]
    assert later.status.tolist() == [LABELLED] * 4 + [PENDING] * 5 + [LABELLED, PENDING, LABELLED]


def test_where_nothing_has_an_answer_nothing_is_left(play_rounds):
    log = set_status(play_rounds((ERROR, 4)), slice(None), PENDING)
    left = drop_waiting_rounds(log)
    assert (len(left.rows), left.history) == (0, ())
    assert drop_waiting_rounds(Log.empty()).history == ()


# --- draws before a model came


def list_values(log: Log) -> dict[str, object]:
    """Every value of a log but its rounds."""
    values = {name: value for name, value in vars(log).items() if name != "history"}
    return {name: None if each is None else str(each.tolist()) for name, each in values.items()}


def draw_supplied(log: Log) -> Log:
    """The log as if what was supplied before round 1 had been the draws of a round before it."""
    first = replace(log.history[0], number=1, rows=log.supplied_rows, fit_round=1)
    rounds = [
        replace(each, number=each.number + 1, fit_round=each.fit_round + 1) for each in log.history
    ]
    count = len(log.supplied_rows)
    empty = Log.empty()
    return replace(
        log,
        rows=np.append(log.supplied_rows, log.rows),
        q=np.append(np.full(count, 0.1), log.q),
        round=np.append(np.ones(count, int), log.round + 1),
        status=np.append(log.supplied_status, log.status),
        labels=np.append(log.supplied_labels, log.labels),
        supplied_rows=empty.supplied_rows,
        supplied_status=empty.supplied_status,
        supplied_labels=empty.supplied_labels,
        supplied_round=empty.supplied_round,
        history=(first, *rounds),
    )


def test_draws_before_a_round_become_what_was_supplied_before_it(pool, truth, play_rounds):
    known = supply_labels(Log.empty(), [3, 1, 17, 30], truth)
    known = supply_labels(known, [5], truth, status=DECLINED)
    expected = play_rounds(*[(ERROR, 4)] * 3, log=known)
    found = supply_draws_before(draw_supplied(expected), 2)
    assert list_values(found) == list_values(expected)
    numbers = [(each.number, each.fit_round) for each in expected.history]
    assert [(each.number, each.fit_round) for each in found.history] == numbers


def test_what_is_known_of_each_item_comes_along(play_rounds, pool, truth):
    log = play_rounds(*[(ERROR, 3)] * 3)
    early, late = [row for row in range(pool.size) if row not in log.rows][:2]
    log = supply_labels(supply_labels(log, [early], truth, round=1), [late], truth)
    count = len(log.item_rows)
    soft = np.arange(3.0 * count).reshape(count, 3)
    given = np.arange(2 * count).reshape(count, 2)
    log = replace(log, soft=soft[:9], supplied_soft=soft[9:], answers=np.arange(count), given=given)
    found = supply_draws_before(log, 3)
    assert found.round.tolist() == [1] * 3
    assert found.supplied_round.tolist() == [1, 2, *[1] * 6]
    places = {row: place for place, row in enumerate(log.item_rows.tolist())}
    order = [places[row] for row in found.item_rows.tolist()]
    assert sorted(order) == list(range(count))
    assert found.item_soft.tolist() == soft[order].tolist()
    assert found.answers.tolist() == order
    assert found.given.tolist() == given[order].tolist()
    assert found.item_labels.tolist() == log.item_labels[order].tolist()


def test_a_round_with_the_surrogate_of_a_dropped_one_has_its_own(play_rounds):
    log = play_rounds(*[(ERROR, 2)] * 5)
    fits = (1, 1, 1, 4, 4)
    rounds = zip(log.history, fits, strict=True)
    log = replace(log, history=tuple(replace(each, fit_round=fit) for each, fit in rounds))
    found = supply_draws_before(log, 2)
    assert [each.number for each in found.history] == [1, 2, 3, 4]
    assert [each.fit_round for each in found.history] == [1, 1, 3, 3]


def test_before_the_first_round_there_is_nothing_to_supply(play_rounds, truth):
    log = supply_labels(play_rounds(*[(ERROR, 4)] * 2), [0], truth)
    assert list_values(supply_draws_before(log, 1)) == list_values(log)
    assert list_values(supply_draws_before(Log.empty(), 1)) == list_values(Log.empty())


def test_where_no_round_came_after_nothing_is_drawn(play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 2)
    found = supply_draws_before(log, 3)
    assert (len(found.rows), found.history) == (0, ())
    assert sorted(found.supplied_rows) == sorted(log.rows)
    assert set(found.supplied_round) == {1}


def test_a_pending_draw_of_before_holds_later_ones_back_until_it_has_an_answer(play_rounds):
    log = play_rounds(*[(ERROR, 4)] * 2)
    waiting = supply_draws_before(set_status(log, [1], PENDING), 2)
    assert count_usable_draws(waiting) == (0, True)
    assert count_usable_draws(supply_draws_before(log, 2)) == (4, True)


@pytest.mark.pool(rows=60, seed=4)
def test_an_estimate_rests_on_later_draws_and_knows_earlier_labels(pool, truth, play_rounds):
    """The weighted mean of unbiased terms that LURE is (Farquhar et al. 2021), by hand."""
    log = supply_draws_before(play_rounds(*[(ERROR, 6)] * 4), 3)
    metric = specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))
    evidence = samples.collect_evidence(log, pool, ERROR, [metric], seed=2)
    sample = samples.build_sample(evidence, metric, evidence.groups[0])
    wrong = truth != pool.rows(0, 60).outputs.pred
    known = wrong[log.supplied_rows].sum()
    left = 60 - np.arange(12)
    before = np.cumsum(wrong[log.rows]) - wrong[log.rows]
    terms = (known + before + wrong[log.rows] / log.q) / 60
    expected = np.average(terms, weights=1 / (left * (left - 1)))
    assert estimate.estimate_metric(sample, metric, "lure").value == approx(expected)
    robust = estimate.estimate_metric(sample, metric, "doubly-robust")
    assert robust.value == approx(expected, abs=0.1)
