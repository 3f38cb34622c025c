"""Losses, elementwise and never reduced: loss(outputs, labels (R, K)) -> (R, K).

K labels are scored per row at once: one for an item whose label is known, all quadrature nodes of a
predictive distribution for one whose label is not. Labels are class codes or real values; None
stands for every class, in order (K = C), which needs no look-up. The code -1 is a class that the
pool does not have: no prediction is right about it, and its probability is 0.

Parameters come first.
"""

from statistics import NormalDist

import numpy as np

from activetest.nouns.rows import Array, Outputs

# The smallest probability a log-loss is taken of: one confident mistake costs at most 27.6 nats.
LOG_LOSS_FLOOR = 1e-12

# Sums of fewer numbers are the same in any way that NumPy adds them.
_FEW_COLUMNS = 8

# The smallest standard deviation a density is taken with: a pool may say 0.
DEVIATION_FLOOR = 1e-12


def codes(outputs: Outputs, labels: Array | None) -> Array:
    """The labels, or (1, C) every class where they are None."""
    return np.arange(outputs.known_probs.shape[1])[None] if labels is None else labels


def zero_one(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the predicted class is not the label."""
    values: Array = (codes(outputs, labels) != outputs.pred[:, None]).astype(float)
    return values


def label_probability(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the probability of the label."""
    return _take_at_labels(outputs.known_probs, labels)


def floored_probability(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the probability of the label; below 1e-12 it counts as 1e-12."""
    return np.maximum(label_probability(outputs, labels), LOG_LOSS_FLOOR)


def log_loss(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) negative log-probability of the label, in nats; below 1e-12 it counts as 1e-12."""
    return -np.log(floored_probability(outputs, labels))


def brier(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) squared distance of the probabilities from the label's corner of the simplex.

    In [0, 2]: Brier 1950.
    """
    squares = _sum_rows(outputs.known_probs**2)
    values: Array = 1 + squares[:, None] - 2 * label_probability(outputs, labels)
    return values


def missed_top(count: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the label is not among the count most probable classes.

    Of equal probabilities the last classes go first, as in scikit-learn.
    """
    probs = outputs.known_probs
    least: Array = np.partition(probs, -count, axis=1)[:, -count, None]
    above, equal = probs > least, probs == least
    ties = count - above.sum(axis=1, keepdims=True)
    top = above | (equal & (np.cumsum(equal[:, ::-1], axis=1)[:, ::-1] <= ties))
    return 1 - _take_at_labels(top.astype(float), labels)


def squared(outputs: Outputs, labels: Array) -> Array:
    """(R, K) (prediction - label)^2, in squared units of the label."""
    return (outputs.pred[:, None] - labels) ** 2


def absolute(outputs: Outputs, labels: Array) -> Array:
    """(R, K) |prediction - label|, in units of the label."""
    values: Array = np.abs(outputs.pred[:, None] - labels)
    return values


def signed(outputs: Outputs, labels: Array) -> Array:
    """(R, K) prediction - label, in units of the label."""
    return outputs.pred[:, None] - labels


def label(center: float, outputs: Outputs, labels: Array) -> Array:
    """(R, K) label - center."""
    return labels - center


def label_squared(center: float, outputs: Outputs, labels: Array) -> Array:
    """(R, K) (label - center)^2."""
    return (labels - center) ** 2


def label_within(low: float, high: float, outputs: Outputs, labels: Array) -> Array:
    """(R, K) the label; outside [low, high] the nearest end."""
    values: Array = np.clip(labels, low, high)
    return values


def pinball(level: float, outputs: Outputs, labels: Array) -> Array:
    """(R, K) loss of the prediction as the label's quantile at that level, in its units.

    Koenker and Bassett 1978.
    """
    gap = labels - outputs.pred[:, None]
    return np.maximum(level * gap, (level - 1) * gap)


def nll(outputs: Outputs, labels: Array) -> Array:
    """(R, K) -log N(label; prediction, deviation^2), constant included, in nats."""
    deviation = np.maximum(outputs.known_std.astype(float), DEVIATION_FLOOR)[:, None]
    gap = (labels - outputs.pred[:, None]) / deviation
    values: Array = 0.5 * np.log(2 * np.pi) + np.log(deviation) + 0.5 * gap**2
    return values


def inside(level: float, outputs: Outputs, labels: Array) -> Array:
    """(R, K) 1.0 where N(prediction, deviation^2) has the label in its central interval."""
    reach = NormalDist().inv_cdf(0.5 + level / 2) * outputs.known_std.astype(float)
    values: Array = (np.abs(labels - outputs.pred[:, None]) <= reach[:, None]).astype(float)
    return values


def _sum_rows(table: Array) -> Array:
    """(R,) sums of the rows of a table (R, C): of few columns one after another, which is fast."""
    columns = table.shape[1]
    if not 0 < columns < _FEW_COLUMNS:
        total: Array = table.sum(axis=1)
        return total
    total = table[:, 0].copy()
    for column in range(1, columns):
        total += table[:, column]
    return total


def _take_at_labels(table: Array, labels: Array | None) -> Array:
    """(R, K) entry of (R, C) at each label; 0 at classes that are not in the table."""
    if labels is None:
        return table
    places = labels.astype(np.intp, copy=False)
    found = np.take_along_axis(table, np.maximum(places, 0), axis=1)
    return np.where(places < 0, 0, found)
