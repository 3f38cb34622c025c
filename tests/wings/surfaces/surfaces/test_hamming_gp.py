"""The Gaussian process in the Hamming distance, against features, grids and finite differences."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import expit, log_expit

from activetest.nouns.surface import Attributes
from activetest.wings.surfaces.surfaces import _hamming_gp as hamming

SIZES = (2, 3, 2, 4)
CODES = Attributes(tuple("abcd"), tuple(tuple(map(str, range(n))) for n in SIZES)).decode(
    np.arange(48)
)
THETA = {"main": [0.3], "pairs": [0.2], "deep": [0.1, 0.2, 0.5]}
KERNELS = (hamming.MAIN, hamming.PAIRS, hamming.DEEP)


def make_counts(arms: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Arms chosen at random and counts of labels, fractions among them."""
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(CODES), arms, replace=False))
    total = rng.integers(1, 9, arms) * rng.choice([0.5, 1.0], arms)
    positive = total * rng.uniform(0.1, 1, arms)
    return CODES[chosen], np.stack([positive, total - positive], axis=1)


def fit(kernel: hamming.Kernel, arms: int = 20) -> tuple[hamming.Fit, np.ndarray]:
    """A fit to random counts, and the counts."""
    codes, counts = make_counts(arms)
    return hamming.fit(kernel, np.array(THETA[kernel.name]), codes, counts, SIZES), counts


def spread(codes: np.ndarray) -> list[np.ndarray]:
    """One-hot columns of each attribute."""
    return [codes[:, [k]] == np.arange(size) for k, size in enumerate(SIZES)]


def test_kernels_are_those_of_columns_for_values_and_for_pairs_scaled_by_35_percent():
    distance = hamming.count_differences(CODES, CODES)
    groups = [group.astype(float) for group in spread(CODES)]
    columns = np.concatenate(groups, axis=1)
    pairs = np.concatenate(
        [
            (left[:, :, None] * right[:, None, :]).reshape(48, -1)
            for left, right in combinations(groups, 2)
        ],
        axis=1,
    )
    scale = np.exp(2 * 0.3) / 4
    main = hamming.MAIN.tabulate(np.array([0.3]), 4)[distance]
    np.testing.assert_allclose(main, 9 + scale * columns @ columns.T)
    both = hamming.PAIRS.tabulate(np.array([0.3]), 4)[distance]
    second = (0.35 * pairs) @ (0.35 * pairs).T
    np.testing.assert_allclose(both, 9 + scale * (columns @ columns.T + second))
    s1, s2, length = np.exp([0.1, 0.2, 0.5])
    deep = hamming.DEEP.tabulate(np.array([0.1, 0.2, 0.5]), 4)
    h = np.arange(5)
    np.testing.assert_allclose(deep, 9 + s1**2 * (1 - h / 4) + s2**2 * np.exp(-h / length))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_mode_is_where_the_posterior_is_flat_and_another_optimiser_ends(kernel):
    found, counts = fit(kernel, 12)
    distance = hamming.count_differences(found.codes, found.codes)
    covariance = kernel.tabulate(found.theta, 4)[distance] + 1e-9 * np.eye(12)
    inverse = np.linalg.inv(covariance)

    def loss(f: np.ndarray) -> float:
        fits = counts[:, 0] @ log_expit(f) + counts[:, 1] @ log_expit(-f)
        return float(f @ inverse @ f / 2 - fits)

    def slope(f: np.ndarray) -> np.ndarray:
        return inverse @ f - counts[:, 0] + counts.sum(axis=1) * expit(f)

    near = 0.1 * np.random.default_rng(0).normal(size=12)
    assert check_grad(loss, slope, near) < 1e-3 * np.linalg.norm(slope(near))
    other = minimize(loss, np.zeros(12), jac=slope, method="BFGS", options={"maxiter": 3000})
    assert loss(found.mode.latent) <= other.fun + 1e-3
    residual = counts[:, 0] - counts.sum(axis=1) * expit(found.mode.latent)
    np.testing.assert_allclose(found.mode.gradient, residual, atol=0.02)


