"""Statistics: their names say everything, and they know every label there can be."""

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.nouns.rows import Outputs

CELLS = ("zero_one", "tp:1", "fp:1", "fn:1", "cell:0:2", "cost:[[0,1,2],[3,0.5,-1],[7,8,0]]")
PROBABILITIES = (
    "log_loss",
    "brier",
    "missed_top:2",
    "right_in:0.4:0.6",
    "conf_in:0.4:0.6",
    "in_bin:0.4:0.6",
    "true_in:1:0.0:0.25",
    "prob_in:1:0.0:0.25",
)
VALUES = (
    "squared",
    "absolute",
    "signed",
    "label:9.5",
    "label_squared:9.5",
    "pinball:0.9",
    "nll",
    "inside:0.8",
)


@pytest.mark.parametrize("name", CELLS + PROBABILITIES + VALUES)
def test_a_name_says_everything(name):
    assert statistic(name).name == name
    assert statistic(name).cells == (name in CELLS)


@pytest.mark.parametrize("name", CELLS + PROBABILITIES)
def test_every_class_at_once_is_every_class_one_by_one(name, classes):
    _, outputs, _ = classes(3, ties=True)
    whole = statistic(name).value(outputs, None)
    assert whole.shape == (400, 3)
    for code in range(3):
        labels = np.full((400, 1), float(code))
        np.testing.assert_array_equal(statistic(name).value(outputs, labels)[:, 0], whole[:, code])
    np.testing.assert_array_equal(statistic(name).table(outputs, 3), whole)


@pytest.mark.parametrize("name", CELLS)
def test_cells_depend_on_the_predicted_class_alone(name, classes):
    _, outputs, _ = classes(3)
    whole = statistic(name).value(outputs, None)
    np.testing.assert_array_equal(statistic(name).matrix(3)[outputs.pred], whole)
    np.testing.assert_array_equal(statistic(name).table(Outputs(outputs.pred), 3), whole)


@pytest.mark.parametrize("name", CELLS + PROBABILITIES)
def test_values_of_classes_stay_within_their_bounds(name, classes):
    _, outputs, labels = classes(3, ties=True)
    labels[:50] = -1
    found = statistic(name).value(outputs, labels[:, None])
    assert found.shape == (400, 1)
    assert (found >= statistic(name).lower).all()
    assert (found <= statistic(name).upper).all()


@pytest.mark.parametrize("name", VALUES)
def test_values_of_numbers_stay_within_their_bounds(name, values):
    _, outputs, labels = values()
    found = statistic(name).value(outputs, labels[:, None] + np.array([0.0, 1.0, -5.0]))
    assert found.shape == (400, 3)
    assert (found >= statistic(name).lower).all()
    assert (found <= statistic(name).upper).all()


def test_a_label_outside_the_classes_is_never_right():
    outputs = Outputs(np.array([0, 2]), np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]))
    outside = {
        "zero_one": [1, 1],
        "tp:2": [0, 0],
        "fp:2": [0, 1],
        "fn:2": [0, 0],
        "cell:2:2": [0, 0],
        "log_loss": [-np.log(1e-12)] * 2,
        "brier": [1 + 0.54, 1 + 0.66],
        "missed_top:2": [1, 1],
        "right_in:0.5:1.0": [0, 0],
        "conf_in:0.5:1.0": [0.7, 0.8],
        "true_in:2:0.0:1.0": [0, 0],
        "cost:[[0,5,2],[1,0,1],[3,4,0]]": [5, 4],
    }
    for name, expected in outside.items():
        found = statistic(name).value(outputs, np.full((2, 1), -1.0))
        np.testing.assert_allclose(found[:, 0], expected, err_msg=name)


def test_hits_misses_and_false_alarms_share_the_errors(classes):
    _, outputs, labels = classes(3)
    sums = {
        word: sum(statistic(f"{word}:{code}").value(outputs, labels[:, None]) for code in range(3))
        for word in ("tp", "fp", "fn")
    }
    error = statistic("zero_one").value(outputs, labels[:, None])
    np.testing.assert_array_equal(sums["tp"], 1 - error)
    np.testing.assert_array_equal(sums["fp"], error)
    np.testing.assert_array_equal(sums["fn"], error)


def test_the_classes_that_are_last_go_first_among_equals():
    outputs = Outputs(np.array([0]), np.array([[0.3, 0.3, 0.3, 0.1]]))
    assert statistic("missed_top:1").value(outputs, None).tolist() == [[1, 1, 0, 1]]
    assert statistic("missed_top:2").value(outputs, None).tolist() == [[1, 0, 0, 1]]
    assert statistic("missed_top:3").value(outputs, None).tolist() == [[0, 0, 0, 1]]


def test_a_deviation_of_nothing_is_survived():
    outputs = Outputs(np.array([1.0, 1.0]), std=np.zeros(2))
    labels = np.array([[1.0], [2.0]])
    assert statistic("nll").value(outputs, labels)[0, 0] == approx(
        0.5 * np.log(2 * np.pi) + np.log(1e-12)
    )
    assert np.isfinite(statistic("nll").value(outputs, labels)).all()
    assert statistic("inside:0.9").value(outputs, labels).tolist() == [[1], [0]]


def test_a_sum_of_statistics_has_the_sum_of_their_values_and_bounds(classes):
    _, outputs, _labels = classes(3)
    parts = [statistic("tp:1"), statistic("fn:1"), statistic("brier")]
    weights = [1.0, -0.5, 2.0]
    whole = combine_statistics(parts, weights)
    expected = sum(
        weight * part.value(outputs, None) for part, weight in zip(parts, weights, strict=True)
    )
    np.testing.assert_allclose(whole.value(outputs, None), expected)
    assert (whole.lower, whole.upper) == (-0.5, 5.0)
    assert not whole.cells
    assert combine_statistics(parts[:2], weights[:2]).cells
    assert combine_statistics(parts[:1], [1.0]) is parts[0]


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("label:0.0", ([1, 1], [5, 5])),
        ("signed", ([-3, -1], [1, 3])),
        ("absolute", ([0, 0], [3, 3])),
        ("squared", ([0, 0], [9, 9])),
        ("pinball:0.9", ([0, 0], [2.7, 0.9])),
    ],
)
def test_labels_between_two_numbers_bound_the_values_of_rows(name, ends):
    outputs = Outputs(np.array([2.0, 4.0]))
    assert statistic(name).range_between(outputs, 1.0, 5.0) == pytest.approx(np.array(ends))
