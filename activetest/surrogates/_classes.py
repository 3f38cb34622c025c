"""Beliefs of a surrogate that has a probability for every class."""

import numpy as np

from activetest.evidence import Array, Beliefs, Rows
from activetest.metrics._losses import loss


def over_classes(rows: Rows, probs: Array, statistics: tuple[str, ...]) -> Beliefs:
    """Outcomes are the classes: probs (R, C), stakes (T, R, C) the loss each class would cost."""
    stakes = np.stack([loss(name)(rows.outputs, None) for name in statistics])
    return Beliefs(probs.astype(float), stakes)
