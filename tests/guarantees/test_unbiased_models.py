"""Draws that were made for one model are unbiased for another, and for their difference.

Over every order in which the draws can come, through the program's own code: see test_unbiased.
"""

from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.estimation import samples
from activetest.item_statistics.compared import bind_metric, subtract_models
from activetest.rounds.compared_pool import ComparedPool
from activetest.rounds.fit import observe_statistics
from tests.guarantees.test_unbiased import CHOICES, SIZE, first_unseen, metric_of, studies
from tests.makers import build_table

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))
ESTIMATORS = ("lure", "doubly-robust")


@pytest.fixture
def truth(pool):
    """Labels that make the first model wrong on the second, third and last item."""
    labels = pool.rows(0, SIZE).outputs.pred.astype(float)
    labels[[1, 2, -1]] = (labels[[1, 2, -1]] + 1) % 3
    return labels


@pytest.fixture
def rival(pool, tmp_path):
    """A model of the same items that does the same as the first on two of them."""
    rows = pool.rows(0, SIZE)
    probs = np.roll(rows.outputs.probs, 1, axis=1)
    probs[[0, 3]] = rows.outputs.probs[[0, 3]]
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(pool.classes)}
    table = {"id": pool.ids(np.arange(SIZE))} | columns
    table["place"] = [pool.group_values[0][code] for code in rows.codes[:, 0]]
    return build_table(tmp_path, table, groups=("place",))


def estimate_means(evidence, metric, group, estimator):
    one = samples.build_sample(evidence, metric, evidence.groups[group])
    # A group that happens to be known completely is reported exactly, which is no estimate.
    one = replace(one, unknown=max(one.unknown, 1e-9))
    return catalog.load("estimators", estimator).estimate(one).mean


def find_expectations(pool, truth, rival, metrics, choices=CHOICES, groups=(0, 1), **ways):
    """(metrics, groups, estimators, d) means, each over all studies; and the true ones."""
    expected = 0.0
    for log, prob in studies(pool, truth, choices, **ways):
        compared = ComparedPool("v1", pool, {"v2": rival}, log)
        evidence = samples.collect_evidence(log, compared, choices, metrics, seed=1)
        expected = expected + prob * np.array(
            [
                [
                    [estimate_means(evidence, metric, group, each) for each in ESTIMATORS]
                    for group in groups
                ]
                for metric in metrics
            ]
        )
    rows = compared.rows(0, SIZE)
    inside = [evidence.groups[group].membership(rows.codes) for group in groups]
    values = [observe_statistics(rows, truth, metric.statistics) for metric in metrics]
    return expected, np.array([[each @ value / each.sum() for each in inside] for value in values])


@pytest.mark.parametrize(
    "ways", [{}, {"bring": first_unseen}, {"batches": (1, 2)}], ids=["drawn", "supplied", "short"]
)
@pytest.mark.parametrize("name", ["error", "brier"])
def test_a_difference_is_unbiased_whoever_the_draws_were_made_for(pool, truth, rival, name, ways):
    ways = {key: value(pool) if key == "bring" else value for key, value in ways.items()}
    metric = metric_of(pool, name)
    metrics = [subtract_models(metric, "v2", "v1"), bind_metric(metric, "v2")]
    expected, targets = find_expectations(pool, truth, rival, metrics, **ways)
    assert np.abs(targets[0]).max() > 0.1
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)
