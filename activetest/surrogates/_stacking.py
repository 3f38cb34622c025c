"""Weights of several surrogates by how well they predict labels they did not see.

Stacking of predictive distributions: Yao, Vehtari, Simpson and Gelman 2018; Wolpert 1992.
"""

from dataclasses import replace
from importlib import import_module

import numpy as np

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates.agreement import Agreement
from activetest.surrogates.residual import Residual

_FOLDS = 5
# Fewer labels than this say nothing about weights.
_FEWEST = 10
# Labels' worth of belief in the first surrogate.
_PRIOR = 3.0
# Weights below this are not worth the time of a prediction.
_LEAST = 0.01


def weights(training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator) -> Array:
    """(P,) shares of the surrogates with these names, the first being what is believed anyway.

    Its cross-validated log-likelihood never falls below that of the first alone.
    """
    alone = np.eye(len(names))[0]
    usable = (
        training if not training.classes else subset(training, np.flatnonzero(training.labels >= 0))
    )
    if len(usable.labels) < _FEWEST or len(names) == 1:
        return alone
    found = shares(left_out(usable, names, rng=rng))
    found[1:][found[1:] < _LEAST] = 0
    return found / found.sum()


def shares(likelihood: Array) -> Array:
    """(P,) convex weights of the largest posterior density; likelihood (M, P) of every label.

    By expectation maximisation: the objective is concave. The first of them has the prior's
    pseudo-labels on its side, and is the answer without labels.
    """
    count = likelihood.shape[1]
    share = np.full(count, 1 / count)
    prior = _PRIOR * np.eye(count)[0]
    for _ in range(500):
        each = likelihood * share
        each /= each.sum(axis=1, keepdims=True)
        moved = (prior + each.sum(axis=0)) / (_PRIOR + len(likelihood))
        if np.abs(moved - share).max() < 1e-5:
            break
        share = moved
    return moved


def left_out(training: TrainingSet, names: tuple[str, ...], *, rng: np.random.Generator) -> Array:
    """(M, P) likelihood of each label under each surrogate, fitted to the other folds.

    Each row is scaled by its largest entry, which leaves weights as they are.
    """
    size = len(training.labels)
    fold = rng.permutation(size) % min(_FOLDS, size)
    logs = np.empty((size, len(names)))
    for number in range(fold.max() + 1):
        held = fold == number
        rest = subset(training, np.flatnonzero(~held))
        for place, name in enumerate(names):
            module = import_module(f"activetest.surrogates.{name}")
            made = module.fit(rest, rng=rng)
            logs[held, place] = log_likelihood(
                made, training.rows[held], training.labels[held], training
            )
    return np.exp(logs - logs.max(axis=1, keepdims=True))


def subset(training: TrainingSet, kept: Array) -> TrainingSet:
    """The labels at these positions alone."""
    return replace(
        training, rows=training.rows[kept], labels=training.labels[kept], stats=training.stats[kept]
    )


def log_likelihood(surrogate, rows: Rows, labels: Array, training: TrainingSet) -> Array:
    """(R,) logarithm of the probability, or of the density, of each label."""
    if training.classes:
        probs = class_probs(surrogate, rows)
        found = np.take_along_axis(probs, labels.astype(int)[:, None], axis=1)[:, 0]
        # A surrogate that rules a label out has lost, but not for ever.
        return np.log(np.maximum(found, 1e-6))
    mean, variance = value_moments(surrogate, rows)
    return -0.5 * ((labels - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def class_probs(surrogate, rows: Rows) -> Array:
    """(R, C) probability of every class, whatever the surrogate's own outcomes are."""
    probs = surrogate.beliefs(rows, (statistic("zero_one"),)).probs
    if isinstance(surrogate, Agreement):
        return over_instead(rows, probs[:, 0], surrogate.instead(rows))
    return probs


def over_instead(rows: Rows, right: Array, others: Array) -> Array:
    """(..., R, C) right (..., R) for the predicted class, the rest spread as others (C, R) say."""
    probs = (1 - right)[..., None] * others.T
    probs[..., np.arange(len(rows.index)), rows.outputs.pred] = right
    return probs


def value_moments(surrogate, rows: Rows) -> tuple[Array, Array]:
    """(R,) mean and variance of the label."""
    mean, variance = moments(surrogate.beliefs(rows, (statistic("label:0"),)))
    return mean[0], variance[0]


def class_draws(surrogate, rows: Rows, members) -> Array:
    """(K, R, C) class probabilities of members, of distinct ones where there are few."""
    draws = surrogate.beliefs(rows, (statistic("zero_one"),), members).draws
    if isinstance(surrogate, Agreement):
        return over_instead(rows, draws[..., 0], surrogate.instead(rows))
    return draws


def value_draws(surrogate, rows: Rows, members) -> tuple[Array, Array]:
    """(K, R) means of members and (K, R) or (K, 1) variance of the label around them."""
    if isinstance(surrogate, GaussianEnsemble):
        return surrogate.members.draws(rows, members)
    if isinstance(surrogate, Residual):
        return surrogate.draws(rows, members)
    # The black box itself is of one mind.
    mean, variance = value_moments(surrogate, rows)
    return np.tile(mean, (len(members), 1)), variance[None]
