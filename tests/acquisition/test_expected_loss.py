"""Expected loss is what its name says."""

import numpy as np
from pytest import approx
from scipy.special import entr

from activetest.acquisition import expected_loss
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Outputs, Rows
from activetest.surrogates import model
from activetest.surrogates._gaussian import node_beliefs


def rows(outputs: Outputs) -> Rows:
    """Rows of which only the outputs matter."""
    count = len(outputs.pred)
    empty = np.empty((count, 0))
    return Rows(np.arange(count), outputs, empty, empty)


def test_with_the_model_as_surrogate_and_log_loss_it_is_predictive_entropy():
    probs = np.random.default_rng(1).dirichlet(np.ones(4), size=50)
    pool = rows(Outputs(probs.argmax(axis=1), probs))
    beliefs = model.Model().beliefs(pool, (statistic("log_loss"),))
    assert expected_loss.score(beliefs) == approx(entr(probs).sum(axis=1))


def test_with_zero_one_loss_it_is_the_probability_of_an_error():
    probs = np.random.default_rng(2).dirichlet(np.ones(3), size=50)
    pool = rows(Outputs(probs.argmax(axis=1), probs))
    beliefs = model.Model().beliefs(pool, (statistic("zero_one"),))
    assert expected_loss.score(beliefs) == approx(1 - probs.max(axis=1))


def test_for_a_gaussian_and_squared_loss_it_is_squared_distance_plus_variance():
    """Active Testing, eq. (12)."""
    pred, mean, variance = np.array([1.0, 2.0]), np.array([0.5, 2.0]), np.array([0.3, 4.0])
    beliefs = node_beliefs(rows(Outputs(pred)), mean, variance, (statistic("squared"),))
    assert expected_loss.score(beliefs) == approx((pred - mean) ** 2 + variance)


def test_a_certain_outcome_costs_its_own_loss():
    beliefs = Beliefs(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[[0.2, 7.0], [0.2, 7.0]]]))
    assert expected_loss.score(beliefs) == approx([0.2, 7.0])
