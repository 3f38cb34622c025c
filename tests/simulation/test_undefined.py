"""Simulations of metrics that are about few items of the pool, or about none."""

import numpy as np
import pyarrow as pa
import pytest

from activetest import ChoiceError, simulate

SIZE, FLAGGED = 120, 9
IDS = [f"i{row}" for row in range(SIZE)]
SCORES = np.where(np.arange(SIZE) < FLAGGED, 0.8, 0.2) + np.linspace(0, 0.1, SIZE)


def play(metrics, *, fraud=(), runs=None, **settings):
    """A simulation in which the items of these rows are fraud."""
    key = {id: "fraud" if row in fraud else "ok" for row, id in enumerate(IDS)}
    settings = {"budgets": [5, 40], "runs": 2, "workers": 1, "classes": ["ok", "fraud"]} | settings
    counted = {} if runs is None else {"progress": lambda done, total: runs.append(done)}
    return simulate(
        pa.table({"id": IDS, "score": SCORES}), key, metrics=metrics, **settings, **counted
    )


def test_the_precision_of_fewer_items_than_labels_is_known_after_these():
    """Nothing else is drawn, and all of them leave no error."""
    found = [each for each in play("precision[fraud]", fraud=range(4)) if each.budget == 40]
    assert found
    assert all((each.n_labeled, each.rmse) == (FLAGGED, 0) for each in found)


@pytest.mark.parametrize("metric", ["recall[fraud]", "mcc", "auroc"])
def test_a_metric_without_a_value_is_refused_before_any_run(metric):
    runs = []
    with pytest.raises(ChoiceError, match="has no value for this pool") as caught:
        play(metric, runs=runs)
    assert metric in caught.value.problem and "metrics" in caught.value.hint
    assert not runs


def test_metrics_without_a_value_are_left_out_beside_others():
    assert {each.metric for each in play(["recall[fraud]", "error"])} == {"error"}
