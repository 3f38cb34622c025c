"""Thresholds out of the scores of a pool, and what is counted at each of them."""

import numpy as np
import pytest

from activetest.item_statistics.metric import evaluate
from activetest.item_statistics.thresholds import (
    choose_thresholds,
    count_at,
    find_cells,
    find_own_threshold,
    hit,
    miss,
    rate_at,
)
from activetest.metrics.classes import precision, recall
from activetest.nouns.rows import Outputs


def test_all_scores_are_thresholds_where_they_are_few():
    scores = np.array([0.5, 0.1, 0.5, 0.9], np.float32)
    assert choose_thresholds(scores, 3).tolist() == np.unique(scores).tolist()
    assert choose_thresholds(np.zeros(5, np.float32), 2).tolist() == [0]


def test_many_scores_have_thresholds_where_items_are_and_where_the_class_is_expected():
    rng = np.random.default_rng(0)
    scores = rng.beta(0.2, 20, 5000).astype(np.float32)
    found = choose_thresholds(scores, 50)
    assert 25 < len(found) <= 50 and (np.diff(found) > 0).all()
    assert np.isin(found, scores).all()
    assert found[0] == scores.min() and found[-1] == scores.max()
    # Between two thresholds lies about a 49th of the items and of the scores' sum, on average.
    cells = find_cells(found, scores)
    shares = np.bincount(cells) / len(scores)
    expected = np.bincount(cells, scores) / scores.sum()
    assert ((shares + expected)[:-1] / 2).max() < 2 / 49
    # Quantiles of items alone would leave one point for the upper half of what is expected.
    assert (np.cumsum(expected) > 0.5).sum() > 12


def test_the_threshold_of_the_model_is_one_where_there_is_one():
    scores = np.linspace(0, 1, 1001).astype(np.float32)
    own = find_own_threshold(scores >= 0.5, scores)
    assert own == 0.5 and 0.5 in choose_thresholds(scores, 10, own=own)
    assert len(choose_thresholds(scores, 10, own=own)) == 11
    called = scores >= 0.5
    called[-1] = False
    assert find_own_threshold(called, scores) is None
    assert find_own_threshold(np.zeros(1001, bool), scores) is None


@pytest.mark.parametrize("split", [1, 2])
def test_counts_at_every_threshold_are_those_of_the_items_called(split):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 6, 300) / 5
    labels = (rng.random(300) < scores).astype(float)
    thresholds = choose_thresholds(scores, 100)
    count = len(thresholds)
    # Cells may be split: the same cell has several codes.
    cells = find_cells(thresholds, scores) + count * rng.integers(split, size=300)
    outputs = Outputs(cells)
    for place, threshold in enumerate([*thresholds, 2.0]):
        called, hits = scores >= threshold, labels == 1
        counts = {"tp": called & hits, "fp": called & ~hits, "fn": ~called & hits}
        for word, expected in counts.items():
            found = count_at(word, place, count).value(outputs, labels[:, None])[:, 0]
            assert (found == expected).all()
        found = evaluate(rate_at(recall, place, count, "yes"), outputs, labels)
        assert found == pytest.approx((called & hits).sum() / hits.sum(), abs=1e-12)
        found = evaluate(rate_at(precision, place, count, "yes"), outputs, labels)
        assert (np.isnan(found) and not called.any()) or found == pytest.approx(hits[called].mean())


def test_a_hit_is_a_label_of_the_class_and_everything_else_is_none():
    outputs, labels = Outputs(np.zeros(2, int)), np.array([[0.0, 1.0, -1.0], [2.0, 1.0, 1.0]])
    assert hit(1).value(outputs, labels).tolist() == [[0, 1, 0], [0, 1, 1]]
    assert (miss(1).value(outputs, labels) == 1 - hit(1).value(outputs, labels)).all()
