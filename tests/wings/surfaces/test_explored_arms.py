"""Rounds that explore a surface: shares of arms become exact probabilities of rows."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.sparse import csr_matrix

from activetest.errors import NotEstimable
from activetest.nouns.choices import Choices
from activetest.nouns.log import ArmAllocation, Log
from activetest.nouns.surface import Arms
from activetest.rounds.fit import find_free_items
from activetest.sampling import plan
from activetest.wings.surfaces import fitting as surfaces
from activetest.wings.surfaces.fitting import find_arms, weigh_rows
from tests.makers import build_table, label_items, play_rounds

SIZE = 120
SURFACE = Choices(
    "accuracy",
    ("accuracy",),
    "agreement",
    acquisition="surface-variance",
    floor=0.1,
    groups=("place", "age"),
    attributes=("place", "age"),
    question="surface",
    surface="beta",
    min_support=2,
)


@pytest.fixture
def pool(tmp_path):
    rng = np.random.default_rng(2)
    columns = {
        "id": [f"item-{row}" for row in range(SIZE)],
        "score": rng.random(SIZE),
        "place": rng.choice([f"p{number:02}" for number in range(8)], SIZE),
        "age": rng.integers(0, 5, SIZE),
    }
    return build_table(tmp_path, columns, attributes=("place", "age"))


@pytest.fixture
def truth(pool):
    return label_items(pool, classes=2)


@pytest.mark.parametrize(
    "selected", [SURFACE, replace(SURFACE, floor=0.5), replace(SURFACE, metric="error")]
)
def test_rows_share_what_their_arm_is_given_and_the_floor_is_for_all(pool, truth, selected):
    log = play_rounds(pool, truth, (selected, 12), (selected, 7))
    state = plan.prepare_round(log, pool, selected, seed=1, count=12)
    free = find_free_items(log, SIZE)
    arms = find_arms(pool, selected.attributes)
    assert state.q.sum() == approx(1)
    assert not state.q[~free].any()
    floor, per_arm = selected.floor / free.sum(), (1 - selected.floor) / 12
    explored = 0
    for arm in range(len(arms)):
        here = state.q[free & (arms.of_item == arm)]
        if not len(here):
            continue
        assert here == approx(here[0])
        assert here[0] == approx(floor) or here.sum() == approx(per_arm + floor * len(here))
        explored += here[0] > 1.01 * floor
    assert explored == 12


def test_draws_have_exact_probabilities_which_the_round_keeps_sparsely(pool, truth):
    log = play_rounds(pool, truth, (SURFACE, 12), (SURFACE, 30))
    for each in log.history:
        assert isinstance(each.allocation, ArmAllocation)
        assert len(each.allocation.arms) <= 12 * -(-len(each.rows) // 12)
        weight = weigh_rows(each.allocation, pool.rows(0, SIZE), pool)
        weight[log.rows[: np.searchsorted(log.round, each.number)]] = 0
        for row, prob in zip(each.rows, each.q, strict=True):
            assert prob == approx(weight[row] / weight.sum())
            weight[row] = 0


def test_arms_that_are_too_small_are_drawn_by_the_floor_alone(pool, truth):
    large = replace(SURFACE, min_support=4)
    state = plan.prepare_round(Log.empty(), pool, large, seed=1, count=50)
    arms = find_arms(pool, large.attributes)
    small = arms.support[arms.of_item] < 4
    assert small.any()
    assert state.q[small] == approx(0.1 / SIZE)
    assert state.q[~small].max() > 0.2 / SIZE


def test_without_arms_to_explore_all_rows_are_alike_and_without_a_floor_it_is_an_error(pool):
    nothing = replace(SURFACE, min_support=1000)
    state = plan.prepare_round(Log.empty(), pool, nothing, seed=1, count=5)
    assert state.q == approx(1 / SIZE)
    with pytest.raises(NotEstimable, match="at least 1000 items"):
        plan.prepare_round(Log.empty(), pool, replace(nothing, floor=0.0), seed=1, count=5)


def test_without_a_floor_draws_have_no_probabilities_and_keep_to_the_arms(pool, truth):
    log = play_rounds(pool, truth, (replace(SURFACE, floor=0.0), 10))
    assert np.isnan(log.q).all()
    names = {
        tuple(find_arms(pool, SURFACE.attributes).attributes.name(code).values())
        for code in find_arms(pool, SURFACE.attributes)
        .codes[find_arms(pool, SURFACE.attributes).of_item[log.rows]]
        .tolist()
    }
    assert names <= set(log.history[0].allocation.arms)


def test_top_takes_one_row_of_each_arm(pool, truth):
    """As in the paper, and without a probability."""
    top = replace(SURFACE, selection="top")
    log = play_rounds(pool, truth, (top, 12), (top, 12))
    assert np.isnan(log.q).all()
    arms = find_arms(pool, top.attributes)
    first, second = arms.of_item[log.rows[:12]], arms.of_item[log.rows[12:]]
    assert len(set(first)) == len(set(second)) == 12
    # Arms without a label come first.
    assert not set(first) & set(second)


def spread(pool, attributes) -> Arms:
    """The arms of the pool if every item were with 1/4 in the arm after its own."""
    arms = find_arms(pool, attributes)
    item = np.arange(SIZE)
    share = np.r_[np.full(SIZE, 0.75), np.full(SIZE, 0.25)]
    places = np.r_[arms.of_item, (arms.of_item + 1) % len(arms)]
    shape = SIZE, len(arms)
    return Arms(
        arms.attributes, arms.codes, csr_matrix((share, (np.r_[item, item], places)), shape)
    )


def test_rows_whose_arm_is_uncertain_share_by_their_probability(pool, truth, monkeypatch):
    arms = spread(pool, SURFACE.attributes)
    monkeypatch.setattr(surfaces, "find_arms", lambda cache, attributes, model: arms)
    log = play_rounds(pool, truth, (SURFACE, 10))
    state = plan.prepare_round(log, pool, SURFACE, seed=1, count=12)
    free = find_free_items(log, SIZE)
    share = np.zeros(len(arms))
    names = [tuple(arms.attributes.name(code).values()) for code in arms.codes.tolist()]
    for name in state.round.allocation.arms:
        share[names.index(name)] = 1 / 12
    member = arms.membership.toarray() * free[:, None]
    expected = 0.9 * member @ (share / member.sum(axis=0)) + 0.1 * free / free.sum()
    assert state.q == approx(expected)
    assert not state.round.allocation.certain
    # Not uniform inside arms: draws are weighted.
    data = surfaces.collect_surface_data(log, pool, SURFACE)
    assert (data.weights != 1).any()
    # The likeliest row of an arm is one of its own.
    top = play_rounds(pool, truth, (replace(SURFACE, selection="top"), 12))
    own = arms.membership[top.rows].toarray()
    chosen = {names.index(name) for name in top.history[0].allocation.arms}
    assert set(own.argmax(axis=1)) == chosen
