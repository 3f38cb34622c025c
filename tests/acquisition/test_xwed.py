"""XWED against its formula, and against BALD."""

import numpy as np
from scipy.special import xlogy

from activetest.acquisition import bald, xwed
from activetest.nouns.beliefs import Beliefs

DRAWS = np.random.default_rng(2).dirichlet(np.full(3, 0.5), size=(6, 40))


def beliefs(losses) -> Beliefs:
    """Six members, three classes, and losses (40, 3) of one target."""
    return Beliefs(DRAWS.mean(axis=0), np.asarray(losses, float)[None], draws=DRAWS)


def test_with_unit_losses_it_is_bald():
    unit = beliefs(np.ones((40, 3)))
    np.testing.assert_allclose(xwed.score(unit), bald.score(unit), atol=1e-14)


def test_it_is_the_paper_s_weighted_difference_of_entropies():
    losses = np.random.default_rng(3).exponential(size=(40, 3))
    mean = DRAWS.mean(axis=0)
    expected = -(losses * xlogy(mean, mean)).sum(axis=1)
    expected += (losses * xlogy(DRAWS, DRAWS)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(xwed.score(beliefs(losses)), expected, atol=1e-12)


def test_outcomes_that_cost_nothing_do_not_count():
    one_sided = np.zeros((40, 3))
    one_sided[:, 1] = 2.0
    expected = 2 * bald.disagreement(DRAWS)[:, 1]
    np.testing.assert_allclose(xwed.score(beliefs(one_sided)), expected)


def test_probabilities_of_zero_and_one_have_finite_scores():
    certain = np.stack([np.eye(3), np.eye(3)[[1, 2, 0]]])
    scores = Beliefs(certain.mean(axis=0), np.full((1, 3, 3), 30.0), draws=certain)
    assert np.isfinite(xwed.score(scores)).all()
