"""The default surface: what it is made of, and that only the data decide what it says."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.ensemble import GradientBoostingClassifier

from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData
from activetest.wings.surfaces.surface_values import estimate_absent, estimate_arms
from activetest.wings.surfaces.surfaces import stacked

K = 5
ATTRIBUTES = Attributes(tuple("abcde"), (("0", "1"),) * K)


def make_data(
    labels: int, *, items: int = 2000, seed: int = 0, informed: bool = False
) -> tuple[SurfaceData, np.ndarray]:
    """A surface of main effects over 32 arms, all but one of which occur, and its truth."""
    rng = np.random.default_rng(seed)
    codes = ATTRIBUTES.decode(rng.integers(31, size=items))
    own = rng.normal(0, 2, items) if informed else np.zeros(items)
    effect = np.array([1.2, -0.8, 0.6, 0.0, 0.3])
    chance = expit(0.4 + (2 * codes - 1) @ effect + own)
    arms = Arms.of_items(ATTRIBUTES, codes)
    data = SurfaceData(
        arms=arms,
        items=np.arange(labels),
        values=(rng.random(items) < chance)[:labels].astype(float),
        weights=np.ones(labels),
        confidence=expit(own).astype(np.float32) if informed else None,
        predicted=np.zeros(items, np.int32),
        classes=2,
    )
    return data, np.bincount(arms.of_item, chance) / arms.support


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Trees take most of the time of so few labels: a handful of them is grown."""
    grow = GradientBoostingClassifier.__init__

    def shrink(self, *, n_estimators, **others):
        grow(self, n_estimators=min(n_estimators, 5), **others)

    monkeypatch.setattr(GradientBoostingClassifier, "__init__", shrink)


def fit(data: SurfaceData, earlier: Surface | None = None) -> Surface:
    """The surface with one seed."""
    state = None if earlier is None else earlier.state
    return stacked.fit(data, rng=np.random.default_rng(7), earlier=state)


def test_it_says_what_it_is_made_of_and_learns_main_effects():
    data, truth = make_data(300)
    surface = fit(data)
    assert sum(surface.parts.values()) == pytest.approx(1)
    assert all(share > 0 for share in surface.parts.values())
    learned = sum(surface.parts.get(name, 0) for name in stacked.PROCESSES)
    assert learned > 0.9
    error = ((surface.mean - truth) ** 2).mean()
    assert error < 0.3 * ((data.mean - truth) ** 2).mean()
    np.testing.assert_allclose(surface.mean, surface.phi.mean(axis=0), atol=1e-6)


def test_the_model_s_own_confidence_takes_over_where_it_knows():
    surface = fit(make_data(300, informed=True)[0])
    assert surface.parts["confidence"] > 0.9


@pytest.mark.parametrize("informed", [False, True])
@pytest.mark.parametrize("labels", [0, 1, 2, 25])
def test_few_labels_give_a_wide_surface(labels, informed):
    data, _ = make_data(labels, informed=informed)
    surface = fit(data)
    assert np.isfinite(surface.mean).all() and (surface.variance > 0.005).all()
    values = estimate_arms(surface, data, 0.95)
    assert (values.upper - values.lower).mean() > 0.3
    absent = estimate_absent(surface, np.ones((1, K), int), 0.95)
    assert absent.lower[0] < absent.mean[0] < absent.upper[0]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_labels_of_one_kind_leave_room_for_the_other(value):
    data, _ = make_data(150)
    surface = fit(replace(data, values=np.full(150, value)))
    assert np.abs(surface.mean - value).max() < 0.15
    assert ((surface.mean > 0) & (surface.mean < 1)).all() and (surface.variance > 0).all()


def test_the_order_of_items_and_of_labels_changes_nothing():
    data, _ = make_data(200, informed=True)
    surface = fit(data)
    rng = np.random.default_rng(1)
    again, order = rng.permutation(2000), rng.permutation(200)
    place = np.argsort(again)
    codes = data.arms.codes[data.arms.of_item]
    moved = SurfaceData(
        arms=Arms.of_items(ATTRIBUTES, codes[again]),
        items=place[data.items][order],
        values=data.values[order],
        weights=data.weights[order],
        confidence=data.confidence[again],
        predicted=data.predicted[again],
        classes=2,
    )
    np.testing.assert_allclose(fit(moved).mean, surface.mean, atol=1e-4)
    np.testing.assert_allclose(fit(moved).variance, surface.variance, atol=1e-4)
    assert (fit(data).phi == surface.phi).all()


