"""Rounds that choose between groups: shares of groups become exact probabilities of rows."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, PENDING, Log
from activetest.rounds.fit import find_free_items, make_generator
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from activetest.wings.groups import between_groups
from activetest.wings.groups.counts import count_groups
from activetest.wings.groups.partition import row_weights
from tests.makers import build_table

SIZE = 60
IDENTIFY = Choices(
    "accuracy",
    ("accuracy",),
    "agreement",
    acquisition="thompson",
    floor=0.1,
    groups=("predicted*place",),
    question="identify",
)
COMPARE = replace(IDENTIFY, question="compare", compare=("cat*barn", "dog*tree"))
ESTIMATE = replace(IDENTIFY, question="estimate")
TASKS = [
    IDENTIFY,
    replace(IDENTIFY, worst=3),
    ESTIMATE,
    COMPARE,
    replace(IDENTIFY, metric="ece[3]"),
    replace(ESTIMATE, metric="ece[3]"),
    replace(ESTIMATE, target="confusion"),
    replace(COMPARE, metric="cost", costs=((0.0, 1.0, 2.0), (3.0, 0.0, 1.0), (1.0, 1.0, 0.0))),
]

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("predicted*place", "place"))


@pytest.fixture
def play(play_rounds):
    """play(choices, 5, 3) is the log after two rounds, all answered."""
    return lambda choices, *counts: play_rounds(*((choices, count) for count in counts))


@pytest.mark.parametrize("choices", TASKS, ids=range(len(TASKS)))
def test_rows_are_as_likely_as_their_group_and_all_of_a_cell_alike(pool, play, choices):
    """METHODS: P = (1 - floor) share + floor rest / all, and every free row of it P / rest."""
    log = play(choices, 6, 4)
    frozen = plan.prepare_round(log, pool, choices, seed=1)
    free = find_free_items(log, SIZE)
    assert frozen.q.sum() == approx(1)
    assert not frozen.q[~free].any()
    found = count_groups(log, pool, choices)
    bandit = between_groups.make_bandit(found, pool, choices)
    rng = make_generator(1, 3, "arms")
    shares = bandit.spread_over_cells(
        catalog.load("acquisition", "thompson").allocate(bandit, 1000, rng)
    )
    rest = np.bincount(found.cells[free], minlength=len(shares))
    for cell in np.flatnonzero(rest):
        here = frozen.q[free & (found.cells == cell)]
        assert here == approx(here[0])
        assert here.sum() == approx(0.9 * shares[cell] + 0.1 * rest[cell] / free.sum())


@pytest.mark.parametrize("name", catalog.having("acquisition", "CHOOSES_GROUPS"))
def test_every_choice_between_groups_makes_a_round_with_exact_probabilities(pool, play, name):
    choices = replace(IDENTIFY, acquisition=name)
    log = play(choices, 6, 4)
    for each in log.history:
        start = int(np.searchsorted(log.round, each.number))
        weight = row_weights(each.allocation, pool.rows(0, SIZE), pool)
        weight[log.rows[:start]] = 0
        for row, prob in zip(each.rows, each.q, strict=True):
            assert prob == approx(weight[row] / weight.sum())
            weight[row] = 0


def test_the_same_study_draws_the_same(pool, play):
    one, two = play(IDENTIFY, 5, 5), play(IDENTIFY, 5, 5)
    assert (one.rows == two.rows).all()
    assert (one.q == two.q).all()
    assert one.history[1].allocation == two.history[1].allocation
    other = plan.plan_round(Log.empty(), pool, IDENTIFY, seed=2, count=5)
    assert (other.rows != one.rows[:5]).any()


def test_what_waits_for_its_label_is_neither_drawn_nor_counted_among_the_rest(pool, play):
    """A group of which all is drawn or labelled gets nothing, and within others all stay alike."""
    log = play(replace(IDENTIFY, acquisition="uniform"), 30)
    log = replace(log, status=np.full(30, PENDING), labels=np.full(30, np.nan))
    frozen = plan.prepare_round(log, pool, IDENTIFY, seed=1)
    free = find_free_items(log, SIZE)
    assert frozen.q.sum() == approx(1)
    assert (frozen.q > 0).tolist() == free.tolist()
    cells = count_groups(log, pool, IDENTIFY).cells
    for cell in np.unique(cells[free]):
        here = frozen.q[free & (cells == cell)]
        assert here == approx(here[0])


def test_without_a_floor_draws_have_no_probability_and_keep_to_the_groups_asked_for(pool, play):
    choices = replace(COMPARE, floor=0.0)
    log = play(choices, 5)
    assert np.isnan(log.q).all()
    assert log.history[0].deterministic
    cells, values = count_groups(log, pool, choices).cells, pool.group_values[0]
    assert {values[cell] for cell in cells[log.rows]} <= set(COMPARE.compare)


def test_groups_that_are_used_up_are_an_error_without_a_floor_and_else_a_uniform_draw(pool, truth):
    cells = count_groups(Log.empty(), pool, COMPARE).cells
    pair = [pool.group_values[0].index(value) for value in COMPARE.compare]
    rows = np.flatnonzero(np.isin(cells, pair))
    log = replace(
        Log.empty(),
        supplied_rows=rows,
        supplied_status=np.full(len(rows), LABELLED),
        supplied_labels=truth[rows],
        supplied_round=np.ones(len(rows), np.int64),
    )
    with pytest.raises(NotEstimable, match="every item of the groups that the task asks about"):
        plan.prepare_round(log, pool, replace(COMPARE, floor=0.0), seed=1)
    weight = plan.prepare_round(log, pool, COMPARE, seed=1).q
    assert weight[find_free_items(log, SIZE)] == approx(1 / (SIZE - len(rows)))


def test_fewer_rows_than_asked_for_come_where_only_these_have_a_chance(pool):
    drawn = plan.plan_round(Log.empty(), pool, replace(COMPARE, floor=0.0), seed=1, count=SIZE)
    cells = count_groups(Log.empty(), pool, COMPARE).cells
    pair = [pool.group_values[0].index(value) for value in COMPARE.compare]
    assert sorted(drawn.rows) == np.flatnonzero(np.isin(cells, pair)).tolist()


def test_draws_prefer_what_the_task_asks_about(pool, truth):
    """All wrong in one group: nearly every draw of a later round is from it."""
    worst = count_groups(Log.empty(), pool, IDENTIFY).cells == 0
    labels = np.where(worst, (truth + 1) % 3, pool.rows(0, SIZE).outputs.pred)
    log = Log.empty()
    for _ in range(3):
        drawn = plan.plan_round(
            log, pool, replace(IDENTIFY, acquisition="uniform"), seed=1, count=10
        )
        log = answered(log, drawn, labels)
    weight = plan.prepare_round(log, pool, IDENTIFY, seed=1).q
    assert weight[worst].sum() > 2 * worst[find_free_items(log, SIZE)].mean()


# --- what the task asks for and the pool does not have


def test_groups_that_are_not_there_are_named(pool):
    def refused(problem, **chosen):
        with pytest.raises(ChoiceError, match=problem):
            between_groups.check_groups(pool, replace(COMPARE, **chosen))

    refused("'owl' is no value of 'predicted.place'", compare=("cat*barn", "owl"))
    refused("`worst=9`: 'place' has 2 groups", question="identify", worst=9, groups=("place",))
    refused("'ink' is not a group of this study", groups=("ink",))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a,b", ["a", "b", "c"], ("a", "b")),
        ("a,b,c", ["a", "b,c"], ("a", "b,c")),
        ("a,b,c", ["a,b", "c", "d"], ("a,b", "c")),
    ],
)
def test_a_pair_may_hold_commas(text, values, expected):
    assert between_groups.parse_compared_groups(text, values, "place") == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [("a", "is not two values"), ("a,d", "is not two"), ("a,b,c", "could be several pairs")],
)
def test_a_text_that_is_no_pair_is_refused(text, problem):
    with pytest.raises(ChoiceError, match=problem):
        between_groups.parse_compared_groups(text, ["a", "b,c", "a,b", "c"], "place")


def test_a_batch_is_spread_as_its_later_labels_will_want_it(pool):
    """One label is worth most in one group; of forty, the other group's come to be worth more."""
    estimate = replace(IDENTIFY, question="estimate", floor=0.0)

    def shares(count) -> np.ndarray:
        _, weight = between_groups.allocate_draws(
            Log.empty(), pool, estimate, seed=1, number=1, count=count
        )
        cells = count_groups(Log.empty(), pool, estimate).cells
        return np.bincount(cells, weight)

    assert shares(1).sum() == pytest.approx(1)
    assert shares(40).sum() == pytest.approx(1)
    assert shares(40).min() > shares(1).min() + 0.1


