"""Metrics of classes that are means: top-k, costs, cells of the confusion matrix."""

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.metrics.classes import confusion
from activetest.metrics.means import accuracy, cost, error, top_k_error
from activetest.nouns.rows import Outputs

MANY = tuple(f"c{code}" for code in range(41))


def test_cells_are_called_by_truth_and_prediction():
    facts = Facts("classification", ("cat", "dog"), positive=1)
    outputs, labels = Outputs(np.array([1, 1, 1, 0])), np.array([0.0, 0.0, 1.0, 0.0])
    found = {
        metric.class_name: evaluate(metric, outputs, labels) for metric in confusion.metrics(facts)
    }
    assert found == {
        "cat as cat": 0.25,
        "cat as dog": 0.5,
        "dog as cat": 0,
        "dog as dog": 0.25,
    }
    assert [metric.title for metric in confusion.metrics(facts, "*")][1] == "confusion[cat as dog]"


def test_one_cell_can_be_asked_for_in_a_matrix_that_is_too_large():
    facts = Facts("classification", MANY)
    with pytest.raises(ChoiceError, match="1681 cells") as refused:
        confusion.metrics(facts)
    assert refused.value.hint == "ask for one: 'confusion[c0 as c1]'"
    (metric,) = confusion.metrics(facts, "c7 as c40")
    assert [each.name for each in metric.statistics] == ["cell:7:40"]
    assert len(confusion.metrics(Facts("classification", MANY[:40]))) == 1600


def test_a_cell_that_is_not_there_is_refused():
    with pytest.raises(ChoiceError, match="no cell 'cat'") as refused:
        confusion.metrics(Facts("classification", ("cat", "dog"), positive=1), "cat")
    assert refused.value.hint == "write TRUE as PREDICTED, with two of cat, dog"


def test_the_expected_cost_is_the_confusion_matrix_times_the_costs(classes):
    facts, outputs, labels = classes(2)
    cells = [evaluate(metric, outputs, labels) for metric in confusion.metrics(facts)]
    expected = (np.reshape(cells, (2, 2)) * np.transpose(facts.costs)).sum()
    (metric,) = cost.metrics(facts)
    assert evaluate(metric, outputs, labels) == approx(expected, rel=1e-12)
    assert (metric.lower, metric.upper) == (-0.5, 5.0)
    assert metric.statistics[0].name == "cost:[[0.0,5.0],[1.0,-0.5]]"


def test_costs_of_one_for_every_mistake_are_the_error(classes):
    facts, outputs, labels = classes(3)
    same = Facts("classification", facts.classes, costs=tuple(map(tuple, 1.0 - np.eye(3))))
    (dear,), (wrong,) = cost.metrics(same), error.metrics(same)
    assert evaluate(dear, outputs, labels) == evaluate(wrong, outputs, labels)


def test_the_top_one_is_the_prediction(classes):
    facts, outputs, labels = classes(3)
    (top,), (wrong,) = top_k_error.metrics(facts, "1"), error.metrics(facts)
    assert evaluate(top, outputs, labels) == evaluate(wrong, outputs, labels)


def test_the_top_of_all_classes_is_refused(classes):
    facts, _, _ = classes(3)
    for argument in (None, "3", "0", "two", "1.5", "-1"):
        with pytest.raises(ChoiceError) as refused:
            top_k_error.metrics(facts, argument)
        assert "top-k-error[2]" in refused.value.hint
    facts, _, _ = classes(10)
    assert top_k_error.metrics(facts)[0].name == "top-k-error[5]"


def test_accuracy_is_one_minus_error(classes):
    facts, outputs, labels = classes(3)
    (right,), (wrong,) = accuracy.metrics(facts), error.metrics(facts)
    assert right.statistics == wrong.statistics
    assert evaluate(right, outputs, labels) == 1 - evaluate(wrong, outputs, labels)
    assert (right.lower, right.upper) == (0, 1)
