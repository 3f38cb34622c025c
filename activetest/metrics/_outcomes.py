"""What a statistic is worth when the black box is right, and when it is wrong.

A surrogate that only says how likely the black box is to be right needs, per item and statistic,
three constants: the value when right, and mean and variance of the value over the other classes,
taken as likely as the black box itself takes them. They depend on outputs alone and are computed
once per pool.
"""

import numpy as np

from activetest.evidence import Array, Outputs
from activetest.metrics._losses import loss


def right_and_wrong(outputs: Outputs, statistics: tuple[str, ...]) -> tuple[Array, Array, Array]:
    """(T, R) float32 value when right, mean and variance when wrong, for each statistic.

    With hard labels only the zero-one loss exists, and its constants are 0, 1 and 0.
    """
    rows = np.arange(len(outputs.pred))
    right, wrong, spread = (np.zeros((len(statistics), len(rows)), np.float32) for _ in range(3))
    others = None if outputs.probs is None else _others(outputs)
    for t, name in enumerate(statistics):
        if name == "zero_one":
            wrong[t] = 1
            continue
        table = loss(name)(outputs, None).T.copy(order="C")
        right[t] = table[outputs.pred, rows]
        wrong[t] = mean = np.einsum("cr,cr->r", others, table)
        table -= mean
        table *= table
        spread[t] = np.einsum("cr,cr->r", others, table)
    return right, wrong, spread


def _others(outputs: Outputs) -> Array:
    """(C, R) probability of each class given that the predicted one is wrong."""
    weights = outputs.probs.T.copy(order="C")
    rows = np.arange(weights.shape[1])
    weights[outputs.pred, rows] = 0
    total = weights.sum(axis=0)
    # A black box that is certain says nothing about the others: they are then equally likely.
    certain = total <= 1e-12
    weights /= np.where(certain, 1, total)
    weights[:, certain] = 1 / (len(weights) - 1)
    weights[outputs.pred[certain], rows[certain]] = 0
    return weights
