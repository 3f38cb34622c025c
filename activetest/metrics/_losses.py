"""Losses, elementwise and never reduced: loss(outputs, labels (R, K)) -> (R, K).

K labels are scored per row at once: one for an item whose label is known, all quadrature nodes of a
predictive distribution for one whose label is not. Labels are class codes or real values; None
stands for every class, in order (K = C), which needs no look-up.
"""

import numpy as np

from activetest.evidence import Array, Outputs

# The smallest probability a log-loss is taken of: one confident mistake costs at most 27.6 nats.
LOG_LOSS_FLOOR = 1e-12


def zero_one(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the predicted class is not the label."""
    if labels is None:
        labels = np.arange(outputs.probs.shape[1])
    return (labels != outputs.pred[:, None]).astype(float)


def log_loss(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) negative log-probability of the label, in nats; below 1e-12 it counts as 1e-12."""
    return -np.log(np.maximum(_at(outputs.probs, labels), LOG_LOSS_FLOOR))


def brier(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) squared distance of the probabilities from the label's corner of the simplex.

    In [0, 2]: Brier 1950.
    """
    return 1 + (outputs.probs**2).sum(axis=1)[:, None] - 2 * _at(outputs.probs, labels)


def squared(outputs: Outputs, labels: Array) -> Array:
    """(R, K) (prediction - label)^2, in squared units of the label."""
    return (outputs.pred[:, None] - labels) ** 2


def absolute(outputs: Outputs, labels: Array) -> Array:
    """(R, K) |prediction - label|, in units of the label."""
    return np.abs(outputs.pred[:, None] - labels)


def signed(outputs: Outputs, labels: Array) -> Array:
    """(R, K) prediction - label, in units of the label."""
    return outputs.pred[:, None] - labels


def _at(probs: Array, labels: Array | None) -> Array:
    """(R, K) probability of each label."""
    if labels is None:
        return probs
    return np.take_along_axis(probs, labels.astype(np.intp, copy=False), axis=1)


def loss(name: str):
    """The loss of that name: one of the functions above."""
    return {
        "zero_one": zero_one,
        "log_loss": log_loss,
        "brier": brier,
        "squared": squared,
        "absolute": absolute,
        "signed": signed,
    }[name]


def bounds(name: str) -> tuple[float, float]:
    """Smallest and largest value the loss can take; infinite where it has no useful bound."""
    return {
        "zero_one": (0.0, 1.0),
        "log_loss": (0.0, np.inf),
        "brier": (0.0, 2.0),
        "squared": (0.0, np.inf),
        "absolute": (0.0, np.inf),
        "signed": (-np.inf, np.inf),
    }[name]
