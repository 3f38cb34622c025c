"""A Beta around a prediction: its likelihood, its strength, and shares of members."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb, expit
from scipy.stats import beta, betabinom

from activetest.wings.surfaces.surfaces import _own_counts as own


def test_the_likelihood_is_the_beta_binomial_of_scipy_in_a_given_order():
    counts = np.array([[3.0, 1], [0, 2], [5, 0]])
    mean = np.array([0.6, 0.3, 0.9])
    found = own.compute_log_likelihoods(7.0, counts, mean, np.zeros(3))
    total = counts.sum(axis=1)
    expected = betabinom.logpmf(counts[:, 0], total, 7 * mean, 7 * (1 - mean))
    np.testing.assert_allclose(found, expected - np.log(comb(total, counts[:, 0])))


def test_the_likelihood_of_fractions_is_the_integral_over_the_rate():
    counts = np.array([[1.5, 0.25]])
    found = own.compute_log_likelihoods(4.0, counts, np.array([0.7]), np.zeros(1))
    area, _ = quad(lambda r: r**1.5 * (1 - r) ** 0.25 * beta.pdf(r, 2.8, 1.2), 0, 1)
    assert found[0] == pytest.approx(np.log(area))


def test_strength_and_uncertainty_of_the_mean_add_up_to_the_variance_of_the_rate():
    rng = np.random.default_rng(0)
    phi = expit(rng.normal(0.5, 0.8, 400_000))
    rate = rng.beta(9 * phi, 9 * (1 - phi))
    [scale] = own.combine_strengths(9.0, np.array([phi.mean()]), np.array([phi.var()]))
    # The total variance has E[phi (1 - phi)] = mean (1 - mean) - Var[phi] in its first part.
    inside = phi.mean() * (1 - phi.mean())
    exact = (inside - phi.var()) / 10 + phi.var()
    assert rate.var() == pytest.approx(exact, rel=0.01)
    assert inside / (scale + 1) == pytest.approx(exact)
    assert own.combine_strengths(9.0, np.array([0.5]), np.zeros(1)) == pytest.approx(9)


@pytest.mark.parametrize("strength", [2.0, 12.0])
def test_the_strength_that_made_counts_is_found_again(strength):
    rng = np.random.default_rng(1)
    mean = rng.uniform(0.2, 0.9, 1500)
    total = rng.integers(1, 12, 1500)
    positive = rng.binomial(total, rng.beta(strength * mean, strength * (1 - mean)))
    counts = np.stack([positive, total - positive], axis=1).astype(float)
    found = own.find_strength(counts, mean, np.zeros(1500))
    assert found == pytest.approx(strength, rel=0.25)
    draws = own.draw_strengths(counts[:300], mean[:300], np.zeros(300), 64, rng)
    assert draws.min() < strength < draws.max()
    assert (draws[:32] == draws[32:]).all()


def test_counts_that_cannot_tell_leave_the_strength_to_its_prior():
    counts = np.array([[1.0, 0], [0, 1], [1, 0]])
    flat = own.weigh_strengths(counts, np.full(3, 0.6), np.zeros(3))
    empty = own.weigh_strengths(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(flat[1], empty[1], rtol=1e-6)
    assert own.find_strength(counts, np.full(3, 0.6), np.zeros(3)) == pytest.approx(30, rel=0.15)


def test_labels_of_arms_that_differ_count_less():
    counts = np.array([[1.0, 0], [4, 6]])
    mild = own.discount_counts(counts, 9.0)
    np.testing.assert_allclose(mild[0], counts[0])
    # Ten labels of one arm have (9 + 10) / (9 + 1) times the variance of ten of ten arms.
    np.testing.assert_allclose(mild[1], counts[1] * 10 / 19)


def test_shares_are_even_whole_and_go_to_what_predicts_better():
    rng = np.random.default_rng(2)
    alike = own.find_weights(np.zeros((4, 50)), 128, rng)
    assert alike.tolist() == [32, 32, 32, 32]
    scores = np.zeros((3, 50))
    scores[1] = 0.3
    assert own.find_weights(scores, 128, rng).tolist() == [0, 128, 0]
    noisy = rng.normal(0, 1, (3, 50))
    found = own.find_weights(noisy, 128, rng)
    assert found.sum() == 128 and (found % 2 == 0).all()
    assert own.find_weights(np.zeros((3, 0)), 128, rng).sum() == 128


def test_a_lead_by_luck_does_not_win_alone():
    lead = np.zeros((2, 40))
    lead[0] = np.random.default_rng(3).normal(0.1, 1, 40)
    lead[0] += 0.1 - lead[0].mean()
    # By the sum of four nats a plain softmax would give 2.3 of 128 to the other one.
    assert own.find_weights(lead, 128, np.random.default_rng(4))[1] >= 12
