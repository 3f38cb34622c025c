"""Linear models: the mode and curvature of the posterior, exact where the posterior is."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from sklearn.linear_model import LogisticRegression

from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Outputs
from activetest.surrogates import linear
from activetest.surrogates._black_box import log_probs


def fitted(training, seed: int = 3):
    return linear.fit(training, rng=np.random.default_rng(seed))


def binary(count: int = 400):
    """A design of one column without intercept, labels of two classes, no offset."""
    rng = np.random.default_rng(1)
    design = rng.normal(size=(count, 1))
    labels = (rng.random(count) < 1 / (1 + np.exp(-1.2 * design[:, 0]))).astype(int)
    return design, labels, np.zeros((count, 2))


# --- classes


def test_laplace_equals_a_brute_force_posterior_of_one_slope():
    """With 400 labels the posterior of the difference of the two slopes is all but Gaussian."""
    design, labels, start = binary()
    precision = np.array([0.7])
    mode = linear.find_mode(design, labels, start, precision, None)
    (hessian,) = linear._compute_hessians(
        design, linear._class_probs(design, start, mode), precision
    )
    difference = np.array([-1.0, 1.0])
    mean, variance = (mode @ difference)[0], difference @ np.linalg.inv(hessian) @ difference
    # The prior of a difference of two independent slopes has half the precision.
    slopes = np.linspace(mean - 8 * variance**0.5, mean + 8 * variance**0.5, 4001)
    logits = np.outer(slopes, design[:, 0] * (2 * labels - 1))
    logs = -np.logaddexp(0, -logits).sum(axis=1) - 0.25 * precision[0] * slopes**2
    density = np.exp(logs - logs.max())
    density /= density.sum()
    assert slopes[density.argmax()] == approx(mean, abs=0.01)
    assert density @ slopes == approx(mean, rel=0.02)
    assert density @ (slopes - density @ slopes) ** 2 == approx(variance, rel=0.05)


def test_the_evidence_equals_a_brute_force_integral():
    """Relative to that of a prior so narrow that every slope is zero."""
    design, labels, start = binary(60)
    precision = np.array([0.7])
    mode = linear.find_mode(design, labels, start, precision, None)
    wide = linear._log_evidence(design, labels, start, precision, mode)
    narrow = linear._log_evidence(design, labels, start, np.array([1e12]), np.zeros((1, 2)))
    grid = np.linspace(-12, 12, 4001)
    logits = np.outer(grid, design[:, 0] * (2 * labels - 1))
    logs = -np.logaddexp(0, -logits).sum(axis=1) - 0.25 * precision[0] * grid**2
    width = np.sqrt(4 * np.pi / precision[0])
    exact = np.log(np.exp(logs).sum() * (grid[1] - grid[0]) / width) + len(labels) * np.log(2)
    assert wide - narrow == approx(exact, abs=0.1)


def test_the_mode_is_scikit_learns(class_pool):
    pool = class_pool(200)
    design = np.hstack([np.ones((200, 1)), pool.rows.features]).astype(float)
    mode = linear.find_mode(design, pool.labels, np.zeros((200, 3)), np.full(3, 2.0), None)
    twin = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=1000)
    assert mode == approx(twin.fit(design, pool.labels).coef_.T, abs=1e-3)


def test_classes_with_blocks_of_their_own_have_the_diagonal_blocks_of_the_whole(monkeypatch):
    rng = np.random.default_rng(5)
    design, probs = rng.normal(size=(30, 4)), rng.dirichlet(np.ones(3), size=30)
    (whole,) = linear._compute_hessians(design, probs, np.ones(4))
    monkeypatch.setattr(linear, "_MOST_TOGETHER", 0)
    for number, block in enumerate(linear._compute_hessians(design, probs, np.ones(4))):
        part = slice(4 * number, 4 * number + 4)
        assert block == approx(whole[part, part])


def test_curvature_is_the_second_derivative_of_the_log_posterior():
    rng = np.random.default_rng(6)
    design, labels = rng.normal(size=(20, 2)), rng.integers(3, size=20)
    precision, start = np.array([1.0, 2.0]), rng.normal(size=(20, 3))

    def negative(flat):
        weights = flat.reshape(3, 2).T
        probs = linear._class_probs(design, start, weights)
        prior = 0.5 * (precision[:, None] * weights**2).sum()
        return prior - np.log(probs[np.arange(20), labels]).sum()

    point, step = rng.normal(size=6), 1e-4
    numeric = np.empty((6, 6))
    for i, one in enumerate(step * np.eye(6)):
        for j, other in enumerate(step * np.eye(6)):
            corners = (one + other, one - other, -one + other, -one - other)
            signs = (1, -1, -1, 1)
            found = sum(s * negative(point + c) for s, c in zip(signs, corners, strict=True))
            numeric[i, j] = found / (4 * step**2)
    probs = linear._class_probs(design, start, point.reshape(3, 2).T)
    (exact,) = linear._compute_hessians(design, probs, precision)
    assert exact == approx(numeric, abs=1e-5)


def test_members_scatter_as_the_curvature_says():
    design, labels, start = binary()
    precision = np.array([0.7])
    probs = linear._class_probs(
        design, start, linear.find_mode(design, labels, start, precision, None)
    )
    (hessian,) = linear._compute_hessians(design, probs, precision)
    rng = np.random.default_rng(7)
    draws = linear._draw_deviations(design, probs, precision, 40_000, rng).reshape(40_000, 2)
    assert np.cov(draws.T) == approx(np.linalg.inv(hessian), rel=0.05)


def test_without_labels_it_is_the_black_box(class_pool):
    """And members scatter around its log-probabilities."""
    pool = class_pool()
    members = fitted(pool.training(0)).members
    logs = np.log(members.draws(pool.rows, np.arange(members.size))).mean(axis=0)
    box = log_probs(pool.rows, 3)
    gaps = [each - each.mean(axis=1, keepdims=True) for each in (logs, box)]
    assert gaps[0] == approx(gaps[1], abs=0.02)
    assert members.probs(pool.rows) == approx(pool.rows.outputs.probs, abs=1e-3)


def test_it_learns_that_the_black_box_is_not_sure_enough(class_pool):
    """Its logits were divided by 4: they are multiplied by nearly as much, and that is used."""
    pool = class_pool()
    said = pool.rows.outputs.probs**0.25
    said /= said.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(2)
    steps = pool.rows.outputs.probs.cumsum(axis=1)
    pool.labels = (rng.random((600, 1)) * steps[:, -1:] > steps).sum(axis=1)
    pool.rows = replace(pool.rows, outputs=Outputs(said.argmax(axis=1), said))
    members = fitted(pool.training(300)).members
    assert members.sharpness == approx(4, rel=0.25)
    score = [
        np.log(probs[300:][np.arange(300), pool.labels[300:]]).mean()
        for probs in (said, members.probs(pool.rows))
    ]
    assert score[1] > score[0] + 0.1


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_the_classes(class_pool, train):
    pool = class_pool()
    probs = fitted(pool.training(300, train=train)).members.probs(pool.rows)[300:]
    assert (probs.argmax(axis=1) == pool.labels[300:]).mean() > 0.8
    said = probs[np.arange(300), pool.labels[300:]]
    assert np.log(said).mean() > np.log(pool.rows.external[300:, 1, 0]).mean() + 0.5


def test_hard_labels_are_corrected_too(class_pool):
    pool = class_pool()
    pool.rows = replace(pool.rows, outputs=Outputs(pool.rows.outputs.pred))
    before, after = (fitted(pool.training(count)).members.probs(pool.rows) for count in (0, 200))
    one = np.eye(3)[pool.rows.outputs.pred]
    assert (before * one).sum(axis=1).mean() == approx(0.5, abs=1e-6)
    assert (after.argmax(axis=1) == pool.labels)[200:].mean() > 0.75


# --- values


def test_the_posterior_of_values_is_the_textbooks(value_pool):
    """Against the marginal density of the labels and its conditional, straight from the prior."""
    pool = value_pool(40)
    training = pool.training(40)
    members = fitted(training).members
    design, labels, *_ = linear._prepare_data(training, np.random.default_rng(1))
    guess = 0.25 * training.scale**2
    best = None
    for width in linear._WIDTHS:
        prior = np.diag(1 / linear._prior_precision(design.shape[1], width, True))
        spread = np.eye(40) + design @ prior @ design.T
        rate = guess + 0.5 * labels @ np.linalg.solve(spread, labels)
        evidence = -0.5 * np.linalg.slogdet(spread)[1] - 22 * np.log(rate)
        if best is None or evidence > best[0]:
            weights = prior @ design.T @ np.linalg.solve(spread, np.eye(40))
            covariance = prior - weights @ design @ prior
            best = evidence, weights @ labels, covariance, rate
    assert members.mode == approx(best[1], abs=1e-9)
    assert members.factor @ members.factor.T == approx(best[2], abs=1e-9)
    assert (members.shape, members.rate) == approx((22, best[3]))


def test_without_labels_values_are_the_black_boxs(value_pool):
    pool = value_pool()
    mean, variance = fitted(pool.training(0)).members.moments(pool.rows)
    assert mean == approx(pool.rows.outputs.pred)
    assert (variance >= 0.25 * pool.rows.outputs.pred.var() - 1e-9).all()


@pytest.mark.parametrize("train", [True, False])
def test_members_of_values_have_the_moments_that_are_believed(value_pool, train, monkeypatch):
    monkeypatch.setattr(linear, "_MEMBERS", 20_000)
    pool = value_pool(60)
    members = fitted(pool.training(50, train=train)).members
    means, noise = members.draws(pool.rows, np.arange(20_000))
    mean, variance = members.moments(pool.rows)
    assert np.abs(means.mean(axis=0) - mean).max() < 0.02 * np.sqrt(variance.max())
    assert noise.mean() + means.var(axis=0) == approx(variance, rel=0.05)


# --- both


@pytest.mark.parametrize("train", [True, False])
def test_it_predicts_identically_after_a_round_trip(class_pool, value_pool, train):
    for pool in (class_pool(), value_pool()):
        made = fitted(pool.training(40, train=train))
        again = linear.restore(made.params())
        asked = (statistic("zero_one" if pool.classes else "label:0"),)
        one, two = (each.beliefs(pool.rows, asked) for each in (made, again))
        np.testing.assert_array_equal(one.probs, two.probs)
        np.testing.assert_array_equal(one.outcome_values, two.outcome_values)


def test_the_same_generator_draws_the_same_members(class_pool):
    pool = class_pool()
    one, two, other = (fitted(pool.training(40), seed).members.weights for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
