"""Precision among the highest scores: ties, weights, groups of items, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.item_statistics.tops import find_threshold
from activetest.metrics.scores import precision_at_k
from activetest.nouns.rows import Outputs

SCORES = np.array([0.1, 0.9, 0.4, 0.7, 0.7, 0.2, 0.7, 0.4], np.float32)
LABELS = np.array([0, 1, 1, 1, 0, 0, 0, 0], float)


def describe(scores=SCORES, weights=None) -> tuple[Facts, Outputs]:
    probs = np.column_stack([1 - scores, scores]).astype(np.float32)
    facts = Facts("classification", ("good", "fraud"), 1, True, scores=lambda code: probs[:, code])
    if weights is not None:
        facts = replace(facts, weights=lambda: weights)
    return facts, Outputs((scores >= 0.5).astype(int), probs)


def value(argument: str, labels=LABELS, scores=SCORES, weights=None) -> float:
    facts, outputs = describe(scores, weights)
    (metric,) = precision_at_k.metrics(facts, argument)
    return evaluate(metric, outputs, labels, weights)


def choose_at_random(count: int, labels, scores) -> float:
    """The mean over random orders of equal scores, of the share of hits among the first."""
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(20_000):
        order = np.lexsort((rng.random(len(scores)), -scores))
        shares.append(labels[order[:count]].mean())
    return float(np.mean(shares))


@pytest.mark.parametrize(
    ("count", "expected"),
    # One hit at .9, one of three at .7, one of two at .4, none below.
    [(1, 1), (2, (1 + 1 / 3) / 2), (4, 2 / 4), (5, 2.5 / 5), (6, 3 / 6), (8, 3 / 8), (100, 3 / 8)],
)
def test_equal_scores_at_the_end_count_in_part(count, expected):
    assert value(str(count)) == approx(expected, rel=1e-12)


def test_it_is_the_mean_over_all_ways_to_choose_among_equal_scores():
    rng = np.random.default_rng(5)
    scores = rng.choice([0.1, 0.3, 0.35, 0.8], 30).astype(np.float32)
    labels = (rng.random(30) < scores).astype(float)
    expected = choose_at_random(12, labels, scores)
    assert value("12", labels, scores) == approx(expected, abs=0.01)


def test_the_highest_scores_may_be_of_another_class():
    facts, outputs = describe()
    (metric,) = precision_at_k.metrics(facts, "2, good")
    assert metric.title == "precision-at-k[2,good]"
    # The two lowest scores of fraud: 0.1 and 0.2.
    assert evaluate(metric, outputs, LABELS) == 1
    assert [each.class_name for each in precision_at_k.metrics(facts, "3,*")] == ["good", "fraud"]


def test_weights_have_no_unit_and_k_is_that_many_items_of_mean_weight():
    times = np.array([1, 2, 0, 3, 1, 1, 2, 2])
    assert times.sum() == 1.5 * len(times)
    for count in (2, 4, 6, 50):
        copies = np.repeat(LABELS, times), np.repeat(SCORES, times)
        expected = value(str(round(1.5 * count)), *copies)
        for unit in (1.0, 0.3):
            assert value(str(count), weights=unit * times) == approx(expected, rel=1e-12)
    assert value("3", weights=np.full(8, 7.0)) == approx(value("3"), rel=1e-12)


def test_scores_count_in_single_precision_as_caches_keep_them():
    """0.7 in single precision is another number than in double precision."""
    facts, outputs = describe()
    (metric,) = precision_at_k.metrics(facts, "2")
    doubled = replace(outputs, probs=outputs.probs.astype(float))
    for each in metric.statistics:
        table = each.value(outputs, LABELS[:, None])
        np.testing.assert_array_equal(each.value(doubled, LABELS[:, None]), table)
    assert find_threshold(SCORES, 2) == (0.7, approx(1 / 3))


@pytest.mark.parametrize("argument", [None, "0", "1.5", "-3", "x", "", "3,cow", "3,macro"])
def test_it_needs_a_whole_number_and_may_have_a_class(argument):
    with pytest.raises(ChoiceError, match="precision-at-k"):
        precision_at_k.metrics(describe()[0], argument)
