"""Votes are probabilities; a temperature never worsens the rows that it was chosen on."""

import numpy as np
import pytest
from pytest import approx

from activetest.wings.neural import network_members as votes


def logits(count: int = 300, *, sharpness: float, seed: int = 1):
    """(4, 3, B) logits that are `sharpness` times right about the labels that come with them."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(3, count))
    probs = np.exp(true) / np.exp(true).sum(axis=0)
    labels = (rng.random(count) > probs.cumsum(axis=0)).sum(axis=0)
    noise = 0.1 * rng.normal(size=(4, 3, count))
    return (sharpness * true + noise).astype(np.float32), labels


def loss(outputs, labels, classes, one) -> float:
    return float(votes.mixture_log_losses(outputs, labels, classes, one).mean())


def test_shares_are_the_softmax_however_large_the_logits():
    made = votes.scaled_softmax(np.array([[[1e4, 0.0], [0.0, np.log(3)]]], np.float32), 1.0)
    assert made[0] == approx(np.array([[1, 0.25], [0, 0.75]]))


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 5, 300])
def test_the_temperature_never_worsens_the_log_loss_it_was_chosen_on(sharpness, count):
    outputs, labels = logits(count, sharpness=sharpness)
    chosen = votes.fit_temperature(outputs, labels, np.ones(count), 3)
    assert loss(outputs, labels, 3, chosen) <= loss(outputs, labels, 3, 1.0)


def test_sharp_logits_are_cooled_and_blunt_ones_sharpened():
    """3000 rows: within a step and a half of the grid of what the logits were multiplied with."""
    for sharpness in (0.5, 1.0, 2.0):
        outputs, labels = logits(3000, sharpness=sharpness)
        chosen = votes.fit_temperature(outputs, labels, np.ones(3000), 3)
        assert np.log(chosen) == approx(np.log(sharpness), abs=0.15)


def test_rows_without_weight_have_no_say_in_the_temperature():
    outputs, labels = logits(300, sharpness=3.0)
    weights = np.zeros(300)
    assert votes.fit_temperature(outputs, labels, weights, 3) == 1.0
    weights[:100] = 1
    changed = np.where(weights > 0, labels, (labels + 1) % 3)
    assert votes.fit_temperature(outputs, changed, weights, 3) == votes.fit_temperature(
        outputs[:, :, :100], labels[:100], np.ones(100), 3
    )


def test_variances_too_small_are_scaled_up():
    """Errors of deviation 2 where the networks say 1: variances times 4, less a prior's pull."""
    rng = np.random.default_rng(4)
    outputs = np.zeros((3, 2, 2000), np.float32)
    chosen = votes.fit_temperature(outputs, 2 * rng.normal(size=2000), np.ones(2000), 0)
    assert chosen == approx(4, rel=0.12)


def test_the_log_loss_of_values_is_that_of_the_mixture():
    outputs = np.array([[[0.0], [0.0]], [[2.0], [np.log(4)]]], np.float32)
    density = 0.5 * (np.exp(-0.5) / np.sqrt(2 * np.pi) + np.exp(-1 / 8) / np.sqrt(2 * np.pi * 4))
    assert votes.mixture_log_losses(outputs, np.array([1.0]), 0, 1.0)[0] == approx(-np.log(density))


def test_no_variance_explodes_or_vanishes():
    outputs = np.array([[[0.0, 0.0], [1e6, -1e6]]], np.float32)
    _, variances = votes.scaled_gaussians(outputs, 1.0)
    assert variances[0] == approx(np.exp([3, -8]))
