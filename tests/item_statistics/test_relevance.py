"""Items that can change a metric, and values that known labels leave possible."""

import json
from itertools import product

import numpy as np
import pytest

from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts, evaluate
from activetest.item_statistics.relevance import find_certain, find_possible_ratio
from activetest.nouns.rows import Outputs

COSTS = ((0.0, 1.0, 2.0), (1.5, 1.5, 1.5), (2.0, 0.0, 0.0))
CLASSES = ("cat", "dog", "owl")


def find_metric(name, *, open_classes=False):
    facts = Facts("classification", CLASSES, costs=COSTS, probabilities=True)
    return specification.find_metric(name, facts), len(CLASSES), open_classes


@pytest.mark.parametrize(
    ("name", "classes", "value"),
    [("precision[dog]", {1}, 0.0), ("confusion[cat as owl]", {2}, 0.0), ("cost", {0, 2}, 1.5)],
)
def test_items_of_other_predictions_have_one_value_whatever_their_label(name, classes, value):
    metric, count, open_classes = find_metric(name)
    certain = find_certain(metric, count, open_classes=open_classes)
    assert certain.classes == classes
    assert certain.values[1 if name == "cost" else 0] == pytest.approx(value)
    labels = np.tile(np.arange(3.0), (3, 1))
    for each, known in zip(metric.statistics, certain.values.T, strict=True):
        table = each.value(Outputs(np.arange(3)), labels)
        assert (table[~certain.relevant] == known[~certain.relevant, None]).all()


OTHERS = ["error", "accuracy", "recall[cat]", "f1[dog]", "specificity[owl]", "kappa", "mcc"]
OTHERS += ["precision[macro]", "precision[micro]", "brier", "log-loss", "ece", "auroc[cat]"]


@pytest.mark.parametrize("name", OTHERS)
def test_every_item_can_change_other_metrics(name):
    metric, count, open_classes = find_metric(name)
    assert find_certain(metric, count, open_classes=open_classes) is None


def test_a_label_outside_the_classes_counts_where_it_can_come():
    """Predicted dog costs the same for every class of the pool; nothing is certain of one class."""
    facts = Facts("classification", ("cat",))
    error = specification.find_metric("error", facts)
    assert find_certain(error, 1, open_classes=False) is None
    costs = json.dumps([[0, 0], [1, 1]])
    facts = Facts("classification", ("cat", "dog"), costs=tuple(map(tuple, json.loads(costs))))
    assert specification.find_relevant_classes(["cost"], facts) == ()
    assert specification.find_relevant_classes(["cost", "precision[dog]"], facts) == (1,)
    assert specification.find_relevant_classes(["cost", "error"], facts) is None


NAMES = ["precision[cat]", "recall[dog]", "f1[owl]", "f-beta[2,cat]", "specificity[dog]"]
NAMES += ["false-positive-rate[owl]"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("open_classes", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_possible_range_is_that_of_all_completions(name, open_classes, seed):
    rng = np.random.default_rng(seed)
    metric, _, _ = find_metric(name)
    pred, labels = rng.integers(3, size=7), rng.integers(3, size=7).astype(float)
    if seed == 0:
        # A class that is never predicted.
        pred[pred == 1] = 2
    known = np.arange(7) < 4
    possible = []
    for rest in product([0.0, 1.0, 2.0, -1.0] if open_classes else [0.0, 1.0, 2.0], repeat=3):
        value = evaluate(metric, Outputs(pred), np.concatenate([labels[:4], rest]))
        possible += [value] if np.isfinite(value) else []
    sums = [
        each.value(Outputs(pred[known]), labels[known, None]).sum() for each in metric.statistics
    ]
    unknown = np.bincount(pred[~known], minlength=3)
    options = {"open_classes": open_classes, "declinable": False}
    found = find_possible_ratio(metric, np.array(sums), 4.0, unknown, **options)
    if possible:
        assert found == pytest.approx((min(possible), max(possible)))
    else:
        assert found == (0.0, 1.0)


def test_an_item_that_may_be_declined_may_count_nowhere():
    """One item is known to cost nothing; the other is predicted as dog, which always costs 1.5."""
    metric, _, _ = find_metric("cost")
    known = np.zeros(1), 1.0, np.array([0, 1, 0])
    found = find_possible_ratio(metric, *known, open_classes=False, declinable=False)
    assert found == pytest.approx((0.75, 0.75))
    found = find_possible_ratio(metric, *known, open_classes=False, declinable=True)
    assert found == pytest.approx((0.0, 0.75))


def test_recall_of_a_class_that_is_never_predicted_is_nought():
    metric, _, _ = find_metric("recall[dog]")
    # Of 20 items 19 are known, and 2 of them are dogs that were missed.
    found = find_possible_ratio(
        metric,
        np.array([0.0, 2.0]),
        19.0,
        np.array([1, 0, 0]),
        open_classes=False,
        declinable=False,
    )
    assert found == (0.0, 0.0)
