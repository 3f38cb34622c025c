"""Logistic regression: safe steps, an evidence that is an integral, and priors weighed by it."""

import warnings

import numpy as np
import pytest
from pytest import approx

from activetest.surrogates._logistic import average_gaussians, find_modes, fit_laplace, sigmoid


def average_posterior(*problem, **settings) -> tuple:
    """Mean and covariance of the posterior over equally likely priors."""
    return average_gaussians(*fit_laplace(*problem, **settings))


def labels(design: np.ndarray, weights, *, seed: int) -> np.ndarray:
    """0 or 1 for each row of the design, from the model with these weights."""
    return (np.random.default_rng(seed).random(len(design)) < sigmoid(design @ weights)).astype(
        float
    )


def likelihood(design: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(V,) log-likelihood of one column's weights (V,)."""
    logits = design[:, 0] * weights[:, None]
    return (right * logits - np.logaddexp(0, logits)).sum(axis=1)


def posterior(design, right, mean: float, deviation: float):
    """Mean, variance and log evidence of a posterior of one weight, summed over a fine grid."""
    grid = np.linspace(mean - 12 * deviation, mean + 12 * deviation, 4001)
    logs = likelihood(design, right, grid) - 0.5 * ((grid - mean) / deviation) ** 2
    shares = np.exp(logs - logs.max())
    total = shares.sum() * (grid[1] - grid[0]) / (deviation * np.sqrt(2 * np.pi))
    middle = (shares * grid).sum() / shares.sum()
    spread = (shares * (grid - middle) ** 2).sum() / shares.sum()
    return middle, spread, np.log(total) + logs.max()


def alone(design, right, mean, deviation):
    """Mode, covariance and log evidence of one prior, deviation (D,)."""
    return tuple(part[0] for part in fit_laplace(design, right, mean, np.asarray(deviation)[None]))


# --- one prior


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("heavy", [False, True])
def test_newton_converges_on_separable_and_heavy_tailed_designs(scale, heavy):
    rng = np.random.default_rng(7)
    features = rng.standard_cauchy((200, 4)) ** 3 if heavy else rng.normal(size=(200, 4))
    design = np.column_stack([np.ones(200), scale * features])
    right = (features[:, 0] > 0).astype(float)
    mean, deviation = np.zeros(5), np.full(5, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mode, covariance, evidence = alone(design, right, mean, deviation)
    assert np.isfinite(mode).all()
    assert np.isfinite(evidence)
    # At the mode a further Newton step would gain next to nothing.
    probs = sigmoid(design @ mode)
    gradient = design.T @ (probs - right) + (mode - mean) / deviation**2
    assert gradient @ covariance @ gradient < 1e-6
    assert np.linalg.eigvalsh(covariance).max() <= 0.25 * (1 + 1e-9)


@pytest.mark.parametrize("deviation", [0.1, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("true", [-0.5, 1.0])
def test_the_evidence_is_the_integral_of_the_likelihood_over_the_prior(deviation, true):
    """200 labels: a Gaussian is a good picture of the posterior, and a sum over a grid is exact."""
    design = np.random.default_rng(1).normal(size=(200, 1))
    right = labels(design, [true], seed=2)
    mode, covariance, evidence = alone(design, right, np.ones(1), [deviation])
    middle, spread, exact = posterior(design, right, 1.0, deviation)
    assert evidence == approx(exact, abs=0.02)
    assert mode[0] == approx(middle, abs=0.2 * spread**0.5)
    assert covariance[0, 0] == approx(spread, rel=0.05)


def test_without_labels_the_evidence_of_every_prior_is_the_same():
    """The integral of a prior over itself is 1."""
    nothing = np.empty((0, 3)), np.empty(0), np.array([0.0, 1.0, 0.0])
    for deviation in (0.1, 1.0, 3.0):
        mode, covariance, evidence = alone(*nothing, np.full(3, deviation))
        assert evidence == approx(0, abs=1e-12)
        assert mode == approx(nothing[2])
        assert covariance == approx(deviation**2 * np.eye(3))


# --- several priors


def test_the_average_over_one_prior_is_that_prior():
    design = np.random.default_rng(3).normal(size=(50, 3))
    problem = design, labels(design, [1.0, -1.0, 0.0], seed=4), np.zeros(3)
    deviation = np.array([0.3, 1.0, 3.0])
    mode, covariance, _ = alone(*problem, deviation)
    for times in (1, 3):
        made = average_posterior(*problem, np.tile(deviation, (times, 1)))
        assert made[0] == approx(mode)
        assert made[1] == approx(covariance)


@pytest.mark.parametrize("true", [-0.5, 1.0])
def test_the_average_is_the_posterior_of_a_prior_that_is_a_mixture(true):
    """Mean and variance, against a sum over a grid."""
    design, widths = np.random.default_rng(1).normal(size=(200, 1)), (0.1, 0.3, 1.0)
    right = labels(design, [true], seed=2)
    middle, covariance = average_posterior(design, right, np.ones(1), np.array(widths)[:, None])
    grid = np.linspace(-8, 10, 4001)
    prior = sum(np.exp(-0.5 * ((grid - 1) / one) ** 2) / one for one in widths)
    logs = likelihood(design, right, grid) + np.log(prior)
    shares = np.exp(logs - logs.max())
    exact = (shares * grid).sum() / shares.sum()
    spread = (shares * (grid - exact) ** 2).sum() / shares.sum()
    assert middle[0] == approx(exact, abs=0.2 * spread**0.5)
    assert covariance[0, 0] == approx(spread, rel=0.1)


def test_labels_that_contradict_the_prior_move_to_the_wide_one_and_others_stay_near():
    """The prior says 1. Labels say -1, or 1: the average is with the wide, or the narrow prior."""
    design = np.random.default_rng(5).normal(size=(300, 1))
    for true, believed in ((-1.0, 3.0), (1.0, 0.1)):
        problem = design, labels(design, [true], seed=6), np.ones(1)
        modes = {width: alone(*problem, [width])[0][0] for width in (0.1, 3.0)}
        (middle,), _ = average_posterior(*problem, np.array([[0.1], [3.0]]))
        assert abs(middle - modes[believed]) < 0.2 * abs(modes[0.1] - modes[3.0])


def test_columns_that_say_nothing_are_all_but_left_out():
    """Five columns of noise in 100 labels, 20 times: their weights are less than half as large."""
    tried, sizes = np.full((4, 5), [[0.03], [0.1], [0.3], [1.0]]), []
    for seed in range(20):
        design = np.random.default_rng(seed).normal(size=(100, 5))
        problem = design, labels(design, np.zeros(5), seed=100 + seed), np.zeros(5)
        sizes.append(
            [np.linalg.norm(average_posterior(*problem, some)[0]) for some in (tried, tried[-1:])]
        )
    mixed, wide = np.mean(sizes, axis=0)
    assert mixed < wide / 2


def test_priors_side_by_side_are_fitted_as_each_alone():
    """Also where one of them needs many more steps than another, and rows come in blocks."""
    design = np.random.default_rng(12).standard_cauchy((1100, 2))
    problem = design, labels(design, [3.0, -1.0], seed=13), np.zeros(2)
    tried = np.array([[0.01, 0.01], [1.0, 0.1], [30.0, 30.0]])
    together = fit_laplace(*problem, tried)
    for place, deviation in enumerate(tried):
        for whole, one in zip(together, alone(*problem, deviation), strict=True):
            assert whole[place] == approx(one, rel=1e-6, abs=1e-9)


def effects_problem(sets: int = 3, rows: int = 60):
    """Sets of rows whose first columns are three classes, of which few rows have the last."""
    rng = np.random.default_rng(21)
    classes = rng.choice(3, (sets, rows), p=[0.6, 0.38, 0.02])
    design = np.concatenate(
        [np.eye(3)[classes], np.ones((sets, rows, 1)), rng.normal(size=(sets, rows, 4))], axis=2
    )
    right = (rng.random((sets, rows)) < sigmoid(design[..., 4] + classes - 1)).astype(float)
    widths = np.array([[0.1], [0.5], [3.0]]) * np.ones(8)
    return design, right, np.eye(8)[4], widths


def test_effects_of_classes_are_eliminated_without_a_difference():
    design, right, mean, widths = effects_problem()
    plain = fit_laplace(design, right, mean, widths)
    for one, other in zip(plain, fit_laplace(design, right, mean, widths, effects=3), strict=True):
        assert one == approx(other, rel=1e-10, abs=1e-12)


def test_sets_of_labels_side_by_side_are_fitted_as_each_alone():
    design, right, mean, widths = effects_problem()
    together = fit_laplace(design, right, mean, widths, effects=3)
    for number in range(len(design)):
        single = fit_laplace(design[number], right[number], mean, widths, effects=3)
        for whole, one in zip(together, single, strict=True):
            assert whole[number] == approx(one, rel=1e-12, abs=1e-14)


def test_many_rows_are_fitted_without_the_products_of_their_columns(monkeypatch):
    problem = effects_problem()
    kept = fit_laplace(*problem, effects=3)
    monkeypatch.setattr("activetest.surrogates._logistic._PRODUCTS", 0)
    for one, other in zip(kept, fit_laplace(*problem, effects=3), strict=True):
        assert one == approx(other, rel=1e-10, abs=1e-12)


def test_large_matrices_are_factored_and_small_ones_inverted_to_the_same_end(monkeypatch):
    design, right, mean, widths = effects_problem()
    inverted = fit_laplace(design, right, mean, widths, effects=3)
    modes, evidence = find_modes(design[1], right[1], mean, widths)
    assert modes == approx(inverted[0][1], rel=1e-10, abs=1e-12)
    assert evidence == approx(inverted[2][1], rel=1e-10)
    monkeypatch.setattr("activetest.surrogates._logistic._INVERTED", 0)
    for one, other in zip(
        inverted, fit_laplace(design, right, mean, widths, effects=3), strict=True
    ):
        assert one == approx(other, rel=1e-10, abs=1e-12)


def test_steps_end_where_nothing_but_rounding_is_left():
    """So that no result shows where they began: the gradient at the mode is that of rounding."""
    design, right, mean, widths = effects_problem(sets=20)
    modes, covariances, _ = fit_laplace(design, right, mean, widths, effects=3)
    probs = sigmoid(modes @ design.swapaxes(1, 2))
    gradient = (probs - right[:, None]) @ design + (modes - mean) / widths**2
    step = (covariances @ gradient[..., None])[..., 0]
    assert np.abs(step).max() < 1e-12
    assert np.abs(modes).max() > 0.5


def test_the_order_of_the_priors_does_not_matter():
    design = np.random.default_rng(8).normal(size=(80, 2))
    problem = design, labels(design, [0.5, 0.0], seed=9), np.zeros(2)
    tried = np.full((3, 2), [[0.1], [1.0], [3.0]])
    one, other = average_posterior(*problem, tried), average_posterior(*problem, tried[::-1])
    assert one[0] == approx(other[0])
    assert one[1] == approx(other[1])


def test_evidence_beyond_what_exponentials_hold_weighs_priors_all_the_same():
    """20,000 labels that rule the narrow prior out by thousands of units of log evidence."""
    design = np.random.default_rng(10).normal(size=(20_000, 1))
    problem = design, labels(design, [-2.0], seed=11), np.ones(1)
    narrow, wide = (alone(*problem, [width]) for width in (0.01, 3.0))
    assert wide[2] - narrow[2] > 1000
    middle, covariance = average_posterior(*problem, np.array([[0.01], [3.0]]))
    assert middle == approx(wide[0])
    assert covariance == approx(wide[1])
