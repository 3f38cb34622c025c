"""Items that cannot change a metric: what is known of them, and that estimates stay unbiased.

Every order of draws is gone through with its probability, as in test_unbiased.
"""

from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation import estimate, samples
from activetest.estimation.anytime import compute_increments_at
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED
from activetest.rounds.fit import observe_statistics
from activetest.sampling import plan
from tests.guarantees.test_unbiased import ESTIMATORS, studies
from tests.makers import build_table, play_rounds, set_status, supply_labels

SIZE = 6
# Three items are predicted as yes, three as no.
SCORES = [0.9, 0.7, 0.6, 0.4, 0.2, 0.05]
TRUTH = np.array([1.0, 0, 1, 1, 0, 0])
PLACES = ["barn", "barn", "tree", "barn", "tree", "tree"]
# A prediction of no costs the same whatever the label.
COSTS = ((1.0, 1.0), (3.0, -0.5))
PRECISION = Choices("precision", ("precision",), "agreement", floor=0.2)
BOTH = replace(PRECISION, metrics=("precision", "error"))
CELL = Choices("confusion[no as yes]", ("confusion[no as yes]",), "agreement", floor=0.2)
COST = Choices("cost", ("cost",), "agreement", floor=0.2, costs=COSTS)


@pytest.fixture
def pool(tmp_path):
    ids = [f"item-{row}" for row in range(SIZE)]
    columns = {"id": ids, "score": SCORES, "place": PLACES}
    return build_table(tmp_path, columns, groups=("place",), classes=("no", "yes"))


def find_metric(pool, name):
    return specification.find_metric(name, specification.describe_pool(pool.roles, COSTS, pool))


def build_sample(pool, log, metric, group=0):
    evidence = samples.collect_evidence(log, pool, PRECISION, [metric], seed=1)
    return samples.build_sample(evidence, metric, evidence.groups[group])


