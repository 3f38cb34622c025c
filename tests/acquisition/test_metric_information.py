"""Metric information against its definition, eq. (5) to (9) of ALT-MAS, computed item by item."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import entropy

from activetest.acquisition import metric_information
from activetest.acquisition.scores import bald
from activetest.nouns.beliefs import Beliefs, Objectives

ITEMS, CLASSES, PASSES = 30, 5, 8


def score(draws, kinds, *, precision=float) -> np.ndarray:
    """The scores for members (K, R, C) and kinds (A, R, C)."""
    draws, kinds = np.asarray(draws, precision), np.asarray(kinds)
    beliefs = Beliefs(draws.mean(axis=0), np.ones((1, *draws.shape[1:])), draws=draws)
    return metric_information.score(beliefs, Objectives(np.zeros(draws.shape[1], int), kinds))


def define(draws, kinds) -> np.ndarray:
    """(R,) the sum over metrics of H[mean of P(kind)] - mean of H[P(kind)]."""
    total = np.zeros(draws.shape[1])
    for of_metric in kinds:
        for row, of_item in enumerate(of_metric):
            sums = [draws[:, row, of_item == each].sum(axis=1) for each in set(of_item)]
            members = np.column_stack(sums)
            total[row] += entropy(members.mean(axis=0)) - entropy(members, axis=1).mean()
    return total


def random_kinds(rng, metrics: int) -> np.ndarray:
    """(A, R, C) partitions of every sort: numbers are the first class of each kind."""
    most = rng.integers(1, CLASSES + 1, (metrics, ITEMS, 1))
    drawn = rng.integers(most, size=(metrics, ITEMS, CLASSES))
    return (drawn[..., None] == drawn[..., None, :]).argmax(axis=-1)


@pytest.fixture
def draws() -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(CLASSES), size=(PASSES, ITEMS))


@pytest.mark.parametrize("metrics", [1, 6])
def test_it_is_the_sum_over_metrics_of_what_a_kind_tells_of_the_member(draws, metrics):
    kinds = random_kinds(np.random.default_rng(2), metrics)
    assert {len(set(each)) for each in kinds.reshape(-1, CLASSES).tolist()} >= {1, 2, 3}
    np.testing.assert_allclose(score(draws, kinds), define(draws, kinds), atol=2e-6)


def test_where_all_classes_are_kinds_of_their_own_it_is_bald(draws):
    kinds = np.tile(np.arange(CLASSES), (1, ITEMS, 1))
    beliefs = Beliefs(draws.mean(axis=0), draws[:1], draws=draws)
    np.testing.assert_allclose(score(draws, kinds), bald.score(beliefs), rtol=2e-6)


def test_single_precision_of_the_members_costs_no_more_than_its_own_rounding(draws):
    kinds = random_kinds(np.random.default_rng(3), 6)
    single = score(draws.astype(np.float32), kinds, precision=np.float32)
    np.testing.assert_allclose(single, score(draws, kinds), atol=1e-6)


def test_a_member_that_is_certain_leaves_no_infinities():
    draws = [[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]]
    assert score(draws, [[[0, 1, 1]]]) == approx([np.log(2)])
    assert score(draws, [[[0, 0, 2]]])[0] < 1e-6


def test_items_about_which_no_metric_differs_are_ordered_by_bald(draws):
    kinds = np.zeros((2, ITEMS, CLASSES), int)
    beliefs = Beliefs(draws.mean(axis=0), draws[:1], draws=draws)
    scores = score(draws, kinds)
    assert scores.max() < 1e-5
    assert np.argsort(scores).tolist() == np.argsort(bald.score(beliefs)).tolist()


def test_equal_information_is_ordered_by_bald():
    """Two items with the same chances of class 0; members differ about the rest of one of them."""
    same = [[[0.2, 0.4, 0.4], [0.2, 0.7, 0.1]], [[0.6, 0.2, 0.2], [0.6, 0.1, 0.3]]]
    beliefs = Beliefs(np.mean(same, axis=0), np.array(same[:1]), draws=np.array(same))
    less, more = bald.score(beliefs)
    scores = score(same, [[[0, 1, 1], [0, 1, 1]]])
    assert scores[1] - scores[0] == approx(1e-6 * (more - less), rel=1e-3)


def test_members_that_agree_score_exactly_nothing():
    draws = np.full((50, 4, 10), 0.1, np.float32)
    kinds = np.tile(np.arange(10) > 0, (3, 4, 1)).astype(int)
    assert not score(draws, kinds, precision=np.float32).any()
