"""The items that score highest for a class, shaped as losses.

An item above the threshold counts 1, one at the threshold the share of those there that have room.
Scores are compared in single precision, as caches keep them. A class is meant by its code.
"""

import numpy as np

from activetest.item_statistics.losses import codes
from activetest.nouns.rows import Array, Outputs


def in_top(
    code: int, threshold: float, share: float, outputs: Outputs, labels: Array | None
) -> Array:
    """(R, K) how far an item is among the highest scores, whatever the label."""
    counted = _count(code, threshold, share, outputs)[:, None]
    return np.broadcast_to(counted, (len(counted), codes(outputs, labels).shape[1]))


def true_in_top(
    code: int, threshold: float, share: float, outputs: Outputs, labels: Array | None
) -> Array:
    """(R, K) the same where the label is the class, else 0."""
    counted = _count(code, threshold, share, outputs)[:, None]
    return np.where(codes(outputs, labels) == code, counted, 0.0)


def find_threshold(
    scores: Array, count: float, weights: Array | None = None
) -> tuple[float, float]:
    """The score at which the first `count` of N items end, and the share of those there that count.

    weights (N,) say how many items each stands for. All of them count where there are no more.
    """
    scores = scores.astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    reached = np.cumsum(np.ones(len(order)) if weights is None else weights[order])
    # Rounding must not move the end to the next item.
    place = min(int(np.searchsorted(reached, count * (1 - 1e-12))), len(order) - 1)
    threshold = ordered[place]
    first, last = (
        np.searchsorted(-ordered, -threshold, "left"),
        np.searchsorted(-ordered, -threshold, "right"),
    )
    above = reached[first - 1] if first else 0.0
    room = reached[last - 1] - above
    share = min((count - above) / room, 1.0) if room > 0 else 1.0
    return float(str(threshold)), float(share)


def _count(code: int, threshold: float, share: float, outputs: Outputs) -> Array:
    """(R,) how far each item is among the highest scores."""
    scores, end = outputs.known_probs[:, code].astype(np.float32), np.float32(threshold)
    return np.where(scores > end, 1.0, np.where(scores == end, share, 0.0))