@pytest.mark.parametrize(("groups", "samples"), [(2, 1000), (131, 1000), (300, 436)])
def test_of_many_groups_there_are_fewer_posterior_samples(tmp_path, monkeypatch, groups, samples):
    """As many as make 2^17 numbers, and at most 1000."""
    columns = {"id": range(600), "pred": ["yes", "no"] * 300}
    columns["place"] = [f"p{row % groups}" for row in range(600)]
    pool = build_table(tmp_path, columns, groups=("place",))
    seen = []

    def watch(playing, allocate, samples, count, rng):
        seen.append((samples, count))
        return np.full(len(playing.arms.size), 1 / groups)

    monkeypatch.setattr(between_groups, "_allocate_batch", watch)
    choices = replace(IDENTIFY, groups=("place",))
    between_groups.allocate_draws(Log.empty(), pool, choices, seed=1, number=1, count=7)
    assert seen == [(samples, 7)]


def test_groups_that_were_chosen_whole_are_even_however_they_are_judged(pool, play):
    by_calibration = replace(IDENTIFY, metric="ece[3]", metrics=("ece[3]",))
    log = play(by_calibration, 12)
    assert log.history[0].allocation.strata == ()
    assert not count_groups(log, pool, IDENTIFY).weighted.any()
    finer = play(replace(by_calibration, question="estimate"), 12)
    assert count_groups(finer, pool, IDENTIFY).weighted.any()
