"""Entropy in nats, and what it has to do with the expected log-loss."""

import numpy as np
from pytest import approx

from activetest import catalog
from activetest.acquisition import entropy, expected_loss
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet


def test_a_fair_coin_has_the_entropy_of_a_bit_and_a_certain_one_none():
    coins = Beliefs(np.array([[0.5, 0.5], [1.0, 0.0]]), np.ones((1, 2, 2)))
    assert entropy.score(coins) == approx([np.log(2), 0])


def test_expected_log_loss_with_the_model_itself_is_its_predictive_entropy():
    probs = np.random.default_rng(4).dirichlet(np.ones(5), size=50)
    rows = Rows(
        np.arange(50),
        Outputs(probs.argmax(axis=1), probs),
        np.zeros((50, 1), np.float32),
        np.zeros((50, 0), np.int64),
    )
    model = catalog.load("surrogates", "model").fit(
        TrainingSet(rows[:0], np.empty(0), np.empty((0, 1)), ("log_loss",), 5)
    )
    believed = model.beliefs(rows, (statistic("log_loss"),))
    np.testing.assert_allclose(expected_loss.score(believed), entropy.score(believed), rtol=1e-12)