@pytest.mark.parametrize("kernel", [hamming.MAIN, hamming.PAIRS], ids=lambda kernel: kernel.name)
def test_sparse_columns_and_the_whole_matrix_agree(kernel):
    rng = np.random.default_rng(6)
    codes = rng.integers(2, size=(60, 4))
    counts = rng.uniform(0, 3, (60, 2))
    sparse = hamming.make_covariance(kernel, np.array([0.4]), codes, (2, 2, 2, 2), None)
    assert isinstance(sparse, hamming.Sparse)
    table = kernel.tabulate(np.array([0.4]), 4)
    dense = hamming.Dense(table[hamming.count_differences(codes, codes)])
    left, right = hamming.find_mode(sparse, counts), hamming.find_mode(dense, counts)
    np.testing.assert_allclose(left.latent, right.latent, atol=1e-6)
    assert left.evidence == pytest.approx(right.evidence)
    np.testing.assert_allclose(left.factor.find_diagonal(), right.factor.find_diagonal())
    np.testing.assert_allclose(left.solve(counts), right.solve(counts), atol=1e-9)


def test_evidence_and_posterior_are_near_to_those_of_a_grid():
    codes, counts = CODES[[0, 1]], np.array([[5.0, 2.5], [1, 3]])
    found = hamming.fit(hamming.DEEP, np.array([0.0, 0.3, 0.5]), codes, counts, SIZES)
    covariance = found.kernel.tabulate(found.theta, 4)[hamming.count_differences(codes, codes)]
    axis = np.linspace(-9, 9, 601)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = -0.5 * ((grid @ np.linalg.inv(covariance)) * grid).sum(axis=1)
    prior -= np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1]
    joint = prior + log_expit(grid) @ counts[:, 0] + log_expit(-grid) @ counts[:, 1]
    mass = np.exp(joint) * (axis[1] - axis[0]) ** 2
    assert found.mode.evidence == pytest.approx(np.log(mass.sum()), abs=0.15)
    mean = mass @ expit(grid) / mass.sum()
    first, second = hamming.find_moments(*found.predict(codes))
    np.testing.assert_allclose(first, mean, atol=0.02)
    variance = mass @ (expit(grid) - mean) ** 2 / mass.sum()
    np.testing.assert_allclose(second, variance, rtol=0.25)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_what_other_arms_say_is_what_a_fit_without_the_arm_says(kernel):
    found, counts = fit(kernel)
    mean, variance = found.leave_out()
    for place in (0, 7, 19):
        kept = np.arange(20) != place
        other = hamming.fit(kernel, found.theta, found.codes[kept], counts[kept], SIZES)
        exact = other.predict(found.codes[[place]])
        assert mean[place] == pytest.approx(exact[0][0], abs=0.15)
        assert variance[place] == pytest.approx(exact[1][0], rel=0.15)
    # Divided out exactly: times the arm's own term it is the posterior again.
    whole = found.predict(found.codes)[1]
    np.testing.assert_allclose(1 / whole, 1 / variance + found.mode.root**2, rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_draws_have_the_posterior_s_mean_variance_and_covariance(kernel):
    found, _ = fit(kernel)
    mean, away = found.make_posterior(800, np.random.default_rng(3))(CODES)
    exact = found.predict(CODES)
    np.testing.assert_allclose(mean, exact[0], atol=0.03)
    np.testing.assert_allclose(away.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(away.var(axis=0), exact[1], rtol=0.25)
    table = kernel.tabulate(found.theta, 4)
    known = table[hamming.count_differences(CODES, found.codes)]
    covariance = table[hamming.count_differences(CODES, CODES)] - known @ found.mode.solve(known.T)
    np.testing.assert_allclose(away.T @ away / 800, covariance, atol=0.3)


def test_a_search_finds_scales_that_other_starts_do_not_beat():
    rng = np.random.default_rng(4)
    effect = rng.normal(0, 1.5, (4, 4))
    logit = sum(effect[k, CODES[:, k]] for k in range(4))
    positive = rng.binomial(20, expit(logit)).astype(float)
    counts = np.stack([positive, 20 - positive], axis=1)
    found = hamming.search(hamming.MAIN, CODES, counts, SIZES, np.array([0.0]), 12)

    def score(theta: float) -> float:
        mode = hamming.fit(hamming.MAIN, np.array([theta]), CODES, counts, SIZES).mode
        return mode.evidence - theta**2 / 2

    best = max(score(theta) for theta in np.linspace(-2, 3, 21))
    assert score(found[0]) > best - 0.1
    assert found[0] > 0.3


def test_tasks_of_one_kind_of_answer_have_a_mode():
    counts = np.array([[900.0, 0], [1, 0]])
    found = hamming.fit(hamming.PAIRS, np.array([0.0]), CODES[:2], counts, SIZES)
    assert np.isfinite(found.mode.latent).all() and (found.mode.latent > 2).all()
