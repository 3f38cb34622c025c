"""Choices of items by a single chance of mistakes."""

import numpy as np
import pytest
from pytest import approx

from activetest.wings.best.acquisition.model_selector import (
    ModelSelector,
    find_epsilon,
    open_selector,
)
from activetest.wings.best.outputs import collect_outputs, measure_entropy
from tests.wings.best.conftest import CHOICES

pytestmark = pytest.mark.pool(rows=120, seed=3)


@pytest.fixture
def outputs(contest):
    return collect_outputs(contest())


def test_patterns_say_which_models_do_the_same(contest, outputs):
    rows = contest().rows(0, 120)
    pred = np.stack([each.outputs.pred for each in rows.others.values()], axis=1)
    assert (outputs.pred == pred).all()
    groups = outputs.groups[outputs.pattern]
    for one in range(3):
        for other in range(3):
            together = (groups[:, :, one] & groups[:, :, other]).any(axis=1)
            assert (together == (pred[:, one] == pred[:, other])).all()


def test_beliefs_follow_from_how_often_each_model_was_right(outputs):
    selector = ModelSelector(outputs, 0.4, np.random.default_rng(0))
    assert selector.best == approx(np.full(3, 1 / 3))
    items = [1, 3, 5]
    for item in items:
        selector.learn(item, outputs.pred[item, 1])
    right = (outputs.pred[items] == outputs.pred[items, 1][:, None]).sum(axis=0)
    weights = 1.5**right
    assert selector.best == approx(weights / weights.sum())


def test_the_next_item_has_the_smallest_expected_entropy(outputs):
    selector = ModelSelector(outputs, 0.4, np.random.default_rng(0))
    selector.learn(3, outputs.pred[3, 2])

    def expect(item):
        total = 0.0
        for label in set(outputs.pred[item].tolist()):
            says = outputs.pred[item] == label
            after = selector.best * 1.5**says
            total += says.mean() * measure_entropy(after / after.sum())
        return total

    scores = np.array([expect(item) for item in range(120)])
    chosen = selector.choose()
    assert scores[chosen] == approx(scores.min())
    assert scores.max() > scores.min() + 0.01


def test_no_item_is_chosen_twice_and_every_one_in_the_end(outputs):
    selector = ModelSelector(outputs, 0.4, np.random.default_rng(0))
    assert sorted(selector.choose() for _ in range(120)) == [*range(120)]


def test_epsilon_is_one_of_the_papers(contest, outputs):
    assert 0.35 <= find_epsilon(outputs) <= 0.49
    first, again = (open_selector(contest(), CHOICES, seed) for seed in (1, 1))
    assert [first.choose() for _ in range(9)] == [again.choose() for _ in range(9)]
