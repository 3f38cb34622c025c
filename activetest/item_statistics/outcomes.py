"""The value of a statistic when the black box is right, and when it is wrong.

A surrogate that only knows how likely the black box is to be right needs, per item and statistic,
three numbers: the value when right, and mean and variance of the value over the other classes.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.rows import Array, Outputs


def right_and_wrong(outputs: Outputs, statistics: tuple[str, ...]) -> tuple[Array, Array, Array]:
    """(T, R) float32 value when right, mean and variance when wrong, for each statistic.

    The other classes are as likely as the black box takes them. These depend on outputs alone and
    are computed once per pool. Hard labels have the zero-one loss only.
    """
    others = None if outputs.probs is None else other_classes(outputs, outputs.probs.shape[1])
    right, wrong, spread = when_wrong(tuple(map(statistic, statistics)), outputs, others)
    assert spread is not None
    return right, wrong, spread


def when_wrong(
    statistics: Sequence[Statistic | None],
    outputs: Outputs,
    others: Array | None,
    *,
    noise: bool = True,
) -> tuple[Array, Array, Array | None]:
    """(T, R) float32 value when right, mean and variance when wrong.

    others (C, R) are the probabilities of the classes given an error; only the zero-one loss can do
    without. A statistic that is None is left for the caller to fill in. Without noise there are no
    variances.
    """
    shape = (len(statistics), len(outputs.pred))
    right, wrong = np.empty(shape, np.float32), np.empty(shape, np.float32)
    spread = np.zeros(shape, np.float32) if noise else None
    present = [(t, each) for t, each in enumerate(statistics) if each is not None]
    cells = [(t, each) for t, each in present if each.cells and not each.by_correctness]
    if others is None:
        if not all(each.by_correctness for _, each in present):
            raise ValueError("these statistics need probabilities of the other classes")
        others = np.empty((0, shape[1]))
    if cells:
        tables = np.stack([each.matrix(len(others)) for _, each in cells])
        _fill_cells(tables, outputs, others, [t for t, _ in cells], right, wrong, spread)
    rows = np.arange(shape[1])
    for t, each in present:
        if each.by_correctness:
            right[t], wrong[t] = each.by_correctness(outputs)
        elif not each.cells:
            table = each.table(outputs, len(others)).T.copy(order="C")
            right[t] = table[outputs.pred, rows]
            wrong[t] = mean = np.einsum("cr,cr->r", others, table)
            if spread is not None:
                table -= mean
                table *= table
                spread[t] = np.einsum("cr,cr->r", others, table)
    return right, wrong, spread


def other_classes(outputs: Outputs, classes: int, shares: Array | None = None) -> Array:
    """(C, R) probability of each class given that the predicted one is wrong.

    By the black box's own probabilities; with hard labels in proportion to shares (C,), or all
    others are equally likely without them.
    """
    rows = np.arange(len(outputs.pred))
    if outputs.probs is None:
        each = np.ones(classes) if shares is None else shares
        weights = np.repeat(each.astype(np.float32)[:, None], len(rows), axis=1)
    else:
        weights = outputs.probs.T.copy(order="C")
    weights[outputs.pred, rows] = 0
    total = weights.sum(axis=0)
    # Where the black box is certain, the others are equally likely.
    certain = total <= 1e-12
    weights /= np.where(certain, 1, total)
    weights[:, certain] = 1 / max(classes - 1, 1)
    weights[outputs.pred[certain], rows[certain]] = 0
    return weights


def _fill_cells(
    tables: Array,
    outputs: Outputs,
    others: Array,
    places: Sequence[int],
    right: Array,
    wrong: Array,
    spread: Array | None,
) -> None:
    """Fill in the rows at these places from (T, C, C) values by predicted and true class."""
    tables = tables.astype(np.float32)
    # Rows of one predicted class under each other: one product of matrices for each class.
    pred, classes = outputs.pred, tables.shape[1]
    order, back, bounds = outputs.compute_once(("sorted", classes), lambda: _sort(pred, classes))
    weights = np.take(others, order, axis=1)
    shape = (len(places), len(pred))
    mean = np.empty(shape, np.float32)
    square = np.empty(shape if spread is not None else (0, 0), np.float32)
    for code, (start, stop) in enumerate(pairwise(bounds)):
        mean[:, start:stop] = tables[:, code] @ weights[:, start:stop]
        if spread is not None:
            square[:, start:stop] = tables[:, code] ** 2 @ weights[:, start:stop]
    for place, table, values in zip(places, tables, mean, strict=True):
        right[place] = np.diagonal(table)[pred]
        np.take(values, back, out=wrong[place])
    if spread is not None:
        for place, values in zip(places, square, strict=True):
            # Only rounding can make it negative.
            spread[place] = np.maximum(values[back] - wrong[place] ** 2, 0)


def _sort(pred: Array, classes: int) -> tuple[Array, Array, Array]:
    """(R,) rows by predicted class, (R,) where each row is then, (C + 1,) where classes begin."""
    order = np.argsort(pred, kind="stable")
    back = np.empty(len(order), np.intp)
    back[order] = np.arange(len(order))
    return order, back, np.searchsorted(pred[order], np.arange(classes + 1))
