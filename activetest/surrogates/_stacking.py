"""Weights of several surrogates by their predictions of left-out labels.

Stacking of predictive distributions: Yao, Vehtari, Simpson and Gelman 2018; Wolpert 1992.
"""

from importlib import import_module
from typing import Any

import numpy as np

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.nouns.training import TrainingSet
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates.agreement import Agreement
from activetest.surrogates.residual import Residual

_FOLDS = 5
# With fewer labels than this only the first surrogate is used.
_FEWEST = 10
# Pseudo-labels in favour of the first surrogate.
_PRIOR = 3.0
# Smaller weights are set to zero, to save the time of a prediction.
_LEAST = 0.01
# Least variance of a value, in squares of the predictions' spread.
_LEAST_SPREAD = 1e-12


def fit_weights(
    training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator
) -> Array:
    """(P,) weights of the surrogates with these names, of which the first is the default.

    The cross-validated log-likelihood is never below that of the first alone.
    """
    first_only = np.eye(len(names))[0]
    usable = training[np.flatnonzero(training.usable)]
    if len(usable.labels) < _FEWEST or len(names) == 1:
        return first_only
    weights = maximise_posterior(cross_validate(usable, names, rng=rng))
    weights[1:][weights[1:] < _LEAST] = 0
    return weights / weights.sum()


def maximise_posterior(likelihood: Array) -> Array:
    """(P,) convex weights of the largest posterior density; likelihood (M, P) of every label.

    By expectation maximisation; the objective is concave. The first surrogate has the prior's
    pseudo-labels, and has weight one without labels.
    """
    count = likelihood.shape[1]
    weights = np.full(count, 1 / count)
    prior = _PRIOR * np.eye(count)[0]
    for _ in range(500):
        responsibilities = likelihood * weights
        responsibilities /= responsibilities.sum(axis=1, keepdims=True)
        updated = (prior + responsibilities.sum(axis=0)) / (_PRIOR + len(likelihood))
        if np.abs(updated - weights).max() < 1e-5:
            break
        weights = updated
    return updated


def cross_validate(
    training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator
) -> Array:
    """(M, P) likelihood of each label under each surrogate, fitted to the other folds.

    Each row is scaled by its largest entry, which leaves weights as they are.
    """
    size = len(training.labels)
    fold = rng.permutation(size) % min(_FOLDS, size)
    log_likelihoods = np.empty((size, len(names)))
    for number in range(fold.max() + 1):
        held_out = fold == number
        others = training[np.flatnonzero(~held_out)]
        for place, name in enumerate(names):
            module = import_module(f"activetest.surrogates.{name}")
            surrogate = module.fit(others, rng=rng)
            log_likelihoods[held_out, place] = log_likelihood(
                surrogate, training.rows[held_out], training.labels[held_out], training
            )
    return np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))


def log_likelihood(surrogate: Surrogate, rows: Rows, labels: Array, training: TrainingSet) -> Array:
    """(R,) logarithm of the probability, or of the density, of each label."""
    if training.classes:
        probs = class_probs(surrogate, rows)
        label_probs = np.take_along_axis(probs, labels.astype(int)[:, None], axis=1)[:, 0]
        # A surrogate that excludes a label gets a small likelihood, not zero.
        return np.log(np.maximum(label_probs, 1e-6))
    mean, variance = value_moments(surrogate, rows)
    # Nor one that is certain of a value: the model's own standard deviation may be 0.
    variance = np.maximum(variance, _LEAST_SPREAD * max(training.scale, 1e-12) ** 2)
    return -0.5 * ((labels - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def class_probs(surrogate: Surrogate, rows: Rows) -> Array:
    """(R, C) probability of every class, also for a surrogate whose outcomes are not classes."""
    probs = surrogate.beliefs(rows, (statistic("zero_one"),)).probs
    if isinstance(surrogate, Agreement):
        return spread_errors(rows, probs[:, 0], surrogate.error_class_probs(rows))
    return probs


def spread_errors(rows: Rows, right: Array, others: Array) -> Array:
    """(..., R, C) right (..., R) for the predicted class, the rest as others (C, R)."""
    probs = (1 - right)[..., None] * others.T
    probs[..., np.arange(len(rows.index)), rows.outputs.pred] = right
    return probs


def value_moments(surrogate: Surrogate, rows: Rows) -> tuple[Array, Array]:
    """(R,) mean and variance of the label."""
    mean, variance = moments(surrogate.beliefs(rows, (statistic("label:0"),)))
    return mean[0], variance[0]


def class_draws(surrogate: Surrogate, rows: Rows, members: Any) -> Array:
    """(K, R, C) class probabilities of members, of distinct ones where there are few."""
    draws = surrogate.beliefs(rows, (statistic("zero_one"),), members).draws
    if draws is None:
        raise ValueError("this surrogate has no draws of members")
    if isinstance(surrogate, Agreement):
        return spread_errors(rows, draws[..., 0], surrogate.error_class_probs(rows))
    return draws


def value_draws(surrogate: Surrogate, rows: Rows, members: Any) -> tuple[Array, Array]:
    """(K, R) means of members and (K, R) or (K, 1) variance of the label around them."""
    if isinstance(surrogate, GaussianEnsemble):
        return surrogate.members.draws(rows, members)
    if isinstance(surrogate, Residual):
        return surrogate.draws(rows, members)
    # The black box itself has a single member.
    mean, variance = value_moments(surrogate, rows)
    return np.tile(mean, (len(members), 1)), variance[None]
