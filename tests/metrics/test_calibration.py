"""Calibration errors are what a plain loop over bins finds, whatever the bins."""

import itertools

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.metrics.scores import calibration_error_squared, classwise_ece, ece
from activetest.nouns.rows import Outputs


def bins(values: np.ndarray, edges) -> list[np.ndarray]:
    """Rows in each bin: above its lower edge, up to its upper one; the first holds 0 too."""
    found = []
    for low, high in itertools.pairwise(edges):
        found.append(np.flatnonzero((values <= high) & ((values > low) | (low == 0))))
    assert sum(map(len, found)) == len(values)
    return found


def loop(values, hits, edges, power: int = 1) -> float:
    """Sum over bins of share times |mean of hits - mean of values| to a power."""
    total = 0.0
    for rows in bins(values, edges):
        if len(rows):
            gap = abs(hits[rows].mean() - values[rows].mean())
            total += len(rows) / len(values) * gap**power
    return total


def value(module, pool, argument=None) -> float:
    facts, outputs, labels = pool
    (metric,) = module.metrics(facts, argument)
    return evaluate(metric, outputs, labels)


def confidence(pool):
    """Confidence and whether the prediction is right."""
    _, outputs, labels = pool
    rows = np.arange(len(labels))
    return outputs.probs[rows, outputs.pred], outputs.pred == labels


@pytest.mark.parametrize("size", [2, 10])
@pytest.mark.parametrize(("argument", "count"), [(None, 15), ("10", 10), ("equal-width, 7", 7)])
def test_bins_of_equal_width(size, argument, count, classes):
    pool = classes(size)
    edges = np.linspace(0, 1, count + 1)
    assert value(ece, pool, argument) == approx(loop(*confidence(pool), edges), rel=1e-12)
    squared = loop(*confidence(pool), edges, power=2)
    assert value(calibration_error_squared, pool, argument) == approx(squared, rel=1e-12)


@pytest.mark.parametrize("size", [2, 10])
def test_every_class_has_its_own_bins(size, classes):
    pool = _facts, outputs, labels = classes(size, absent=(1,) if size > 2 else ())
    edges = np.linspace(0, 1, 16)
    expected = [loop(outputs.probs[:, code], labels == code, edges) for code in range(size)]
    assert value(classwise_ece, pool) == approx(np.mean(expected), rel=1e-12)


def test_bins_of_equal_counts_hold_equally_many(classes):
    pool = classes(10)
    scores, right = confidence(pool)
    edges = [0, *np.sort(scores)[39:399:40].astype(np.float32).astype(float), 1]
    near = scores.astype(np.float32).astype(float)
    assert [len(rows) for rows in bins(near, edges)] == [40] * 10
    pool = (pool[0], Outputs(pool[1].pred, pool[1].probs.astype(np.float32)), pool[2])
    found = value(ece, pool, "equal-count,10")
    assert found == approx(loop(near, right, edges), rel=1e-12)
    found = value(calibration_error_squared, pool, "10,equal-count")
    assert found == approx(loop(near, right, edges, power=2), rel=1e-12)


def test_classes_have_bins_of_equal_counts_too(classes):
    facts, outputs, labels = classes(3)
    single = Outputs(outputs.pred, outputs.probs.astype(np.float32))
    expected = []
    for code in range(3):
        near = single.probs[:, code].astype(float)
        edges = [0, *np.sort(near)[79:399:80], 1]
        expected.append(loop(near, labels == code, edges))
    found = value(classwise_ece, (facts, single, labels), "equal-count,5")
    assert found == approx(np.mean(expected), rel=1e-12)


