"""Counts of a confusion matrix: functions of predicted and true class alone, shaped as losses.

A class is meant by its code.
"""

from collections.abc import Sequence

import numpy as np

from activetest.item_statistics.losses import codes
from activetest.nouns.rows import Array, Outputs


def tp(code: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where an item of the class is predicted as it."""
    return _indicate_both(outputs.pred == code, codes(outputs, labels) == code)


def fp(code: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where an item of another class is predicted as it."""
    return _indicate_both(outputs.pred == code, codes(outputs, labels) != code)


def fn(code: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where an item of the class is predicted as another."""
    return _indicate_both(outputs.pred != code, codes(outputs, labels) == code)


def true(code: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the label is the class, whatever is predicted."""
    hits = codes(outputs, labels) == code
    return np.broadcast_to(hits, (len(outputs.pred), hits.shape[1])).astype(float)


def of_class(outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the label is a class of the pool, whatever is predicted."""
    hits = codes(outputs, labels) >= 0
    return np.broadcast_to(hits, (len(outputs.pred), hits.shape[1])).astype(float)


def excess(code: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the class is predicted minus 1.0 where it is the label."""
    values: Array = (outputs.pred == code)[:, None] - true(code, outputs, labels)
    return values


def cell(truth: int, predicted: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where an item of class truth is predicted as class `predicted`."""
    return _indicate_both(outputs.pred == predicted, codes(outputs, labels) == truth)


def cost(costs: Array, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) costs (C, C) of predicting (row) for the truth (column).

    For a class the pool does not have: the most that the prediction can cost.
    """
    # The last column is where the code -1 finds it.
    known = np.column_stack([costs, costs.max(axis=1)])
    return known[outputs.pred[:, None], codes(outputs, labels).astype(np.intp, copy=False)]


def _indicate_both(rows: Array, labels: Array) -> Array:
    return (rows[:, None] & labels).astype(float)


def curve(
    code: int,
    scores: Sequence[float],
    others: Sequence[float],
    hits: Sequence[float],
    outputs: Outputs,
    labels: Array | None,
) -> Array:
    """(R, K) a function of the class's probability: hits where the label is the class, else others.

    Given at ascending scores, and linear between them.
    """
    labels = codes(outputs, labels)
    at = outputs.known_probs[:, code]
    hit, other = np.interp(at, scores, hits), np.interp(at, scores, others)
    values: Array = np.where(labels == code, hit[:, None], other[:, None])
    return values
