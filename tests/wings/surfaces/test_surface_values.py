"""Values of arms and cells: exact where all is known, and Beta-binomial where it is not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import betabinom
from threadpoolctl import threadpool_info, threadpool_limits

from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData
from activetest.wings.surfaces.surface_values import (
    SurfaceValues,
    estimate_absent,
    estimate_arms,
    estimate_cells,
)

ATTRIBUTES = Attributes(("sex", "race"), (("F", "M"), ("a", "b", "c")))
# Four arms of 40, 30, 20 and 10 items.
CODES = np.repeat([[0, 0], [0, 1], [1, 1], [1, 2]], [40, 30, 20, 10], axis=0)


def make_data(items: list[int], values: list[float], **fields: object) -> SurfaceData:
    """Labels of these items of the pool."""
    arms = fields.pop("arms", Arms.of_items(ATTRIBUTES, CODES))
    return SurfaceData(
        arms=arms,
        items=np.array(items, int),
        values=np.array(values, float),
        weights=np.ones(len(items)),
        confidence=None,
        predicted=np.zeros(100, np.int32),
        classes=2,
        **fields,
    )


def make_surface(phi: Array, psi: Array) -> Surface:
    """A surface of these draws; combinations that never occur are like the first arm."""

    def predict(codes: Array) -> tuple[Array, Array]:
        return np.repeat(phi[:, :1], len(codes), 1), np.repeat(psi[:, :1], len(codes), 1)

    return Surface("test", phi.mean(axis=0), phi, psi, predict)


def test_known_labels_and_the_expected_rest_are_added():
    data = make_data([0, 1, 40, 90], [1, 0, 1, 0.5])
    values = estimate_arms(
        make_surface(np.array([[0.5, 0.8, 0.9, 0.6]]), np.full((1, 4), 9.0)), data, 0.95
    )
    expected = [(1 + 38 * 0.5) / 40, (1 + 29 * 0.8) / 30, 0.9, (0.5 + 9 * 0.6) / 10]
    np.testing.assert_allclose(values.mean, expected)
    assert values.known.tolist() == [2, 1, 0, 1]
    assert values.support.tolist() == [40, 30, 20, 10]


@pytest.mark.parametrize("labels", [0, 25, 35, 39])
@pytest.mark.parametrize(("phi", "psi"), [(0.7, 12.0), (0.95, 3.0), (0.1, 40.0)])
def test_the_interval_of_an_arm_is_nearly_the_beta_binomial_one(labels, phi, psi):
    """Of 40 items with one value of phi and psi: scipy knows the quantiles of their sum."""
    values = [1.0] * 15 + [0.0] * 24
    data = make_data(list(range(labels)), values[:labels])
    surface = make_surface(np.full((1, 4), phi), np.full((1, 4), psi))
    found = estimate_arms(surface, data, 0.9)
    rest = betabinom(40 - labels, phi * psi, (1 - phi) * psi)
    known = sum(values[:labels])
    assert found.mean[0] == pytest.approx((known + rest.mean()) / 40)
    assert found.variance[0] == pytest.approx(rest.var() / 40**2)
    limits = (known + rest.ppf([0.05, 0.95])) / 40
    np.testing.assert_allclose([found.lower[0], found.upper[0]], limits, atol=0.026)
    sums = np.arange(41 - labels)
    inside = (sums >= 40 * found.lower[0] - known - 1e-9) & (
        sums <= 40 * found.upper[0] - known + 1e-9
    )
    assert rest.pmf(sums)[inside].sum() > 0.87


def test_what_is_expected_lies_between_the_limits_also_where_it_is_less_than_an_item():
    surface = make_surface(np.array([[0.004, 0.996, 0.5, 0.5]]), np.full((1, 4), 50.0))
    found = estimate_arms(surface, make_data([], []), 0.9)
    assert found.lower[0] == 0 and found.upper[0] == pytest.approx(1 / 40)
    assert found.lower[1] == pytest.approx(29 / 30) and found.upper[1] == pytest.approx(1)
    assert (found.lower <= found.mean).all() and (found.mean <= found.upper).all()


def test_values_between_zero_and_one_need_no_whole_numbers():
    surface = make_surface(np.full((1, 4), 0.7), np.full((1, 4), 12.0))
    whole, broken = (estimate_arms(surface, make_data([90], [value]), 0.9) for value in (1.0, 0.5))
    assert 40 * whole.lower[0] == pytest.approx(round(40 * whole.lower[0]))
    assert 40 * broken.lower[0] != pytest.approx(round(40 * broken.lower[0]), abs=1e-3)


def test_the_variance_of_a_cell_is_that_of_simulated_sums():
    """Arms share their draws of phi, and differ in their values of rho and in their items."""
    rng = np.random.default_rng(0)
    common = rng.normal(0, 0.6, (4_000, 1))
    phi = 1 / (1 + np.exp(-(common + np.array([0.0, 1.0, 2.0, -1.0]))))
    psi = np.array([[5.0, 20.0, 8.0, 50.0]])
    data = make_data([0, 40, 41], [1, 1, 0])
    cells = np.array([0, 0, -1, 1])
    found = estimate_cells(make_surface(phi, psi), data, cells, 2, 0.95)
    draws = np.repeat(phi, 25, axis=0)
    rho = rng.beta(draws * psi, (1 - draws) * psi)
    sums = rng.binomial([39, 28, 20, 10], rho)
    means = np.stack([(2 + sums[:, :2].sum(axis=1)) / 70, sums[:, 3] / 10], axis=1)
    np.testing.assert_allclose(found.mean, means.mean(axis=0), rtol=5e-3)
    np.testing.assert_allclose(found.variance, means.var(axis=0), rtol=0.02)
    covered = ((means >= found.lower) & (means <= found.upper)).mean(axis=0)
    assert ((covered > 0.93) & (covered < 0.99)).all()
    # Without what arms share, the cell would look far more certain.
    alone = make_surface(phi.mean(axis=0)[None], psi)
    assert estimate_cells(alone, data, cells, 2, 0.95).variance[0] < 0.6 * found.variance[0]


def test_what_is_labelled_wholly_is_exact_also_beside_declined_items_and_uncertain_attributes():
    rng = np.random.default_rng(1)
    parts = rng.dirichlet(np.ones(4), 100).astype(np.float32)
    arms = Arms(ATTRIBUTES, np.array([[0, 0], [0, 1], [1, 1], [1, 2]]), csr_matrix(parts))
    declined = np.arange(100) >= 80
    outcomes = rng.random(80)
    data = make_data(list(range(80)), list(outcomes), arms=arms, declined=declined)
    surface = make_surface(rng.beta(2, 2, (50, 4)), np.full((1, 4), 3.0))
    found = estimate_arms(surface, data, 0.95)
    truth = outcomes @ parts[:80] / parts[:80].sum(axis=0, dtype=float)
    for values in (found.mean, found.lower, found.upper):
        np.testing.assert_allclose(values, truth, rtol=1e-5)
    np.testing.assert_allclose(found.known, parts[:80].sum(axis=0, dtype=float))
    np.testing.assert_allclose(found.support, found.known)


def test_what_nobody_can_label_has_no_value():
    data = make_data([], [], declined=np.arange(100) < 40)
    surface = make_surface(np.full((1, 4), 0.5), np.full((1, 4), 9.0))
    arms = estimate_arms(surface, data, 0.95)
    assert np.isnan([arms.mean[0], arms.lower[0], arms.upper[0]]).all()
    assert np.isfinite(arms.mean[1:]).all()
    assert estimate_cells(surface, data, np.array([0, 0, 1, 1]), 2, 0.95).support.tolist() == [
        30,
        30,
    ]


def test_combinations_that_never_occur_are_predicted_block_by_block(monkeypatch):
    rng = np.random.default_rng(2)
    phi, psi = rng.beta(6, 2, (300, 4)), rng.gamma(3, 5, (300, 4))
    surface, codes = make_surface(phi, psi), np.array([[0, 2], [1, 0], [0, 2]])

    def read() -> SurfaceValues:
        return estimate_absent(surface, codes, 0.9)

    found = read()
    rho = rng.beta(
        np.repeat(phi[:, 0] * psi[:, 0], 500), np.repeat((1 - phi[:, 0]) * psi[:, 0], 500)
    )
    np.testing.assert_allclose(found.mean, rho.mean(), rtol=5e-3)
    np.testing.assert_allclose(found.variance, rho.var(), rtol=0.02)
    np.testing.assert_allclose(found.lower, np.quantile(rho, 0.05), atol=0.03)
    np.testing.assert_allclose(found.upper, np.quantile(rho, 0.95), atol=0.03)
    assert (found.support == 0).all() and (found.known == 0).all()
    monkeypatch.setattr("activetest.wings.surfaces.surface_values._BLOCK", 2)
    np.testing.assert_array_equal(read().mean, found.mean)


def test_predictions_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    seen = []

    def predict(codes: Array) -> tuple[Array, Array]:
        seen.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return np.full((1, len(codes)), 0.5), np.full((1, len(codes)), 9.0)

    surface = replace(make_surface(np.full((1, 4), 0.5), np.full((1, 4), 9.0)), predict=predict)
    with threadpool_limits(2, user_api="blas"):
        estimate_absent(surface, np.array([[0, 2]]), 0.95)
    assert set(seen) == {1}
