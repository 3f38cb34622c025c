"""Labels that speak for the rest of a group: those drawn evenly, and since when."""

from dataclasses import replace

import numpy as np
from pytest import approx

from activetest.nouns.choices import Choices
from activetest.nouns.log import PENDING, weigh_draws
from activetest.rounds.fit import find_free_items
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from activetest.wings.groups.arms import expect_outcome_shares
from activetest.wings.groups.counts import count_groups
from tests import makers
from tests.makers import set_status, supply_labels

SIZE = 60
COSTS = ((0.0, 5.0, 1.0), (2.0, -1.0, 2.0), (3.0, 0.5, 0.0))
CHOICES = Choices(
    "accuracy", ("accuracy",), "agreement", groups=("place",), question="identify", costs=COSTS
)
UNIFORM = replace(CHOICES, acquisition="uniform")
OPTIMAL = replace(CHOICES, acquisition="optimal", floor=0.3)
THOMPSON = replace(CHOICES, acquisition="thompson", floor=0.1)


def test_draws_by_score_count_by_weight(pool, truth, play_rounds):
    """Pseudo-counts of Kish, from weights against a draw in which all items are alike."""
    log = play_rounds((UNIFORM, 4), (OPTIMAL, 12))
    found = count_groups(log, pool, CHOICES)
    left = SIZE - np.arange(16)
    weights = 1 / (log.q * left)
    plain = np.arange(16) < 4
    assert weights[plain] == approx(1)
    cells = found.cells[log.rows]
    right = log.labels == pool.take(log.rows).outputs.pred
    for cell in range(2):
        uniform = np.flatnonzero((cells == cell) & plain)
        here = np.flatnonzero((cells == cell) & ~plain)
        w = weights[here]
        value = w.sum() ** 2 / (w**2).sum()
        share = w[right[here]].sum() / w.sum()
        assert found.arms.exchangeable_counts[cell, 0] == approx(
            right[uniform].sum() + value * share
        )
        assert found.arms.exchangeable_counts[cell].sum() == approx(len(uniform) + value)
    assert found.weighted.all()
    assert found.arms.known_counts.sum() == 16


def test_enough_even_draws_since_then_speak_alone_and_what_came_before_is_known(play_rounds, pool):
    log = play_rounds((OPTIMAL, 4), (UNIFORM, 36))
    found = count_groups(log, pool, CHOICES)
    assert not found.weighted.any()
    assert (found.arms.exchangeable_counts.sum(), found.arms.known_counts.sum()) == (36, 40)
    others_are_more = count_groups(play_rounds((OPTIMAL, 30), (UNIFORM, 20)), pool, CHOICES)
    assert others_are_more.weighted.any()


def test_ten_uniform_draws_in_a_cell_are_enough_to_use_them_alone(play_rounds, pool):
    """Nine are not; there were three draws by score in all before them."""
    before, seen = play_rounds((OPTIMAL, 3)), set()
    for more in range(14, 27):
        log = play_rounds((UNIFORM, more), log=before)
        found = count_groups(log, pool, CHOICES)
        by_score, later = (
            np.bincount(found.cells[rows], minlength=2) for rows in np.split(log.rows, [3])
        )
        for cell in range(2):
            alone = later[cell] >= 10 or not by_score[cell]
            assert found.weighted[cell] == (not alone)
            counts = found.arms.exchangeable_counts[cell].sum()
            assert (counts == later[cell]) == alone
        seen |= {later[cell] for cell in range(2) if by_score[cell]}
    assert {9, 10} <= seen


def test_as_many_draws_by_score_outweigh_uniform_ones_that_are_fewer(play_rounds, pool):
    """Uniform draws are used alone where they are at least as many as those by score."""
    log, compared = play_rounds((OPTIMAL, 26)), set()
    for _ in range(34):
        log = play_rounds((UNIFORM, 1), log=log)
        found = count_groups(log, pool, CHOICES)
        by_score, later = (
            np.bincount(found.cells[rows], minlength=2) for rows in np.split(log.rows, [26])
        )
        assert (found.weighted == ((later < 10) | (later < by_score))).all()
        compared |= set((later - by_score)[later >= 10].tolist())
    assert {-1, 0} <= compared


def test_labels_that_came_otherwise_later_are_taken_as_not_known(play_rounds, pool, truth):
    """They were a part of the rest when the draws were made that speak for it."""
    early = play_rounds((UNIFORM, 30))
    alone = count_groups(early, pool, CHOICES).arms
    drawn = count_groups(play_rounds((UNIFORM, 30), (OPTIMAL, 6)), pool, CHOICES)
    assert drawn.arms.known_counts.tolist() == alone.known_counts.tolist()
    assert drawn.labelled.sum() == 36
    free = np.flatnonzero(find_free_items(early, SIZE))
    late = count_groups(supply_labels(early, free[:6], truth, round=2), pool, CHOICES)
    assert late.arms.unlabelled.tolist() == alone.unlabelled.tolist()
    assert late.arms.prior == approx(alone.prior)
    assert not late.weighted.any()
    every = count_groups(supply_labels(early, free, truth, round=2), pool, CHOICES)
    assert every.arms.unlabelled.tolist() == [0, 0]
    assert every.arms.known_counts.sum() == SIZE


def test_labels_that_do_not_count_still_rule_out_what_they_rule_out(play_rounds, pool, truth):
    early = play_rounds((UNIFORM, 20))
    free = np.flatnonzero(find_free_items(early, SIZE))
    found = count_groups(supply_labels(early, free[:-2], truth, round=2), pool, CHOICES)
    right = truth == pool.rows(0, SIZE).outputs.pred
    for cell in range(2):
        inside = found.cells == cell
        labelled = inside & ~np.isin(np.arange(SIZE), free[-2:])
        share = expect_outcome_shares(found.arms)[cell, 0] * inside.sum()
        assert (right & labelled).sum() - 1e-9 <= share
        assert share <= inside.sum() - (~right & labelled).sum() + 1e-9


