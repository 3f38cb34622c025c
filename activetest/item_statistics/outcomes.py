"""The value of a statistic when the black box is right, and when it is wrong.

A surrogate that only knows how likely the black box is to be right needs, per item and statistic,
three numbers: the value when right, and mean and variance of the value over the other classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from activetest.item_statistics.statistic import MANY_CLASSES, Statistic, statistic
from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array, Outputs

# Probabilities of all other classes that come to no more than this are none.
_NOTHING = 1e-12
# Shares of so many classes are added for each class as they are for each row.
_SUMMED = 1024


def right_and_wrong(outputs: Outputs, statistics: tuple[str, ...]) -> tuple[Array, Array, Array]:
    """(T, R) float32 value when right, mean and variance when wrong, for each statistic.

    The other classes are as likely as the black box takes them. These depend on outputs alone and
    are computed once per pool. Hard labels have the zero-one loss only.
    """
    others, probs = None, outputs.probs
    if probs is not None:
        classes = probs.shape[1]
        others = OtherClasses.of(lambda: find_other_classes(outputs, classes), classes)
    right, wrong, spread = when_wrong(tuple(map(statistic, statistics)), outputs, others)
    assert spread is not None
    return right, wrong, spread


@dataclass(frozen=True)
class OtherClasses:
    """The probabilities of R rows' classes, given that the predicted one is wrong.

    count  C, the number of classes
    all    () -> (C, R)
    find   code -> (R,) that of one class, the same without the others
    """

    count: int
    all: Callable[[], Array]
    find: Callable[[int], Array]

    @staticmethod
    def of(probs: Callable[[], Array], count: int) -> "OtherClasses":
        """Those of a function () -> (C, R)."""
        return OtherClasses(count, probs, lambda code: probs()[code])


def when_wrong(
    statistics: Sequence[Statistic | None],
    outputs: Outputs,
    others: OtherClasses | None,
    *,
    noise: bool = True,
) -> tuple[Array, Array, Array | None]:
    """(T, R) float32 value when right, mean and variance when wrong.

    Only what depends on being right alone can do without the other classes. A statistic that is
    None is left for the caller to fill in. Without noise there are no variances.
    """
    shape = (len(statistics), len(outputs.pred))
    right, wrong = np.empty(shape, np.float32), np.empty(shape, np.float32)
    spread = np.zeros(shape, np.float32) if noise else None
    cells = []
    for t, each in enumerate(statistics):
        if each is None:
            continue
        if each.by_correctness:
            # No prediction is right about the code -1.
            right[t], wrong[t] = _value_labels(each, outputs, [-1])
            continue
        if others is None:
            raise ValueError("these statistics need probabilities of the other classes")
        few = _use_few(each, outputs, others)
        if few:
            right[t], wrong[t], square = few
            if spread is not None:
                spread[t] = np.maximum(square - wrong[t] ** 2, 0)
        elif each.cells:
            cells.append((t, each))
        else:
            rows, probs = np.arange(shape[1]), others.all()
            table = each.table(outputs, others.count).T.copy(order="C")
            right[t] = table[outputs.pred, rows]
            wrong[t] = mean = contract("cr,cr->r", probs, table)
            if spread is not None:
                table -= mean
                table *= table
                spread[t] = contract("cr,cr->r", probs, table)
    if cells and others:
        tables = np.stack([each.matrix(others.count) for _, each in cells])
        _fill_cells(tables, outputs, others.all(), [t for t, _ in cells], right, wrong, spread)
    return right, wrong, spread


def _use_few(
    each: Statistic, outputs: Outputs, others: OtherClasses
) -> tuple[Array, Array, Array] | None:
    """(R,) value when right, mean and mean square when wrong, from the classes that are told apart.

    None where it takes all classes: where they are few, only what is 0 for all classes but one can
    do with that one, to the last digit.
    """
    if each.tells is None:
        return None
    pred = outputs.pred
    # A code after the last stands for all classes that are not told apart.
    codes = [*each.tells, others.count]
    right, *values = _value_labels(each, outputs, codes)
    many = outputs.probs is None and others.count > MANY_CLASSES
    if not many and (len(values) > 2 or values[-1].any()):
        return None
    probs = [others.find(code) for code in each.tells]
    left = np.maximum(1 - sum(probs, start=np.zeros(len(pred), np.float32)), 0)
    mean, square = np.zeros((2, len(pred)), np.float32)
    for prob, value in zip([*probs, left], values, strict=True):
        mean += prob * value
        square += prob * value**2
    return right, mean, square


def _value_labels(each: Statistic, outputs: Outputs, codes: Sequence[int]) -> list[Array]:
    """(R,) float32 values of a statistic, first under the predicted label and then under these."""
    pred = outputs.pred
    classes = int(pred.max(initial=-1)) + 1
    # Where only the predicted class matters, each is looked at once.
    by_class = each.cells and classes <= len(pred)
    shown = Outputs(np.arange(classes)) if by_class else outputs
    labels = np.empty((len(shown.pred), 1 + len(codes)), np.int64)
    labels[:, 0], labels[:, 1:] = shown.pred, codes
    values = each.value(shown, labels).astype(np.float32).T
    return [line.take(pred) if by_class else line for line in np.ascontiguousarray(values)]


def find_other_classes(outputs: Outputs, classes: int, shares: Array | None = None) -> Array:
    """(C, R) as other_classes, computed once for these outputs; nobody may write to it."""
    key = "other classes", classes, None if shares is None else shares.tobytes()
    return outputs.compute_once(key, lambda: other_classes(outputs, classes, shares))


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
    certain = total <= _NOTHING
    weights /= np.where(certain, 1, total)
    weights[:, certain] = 1 / max(classes - 1, 1)
    weights[outputs.pred[certain], rows[certain]] = 0
    return weights


def sum_others(classes: int, shares: Array | None = None) -> Array:
    """(C,) float32 sum of the shares of all other classes, for each predicted one."""
    each = (np.ones(classes) if shares is None else shares).astype(np.float32)
    if classes > _SUMMED:
        total = each.sum(dtype=float) - each
    else:
        total = np.where(np.eye(classes, dtype=bool), np.float32(0), each[:, None]).sum(axis=0)
    sums: Array = total.astype(np.float32)
    return sums


def other_class(outputs: Outputs, code: int, share: float, sums: Array) -> Array:
    """(R,) that of one class and its share, with hard labels: the same as in other_classes.

    sums  (C,) as sum_others gives them
    """
    total = sums[outputs.pred]
    certain = total <= _NOTHING
    found: Array = np.float32(share) / np.where(certain, 1, total)
    found[certain] = 1 / max(len(sums) - 1, 1)
    found[outputs.pred == code] = 0
    return found


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
