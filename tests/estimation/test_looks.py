"""Draws and times of each look."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from pytest import approx
from scipy.special import ndtri

from activetest.errors import StudyError
from activetest.estimation.looks import _OVER, Look, LookPlan, plan_looks, plan_looks_of_log
from activetest.estimation.spending import find_look_levels
from activetest.nouns.choices import Choices, Interval
from activetest.nouns.log import LABELLED, PENDING, Log
from tests.estimation.test_spending import find_crossing_probabilities
from tests.makers import build_table, supply_labels

PLAN = LookPlan(looks=5, last=100, spending="cubic", level=0.95, size=1000)
SEQUENTIAL = Choices("error", ("error",), "agreement", interval=Interval.SEQUENTIAL, budget=200)


def rounds_of(*counts: int) -> np.ndarray:
    """The number of the round of each draw, of rounds with so many."""
    return np.repeat(np.arange(1, len(counts) + 1), counts)


@pytest.mark.parametrize(
    ("looks", "last", "due"),
    [
        (5, 100, (20, 40, 60, 80, 100)),
        (3, 100, (34, 67, 100)),
        (1, 7, (7,)),
        (5, 3, (1, 2, 3)),
    ],
)
def test_looks_are_due_after_equal_numbers_of_draws(looks, last, due):
    assert replace(PLAN, looks=looks, last=last).due == due


def test_time_is_the_ratio_of_lures_weights():
    """w_m is 1 / (n (n - 1)) with n = N - m + 1 items left: a telescoping sum."""

    def add_weights(draws: int) -> float:
        left = 1000 - np.arange(draws)
        return float((1 / (left * (left - 1))).sum())

    for draws in (1, 40, 99):
        assert PLAN.find_time(draws) == approx(add_weights(draws) / add_weights(100))
    assert PLAN.find_time(100) == PLAN.find_time(140) == 1.0
    assert PLAN.find_time(50, population=True) == 0.5


def test_a_look_is_at_the_end_of_the_round_that_reaches_it():
    assert PLAN.list_looks(rounds_of(10)) == ()
    assert PLAN.list_looks(rounds_of(10, 10, 10)) == (Look(1, 2, 20),)
    # The third round goes beyond 40, and the fourth passes both 60 and 80.
    assert PLAN.list_looks(rounds_of(15, 15, 15, 40)) == (
        Look(1, 2, 30),
        Look(2, 3, 45),
        Look(4, 4, 85),
    )
    assert PLAN.list_looks(rounds_of(150, 20)) == (Look(5, 1, 150),)


def test_a_look_is_complete_once_every_draw_until_then_is_answered(play_rounds, pool):
    plan = replace(PLAN, last=20, looks=2, size=pool.size)
    log = play_rounds(*[(SEQUENTIAL, 5)] * 4)
    assert [look.number for look in plan.list_complete_looks(log)] == [1, 2]
    for place, complete in ((3, []), (12, [1]), (19, [1])):
        status = np.full(20, LABELLED)
        status[place] = PENDING
        waiting = replace(log, status=status)
        assert [look.number for look in plan.list_complete_looks(waiting)] == complete


@pytest.mark.parametrize(
    ("counts", "missing", "words"),
    [
        ((), (), "look 1 of 5 after 20 more labels"),
        ((15,), (), "look 1 of 5 after 5 more labels"),
        ((15, 15), (), "look 2 of 5 after 10 more labels"),
        # 29 draws have an answer, but one that the look needs has none.
        ((15, 15), (3,), "look 1 of 5 after 1 more label"),
        ((85,), (), "look 5 of 5 after 15 more labels"),
        ((110,), (), _OVER),
        ((110,), (3,), "look 1 of 5 after 1 more label"),
    ],
)
def test_the_next_look_in_words(counts, missing, words):
    rounds = rounds_of(*counts)
    answered = ~np.isin(np.arange(len(rounds)), missing)
    assert PLAN.describe_next(rounds, answered) == words


def test_nothing_stays_undecided_after_a_last_look_at_every_item():
    plan = replace(PLAN, size=100)
    assert plan.describe_next(rounds_of(100), np.ones(100, bool)) == ""


def test_the_plan_is_that_of_the_first_round_whatever_the_choices_are_now(play_rounds, pool):
    small = replace(SEQUENTIAL, budget=30)
    log = play_rounds((small, 5))
    (planned,) = log.history
    later = replace(SEQUENTIAL, budget=35, looks=2)
    assert plan_looks_of_log(later, log, pool) == LookPlan(5, 30, "cubic", 0.95, 40)
    before = replace(log, history=())
    assert plan_looks_of_log(later, before, pool) == LookPlan(2, 35, "cubic", 0.95, 40)
    # A study that began otherwise planned nothing.
    first = replace(planned, choices=asdict(replace(small, interval=Interval.FIXED)))
    assert plan_looks_of_log(small, replace(log, history=(first,)), pool) is None
    assert plan_looks(SEQUENTIAL, 150) == LookPlan(5, 150, "cubic", 0.95, 150)
    money = replace(SEQUENTIAL, budget=12.5, last_look=80)
    assert plan_looks(money, 1000).last == 80


@pytest.mark.pool(rows=100)
def test_time_counts_the_items_that_the_first_round_could_draw(play_rounds, pool, truth):
    """Labels that came before it are no draws: the sum of LURE's weights is of the others."""
    begun = supply_labels(Log.empty(), range(70), truth)
    choices = replace(SEQUENTIAL, budget=20)
    log = supply_labels(play_rounds((choices, 5), log=begun), [], truth)
    free = np.setdiff1d(np.arange(70, 100), log.rows)[:2]
    plan = plan_looks_of_log(choices, supply_labels(log, free, truth), pool)
    assert (plan.size, plan.last) == (30, 20)
    assert plan.find_time(10) == approx((10 / 20) / (20 / 10))
    assert plan_looks_of_log(choices, begun, pool) == plan
    known = supply_labels(Log.empty(), range(100), truth)
    assert plan_looks_of_log(choices, known, pool).due == (1,)