def test_equal_values_share_a_bin(classes):
    pool = facts, _, _ = classes(3, ties=True)
    (metric,) = ece.metrics(facts, "equal-count")
    names = [each.name for each in metric.statistics if each.name.startswith("right_in")]
    # Confidences are eighths: of 15 bins as many are left as there are different quantiles.
    edges = [0.0, *(float(name.split(":")[2]) for name in names)]
    assert len(names) < 8
    assert not np.mod(np.multiply(edges, 8), 1).any()
    assert value(ece, pool, "equal-count") == approx(loop(*confidence(pool), edges), rel=1e-12)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_an_edge_belongs_to_the_bin_below_it_in_either_precision(precision):
    probs = np.array([[0.2, 0.8], [0.4, 0.6], [0.0, 1.0], [1.0, 0.0]], precision)
    pred = np.array([0, 0, 0, 0])
    names = Facts("classification", ("no", "yes"), positive=1, probabilities=True)
    (metric,) = calibration_error_squared.metrics(names, "5")
    counts = {
        each.name: each.value(Outputs(pred, probs), None)[:, 0].tolist()
        for each in metric.statistics
        if each.name.startswith("in_bin")
    }
    assert counts == {
        "in_bin:0.0:0.2": [1, 0, 1, 0],
        "in_bin:0.2:0.4": [0, 1, 0, 0],
        "in_bin:0.4:0.6": [0, 0, 0, 0],
        "in_bin:0.6:0.8": [0, 0, 0, 0],
        "in_bin:0.8:1.0": [0, 0, 0, 1],
    }


def test_probabilities_that_rounding_left_above_one_are_in_the_last_bin():
    probs = np.array([[1.000001, 0.0], [0.0, 1.000001]])
    outputs = Outputs(np.array([0, 1]), probs)
    names = Facts("classification", ("no", "yes"), positive=1, probabilities=True)
    (metric,) = ece.metrics(names)
    assert evaluate(metric, outputs, np.array([0.0, 0.0])) == approx(0.5, abs=1e-5)


def test_a_calibrated_box_has_no_error_and_a_bin_without_items_adds_none():
    probs = np.repeat([[0.75, 0.25]], 4, axis=0)
    outputs, labels = Outputs(np.zeros(4, int), probs), np.array([0.0, 0.0, 0.0, 1.0])
    facts = Facts("classification", ("no", "yes"), positive=1, probabilities=True)
    for name in ("ece", "classwise-ece", "calibration-error-squared"):
        (metric,) = catalog.load("metrics", name).metrics(facts)
        assert evaluate(metric, outputs, labels) == approx(0, abs=1e-15)
        mean = np.array([each.value(outputs, labels[:, None]).mean() for each in metric.statistics])
        assert np.isfinite(metric.gradient(mean)).all()


def test_their_intervals_are_their_own(classes):
    facts, _, _ = classes(3)
    for module in (ece, classwise_ece):
        (metric,) = module.metrics(facts)
        assert metric.interval == "calibration"


@pytest.mark.parametrize(
    "argument",
    ["1", "0", "101", "2.5", "many", "5,6", "equal-count,equal-width", "10,", "debiased"],
)
def test_bins_that_make_no_sense_are_refused(argument, classes):
    facts, _, _ = classes(3)
    for module in (ece, classwise_ece, calibration_error_squared):
        with pytest.raises(ChoiceError) as refused:
            module.metrics(facts, argument)
        assert "[equal-count,10]" in refused.value.hint


def test_bins_of_equal_counts_need_a_pool():
    facts = Facts("classification", ("no", "yes"), positive=1, probabilities=True)
    for module in (ece, classwise_ece):
        with pytest.raises(ChoiceError, match="whole pool") as refused:
            module.metrics(facts, "equal-count")
        assert "equal-width" in refused.value.hint


def test_too_many_classes_for_bins_are_refused():
    names = tuple(f"class {code}" for code in range(1000))
    facts = Facts("classification", names, probabilities=True)
    with pytest.raises(ChoiceError, match="1000 classes"):
        classwise_ece.metrics(facts)
    assert len(ece.metrics(facts)[0].statistics) == 30


def test_names_say_what_was_asked_for(classes):
    facts, _, _ = classes(3)
    names = [ece.metrics(facts, one)[0].name for one in (None, "10", "equal-count , 10")]
    assert names == ["ece", "ece[10]", "ece[equal-count,10]"]