def test_labels_supplied_before_the_first_draw_of_a_group_leave_its_draws_even(
    play_rounds, pool, truth
):
    """However many draws other groups had before."""
    log = play_rounds((UNIFORM, 1))
    cells = count_groups(log, pool, CHOICES).cells
    by_class = np.flatnonzero(find_free_items(log, SIZE) & (cells != cells[log.rows[0]]))[:2]
    log = supply_labels(log, by_class, truth, round=2)
    log = answered(log, plan.plan_round(log, pool, UNIFORM, seed=1, count=6), truth)
    found = count_groups(log, pool, CHOICES)
    assert not found.weighted.any()
    assert (found.arms.exchangeable_counts.sum(), found.arms.known_counts.sum()) == (7, 9)


def test_labels_supplied_after_weighted_draws_are_not_known_either(play_rounds, pool, truth):
    log = play_rounds((UNIFORM, 2), (OPTIMAL, 12))
    free = np.flatnonzero(find_free_items(log, SIZE))[:6]
    found = count_groups(supply_labels(log, free, truth, round=3), pool, CHOICES)
    assert found.weighted.all()
    assert (found.arms.known_counts.sum(), found.labelled.sum()) == (14, 20)


def test_labels_of_a_round_that_is_not_complete_do_not_count_yet(play_rounds, pool):
    log = set_status(play_rounds((UNIFORM, 8), (UNIFORM, 6)), 13, PENDING)
    found = count_groups(log, pool, CHOICES)
    assert (
        found.arms.known_counts.tolist()
        == count_groups(play_rounds((UNIFORM, 8)), pool, CHOICES).arms.known_counts.tolist()
    )
    assert found.labelled.sum() == 13
    first = set_status(play_rounds((UNIFORM, 8)), 5, PENDING)
    assert count_groups(first, pool, CHOICES).arms.exchangeable_counts.sum() == 5


def test_draws_between_groups_are_uniform_in_finer_cells_only(pool, truth, play_rounds):
    log = play_rounds((THOMPSON, 12))
    for group, kind in (("place", "accuracy"), ("place", "ece[4]"), ("predicted*place", "cost")):
        finer = count_groups(log, pool, CHOICES, kind=kind, group=group)
        assert not finer.weighted.any()
        assert finer.arms.exchangeable_counts == approx(finer.arms.known_counts)
    by_class = count_groups(log, pool, CHOICES, group="predicted")
    assert by_class.weighted[np.unique(by_class.arms.arm_of_cell[by_class.cells[log.rows]])].all()
    binned = replace(THOMPSON, question="estimate", metric="ece[4]", metrics=("ece[4]",))
    by_bins = play_rounds((binned, 12))
    assert count_groups(by_bins, pool, CHOICES).weighted.any()
    assert count_groups(by_bins, pool, CHOICES, kind="ece[5]").weighted.any()
    assert not count_groups(by_bins, pool, CHOICES, kind="ece[4]").weighted.any()


def test_draws_without_a_floor_speak_for_their_cells_and_picks_for_nothing(
    pool, truth, play_rounds
):
    log = play_rounds((replace(THOMPSON, floor=0.0), 8))
    assert np.isnan(log.q).all()
    assert count_groups(log, pool, CHOICES).arms.exchangeable_counts.sum() == 8
    by_class = count_groups(log, pool, CHOICES, group="predicted")
    assert (by_class.arms.exchangeable_counts.sum(), by_class.arms.known_counts.sum()) == (0, 8)
    deterministic = play_rounds((replace(OPTIMAL, selection="top"), 5))
    found = count_groups(deterministic, pool, CHOICES)
    assert (found.arms.exchangeable_counts.sum(), found.arms.known_counts.sum()) == (0, 5)


def test_a_floor_of_one_is_uniform_whatever_is_preferred(pool, truth, play_rounds):
    log = play_rounds((replace(OPTIMAL, floor=1.0), 5), (replace(THOMPSON, floor=1.0), 5))
    assert count_groups(log, pool, CHOICES, group="predicted").arms.exchangeable_counts.sum() == 10


def test_clipping_at_a_floor_of_one_is_not_uniform(pool, truth, play_rounds):
    """It leaves every item at least half as likely as a random draw, and some likelier."""
    log = play_rounds((replace(OPTIMAL, floor=1.0, floor_rule="clip"), 5))
    assert not np.allclose(log.q[0], 1 / pool.size)
    uniform, weights = weigh_draws(log, lambda allocation: False)
    assert not uniform.any() and (weights > 0).all()


def test_draws_inside_other_bins_of_a_number_count_by_weight(tmp_path):
    columns = {
        "id": [f"item-{row}" for row in range(90)],
        **{
            f"prob_{name}": np.full(90, p) for name, p in (("cat", 0.7), ("dog", 0.2), ("owl", 0.1))
        },
    }
    columns["age"] = np.arange(90)
    before, after = (
        makers.build_table(tmp_path, columns, name=name, attributes=(name,))
        for name in ("age[3]", "age[5]")
    )
    chosen = replace(THOMPSON, groups=("age",))
    log = makers.play_rounds(before, makers.label_items(before), (chosen, 12), (chosen, 12))
    assert not count_groups(log, before, chosen, group="age").weighted.any()
    assert count_groups(log, after, chosen, group="age").weighted.any()
