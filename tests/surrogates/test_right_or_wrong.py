"""One logistic regression weighs all evidence by what it has proven; neighbours tell the rest."""

import numpy as np
import pytest
from pytest import approx

from activetest.surrogates import _right_or_wrong as model
from activetest.surrogates._evidence import OTHERS, TRAINING
from activetest.surrogates._logistic import average_gaussians, fit_laplace, sigmoid
from activetest.surrogates._right_or_wrong import (
    CONFIDENCE,
    Layout,
    fit_right_or_wrong,
    list_priors,
)

NO_INTERCEPT = np.zeros(1)


def average_posterior(*problem, **settings) -> tuple:
    """Mean and covariance of the posterior over equally likely priors."""
    return average_gaussians(*fit_laplace(*problem, **settings))


def drawn(count: int, evidence: tuple, slopes: dict, *, components: int = 0, seed: int = 1):
    """A layout, (M, D) standard normal columns times 1.5, and which predictions are right."""
    rng = np.random.default_rng(seed)
    layout = Layout(0, True, components, evidence)
    design = 1.5 * rng.normal(size=(count, layout.size))
    design[:, 0] = 1
    logits = sum(slope * design[:, layout.find(name)] for name, slope in slopes.items())
    return layout, design, (rng.random(count) < sigmoid(logits)).astype(float)


def fit(layout, design, right, inputs=None):
    return fit_right_or_wrong(design, right, layout, np.zeros(layout.effects + 1), inputs)


# --- priors


def test_a_design_lists_effects_intercept_confidence_components_and_evidence():
    layout = Layout(3, True, 8, (TRAINING, OTHERS))
    assert layout.size == 3 + 1 + 1 + 8 + 2
    assert [layout.find(name) for name in (CONFIDENCE, TRAINING, OTHERS)] == [4, 13, 14]


def test_what_was_learned_from_labels_is_believed_like_the_model_or_alone():
    layout = Layout(0, True, 0, (TRAINING, OTHERS))
    means, deviations, log_mass = list_priors(layout, NO_INTERCEPT)
    # Columns: intercept, confidence, training rows, other models.
    heads = {(0, 1, 0, 0): 0.4, (0, 0, 1, 0): 0.1, (0, 0, 0, 1): 0.1}
    third = 1 / 3
    heads[0, third, third, third] = 0.4
    found: dict = {}
    for mean, mass in zip(means, np.exp(log_mass), strict=True):
        found[tuple(mean)] = found.get(tuple(mean), 0) + mass / 4
    assert found == {head: approx(mass) for head, mass in heads.items()}
    assert set(deviations[:, 2]) == {0.1, 0.3, 1.0, 3.0}
    assert (deviations[:, 3] == deviations[:, 2]).all()


def test_without_evidence_and_kernel_it_is_the_average_over_widths():
    layout, design, right = drawn(80, (), {CONFIDENCE: 1.0}, components=2)
    means, deviations, _ = list_priors(layout, NO_INTERCEPT)
    assert len(means) == 16
    mode, covariance = average_posterior(design, right, means[0], deviations)
    found = fit(layout, design, right)
    assert (found.mode == mode).all()
    assert (found.covariance == covariance).all()
    assert found.kernel is None


def test_without_any_word_on_an_item_the_intercepts_are_the_prior():
    means, _, _ = list_priors(Layout(2, False, 1, ()), np.array([-0.5, 0.0, 1.1]))
    assert (means == [-0.5, 0.0, 1.1, 0.0]).all()


# --- evidence


@pytest.mark.parametrize("name", [TRAINING, OTHERS])
def test_a_column_is_believed_as_far_as_it_has_proven_itself(name):
    for slope, least, most in ((0.0, -0.15, 0.2), (1.0, 0.7, 1.3)):
        layout, design, right = drawn(1500, (name,), {name: slope, CONFIDENCE: 1 - slope})
        found = fit(layout, design, right)
        assert least < found.mode[layout.find(name)] < most
        assert least < 1 - found.mode[layout.find(CONFIDENCE)] < most


def test_twenty_labels_already_tell_a_good_column_from_noise():
    useful, useless = [], []
    for seed in range(10):
        layout, design, right = drawn(20, (OTHERS,), {OTHERS: 2.0}, seed=seed)
        useful.append(fit(layout, design, right).mode[layout.find(OTHERS)])
        useless.append(fit(layout, design, right).mode[layout.find(CONFIDENCE)])
    assert np.mean(useful) > 2 * np.mean(useless)


# --- the kernel


