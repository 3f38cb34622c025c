"""Scores by what is believed of each row, against their definitions."""

import numpy as np
from pytest import approx
from scipy.special import entr, xlogy
from scipy.stats import entropy as find_entropy

from activetest.acquisition.scores import (
    active_risk,
    bald,
    disagreement,
    entropy,
    expected_loss,
    optimal,
    oracle,
    uniform,
    xwed,
)
from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Outputs, Rows
from activetest.rounds.known_labels import KnownLabels
from activetest.surrogates import model
from activetest.surrogates._gaussian import node_beliefs
from tests.makers import label_items

WRONG = np.array([0.0, 0.02, 0.5, 0.9, 1.0])
DRAWS = np.random.default_rng(2).dirichlet(np.full(3, 0.5), size=(6, 40))


# --- the optimal proposal of active risk estimation


def test_it_is_the_root_of_the_expected_square_of_loss_minus_risk():
    wrong, risk = np.array([0.0, 0.2, 0.9]), 0.3
    outcome_values = np.tile([0.0 - risk, 1.0 - risk], (1, 3, 1))
    beliefs = Beliefs(np.column_stack([1 - wrong, wrong]), outcome_values)
    expected = np.sqrt((1 - wrong) * risk**2 + wrong * (1 - risk) ** 2)
    assert active_risk.score(beliefs) == approx(expected)


# --- BALD against the definition of mutual information


def make_beliefs(draws) -> Beliefs:
    """Members (K, R, C), with one target of unit losses."""
    draws = np.asarray(draws, float)
    return Beliefs(draws.mean(axis=0), np.ones((1, *draws.shape[1:])), draws=draws)


def test_it_is_the_entropy_of_the_mean_less_the_mean_of_entropies():
    draws = np.random.default_rng(1).dirichlet(np.ones(4), size=(5, 30))
    expected = find_entropy(draws.mean(axis=0), axis=1)
    expected -= find_entropy(draws, axis=2).mean(axis=0)
    np.testing.assert_allclose(bald.score(make_beliefs(draws)), expected, atol=1e-12)


def test_members_that_agree_have_nothing_to_tell_however_unsure_they_are():
    assert bald.score(make_beliefs([[[0.5, 0.5]], [[0.5, 0.5]]])) == approx(0)


def test_two_members_that_are_certain_of_opposites_tell_one_bit():
    assert bald.score(make_beliefs([[[1.0, 0.0]], [[0.0, 1.0]]])) == approx(np.log(2))


# --- entropy in nats, and what it has to do with the expected log-loss


def test_a_fair_coin_has_the_entropy_of_a_bit_and_a_certain_one_none():
    coins = Beliefs(np.array([[0.5, 0.5], [1.0, 0.0]]), np.ones((1, 2, 2)))
    assert entropy.score(coins) == approx([np.log(2), 0])


# --- expected loss is what its name says


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
    assert entropy.score(beliefs) == approx(entr(probs).sum(axis=1))


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


# --- the optimal score is the doubt about the statistic, and nothing else


def zero_one(wrong: np.ndarray) -> Beliefs:
    """Outcomes [right, wrong] under zero-one loss."""
    outcome_values = np.broadcast_to([0.0, 1.0], (1, len(wrong), 2))
    return Beliefs(np.column_stack([1 - wrong, wrong]), outcome_values)


def test_under_zero_one_loss_it_is_the_standard_deviation_of_a_coin():
    assert optimal.score(zero_one(WRONG)) == approx(np.sqrt(WRONG * (1 - WRONG)))


def test_error_and_accuracy_want_the_same_rows():
    one = zero_one(WRONG)
    assert optimal.score(one) == approx(optimal.score(Beliefs(one.probs, 1 - one.outcome_values)))


def test_a_certain_loss_is_not_worth_a_label_however_large_it_is():
    beliefs = Beliefs(np.array([[0.3, 0.7]]), np.array([[[50.0, 50.0]]]))
    assert optimal.score(beliefs) == approx([0])


def test_doubt_inside_an_outcome_counts():
    beliefs = Beliefs(np.array([[0.5, 0.5]]), np.zeros((1, 1, 2)), np.array([[[0.0, 8.0]]]))
    assert optimal.score(beliefs) == approx([2])


def test_it_gives_draws_the_smallest_variance_of_all_scores():
    """sum_j v_j / q_j over a pool, against a hundred other score vectors."""
    wrong = np.random.default_rng(3).random(30)
    variance = wrong * (1 - wrong)

    def of_draws(score):
        return (variance * score.sum() / score).sum()

    best = of_draws(optimal.score(zero_one(wrong)))
    others = np.random.default_rng(4).random((100, 30))
    assert all(best < of_draws(other) for other in (*others, wrong, np.ones(30)))


# --- draws in proportion to the true loss


def test_it_is_the_size_of_the_true_loss_and_no_surrogate_matters(pool):
    truth = label_items(pool)
    rows = pool.rows(0, pool.size)
    loss = statistic("log_loss")
    probs = rows.outputs.probs.astype(float)
    expected = -np.log(probs[np.arange(pool.size), truth.astype(int)])
    assert oracle.score(KnownLabels(truth).beliefs(rows, (loss,))) == approx(expected)
    below = combine_statistics((loss,), (-2.0,))
    assert oracle.score(KnownLabels(truth).beliefs(rows, (below,))) == approx(2 * expected)


# --- uniform draws want every row alike


def test_every_row_scores_the_same_whatever_is_believed():
    probs = np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])
    assert (uniform.score(Beliefs(probs, np.ones((1, 3, 2)))) == 1).all()


# --- XWED against its formula, and against BALD


def weigh_beliefs(losses) -> Beliefs:
    """Six members, three classes, and losses (40, 3) of one target."""
    return Beliefs(DRAWS.mean(axis=0), np.asarray(losses, float)[None], draws=DRAWS)


def test_with_unit_losses_it_is_bald():
    unit = weigh_beliefs(np.ones((40, 3)))
    np.testing.assert_allclose(xwed.score(unit), bald.score(unit), atol=1e-14)


def test_it_is_the_paper_s_weighted_difference_of_entropies():
    losses = np.random.default_rng(3).exponential(size=(40, 3))
    mean = DRAWS.mean(axis=0)
    expected = -(losses * xlogy(mean, mean)).sum(axis=1)
    expected += (losses * xlogy(DRAWS, DRAWS)).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(xwed.score(weigh_beliefs(losses)), expected, atol=1e-12)


def test_outcomes_that_cost_nothing_do_not_count():
    one_sided = np.zeros((40, 3))
    one_sided[:, 1] = 2.0
    expected = 2 * disagreement(DRAWS)[:, 1]
    np.testing.assert_allclose(xwed.score(weigh_beliefs(one_sided)), expected)


def test_probabilities_of_zero_and_one_have_finite_scores():
    certain = np.stack([np.eye(3), np.eye(3)[[1, 2, 0]]])
    scores = Beliefs(certain.mean(axis=0), np.full((1, 3, 3), 30.0), draws=certain)
    assert np.isfinite(xwed.score(scores)).all()
