"""Gaussian processes: the textbook's formulas, and draws with the covariance they claim."""

import numpy as np
import pytest
from pytest import approx
from scipy.optimize import approx_fprime
from scipy.special import digamma, polygamma
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import TrainingRows
from activetest.surrogates import _matern, gp
from activetest.surrogates._black_box import log_probs

KERNEL = _matern.Kernel(1.3, 0.8)
TWIN = ConstantKernel(1.3**2, "fixed") * Matern(0.8, "fixed", nu=1.5)


def fitted(training, seed: int = 3):
    return gp.fit(training, rng=np.random.default_rng(seed))


def observed(count: int = 12):
    """(M, 2) inputs, (M, 1) targets, (M, 1) variances of their noise, and (5, 2) new inputs."""
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.05, 0.3, size=(count, 1))
    return rng.normal(size=(count, 2)), rng.normal(size=(count, 1)), noise, rng.normal(size=(5, 2))


# --- the process itself


def test_the_kernel_is_scikit_learns():
    seen, *_, new = observed()
    assert KERNEL(_matern.distances(new, seen)) == approx(TWIN(new, seen))


def test_mean_and_variance_are_the_closed_form_and_scikit_learns():
    seen, targets, noise, new = observed()
    rng = np.random.default_rng(2)
    paths = _matern.condition_paths(seen, targets, noise, KERNEL, 1, rng, doubt=True)
    mean, variance = paths.moments(new)
    covariance, cross = TWIN(seen) + np.diag(noise[:, 0]), TWIN(new, seen)
    assert mean == approx(cross @ np.linalg.solve(covariance, targets), abs=1e-5)
    explained = np.diag(cross @ np.linalg.solve(covariance, cross.T))
    assert variance == approx(1.3**2 - explained, abs=1e-5)
    twin = GaussianProcessRegressor(TWIN, alpha=noise[:, 0], optimizer=None)
    there, deviation = twin.fit(seen, targets[:, 0]).predict(new, return_std=True)
    assert mean[:, 0] == approx(there, abs=1e-5)
    assert variance == approx(deviation**2, abs=1e-5)


def test_evidence_is_scikit_learns_and_its_gradient_is_a_difference():
    seen, targets, *_ = observed()
    apart, logs = _matern.distances(seen, seen), np.log([1.3, 0.8, 0.4])
    value, gradient = _matern.log_evidence(apart, targets, None, logs)
    twin = GaussianProcessRegressor(TWIN, alpha=0.4**2, optimizer=None)
    assert value == approx(twin.fit(seen, targets[:, 0]).log_marginal_likelihood_value_)

    def alone(where):
        return _matern.log_evidence(apart, targets, None, where)[0]

    assert gradient == approx(approx_fprime(logs, alone, 1e-6), abs=1e-3)


def test_evidence_of_several_functions_is_the_sum_of_theirs():
    seen, targets, noise, _ = observed()
    apart, logs = _matern.distances(seen, seen), np.log([1.3, 0.8])
    both = np.hstack([targets, -2 * targets]), np.hstack([noise, 2 * noise])
    value, gradient = _matern.log_evidence(apart, *both, logs)
    parts = [
        _matern.log_evidence(apart, both[0][:, c : c + 1], both[1][:, c : c + 1], logs)
        for c in (0, 1)
    ]
    assert value == approx(sum(part[0] for part in parts))
    assert gradient == approx(sum(part[1] for part in parts))


def test_draws_have_the_predictive_mean_and_covariance():
    """8,000 draws, 1,000 features: standard errors near 0.02 from both."""
    seen, targets, noise, new = observed()
    rng = np.random.default_rng(3)
    paths = _matern.condition_paths(seen, targets, noise, KERNEL, 8_000, rng, doubt=False)
    ((_, values),) = paths.draws(new.astype(np.float32), np.arange(8_000))
    covariance, cross = TWIN(seen) + np.diag(noise[:, 0]), TWIN(new, seen)
    exact = TWIN(new) - cross @ np.linalg.solve(covariance, cross.T)
    mean = cross @ np.linalg.solve(covariance, targets)
    assert values[:, :, 0].mean(axis=0) == approx(mean[:, 0], abs=0.06)
    assert np.cov(values[:, :, 0].T) == approx(exact, abs=0.12)


def test_without_observations_draws_have_the_kernels_covariance():
    new = observed()[-1]
    rng = np.random.default_rng(4)
    nothing = np.empty((0, 2)), np.empty((0, 1)), np.empty((0, 1))
    paths = _matern.condition_paths(*nothing, KERNEL, 8_000, rng, doubt=True)
    ((_, values),) = paths.draws(new.astype(np.float32), np.arange(8_000))
    assert np.cov(values[:, :, 0].T) == approx(TWIN(new), abs=0.15)
    assert paths.moments(new)[1] == approx(np.full(5, 1.3**2))


def test_draws_agree_however_rows_are_cut(monkeypatch):
    seen, targets, noise, _ = observed()
    rng = np.random.default_rng(5)
    paths = _matern.condition_paths(seen, targets, noise, KERNEL, 3, rng, doubt=False)
    rows = np.random.default_rng(6).normal(size=(50, 2)).astype(np.float32)
    whole = next(paths.draws(rows, np.arange(3)))[1]
    monkeypatch.setattr(_matern, "_BLOCK", 8)
    pieces = np.concatenate([values for _, values in paths.draws(rows, np.arange(3))], axis=1)
    assert pieces == approx(whole, abs=1e-4)


# --- values


