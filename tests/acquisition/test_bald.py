"""BALD against the definition of mutual information."""

import numpy as np
from pytest import approx
from scipy.stats import entropy

from activetest.acquisition import bald
from activetest.nouns.beliefs import Beliefs


def beliefs(draws) -> Beliefs:
    """Members (K, R, C), with one target of unit losses."""
    draws = np.asarray(draws, float)
    return Beliefs(draws.mean(axis=0), np.ones((1, *draws.shape[1:])), draws=draws)


def test_it_is_the_entropy_of_the_mean_less_the_mean_of_entropies():
    draws = np.random.default_rng(1).dirichlet(np.ones(4), size=(5, 30))
    expected = entropy(draws.mean(axis=0), axis=1) - entropy(draws, axis=2).mean(axis=0)
    np.testing.assert_allclose(bald.score(beliefs(draws)), expected, atol=1e-12)


def test_members_that_agree_have_nothing_to_tell_however_unsure_they_are():
    assert bald.score(beliefs([[[0.5, 0.5]], [[0.5, 0.5]]])) == approx(0)


def test_two_members_that_are_certain_of_opposites_tell_one_bit():
    assert bald.score(beliefs([[[1.0, 0.0]], [[0.0, 1.0]]])) == approx(np.log(2))
