"""Items that fall into a bin of confidences or probabilities, shaped as losses.

A bin holds low < value <= high; the first also 0 and the last whatever rounding leaves above 1.
Edges are taken in single precision, as caches keep probabilities: then a value on an edge falls
into the same bin whichever precision it comes in.
"""

import numpy as np

from activetest.item_statistics.losses import codes
from activetest.nouns.rows import Array, Outputs


def right_in(low: float, high: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the prediction is the label and its confidence in the bin."""
    right = outputs.pred[:, None] == codes(outputs, labels)
    values: Array = (right & _is_inside(outputs.confidence, low, high)[:, None]).astype(float)
    return values


def conf_in(low: float, high: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the confidence where it is in the bin, else 0, whatever the label."""
    return _repeat_for_labels(_values_inside(outputs.confidence, low, high), outputs, labels)


def in_bin(low: float, high: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the confidence is in the bin, whatever the label."""
    return _repeat_for_labels(
        _is_inside(outputs.confidence, low, high).astype(float), outputs, labels
    )


def true_in(code: int, low: float, high: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the label is the class and the class's probability in the bin."""
    inside = _is_inside(outputs.known_probs[:, code], low, high)
    values: Array = (inside[:, None] & (codes(outputs, labels) == code)).astype(float)
    return values


def prob_in(code: int, low: float, high: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the class's probability where it is in the bin, else 0, whatever the label."""
    return _repeat_for_labels(
        _values_inside(outputs.known_probs[:, code], low, high), outputs, labels
    )


def _is_inside(values: Array, low: float, high: float) -> Array:
    """(R,) whether the bin holds them."""
    inside = np.ones(len(values), bool)
    if low > 0:
        inside &= values > np.float32(low)
    if high < 1:
        inside &= values <= np.float32(high)
    return inside


def _values_inside(values: Array, low: float, high: float) -> Array:
    """(R,) the values in the bin, 0 for others."""
    return np.where(_is_inside(values, low, high), values, 0).astype(float)


def _repeat_for_labels(values: Array, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the values (R,) under every label."""
    width = codes(outputs, labels).shape[1]
    return np.broadcast_to(values[:, None], (len(values), width))
