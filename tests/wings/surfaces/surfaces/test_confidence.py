"""The regression on the model's own confidence, with known coefficients."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from activetest.nouns.surface import Arms, Attributes, SurfaceData
from activetest.wings.surfaces.surfaces import _confidence as confidence

ATTRIBUTES = Attributes(("u", "v"), (("0", "1", "2"), ("0", "1")))
EFFECTS = (np.array([0.8, 0.0, -0.8]), np.array([0.5, -0.5]), np.array([0.6, -0.6]))


def make_data(items: int, labels: int, *, slope: float = 0.6, seed: int = 0) -> SurfaceData:
    """Items whose P(right) is that of the regression, with the first labelled; (2, 1) is absent."""
    rng = np.random.default_rng(seed)
    present = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]])
    codes = present[rng.integers(5, size=items)]
    predicted = rng.integers(2, size=items)
    sure = expit(rng.normal(1.5, 1.2, items)).astype(np.float32)
    eta = slope * logit(sure) + EFFECTS[0][codes[:, 0]] + EFFECTS[1][codes[:, 1]]
    right = rng.random(items) < expit(eta + EFFECTS[2][predicted])
    return SurfaceData(
        arms=Arms.of_items(ATTRIBUTES, codes),
        items=np.arange(labels),
        values=right[:labels].astype(float),
        weights=np.ones(labels),
        confidence=sure,
        predicted=predicted.astype(np.int32),
        classes=2,
    )


def regress(data: SurfaceData) -> tuple[confidence.Entries, confidence.Regression]:
    """The regression at the default scales."""
    entries = confidence.list_entries(data)
    prior = confidence.make_prior(np.log([0.5, 0.5]), 2, ATTRIBUTES.sizes)
    return entries, confidence.regress(entries, prior)[0]


def test_coefficients_that_made_labels_are_found_again():
    entries, found = regress(make_data(20_000, 20_000))
    b, _, first, second, *values = found.weights
    assert b == pytest.approx(0.6, abs=0.05)
    assert first - second == pytest.approx(1.2, abs=0.12)
    assert values[0] - values[2] == pytest.approx(1.6, abs=0.15)
    assert values[3] - values[4] == pytest.approx(1.0, abs=0.12)
    # At the mode the slope is that of the prior alone.
    pull = entries.columns.T @ (entries.values - expit(entries.columns @ found.weights))
    assert np.abs(pull).max() < 5


def test_without_labels_the_confidence_is_taken_as_it_is():
    data = make_data(500, 0)
    entries, found = regress(data)
    np.testing.assert_allclose(found.weights, [1, *np.zeros(8)], atol=1e-9)
    draws = confidence.draw_averages(data, entries, found, 400, np.random.default_rng(0))
    assert draws.rest.shape == (400, 5)
    assert draws.rest.std(axis=0).min() > 0.05


def test_what_other_arms_say_is_what_a_fit_without_the_arm_says():
    data = make_data(3000, 300, seed=1)
    entries, found = regress(data)
    arms = np.arange(5)
    mean, variance = confidence.leave_out(entries, found, arms)
    for arm in arms:
        inside = data.arms.of_item[data.items] == arm
        other = regress(data.select(~inside))[1]
        rows = entries.columns[np.flatnonzero(entries.arm == arm)].toarray()
        level = expit(rows @ other.weights).mean()
        assert mean[arm] == pytest.approx(logit(level), abs=0.1)
        prob = expit(rows @ other.weights)
        gradient = (prob * (1 - prob)) @ rows / len(rows) / (level * (1 - level))
        exact = gradient @ np.linalg.inv(other.precision) @ gradient
        assert variance[arm] == pytest.approx(exact, rel=0.2)


def test_small_and_large_arms_are_left_out_by_the_same_formula():
    data = make_data(3000, 60, seed=2)
    entries, found = regress(data)
    arm = entries.arm[0]
    few = np.flatnonzero(entries.arm == arm)[:3]
    keep = np.concatenate([few, np.flatnonzero(entries.arm != arm)])
    part = confidence.Entries(
        entries.columns[keep], entries.values[keep], entries.weights[keep], entries.arm[keep]
    )
    woodbury = confidence.leave_out(part, found, np.array([arm]))
    padded = confidence.Entries(
        entries.columns[np.concatenate([keep, np.repeat(few[:1], 9)])],
        np.concatenate([part.values, np.zeros(9)]),
        np.concatenate([part.weights, np.zeros(9)]),
        np.concatenate([part.arm, np.full(9, arm)]),
    )
    np.testing.assert_allclose(confidence.leave_out(padded, found, np.array([arm])), woodbury)


def test_averages_are_over_the_items_without_a_label():
    data = make_data(200, 60, seed=3)
    entries, found = regress(data)
    # So certain that every draw is the mode.
    sharp = confidence.Regression(found.weights, found.precision * 1e10)
    draws = confidence.draw_averages(data, entries, sharp, 2, np.random.default_rng(0))
    every = np.arange(200)
    prob = expit(confidence.design(data, every, data.arms.of_item) @ found.weights)
    for arm in range(5):
        inside = data.arms.of_item == arm
        assert draws.rest[0, arm] == pytest.approx(prob[inside & (every >= 60)].mean(), abs=1e-4)
        assert draws.labels[0, arm] == pytest.approx(prob[inside & (every < 60)].mean(), abs=1e-4)
    declined = np.zeros(200, bool)
    declined[100:] = True
    draws = confidence.draw_averages(
        replace(data, declined=declined), entries, sharp, 2, np.random.default_rng(0)
    )
    inside = (data.arms.of_item == 0) & (every >= 60) & (every < 100)
    assert draws.rest[0, 0] == pytest.approx(prob[inside].mean(), abs=1e-4)


def test_a_combination_without_items_is_expected_from_the_values_of_others():
    data = make_data(20_000, 5000, seed=4)
    entries, found = regress(data)
    draws = confidence.draw_averages(data, entries, found, 64, np.random.default_rng(0))
    at, extra = confidence.extend(data, draws.rest)
    sure = logit(data.confidence.astype(float))
    eta = 0.6 * sure + EFFECTS[0][2] + EFFECTS[1][1] + EFFECTS[2][data.predicted]
    assert at(np.array([[2, 1]])).mean() == pytest.approx(expit(eta).mean(), abs=0.06)
    np.testing.assert_allclose(at(np.array([[1, 1]]))[:, 0], draws.rest[:, 3])
    assert 0 <= extra < 0.05
