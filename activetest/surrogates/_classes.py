"""Beliefs of a surrogate that has a probability for every class."""

import numpy as np

from activetest.evidence import Array, Beliefs, Rows
from activetest.metrics._statistics import Statistic


def over_classes(rows: Rows, probs: Array, statistics: tuple[Statistic, ...]) -> Beliefs:
    """Outcomes are the classes: probs (R, C), stakes (T, R, C) what each class would make of it."""
    stakes = np.stack([each.table(rows.outputs, probs.shape[1]) for each in statistics])
    return Beliefs(probs.astype(float), stakes)