def expected_means(pool, ways, name, estimator, *, group=0):
    """(d,) expected means over all ways a study can go, and (d,) the true ones."""
    metric = find_metric(pool, name)
    mean, total = np.zeros(len(metric.statistics)), 0.0
    for log, prob in ways:
        sample = build_sample(pool, log, metric, group)
        # Where all is known the estimate is exact, and so no estimate.
        sample = replace(sample, unknown=max(sample.unknown, 1))
        mean += prob * catalog.load("estimators", estimator).estimate(sample).mean
        total += prob
    assert total == pytest.approx(1)
    rows = pool.rows(0, SIZE)
    inside = [True] * SIZE if group == 0 else rows.codes[:, 0] == group - 1
    return mean, observe_statistics(rows, TRUTH, metric.statistics)[inside].mean(axis=0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("choices", [PRECISION, CELL, COST], ids=lambda each: each.metric)
def test_draws_among_the_items_that_matter_leave_it_unbiased(pool, choices, estimator, group):
    ways = list(studies(pool, TRUTH, choices, batches=(1, 1)))
    drawn = {row for log, _ in ways for row in log.rows.tolist()}
    assert drawn == {0, 1, 2}
    mean, target = expected_means(pool, ways, choices.metric, estimator, group=group)
    assert mean == pytest.approx(target, abs=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["precision", "confusion[no as yes]", "cost"])
def test_draws_that_cannot_matter_add_nothing_and_leave_it_unbiased(pool, name, estimator, group):
    """As in rounds of a metric that every item can change."""
    ways = studies(pool, TRUTH, replace(COST, metric="error", metrics=("error",)), batches=(1, 1))
    mean, target = expected_means(pool, ways, name, estimator, group=group)
    assert mean == pytest.approx(target, abs=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", ["precision", "error"])
def test_rounds_of_both_kinds_leave_it_unbiased(pool, name, estimator):
    """To the error, what was drawn for precision alone is known without a draw."""
    ways = [
        (last, prob * share * rest)
        for log, prob in studies(pool, TRUTH, BOTH, batches=(1,))
        for middle, share in studies(pool, TRUTH, PRECISION, batches=(1,), log=log)
        for last, rest in studies(pool, TRUTH, BOTH, batches=(1,), log=middle)
    ]
    mean, target = expected_means(pool, ways, name, estimator)
    assert mean == pytest.approx(target, abs=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_labels_supplied_in_answer_to_labels_leave_it_unbiased(pool, estimator):
    """One of an item that matters and one of an item that does not, after a wrong prediction."""

    def bring(log):
        wrong = any(log.labels != pool.take(log.rows).outputs.pred)
        free = [row for row in (0, 3) if row not in {*log.rows, *log.supplied_rows}]
        return free if wrong and len(log.rows) == 1 else ()

    ways = studies(pool, TRUTH, PRECISION, batches=(1, 1), bring=bring)
    mean, target = expected_means(pool, ways, "precision", estimator)
    assert mean == pytest.approx(target, abs=1e-6)


def test_only_items_that_matter_are_counted(pool):
    log = play_rounds(pool, TRUTH, (BOTH, 3))
    log = supply_labels(log, [row for row in range(SIZE) if row not in log.rows][:1], TRUTH)
    sample = build_sample(pool, log, find_metric(pool, "precision"))
    seen = [row for row in (*log.rows, *log.supplied_rows) if row < 3]
    assert sample.unknown == 3 - len(seen)
    assert sample.inside.sum() == np.count_nonzero(log.rows < 3)
    assert sample.left.max() == 3
    # Expected hits and false alarms of the first draw add up to the items predicted as yes.
    assert sample.imputed_sum[0].sum() == pytest.approx(3)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, "ase"])
@pytest.mark.parametrize("choices", [PRECISION, CELL, COST], ids=lambda each: each.metric)
def test_where_all_that_matters_is_labelled_the_value_is_the_truth(pool, choices, estimator):
    log = play_rounds(pool, TRUTH, (choices, 3))
    metric = find_metric(pool, choices.metric)
    view = build_view(log, pool, choices, [metric], seed=1, own_view=True)
    value = view.value(metric, estimator)
    rows = pool.rows(0, SIZE)
    means = observe_statistics(rows, TRUTH, metric.statistics).mean(axis=0)
    assert value.estimate.exact
    assert value.value == pytest.approx(metric.smooth(means))
    interval = view.interval(value, 0.95)
    assert (interval.lower, interval.upper, interval.method) == (value.value, value.value, "exact")
    with pytest.raises(NotEstimable, match="no item is left that can change"):
        plan.plan_round(log, pool, choices, seed=1, count=1)


@pytest.mark.parametrize("choices", [PRECISION, CELL, COST], ids=lambda each: each.metric)
def test_the_surrogates_own_view_counts_what_is_certain_once(pool, choices):
    """Against a sum over all items: labels as they are, and what the surrogate expects."""
    metric = find_metric(pool, choices.metric)
    log = play_rounds(pool, TRUTH, (choices, 2))
    log = supply_labels(log, [4], TRUTH)
    view = build_view(log, pool, choices, [metric], seed=1, own_view=True)
    value = view.value(metric, "ase")
    rows = pool.rows(0, SIZE)
    expected = view.evidence.surrogate.expected(rows, metric.statistics).T.astype(float)
    known = np.append(log.rows, log.supplied_rows)
    expected[known] = observe_statistics(rows, TRUTH, metric.statistics)[known]
    assert value.means.mean == pytest.approx(expected.mean(axis=0), abs=1e-6)


def test_a_metric_whose_items_were_left_out_is_not_estimated_until_they_can_be_drawn(pool):
    log = play_rounds(pool, TRUTH, (PRECISION, 2))
    error = find_metric(pool, "error")
    view = build_view(log, pool, PRECISION, [error], seed=1, own_view=True)
    with pytest.raises(NotEstimable, match="can change error were left out") as raised:
        view.value(error, "doubly-robust")
    way = "alone (`study.change(metric=['precision', 'error'])` draws others, too)"
    assert way in raised.value.problem
    log = play_rounds(pool, TRUTH, (BOTH, 2), log=log)
    view = build_view(log, pool, PRECISION, [error], seed=1, own_view=False)
    assert len(view.value(error, "doubly-robust").estimate.weights) == 2


def test_with_declined_items_a_ratio_is_over_those_that_can_be_answered(pool):
    log = play_rounds(pool, TRUTH, (PRECISION, 3))
    log = set_status(log, [list(log.rows).index(1)], DECLINED)
    metric = find_metric(pool, "precision")
    value = estimate.estimate_metric(build_sample(pool, log, metric), metric, "doubly-robust")
    assert value.estimate.exact
    assert value.value == 1.0


def test_with_declined_items_a_share_asks_whether_others_can_be_answered(pool):
    """Unless they were left out: then they count as answered."""
    metric = find_metric(pool, "confusion[no as yes]")
    log = set_status(play_rounds(pool, TRUTH, (BOTH, 3)), [0], DECLINED)
    assert build_sample(pool, log, metric).unknown == 3
    log = set_status(play_rounds(pool, TRUTH, (CELL, 2)), [0], DECLINED)
    assert build_sample(pool, log, metric).unknown == 1


@pytest.mark.parametrize("first", [PRECISION, BOTH], ids=["left out", "drawn"])
@pytest.mark.parametrize("name", ["precision", "cost"])
def test_bets_are_fair_and_know_their_range(pool, first, name):
    """The increments of the second draw, over all items that it can be."""
    metric, level = find_metric(pool, name), 0.4
    choices = replace(COST, metrics=("cost",)) if name == "cost" else PRECISION
    log = play_rounds(pool, TRUTH, (first, 1))
    above, below = (np.array(each) for each in metric.ratio)
    rows = pool.rows(0, SIZE)
    table = np.stack([each.table(rows.outputs, 2) for each in metric.statistics])
    sums = (above - level * below)[0] + np.tensordot((above - level * below)[1:], table, 1)
    truth = sums[np.arange(SIZE), TRUTH.astype(int)].mean()
    mean, values = 0.0, []
    for way, prob in studies(pool, TRUTH, choices, batches=(1,), log=log):
        evidence = samples.collect_evidence(way, pool, choices, [metric], seed=1)
        (found,) = compute_increments_at(evidence, metric, evidence.groups[0], [level])
        mean += prob * (found.value[-1] + found.offset[-1])
        values.append(found)
    assert mean == pytest.approx(truth, abs=1e-6)
    low, high = ([getattr(each, end)[-1] for each in values] for end in ("low", "high"))
    assert np.ptp(low) == pytest.approx(0, abs=1e-6)
    assert np.ptp(high) == pytest.approx(0, abs=1e-6)
    assert all(low[0] - 1e-9 <= each.value[-1] <= high[0] + 1e-9 for each in values)
    # The rest of the mean lies between its bounds, and these are of items that matter.
    unknown = [row for row in range(3) if row not in log.rows]
    assert values[0].least[-1] == pytest.approx(sums[unknown].min(axis=1).sum() / SIZE)
    assert values[0].most[-1] == pytest.approx(sums[unknown].max(axis=1).sum() / SIZE)


def test_an_anytime_interval_needs_items_that_can_change_the_metric(pool):
    log = play_rounds(pool, TRUTH, (PRECISION, 2))
    view = build_view(log, pool, PRECISION, [find_metric(pool, "error")], seed=1, own_view=False)
    found = view.confidence_sequence(find_metric(pool, "error"), 0.95)
    wrong = np.count_nonzero(log.labels != 1)
    # Drawn items are known, and no draw says anything about the rest.
    assert (found.lower, found.upper) == pytest.approx((wrong / SIZE, (wrong + 4) / SIZE), abs=1e-6)