@pytest.mark.pool(rows=100)
def test_items_that_no_draw_can_reach_are_not_in_the_clock(play_rounds, pool):
    """Precision of a class is about what is predicted as that class, and nothing else is drawn."""
    choices = Choices(
        "precision[cat]",
        ("precision[cat]",),
        "agreement",
        interval=Interval.SEQUENTIAL,
        budget=20,
    )
    reachable = int((pool.rows(0, 100).outputs.pred == 0).sum())
    assert 20 < reachable < 60
    expected = LookPlan(5, 20, "cubic", 0.95, reachable)
    log = play_rounds((choices, 5))
    assert log.history[0].drawn_from == (0,)
    assert plan_looks_of_log(choices, Log.empty(), pool) == expected
    assert plan_looks_of_log(choices, log, pool) == expected
    every = plan_looks_of_log(replace(choices, budget=90), Log.empty(), pool)
    assert every.last == reachable and every.is_exact(reachable)


def test_items_without_weight_are_not_in_the_clock(tmp_path):
    columns = {"id": range(50), "prob_no": [0.3] * 50, "prob_yes": [0.7] * 50}
    columns["traffic"] = [0.0] * 20 + [2.0] * 30
    weighted = build_table(tmp_path, columns, weight="traffic")
    choices = replace(SEQUENTIAL, budget=20)
    assert plan_looks_of_log(choices, Log.empty(), weighted) == LookPlan(5, 20, "cubic", 0.95, 30)
    labelled = supply_labels(Log.empty(), [0, 1, 20], np.zeros(50))
    assert plan_looks_of_log(choices, labelled, weighted).size == 29


def test_a_clock_of_what_can_be_drawn_keeps_the_error_of_gates():
    """120 of 1,000 items can be drawn, 115 are: with the whole pool 5 % would be 6.6 or 9.2 %."""
    for looks, wrong in ((5, 0.066), (20, 0.092)):
        errors = []
        for size in (120, 1000):
            plan = LookPlan(looks, 115, "cubic", 0.95, size)
            levels = find_look_levels(plan, plan.due)
            truth = np.array([draws / (1 - draws / 120) for draws in plan.due])
            limits = -ndtri(levels)
            errors.append(find_crossing_probabilities(truth / truth[-1], limits).sum())
        assert errors == approx([0.05, wrong], abs=5e-4)


@pytest.mark.parametrize(
    "forged",
    [
        {"looks": 10**9},
        {"looks": 0},
        {"looks": "5"},
        {"budget": 0.5},
        {"budget": float("inf")},
        {"level": 1.0},
        {"level": 0.5},
        {"spending": "all"},
    ],
)
def test_recorded_looks_that_nobody_planned_are_refused(forged):
    """A ledger may come from anybody."""
    with pytest.raises(StudyError, match="cannot be planned"):
        plan_looks(Choices.from_record(asdict(SEQUENTIAL) | forged), 1000)
