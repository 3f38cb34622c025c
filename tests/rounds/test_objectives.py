"""Draws aim at the metrics: at the weighted sum of statistics that moves each of them."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, Log, Objective
from activetest.rounds import race
from activetest.rounds.fit import find_free_items, list_labelled, observe_statistics
from activetest.rounds.objectives import linearise_objective
from activetest.sampling import plan
from tests.makers import build_table, set_status, supply_first

SIZE = 60
F1 = Choices("f1[dog]", ("f1[dog]",), "agreement")
ERROR = replace(F1, metric="error", metrics=("error",))

pytestmark = pytest.mark.pool(rows=SIZE, seed=4)


@pytest.fixture
def log(pool, truth, play_rounds):
    """Twelve draws and five supplied labels; every third label is wrong."""
    return supply_first(play_rounds((ERROR, 6), (ERROR, 6)), pool, truth, 5)


def believed(log: Log, pool, surrogate, *names: str) -> list[float]:
    """Means over the pool, labels as they are known and the rest as the surrogate expects it."""
    statistics = tuple(map(statistic, names))
    mean, _ = moments(surrogate.beliefs(pool.rows(0, SIZE), statistics))
    rows, labels = list_labelled(log)
    known = observe_statistics(pool.take(rows), labels, statistics)
    free = find_free_items(log, SIZE)
    return list((known.sum(axis=0) + mean[:, free].sum(axis=1)) / SIZE)


def shares(log: Log, pool, choices: Choices) -> np.ndarray:
    """(N,) probabilities of the next draw."""
    return plan.prepare_round(log, pool, choices, seed=1).q


def test_the_aim_of_f1_is_its_analytic_gradient_where_the_means_are_believed_to_be(pool, log):
    """F = 2 tp / (2 tp + fp + fn)."""
    frozen = plan.prepare_round(log, pool, F1, seed=1)
    (objective,) = frozen.round.objectives
    assert objective.statistics == ("tp:1", "fp:1", "fn:1")
    tp, fp, fn = believed(log, pool, frozen.surrogate, *objective.statistics)
    below = 2 * tp + fp + fn
    exact = (2 * (fp + fn) / below**2, -2 * tp / below**2, -2 * tp / below**2)
    assert objective.weights == approx(exact, rel=1e-4)


def test_declined_items_count_in_no_mean(pool, log):
    """Means over the items that are labelled or may still be: recall's slope depends on them."""
    declined = set_status(log, [1, 4, 7], DECLINED)
    frozen = plan.prepare_round(declined, pool, replace(F1, metric="recall[dog]"), seed=1)
    (objective,) = frozen.round.objectives
    tp, fn = (
        mean * SIZE / (SIZE - 3)
        for mean in believed(declined, pool, frozen.surrogate, *objective.statistics)
    )
    assert objective.weights == approx((fn / (tp + fn) ** 2, -tp / (tp + fn) ** 2), rel=1e-4)


def test_the_aim_of_recall_is_its_analytic_gradient(pool, log):
    """tp / (tp + fn)."""
    frozen = plan.prepare_round(log, pool, replace(F1, metric="recall[dog]"), seed=1)
    (objective,) = frozen.round.objectives
    tp, fn = believed(log, pool, frozen.surrogate, *objective.statistics)
    assert objective.weights == approx((fn / (tp + fn) ** 2, -tp / (tp + fn) ** 2), rel=1e-4)


@pytest.mark.parametrize("name", ["error", "brier", "log-loss"])
def test_a_mean_is_aimed_at_as_it_is(pool, log, name):
    (objective,) = plan.prepare_round(
        log, pool, replace(ERROR, metric=name), seed=1
    ).round.objectives
    assert objective.weights == (1.0,)
    assert linearise_objective(objective) is statistic(objective.statistics[0])


def test_accuracy_wants_what_error_wants(pool, log):
    one, other = (shares(log, pool, replace(ERROR, metric=name)) for name in ("error", "accuracy"))
    assert one == approx(other)


def test_draws_have_the_smallest_variance_of_f1s_linear_part_that_a_score_can_give(pool, log):
    """sum_j v_j / q_j, with v the surrogate's variance of gradient . h, against other scores."""
    choices = replace(F1, floor=0.0)
    frozen = plan.prepare_round(log, pool, choices, seed=1)
    free = find_free_items(log, SIZE)
    _, variance = moments(
        frozen.surrogate.beliefs(
            pool.rows(0, SIZE), (linearise_objective(frozen.round.objectives[0]),)
        )
    )
    best = (variance[0, free] / frozen.q[free]).sum()
    for other in ("error", "recall[dog]", "log-loss", "f1[cat]"):
        weight = shares(log, pool, replace(choices, metric=other))
        assert best < (variance[0, free] / weight[free]).sum() * (1 - 1e-6)


