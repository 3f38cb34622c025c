"""Every method of the family, on small surfaces worked by hand."""

import numpy as np
import pytest

from activetest import catalog
from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData
from activetest.wings.surfaces.surface_values import estimate_arms, estimate_cells

ATTRIBUTES = Attributes(("sex", "race"), (("F", "M"), ("a", "b", "c")))


def make_data(labels: int, *, seed: int = 0, items: int = 300) -> SurfaceData:
    """A pool whose arms (F, c) and (M, a) never occur, with labels drawn at random."""
    rng = np.random.default_rng(seed)
    present = np.array([[0, 0], [0, 1], [1, 1], [1, 2]])
    codes = present[rng.integers(4, size=items)]
    confidence = rng.uniform(0.5, 1, items).astype(np.float32)
    chosen = rng.choice(items, labels, replace=False)
    values = (rng.random(labels) < confidence[chosen]).astype(float)
    return SurfaceData(
        arms=Arms.of_items(ATTRIBUTES, codes),
        items=chosen,
        values=values,
        weights=np.ones(labels),
        confidence=confidence,
        predicted=rng.integers(2, size=items).astype(np.int32),
        classes=2,
    )


def fit(name: str, data: SurfaceData) -> Surface:
    """The surface of a method, after a few steps where those are an option."""
    module = catalog.load("surfaces", name)
    options = {}
    if "steps" in getattr(module, "OPTIONS", {}):
        pytest.importorskip("torch")
        options = {"steps": 8}
    return module.fit(data, rng=np.random.default_rng(1), **options)


def test_arms_are_the_combinations_that_occur_and_are_found_by_their_codes():
    arms = Arms.of_items(ATTRIBUTES, np.array([[1, 2], [0, 0], [1, 2], [0, 1]]))
    assert arms.codes.tolist() == [[0, 0], [0, 1], [1, 2]]
    assert arms.support.tolist() == [1, 1, 2]
    assert arms.of_item.tolist() == [2, 0, 2, 1]
    assert arms.find(np.array([[1, 2], [1, 0], [0, 1]])).tolist() == [2, -1, 1]
    assert ATTRIBUTES.name(arms.codes[2]) == {"sex": "M", "race": "c"}


def test_beta_counts_each_arm_and_a_tenth_of_the_mean_of_all():
    data = make_data(40)
    surface, counts = fit("beta", data), data.counts
    expected = (0.1 * data.values.mean() + counts[:, 0]) / (0.1 + counts.sum(axis=1))
    np.testing.assert_allclose(surface.mean, expected)
    phi = expected
    np.testing.assert_allclose(surface.variance, phi * (1 - phi) / (counts.sum(axis=1) + 1.1))


@pytest.mark.parametrize("name", catalog.own_names("surfaces"))
def test_a_surface_is_finite_in_range_and_says_something_of_arms_that_never_occur(name):
    data = make_data(60)
    surface = fit(name, data)
    assert surface.mean.shape == (4,)
    assert surface.phi.shape[1] == 4 and surface.psi.shape[1] == 4
    assert ((surface.mean >= 0) & (surface.mean <= 1)).all()
    assert (surface.variance > 0).all() and np.isfinite(surface.variance).all()
    phi, psi = surface.predict(np.array([[0, 2], [1, 0]]))
    assert phi.shape[1] == psi.shape[1] == 2
    assert ((phi >= 0) & (phi <= 1)).all() and (psi > 0).all()


@pytest.mark.parametrize("name", catalog.own_names("surfaces"))
def test_a_pool_that_is_labelled_wholly_has_exact_values_without_width(name):
    data = make_data(300)
    values = estimate_arms(fit(name, data), data, 0.95)
    truth = data.counts[:, 0] / data.counts.sum(axis=1)
    np.testing.assert_allclose(values.mean, truth)
    np.testing.assert_allclose(values.lower, truth)
    np.testing.assert_allclose(values.upper, truth)


def test_cells_of_all_arms_add_their_items_and_what_is_known():
    data = make_data(50)
    surface = fit("beta", data)
    arms = estimate_arms(surface, data, 0.95)
    cell = estimate_cells(surface, data, np.zeros(4, int), 1, 0.95)
    assert cell.support == [300]
    assert cell.known == [50]
    np.testing.assert_allclose(cell.mean, [arms.mean @ arms.support / 300])
    assert arms.lower.min() < cell.lower[0] < cell.mean[0] < cell.upper[0] < arms.upper.max()
