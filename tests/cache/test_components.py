"""Features become a few standardised principal components."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.cache import components


def components_of(features: list, chunk: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """The components, learned and applied chunk by chunk."""
    chunks = [[c[k : k + chunk] for c in features] for k in range(0, len(features[0]), chunk)]
    first = components.estimate_rough_scale(chunks[0])
    total = components.compute_moments(chunks[0], first)
    for more in chunks[1:]:
        total = total + components.compute_moments(more, first)
    projection = components.fit_projection(total, first)
    parts = [components.project_features(part, projection) for part in chunks]
    return np.concatenate([rows for rows, _ in parts]), sum(missing for _, missing in parts)


def exact(matrix: np.ndarray) -> np.ndarray:
    """The leading principal components of the standardised columns, each with variance one."""
    spread = matrix.std(axis=0)
    standard = (matrix - matrix.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    left, sizes, _ = np.linalg.svd(standard, full_matrices=False)
    return left[:, sizes > 1e-6][:, : components.COMPONENTS] * np.sqrt(len(matrix))


def correlated(rng, rows: int = 3000, width: int = 12) -> np.ndarray:
    scales = np.linspace(3, 0.2, width)
    return (rng.standard_normal((rows, width)) * scales) @ rng.standard_normal((width, width))


def same_up_to_sign(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return np.allclose(np.abs((actual * expected).mean(axis=0)), 1, atol=tolerance)


def test_components_are_those_of_the_singular_value_decomposition():
    matrix = correlated(np.random.default_rng(1))
    found, missing = components_of(list(matrix.T.astype(np.float32)))
    assert found.shape == (3000, components.COMPONENTS) and not missing.any()
    assert same_up_to_sign(found, exact(matrix), 1e-4)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(found.std(axis=0), 1, atol=1e-4)


def test_list_columns_and_single_columns_are_the_same_features():
    matrix = correlated(np.random.default_rng(2)).astype(np.float32)
    apart, _ = components_of(list(matrix.T))
    together, _ = components_of([matrix[:, :5], matrix[:, 5], matrix[:, 6:]])
    np.testing.assert_allclose(together, apart, atol=1e-4)


def test_chunks_do_not_matter():
    matrix = correlated(np.random.default_rng(3))
    actual, _ = components_of([matrix], chunk=3000)
    expected, _ = components_of([matrix], chunk=211)
    np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_large_numbers_with_small_differences_keep_them():
    rng = np.random.default_rng(4)
    seconds = 1_700_000_000 + rng.integers(0, 1000, 3000)
    found, _ = components_of([seconds])
    standard = (seconds - seconds.mean()) / seconds.std()
    np.testing.assert_allclose(np.abs(found[:, 0]), np.abs(standard), atol=1e-3)


def test_huge_numbers_do_not_overflow():
    rng = np.random.default_rng(5)
    found, missing = components_of([rng.integers(0, 2**62, 3000), rng.standard_normal(3000) * 1e30])
    assert np.isfinite(found).all() and found.shape[1] == 2 and not missing.any()


def test_constant_and_repeated_features_add_no_component():
    rng = np.random.default_rng(6)
    x = rng.standard_normal(3000)
    found, _ = components_of([x, np.full(3000, 7.25), 2 * x + 1, np.full(3000, 1e9 + 0.1)])
    assert found.shape == (3000, 1)
    np.testing.assert_allclose(found[:, 0], (x - x.mean()) / x.std(), atol=1e-4)


def test_constant_features_alone_leave_no_component():
    found, missing = components_of([np.full(100, 3.0), np.full(100, np.nan)])
    assert found.shape == (100, 0)
    assert missing.tolist() == [0, 100]


@pytest.mark.parametrize("gap", [np.nan, np.inf, -np.inf])
def test_a_missing_value_stands_at_its_columns_mean(gap):
    rng = np.random.default_rng(7)
    x = rng.standard_normal(3000)
    holes = np.arange(0, 3000, 10)
    x[holes] = gap
    found, missing = components_of([x])
    assert missing.tolist() == [len(holes)]
    np.testing.assert_allclose(found[holes], 0, atol=1e-4)
    there = np.delete(x, holes)
    expected = (there - there.mean()) / there.std()
    kept = np.delete(found[:, 0], holes)
    np.testing.assert_allclose(np.corrcoef(kept, expected)[0, 1], 1, atol=1e-6)


def test_many_features_give_the_leading_components_by_iteration():
    rng = np.random.default_rng(8)
    spectrum = np.concatenate([[40, 30, 22, 16, 12, 9, 7, 5], np.full(1192, 0.5)])
    basis = np.linalg.qr(rng.standard_normal((1200, 1200)))[0]
    matrix = (basis * spectrum) @ basis.T
    values, vectors = components._find_leading(matrix, 8)
    np.testing.assert_allclose(values, spectrum[:8], rtol=1e-8)
    np.testing.assert_allclose(np.abs((vectors * basis[:, :8]).sum(axis=0)), 1, rtol=1e-6)


def test_the_covariance_of_many_features_looks_at_some_rows_only():
    assert components.choose_row_step(1_000_000, 64) == 1
    assert components.choose_row_step(10_000, 4096) == 1
    assert components.choose_row_step(10_000_000, 4096) > 50


def weights_of_moved(matrix: np.ndarray, seed: int) -> np.ndarray:
    """Weights of components whose sums of products another processor rounds in another way."""
    rough = components.estimate_rough_scale([matrix])
    moments = components.compute_moments([matrix], rough)
    noise = np.random.default_rng(seed).uniform(-1e-14, 1e-14, moments.gram.shape)
    moved = replace(moments, gram=moments.gram * (1 + (noise + noise.T) * bool(seed)))
    return components.fit_projection(moved, rough).weights


def test_two_features_have_the_same_signs_whatever_rounding_does():
    # Both loadings of either component are as large as the other.
    matrix = np.random.default_rng(4).standard_normal((300, 2)) @ [[1.0, 0.4], [0.0, 1.0]]
    for seed in range(20):
        moved = weights_of_moved(matrix, seed)
        np.testing.assert_allclose(moved, weights_of_moved(matrix, 0), rtol=1e-6)


def test_components_of_the_same_variance_are_not_turned_by_rounding():
    # Six columns of a design in which no two have anything to do with each other.
    levels = np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).reshape(6, -1).T
    found, _ = components_of([levels])
    np.testing.assert_allclose(found, levels, atol=1e-6)
    for seed in range(20):
        moved = weights_of_moved(levels, seed)
        np.testing.assert_allclose(moved, weights_of_moved(levels, 0), atol=1e-6)