def test_a_fraction_counts_as_repeated_labels():
    data, _ = make_data(200)
    arm = data.arms.of_item
    # Two labels of one arm, one right and one wrong, are one label of 0.5 that counts twice.
    first = np.flatnonzero(data.values == 1)[0]
    second = np.flatnonzero((data.values == 0) & (arm[:200] == arm[first]))[0]
    values, weights = data.values.copy(), data.weights.copy()
    values[first], weights[first] = 0.5, 2
    kept = np.arange(200) != second
    other = replace(data, items=data.items[kept], values=values[kept], weights=weights[kept])
    np.testing.assert_allclose(fit(other).mean, fit(data).mean, atol=1e-5)


def test_labels_that_belong_to_several_arms_count_in_each_by_their_share():
    data, _ = make_data(300, informed=True)
    sharp = fit(data)
    blur = np.eye(31) * 0.9 + 0.1 / 31
    soft = Arms(ATTRIBUTES, data.arms.codes, csr_matrix(data.arms.membership @ blur))
    surface = fit(replace(data, arms=soft))
    assert np.isfinite(surface.variance).all()
    assert np.corrcoef(surface.mean, sharp.mean)[0, 1] > 0.97
    assert surface.mean.std() < 1.05 * sharp.mean.std()


def test_arms_that_have_nothing_in_common_are_what_their_own_labels_say():
    data, _ = make_data(1200)
    rng = np.random.default_rng(2)
    rate = rng.uniform(0, 1, 31)
    right = rng.random(1200) < rate[data.arms.of_item[:1200]]
    data = replace(data, values=right.astype(float))
    surface = fit(data)
    total = data.counts.sum(axis=1)
    # Each draw has one strength, which a Beta about uniform rates makes small.
    strengths = surface.psi - total
    np.testing.assert_allclose(strengths, strengths[:, [0]] * np.ones(31), atol=0.01)
    assert np.median(strengths) < 15
    own = data.counts[:, 0] / total
    assert np.abs(surface.mean - own).max() < 0.12


def test_a_fit_that_continues_keeps_hyperparameters_that_labels_have_chosen():
    data, _ = make_data(320)
    cold = fit(data.select(np.arange(300)))
    warm, anew = fit(data, cold), fit(data)
    for name in stacked.PROCESSES:
        np.testing.assert_array_equal(warm.state[f"{name}.theta"], cold.state[f"{name}.theta"])
    assert any(
        (anew.state[f"{name}.theta"] != cold.state[f"{name}.theta"]).any()
        for name in stacked.PROCESSES
    )
    assert warm.state["searched"] == 300
    np.testing.assert_allclose(warm.mean, anew.mean, atol=0.05)
    assert np.abs(warm.mean - cold.mean).max() > 0.001
    # Of too few labels hyperparameters are those of the prior, and are looked for later.
    few = fit(data.select(np.arange(stacked.FEWEST - 1)))
    assert fit(data, few).state["searched"] == 320


def test_arms_beyond_those_that_enter_exactly_still_count_for_themselves(monkeypatch):
    data, truth = make_data(600)
    monkeypatch.setattr(stacked.hamming, "EXACT", 12)
    surface = fit(data)
    left_out = np.argsort(-data.counts.sum(axis=1), kind="stable")[12:]
    error = (surface.mean - truth)[left_out]
    assert (error**2).mean() < 0.5 * ((data.mean - truth)[left_out] ** 2).mean()


def test_traces_of_labels_do_not_enter_a_process(monkeypatch):
    data, _ = make_data(60)
    arms = data.arms
    blur = 0.999 * np.eye(31)
    blur[:, :3] += 0.001 / 3
    first = data.items[arms.of_item[data.items] >= 3]
    data = replace(data, arms=Arms(ATTRIBUTES, arms.codes, csr_matrix(arms.membership @ blur)))
    data = data.select(np.isin(data.items, first))
    monkeypatch.setattr(stacked, "AT_LEAST", 5)
    surface = fit(data)
    assert not set(surface.state["pairs.numbers"].tolist()) & {0, 1, 2}
    assert np.isfinite(surface.variance).all()


def test_it_needs_no_torch():
    module = "activetest.wings.surfaces.surfaces.stacked"
    code = f"import sys; import {module}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_intervals_hold_for_arms_without_labels_and_with_some():
    held, total = np.zeros(2), np.zeros(2)
    for seed in range(3):
        data, _ = make_data(200, seed=seed, items=3000)
        values = estimate_arms(fit(data), data, 0.95)
        every, _ = make_data(3000, seed=seed, items=3000)
        truth = every.counts[:, 0] / every.counts.sum(axis=1)
        inside = (values.lower <= truth) & (truth <= values.upper)
        few = values.known < 6
        for place, chosen in enumerate((few, ~few)):
            held[place] += inside[chosen].sum()
            total[place] += chosen.sum()
    assert (total > 15).all()
    assert (held / total > 0.88).all()