# --- several metrics


def test_several_metrics_count_alike(pool, log):
    """Strengths are the root mean square of what each metric alone gives, at one mean square."""
    names = ("f1[dog]", "log-loss", "error")
    together = plan.prepare_round(log, pool, replace(F1, also=names[1:]), seed=1)
    alone = [plan.prepare_round(log, pool, replace(F1, metric=name), seed=1) for name in names]
    assert together.round.objectives == tuple(one.round.objectives[0] for one in alone)
    squares = [np.square(one.q) for one in alone]
    mixed = np.sqrt(np.mean([one / one.sum() for one in squares], axis=0))
    assert together.q == approx(mixed / mixed.sum())


def test_the_order_of_the_metrics_does_not_matter(pool, log):
    one, other = (
        shares(log, pool, replace(F1, metric=names[0], also=names[1:]))
        for names in (("f1[dog]", "brier"), ("brier", "f1[dog]"))
    )
    assert one == approx(other)


def test_metrics_that_are_only_reported_do_not_move_the_draws(pool, log):
    reported = replace(F1, metrics=("f1[dog]", "log-loss", "mcc"))
    assert shares(log, pool, reported) == approx(shares(log, pool, F1))


# --- where there is no gradient


def test_an_undefined_metric_is_aimed_at_by_each_of_its_parts(tmp_path):
    """A class that is never predicted has no precision, and nothing that a label could change."""
    probs = np.random.default_rng(1).dirichlet([4, 4, 0.2], 30)
    probs = probs[probs.argmax(axis=1) < 2]
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))}
    pool = build_table(tmp_path, {"id": [str(row) for row in range(len(probs))]} | columns)
    choices = replace(F1, metric="precision[owl]")
    one = plan.plan_round(Log.empty(), pool, choices, seed=1, count=5)
    assert one.objectives == (Objective(("tp:2", "fp:2"), (1.0, 1.0), 0.0),)
    assert one.q == approx(1 / (pool.size - np.arange(5)))
    both = plan.plan_round(Log.empty(), pool, replace(choices, also=("error",)), seed=1, count=5)
    alone = plan.plan_round(Log.empty(), pool, replace(choices, metric="error"), seed=1, count=5)
    assert both.q == approx(alone.q)


# --- what is recorded


@pytest.mark.parametrize("acquisition", ["optimal", "expected-loss", "uniform"])
def test_the_recorded_aims_give_every_row_its_probability_again(pool, log, acquisition):
    choices = replace(F1, acquisition=acquisition, also=("brier",))
    frozen, free = plan.prepare_round(log, pool, choices, seed=1), find_free_items(log, SIZE)
    kept = [
        Objective(tuple(each["statistics"]), tuple(each["weights"]), each["total"])
        for each in json.loads(
            json.dumps([asdict(objective) for objective in frozen.round.objectives])
        )
    ]
    assert tuple(kept) == frozen.round.objectives
    score, rows = catalog.load("acquisition", acquisition).score, pool.rows(0, SIZE)
    scores = np.stack(
        [
            score(frozen.surrogate.beliefs(rows, (linearise_objective(objective),)))
            for objective in kept
        ]
    )
    assert [objective.total for objective in kept] == approx(
        np.square(scores[:, free]).sum(axis=1), rel=1e-5
    )
    totals = np.array([objective.total for objective in kept])
    again = race.blend_scores(np.where(free, scores, 0), free, choices.floor, totals, free.sum())
    assert again / again.sum() == approx(frozen.q, rel=1e-5)


@pytest.mark.parametrize("name", ["auroc[dog]", "average-precision[owl]"])
def test_a_curve_is_aimed_at_by_one_statistic_that_its_name_brings_back(pool, log, name):
    frozen = plan.prepare_round(log, pool, replace(F1, metric=name), seed=1)
    (objective,) = json.loads(json.dumps([asdict(each) for each in frozen.round.objectives]))
    (word,), rows = objective["statistics"], pool.rows(0, SIZE)
    again = statistic.__wrapped__(word)
    table = linearise_objective(frozen.round.objectives[0]).value(rows.outputs, None)
    np.testing.assert_array_equal(again.value(rows.outputs, None), table)
    code = ("cat", "dog", "owl").index(name[-4:-1])
    # An item of the class counts for more the higher it is ranked, and another for less.
    order = np.argsort(rows.outputs.probs[:, code])
    assert np.corrcoef(table[order, code], np.arange(SIZE))[0, 1] > 0.5
    assert np.corrcoef(table[order, (code + 1) % 3], np.arange(SIZE))[0, 1] < -0.2
