"""Choices of items by confusion matrices of all models."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta

from activetest.wings.best.acquisition.coda import _find_best, open_selector
from activetest.wings.best.outputs import measure_entropy
from tests.wings.best.conftest import CHOICES

pytestmark = pytest.mark.pool(rows=120, seed=3)


@pytest.fixture
def coda(contest):
    return open_selector(contest(), CHOICES, 1)


def test_the_largest_of_beta_distributed_accuracies():
    right, wrong = np.array([[5.0, 3.0, 2.0]]), np.array([[2.0, 2.0, 3.0]])
    rng = np.random.default_rng(0)
    draws = beta.rvs(right[0], wrong[0], size=(200_000, 3), random_state=rng)
    share = np.bincount(draws.argmax(axis=1), minlength=3) / 200_000
    assert _find_best(right, wrong)[0] == approx(share, abs=0.005)


def test_a_label_moves_the_row_of_its_class(coda):
    before = coda._rows.copy()
    coda.learn(7, 2.0)
    moved = coda._rows - before
    pred = coda._outputs.pred[7]
    assert moved.sum() == approx(0.03)
    assert moved[np.arange(3), 2, pred] == approx(0.01)
    coda.learn(8, -1.0)
    assert coda._rows - before == approx(moved)


def test_the_next_item_reduces_the_entropy_most(coda):
    """By the definition, item by item and class by class."""
    chances, shares = coda._find_classes()
    right, wrong = coda._find_betas()
    before = _find_best(right, wrong)
    mixed = shares @ before

    def expect(item):
        total = measure_entropy(mixed)
        for code in range(3):
            says = coda._outputs.pred[item] == code
            after = _find_best((right[code] + says)[None], (wrong[code] + ~says)[None])[0]
            new = mixed + shares[code] * (after - before[code])
            total -= chances[item, code] * measure_entropy(new)
        return total

    differ = np.flatnonzero(coda._differ)
    scores = {item: expect(item) for item in differ.tolist()}
    assert scores[coda.choose()] == approx(max(scores.values()), rel=1e-6)


def test_only_items_on_which_models_differ_are_chosen_while_there_are_any(coda):
    pred = coda._outputs.pred
    differ = np.flatnonzero((pred != pred[:, :1]).any(axis=1))
    chosen = [coda.choose() for _ in range(len(differ))]
    assert sorted(chosen) == differ.tolist()
    assert coda.choose() not in differ


def test_the_model_that_labels_agree_with_is_the_likely_best(coda):
    for item in range(120):
        for _ in range(50):
            coda.learn(item, float(coda._outputs.pred[item, 0]))
    assert coda.best.argmax() == 0 and coda.best.sum() == approx(1)