def rings(count: int, seed: int = 3):
    """Two inputs, and a model that is right but inside a ring; the confidence knows nothing."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, 2)).astype(np.float32)
    layout = Layout(0, True, 2, ())
    design = np.column_stack([np.ones(count), rng.normal(size=count), inputs])
    radius = np.sqrt((inputs**2).sum(axis=1))
    return layout, design, inputs, (np.abs(radius - 1) > 0.4).astype(float)


def function_space(design, right, mean, covariance, tests):
    """Rasmussen and Williams 2006, algorithms 3.1 and 3.2, for a prior N(mean, covariance).

    (T,) latent means at tests, and the log evidence; mean and covariance are those of M + T values.
    """
    size = len(design)
    matrix, latent = covariance[:size, :size], mean[:size].copy()
    for _ in range(200):
        probs = sigmoid(latent)
        root = np.sqrt(probs * (1 - probs))
        inner = np.eye(size) + root[:, None] * matrix * root
        target = root**2 * (latent - mean[:size]) + right - probs
        weights = target - root * np.linalg.solve(inner, root * (matrix @ target))
        latent = latent + 0.5 * (mean[:size] + matrix @ weights - latent)
    weights = right - sigmoid(latent)
    fit = -np.logaddexp(0, latent).sum() + latent @ right - 0.5 * weights @ (latent - mean[:size])
    return (
        mean[size:] + covariance[size:, :size] @ weights,
        fit - 0.5 * np.linalg.slogdet(inner)[1],
        covariance[size:, size:]
        - covariance[size:, :size]
        * root
        @ np.linalg.solve(inner, (covariance[size:, :size] * root).T),
    )


def test_the_kernel_is_a_gaussian_process_beside_the_columns():
    """Its predictions, evidence and draws are those of the textbook's algorithms."""
    layout, design, inputs, right = rings(90)
    known, tests = slice(0, 60), slice(60, 90)
    kernel = fit(layout, design[known], right[known], inputs[known]).kernel
    assert kernel is not None
    means, deviations, _ = list_priors(layout, NO_INTERCEPT)
    place = int(np.flatnonzero((deviations == kernel.deviations).all(axis=1))[0])
    squares = ((inputs[:, None] - inputs) ** 2).sum(axis=2, dtype=float)
    distance = np.sqrt(np.median(squares[known, known][np.triu_indices(60, 1)]))
    columns = (design * deviations[place] ** 2) @ design.T
    expected = {}
    for share in (0.5, 1.0):
        length = share * distance / np.sqrt(2)
        covariance = columns + 16 * np.exp(-squares / (2 * length**2))
        covariance += 16e-6 * np.eye(90)
        expected[length] = function_space(
            design[known], right[known], design @ means[place], covariance, tests
        )
    length = max(expected, key=lambda each: expected[each][1])
    assert kernel.length == approx(length, rel=1e-6)
    found = design[tests] @ kernel.mode + kernel.heights(inputs[tests], kernel.weights)
    assert found == approx(expected[length][0], abs=0.01)
    draws, weights = kernel.draw(4000, np.random.default_rng(0))
    latent = draws @ design[tests].T + kernel.heights(inputs[tests], weights.T).T
    assert latent.mean(axis=0) == approx(found, abs=0.25)
    deviation = np.sqrt(np.diag(expected[length][2]))
    # Draws know nothing of the variance that landmarks leave: they are at most as wide.
    assert (latent.std(axis=0) < 1.1 * deviation).all()
    near = squares[tests, known].min(axis=1) < 0.01
    assert near.any()
    assert latent.std(axis=0)[near] == approx(deviation[near], rel=0.15)


def test_the_kernels_share_is_that_of_its_bayes_factor():
    shares = []
    for count in (9, 10, 40, 160):
        layout, design, inputs, right = rings(count)
        kernel = fit(layout, design, right, inputs).kernel
        shares.append(0 if kernel is None else kernel.share)
    assert shares[0] == 0
    assert 0 < shares[1] < 0.9
    assert shares[2] < shares[3]
    assert shares[3] > 0.999


def test_where_the_columns_say_all_the_kernel_has_a_small_share_and_then_none(monkeypatch):
    layout, design, right = drawn(200, (), {CONFIDENCE: 1.5}, components=2)
    kernel = fit(layout, design, right, design[:, 2:]).kernel
    share = 0 if kernel is None else kernel.share
    assert share < 0.1
    monkeypatch.setattr(model, "_LEAST_SHARE", share + 0.001)
    assert fit(layout, design, right, design[:, 2:]).kernel is None


def test_items_that_are_all_the_same_have_no_kernel():
    layout, design, right = drawn(40, (), {CONFIDENCE: 1.0})
    assert fit(layout, design, right, np.ones((40, 3))).kernel is None


def test_many_labels_have_landmarks_that_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(model, "_LANDMARKS", 50)
    layout, design, inputs, right = rings(400)
    kernel = fit(layout, design, right, inputs).kernel
    assert len(kernel.landmarks) == 50
    tests = rings(200, seed=5)
    logits = tests[1] @ kernel.mode + kernel.heights(tests[2], kernel.weights)
    assert ((logits > 0) == tests[3]).mean() > 0.8
    # The information of the labels is not thinned with them.
    here = kernel.inputs @ kernel.mode + kernel.heights(kernel.landmarks, kernel.weights)
    assert kernel.curvature == approx(8 * sigmoid(here) * sigmoid(-here), rel=1e-3)
    draws, weights = kernel.draw(200, np.random.default_rng(1))
    fewer = rings(50)
    few = fit(layout, fewer[1], fewer[3], fewer[2]).kernel
    wide = few.draw(200, np.random.default_rng(1))
    spread, few_spread = (
        (each[0] @ tests[1].T + one.heights(tests[2], each[1].T).T).std(axis=0).mean()
        for one, each in ((kernel, (draws, weights)), (few, wide))
    )
    assert spread < few_spread


def test_heights_do_not_depend_on_where_blocks_end(monkeypatch):
    layout, design, inputs, right = rings(60)
    kernel = fit(layout, design, right, inputs).kernel
    whole = kernel.heights(inputs, kernel.weights)
    monkeypatch.setattr(model, "_BLOCK", 7)
    assert kernel.heights(inputs, kernel.weights) == approx(whole, rel=1e-4, abs=1e-4)
