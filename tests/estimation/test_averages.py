"""Averages over classes: one class in doubt is not hidden by the others."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from activetest.estimation import estimate
from activetest.estimation.averages import list_classes, widen_average
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity
from tests.makers import build_table, label_items, play_rounds

CHOICES = Choices("error", ("error",), "agreement")


def make_estimate(value: float, minority_count: float, half: float) -> Estimate:
    """A class's rate with so many labels of the rarer kind; half is its variance's root."""
    return Estimate(
        mean=np.array([value]),
        variance=np.array([[half**2]]),
        terms=np.zeros((2, 1)),
        weights=np.full(2, 0.5),
        guess=np.zeros((2, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(2),
        minority_count=minority_count,
    )


def build(one: Estimate, level: float) -> Quantity:
    """An interval that reaches twice as far down as up."""
    half = float(one.variance[0, 0]) ** 0.5
    ends = one.mean[0] - 2 * half, one.mean[0] + half
    return Quantity(one.mean[0], *ends, level, "delta-beta", variance=half**2)


FOUND = Quantity(0.8, 0.79, 0.81, 0.95, "delta-beta", variance=1e-4)


def test_distances_to_the_limits_add_up_as_squares():
    classes = [(0.25, make_estimate(0.5, 2.9, 0.2)), (0.75, make_estimate(0.9, 50, 0.05))]
    found = widen_average(FOUND, classes, build)
    away = np.hypot(0.25 * 0.2, 0.75 * 0.05)
    assert (found.lower, found.upper) == (approx(0.8 - 2 * away), approx(0.8 + away))
    assert (found.level, found.method, found.variance) == (0.95, "delta-beta", 1e-4)


def test_of_classes_with_few_labels_the_largest_distance_counts_alone():
    classes = [(0.5, make_estimate(0.8, 0, 0.1)), (0.3, make_estimate(0.8, 1, 0.15))]
    found = widen_average(FOUND, [*classes, (0.2, make_estimate(0.8, 9, 0.1))], build)
    away = np.hypot(0.5 * 0.1, 0.2 * 0.1)
    assert (found.lower, found.upper) == (approx(0.8 - 2 * away), approx(0.8 + away))


def test_with_three_labels_of_each_kind_nothing_changes():
    classes = [(0.5, make_estimate(0.8, 3, 0.4)), (0.5, make_estimate(0.8, 3, 0.4))]
    assert widen_average(FOUND, classes, build) is FOUND


def test_a_class_that_is_known_needs_no_labels():
    known = replace(make_estimate(0.8, 0, 0.4), exact=True)
    assert widen_average(FOUND, [(0.5, known), (0.5, make_estimate(0.8, 3, 0.4))], build) is FOUND


def test_no_interval_gets_narrower():
    wide = replace(FOUND, lower=0.1, upper=0.99)
    assert widen_average(wide, [(1.0, make_estimate(0.8, 0, 0.01))], build) == wide


def list_of(pool, log, name: str):
    """The value of a metric in the view of a log, and its classes."""
    metric = specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, CHOICES, [metric], seed=2, own_view=False)
    value = view.value(metric, "doubly-robust")
    return value, list_classes(metric, value.means, value.sample)


@pytest.mark.pool(rows=60, seed=4)
@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("balanced-accuracy", "recall"),
        ("f1[weighted]", "f1"),
        ("f1[macro]", "f1"),
    ],
)
def test_classes_have_the_rates_that_are_averaged(pool, name, rate):
    log = play_rounds(pool, label_items(pool), (CHOICES, 15), (CHOICES, 15), seed=2)
    value, classes = list_of(pool, log, name)
    assert len(classes) == len(pool.classes)
    assert sum(share for share, _ in classes) == approx(1)
    assert sum(share * each.mean[0] for share, each in classes) == approx(value.value)
    for label, (_, each) in zip(pool.classes, classes, strict=True):
        alone, _ = list_of_rate(pool, log, f"{rate}[{label}]")
        assert each.mean[0] == approx(alone.value, rel=1e-9)
        assert each.variance[0, 0] == approx(alone.estimate.variance[0, 0], rel=1e-6)
        assert each.minority_count == approx(alone.estimate.minority_count, rel=1e-6)


def list_of_rate(pool, log, name: str):
    metric = specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, CHOICES, [metric], seed=2, own_view=False)
    return view.value(metric, "doubly-robust"), metric


@pytest.mark.pool(rows=60, seed=4)
def test_only_an_average_has_classes(pool):
    log = play_rounds(pool, label_items(pool), (CHOICES, 15), seed=2)
    with pytest.raises(ValueError, match="is no average over classes"):
        list_of(pool, log, "mcc")


def make_sensitive(folder):
    """A pool of a rare class that the model finds with many false alarms, and its labels.

    Of the items that it is sure are not of the class, 1 in 300 is.
    """
    rng, size = np.random.default_rng(5), 3000
    score = rng.beta(0.05, 2, size)
    truth = rng.random(size) < np.where(score > 0.02, 0.3 + 0.6 * score, 0.0033)
    flat = pa.array(np.column_stack([1 - score, score]).astype(np.float32).ravel())
    columns = {
        "id": np.arange(size),
        "pred": (score > 0.02).astype(int),
        "prob": pa.FixedSizeListArray.from_arrays(flat, 2),
    }
    return build_table(folder, columns), truth.astype(float)


def play_studies(folder, runs: int, labels: int) -> np.ndarray:
    """(runs, 4) whether the interval of balanced accuracy holds, whether the plain one does, and
    whether it is the narrower one; whether that of the rare class's recall holds.
    """
    pool, truth = make_sensitive(folder)
    choices = Choices("recall", ("recall",), "agreement", floor=0.35)
    facts = specification.describe_pool(pool.roles, None, pool)
    metric, recall = (
        specification.find_metric(each, facts) for each in ("balanced-accuracy", "recall")
    )
    outputs = pool.rows(0, pool.size).outputs
    actual = [evaluate(each, outputs, truth) for each in (metric, recall)]
    found = []
    for seed in range(runs):
        log = play_rounds(pool, truth, *[(choices, 25)] * (labels // 25), seed=seed)
        view = build_view(log, pool, choices, [metric, recall], seed=seed, own_view=False)
        value = view.value(metric, "doubly-robust")
        plain = replace(value, metric=replace(metric, averaged=None))
        each, before, alone = (
            estimate.build_interval(one, 0.95)
            for one in (value, plain, view.value(recall, "doubly-robust"))
        )
        found.append(
            [
                each.lower <= actual[0] <= each.upper,
                before.lower <= actual[0] <= before.upper,
                each.upper - each.lower > before.upper - before.lower,
                alone.lower <= actual[1] <= alone.upper,
            ]
        )
    return np.array(found)


def test_an_average_doubts_a_class_of_which_no_miss_was_seen(tmp_path):
    """Four studies: the intervals of most end above the truth where classes do not count alone."""
    holds, before, wider, _ = play_studies(tmp_path, 4, 200).T
    assert holds.all() and wider.all()
    assert not before.all()


@pytest.mark.slow
def test_the_interval_of_an_average_holds(tmp_path):
    """300 studies at 200 labels, in which the plain delta method holds in two thirds."""
    holds, before, _, alone = play_studies(tmp_path, 300, 200).mean(axis=0)
    assert holds > 0.94 and alone > 0.94
    assert before < 0.8
