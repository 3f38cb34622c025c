"""Counts of labels in groups, against a walk through the pool, row by row."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import find_free_items, observe_statistics
from activetest.wings.groups.counts import _average_confidence, count_groups
from activetest.wings.groups.partition import Partition
from tests.makers import build_table, set_status, supply_labels

SIZE = 60
COSTS = ((0.0, 5.0, 1.0), (2.0, -1.0, 2.0), (3.0, 0.5, 0.0))
CHOICES = Choices(
    "accuracy", ("accuracy",), "agreement", groups=("place",), question="identify", costs=COSTS
)
UNIFORM = replace(CHOICES, acquisition="uniform")
KINDS = ["accuracy", "error", "ece[4]", "ece[equal-count,4]", "cost", "confusion"]


def outcome_of(found, pred: int, label: float) -> int:
    if found.arms.known_counts.shape[1] == 2:
        return int(pred != label)
    return int(label)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", ["place", "predicted"])
def test_counts_and_priors_are_those_of_a_walk(pool, truth, play_rounds, kind, group):
    log = play_rounds((UNIFORM, 8), (UNIFORM, 6))
    log = supply_labels(log, np.flatnonzero(find_free_items(log, SIZE))[:3], truth, round=1)
    log = set_status(log, 5, DECLINED)
    found = count_groups(log, pool, replace(CHOICES, prior_strength=3.0), kind=kind, group=group)
    rows = pool.rows(0, SIZE)
    cells = found.partition.assign_cells(rows, pool)
    assert (cells == found.cells).all()
    pred, probs = rows.outputs.pred, rows.outputs.probs.astype(float)
    shape = found.arms.known_counts.shape
    known, exchangeable, size = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
    belief, conf = np.zeros(shape), np.zeros(shape[0])
    answers = dict(zip(log.rows, zip(log.status, log.labels, strict=True), strict=True))
    answers |= {row: (LABELLED, truth[row]) for row in log.supplied_rows}
    for row in range(SIZE):
        status, label = answers.get(row, (PENDING, np.nan))
        if status == DECLINED:
            continue
        size[cells[row]] += 1
        conf[cells[row]] += probs[row, pred[row]]
        if status == LABELLED:
            place = cells[row], outcome_of(found, pred[row], label)
            known[place] += 1
            exchangeable[place] += row in log.rows
        else:
            right = probs[row, pred[row]]
            belief[cells[row]] += [right, 1 - right] if shape[1] == 2 else probs[row]
    assert found.arms.size == approx(size)
    assert found.arms.known_counts == approx(known)
    assert found.arms.exchangeable_counts == approx(exchangeable)
    there = belief.sum(axis=1) > 0
    expected = 3 * belief / np.maximum(belief.sum(axis=1, keepdims=True), 1e-9)
    assert found.arms.prior[there] == approx(expected[there], abs=1e-6)
    assert found.arms.prior.sum(axis=1) == approx(3.0)
    assert found.arms.mean_confidence[size > 0] == approx(
        (conf / np.maximum(size, 1))[size > 0], abs=1e-6
    )
    assert found.arms.unlabelled.sum() == SIZE - 14 - 3
    assert found.labelled.sum() == 13 + 3
    assert not found.weighted.any()
    assert [*found.arms.groups[0]] == [group]


@pytest.mark.parametrize("kind", ["ece[4]", "ece[equal-count,3]"])
def test_bins_are_those_of_the_metric(pool, truth, play_rounds, kind):
    found = count_groups(Log.empty(), pool, CHOICES, kind=kind)
    edges = [str(np.float32(edge)) for edge in found.partition.strata[1:]]
    rows = pool.rows(0, SIZE)
    stratum = found.cells % (len(edges) - 1)
    for place, (low, high) in enumerate(itertools.pairwise(edges)):
        inside = observe_statistics(rows, truth, (statistic(f"in_bin:{low}:{high}"),))[:, 0]
        assert (inside == (stratum == place)).all()


def test_costs_and_classes_follow_the_prediction_of_the_cell(pool):
    for group in ("place", "predicted", "predicted*place"):
        found = count_groups(Log.empty(), pool, CHOICES, kind="cost", group=group)
        pred = pool.rows(0, SIZE).outputs.pred
        assert found.arms.value[found.cells] == approx(np.array(COSTS)[pred])
        matrix = count_groups(Log.empty(), pool, CHOICES, kind="confusion", group=group)
        assert matrix.arms.value[found.cells].argmax(axis=1).tolist() == pred.tolist()
    assert (
        count_groups(Log.empty(), pool, CHOICES, kind="cost", group="predicted").partition.strata
        == ()
    )


def test_a_uniform_prior_spreads_its_strength(pool):
    choices = replace(CHOICES, prior="uniform")
    assert count_groups(Log.empty(), pool, choices).arms.prior == approx(1.0)
    assert count_groups(Log.empty(), pool, choices, kind="confusion").arms.prior == approx(1 / 3)
    assert not count_groups(Log.empty(), pool, choices).informed


def test_factors_are_those_of_the_group_and_its_strata(pool, hard):
    def factors(group, strata=(), cache=pool):
        return Partition(group, strata).crossed_columns(cache)

    both = factors("predicted*place", ("predicted",))
    assert both == {("predicted",), "place"} >= factors("predicted")
    bins, others = ("edges", 0.0, 0.5, 1.0), ("edges", 0.0, 0.4, 1.0)
    assert factors("place") < factors("place", bins)
    assert not factors("place", others) <= factors("place", bins)
    # There it is no group, and would be a column of the pool.
    assert not factors("predicted", cache=hard) <= factors("place", ("predicted",), cache=hard)


# --- pools that say less


@pytest.fixture
def hard(tmp_path):
    """Hard labels: classes that the model never says may come up."""
    pred = ["cat", "dog"] * 10
    table = {"id": [f"i{row}" for row in range(20)], "pred": pred, "place": ["a"] * 8 + ["b"] * 12}
    return build_table(tmp_path, table, groups=("place",))


def test_hard_labels_have_uniform_priors_and_one_more_outcome(hard):
    costs = ((0.0, 2.0), (7.0, 0.0))
    choices = replace(CHOICES, costs=costs)
    log = supply_labels(Log.empty(), np.arange(2), np.array([-1.0, 1.0]))
    found = count_groups(log, hard, choices, kind="cost")
    assert not found.informed
    assert found.arms.prior == approx(1 / 3)
    assert found.arms.value.tolist() == [[0, 2, 2], [7, 0, 7], [0, 2, 2], [7, 0, 7]]
    assert found.arms.known_counts.tolist()[:2] == [[0, 0, 1], [0, 1, 0]]
    right = count_groups(log, hard, choices, kind="accuracy")
    assert right.arms.known_counts[0].tolist() == [1, 1]
    with pytest.raises(ChoiceError, match="needs probabilities"):
        count_groups(log, hard, choices, kind="ece")


def test_what_cannot_judge_groups_is_refused(pool):
    with pytest.raises(ChoiceError, match="cannot be judged by 'f1'"):
        count_groups(Log.empty(), pool, CHOICES, kind="f1")
    with pytest.raises(ChoiceError, match="'ink' is not a group of this study"):
        count_groups(Log.empty(), pool, CHOICES, group="ink")
    with pytest.raises(ChoiceError, match="matrix of costs"):
        count_groups(Log.empty(), pool, replace(CHOICES, costs=None), kind="cost")


def test_a_cell_whose_items_were_all_declined_has_no_confidence():
    totals = SimpleNamespace(prob_sums=np.array([[1.7], [0.9]]))
    rows = SimpleNamespace(outputs=SimpleNamespace(confidence=np.array([0.8, 0.9, 0.9])))
    cells, declined = np.array([0, 0, 1]), np.array([False, False, True])
    found = _average_confidence(totals, rows, cells, declined, np.array([2, 0]), None)
    assert found == approx([0.85, 0.0])
