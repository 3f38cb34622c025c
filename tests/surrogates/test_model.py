"""The black box as its own surrogate."""

import json

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import model

NAMES = ("zero_one", "log_loss", "brier")
STATISTICS = tuple(map(statistic, NAMES))


def rows(outputs: Outputs) -> Rows:
    """Rows of which only the outputs matter."""
    count = len(outputs.pred)
    empty = np.empty((count, 0))
    return Rows(np.arange(count), outputs, empty, empty)


def of_classes(count: int = 30) -> Rows:
    probs = np.random.default_rng(5).dirichlet(np.ones(3), size=count)
    return rows(Outputs(probs.argmax(axis=1), probs))


def test_it_expects_the_brier_loss_that_its_probabilities_have():
    pool = of_classes()
    mean, _ = moments(model.Model().beliefs(pool, STATISTICS))
    assert mean[2] == approx(1 - (pool.outputs.probs**2).sum(axis=1))


def test_probabilities_of_exactly_zero_and_one_leave_nothing_in_doubt():
    probs = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    mean, variance = moments(
        model.Model().beliefs(rows(Outputs(np.array([0, 1]), probs)), STATISTICS)
    )
    assert mean == approx(np.zeros((3, 2)))
    assert variance == approx(np.zeros((3, 2)))


def test_labels_teach_it_nothing():
    pool = of_classes()
    none = TrainingSet(pool, np.empty(0), np.empty((0, 3)), NAMES, 3)
    some = TrainingSet(pool, np.zeros(30), np.ones((30, 3)), NAMES, 3)
    assert model.fit(none) == model.fit(some)


def test_a_predictive_deviation_is_a_gaussian_around_the_prediction():
    pool = rows(Outputs(np.array([1.0, 5.0]), std=np.array([0.5, 2.0])))
    asked = (statistic("squared"), statistic("signed"))
    mean, _ = moments(model.Model().beliefs(pool, asked))
    assert mean[0] == approx([0.25, 4])
    assert mean[1] == approx([0, 0], abs=1e-12)


def test_all_members_agree_with_the_beliefs():
    pool = of_classes()
    surrogate = model.Model()
    members = surrogate.draw_members(4, np.random.default_rng(1))
    totals, variances = surrogate.totals(pool, members, STATISTICS)
    mean, variance = moments(surrogate.beliefs(pool, STATISTICS))
    assert totals == approx(np.tile(mean.sum(axis=1), (4, 1)))
    assert variances == approx(np.tile(variance.sum(axis=1), (4, 1)))


def test_it_predicts_identically_after_a_round_trip():
    pool = of_classes()
    again = model.restore(json.loads(json.dumps(model.Model().params())))
    one, two = (each.beliefs(pool, STATISTICS) for each in (model.Model(), again))
    np.testing.assert_array_equal(one.probs, two.probs)
    np.testing.assert_array_equal(one.outcome_values, two.outcome_values)


def test_hard_labels_are_refused_with_a_hint():
    pool = rows(Outputs(np.array([0, 1, 1])))
    with pytest.raises(ChoiceError) as refused:
        model.fit(TrainingSet(pool, np.empty(0), np.empty((0, 1)), ("zero_one",), 2))
    assert "agreement" in refused.value.hint