def test_values_are_learned_with_their_noise(value_pool):
    """The box forgets a sine; noise has deviation 0.2."""
    pool = value_pool()
    members = fitted(pool.training(200)).members
    mean, variance = members.moments(pool.rows)
    error = (pool.labels - mean)[200:]
    assert (error**2).mean() < 0.2 * ((pool.labels - pool.rows.outputs.pred)[200:] ** 2).mean()
    assert members.scale**2 * members.noise == approx(0.04, rel=0.4)
    assert (error**2 / variance[200:]).mean() == approx(1, abs=0.4)


def test_training_rows_alone_teach_values(value_pool):
    pool = value_pool()
    mean, _ = fitted(pool.training(0, train=True)).members.moments(pool.rows)
    assert ((pool.labels - mean) ** 2).mean() < 0.1


def test_a_few_labels_without_noise_are_believed(value_pool):
    """12 points of a wave: the curve between them is right, and its draws pass through them."""
    pool = value_pool(size=400)
    pool.rows.features[:] = np.linspace(-1.5, 1.5, 400)[:, None]
    pool.labels[:] = np.sin(2 * pool.rows.features[:, 0])
    seen = np.arange(15, 400, 33)
    pool.train = TrainingRows(pool.labels[seen], pool.rows.features[seen])
    members = fitted(pool.training(0, train=True)).members
    mean, variance = members.moments(pool.rows)
    inside = slice(seen[0], seen[-1])
    assert np.abs(mean - pool.labels)[inside].max() < 0.03
    assert np.sqrt(variance[inside].mean()) < 0.1
    means, _ = members.draws(pool.rows, np.arange(64))
    assert np.abs(means - pool.labels)[:, seen].max() < 0.1
    assert means.std(axis=0)[inside] == approx(
        np.sqrt(variance - members.scale**2 * members.noise)[inside], abs=0.02
    )


def test_the_noise_of_training_rows_is_learned(value_pool):
    members = fitted(value_pool().training(200, train=True)).members
    assert members.scale**2 * members.noise == approx(0.04, rel=0.3)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_labels_leave_the_black_box_nearly_as_it_is(value_pool, count):
    pool = value_pool()
    mean, variance = fitted(pool.training(count)).members.moments(pool.rows)
    assert np.median(np.abs(mean - pool.rows.outputs.pred)) < 0.6
    assert np.isfinite(variance).all()
    assert (variance > 0).all()


# --- classes


def test_targets_have_the_moments_of_a_gamma_variables_logarithm_where_counts_are_large():
    targets, noise = gp.transform_labels(np.array([0]), 2, 50.0)
    alpha = np.array([51.0, 50.0])
    assert targets[0] == approx(digamma(alpha), rel=1e-3)
    assert noise[0] == approx(polygamma(1, alpha), rel=0.03)


def test_what_is_left_out_is_predicted_as_if_it_had_never_been_seen():
    seen, targets, noise, _ = observed()
    covariance = KERNEL(_matern.distances(seen, seen))
    left = gp._predict_left_out(covariance, targets, noise)
    rest = np.arange(1, 12)
    inner = covariance[np.ix_(rest, rest)] + np.diag(noise[rest, 0])
    assert left[0, 0] == approx(covariance[0, rest] @ np.linalg.solve(inner, targets[rest, 0]))


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_the_classes(class_pool, train):
    pool = class_pool()
    probs = fitted(pool.training(200, train=train)).members.probs(pool.rows)[200:]
    assert (probs.argmax(axis=1) == pool.labels[200:]).mean() > 0.8
    said = np.log(probs[np.arange(400), pool.labels[200:]]).mean()
    box = np.log(pool.rows.outputs.probs[200:][np.arange(400), pool.labels[200:]]).mean()
    assert said > box


def test_without_labels_it_is_the_black_box(class_pool):
    """And members scatter around its log-probabilities."""
    pool = class_pool()
    members = fitted(pool.training(0)).members
    assert members.probs(pool.rows) == approx(pool.rows.outputs.probs, abs=1e-3)
    logs = np.log(members.draws(pool.rows, np.arange(members.size))).mean(axis=0)
    box = log_probs(pool.rows, 3)
    gaps = [each - each.mean(axis=1, keepdims=True) for each in (logs, box)]
    # 64 draws of functions with deviation 1.
    assert gaps[0] == approx(gaps[1], abs=4.5 / 8)


# --- both


@pytest.mark.parametrize("train", [True, False])
def test_it_predicts_identically_after_a_round_trip(class_pool, value_pool, train):
    for pool in (class_pool(), value_pool()):
        made = fitted(pool.training(40, train=train))
        again = gp.restore(made.params())
        asked = (statistic("zero_one" if pool.classes else "label:0"),)
        one, two = (each.beliefs(pool.rows, asked, np.arange(5)) for each in (made, again))
        for part in ("probs", "outcome_values", "draws"):
            np.testing.assert_array_equal(getattr(one, part), getattr(two, part))


def test_more_rows_than_it_can_take_are_thinned_and_labels_stay(value_pool, monkeypatch):
    monkeypatch.setattr(gp, "_MOST_ROWS", 80)
    pool = value_pool()
    seen = fitted(pool.training(50, train=True)).members.paths.seen
    assert len(seen) == 80
    np.testing.assert_array_equal(seen[-50:], pool.rows.features[:50])
    assert len(fitted(pool.training(120)).members.paths.seen) == 80


def test_the_same_generator_draws_the_same_functions(value_pool):
    pool = value_pool()
    one, two, other = (fitted(pool.training(40), seed).members.paths.drawn for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
