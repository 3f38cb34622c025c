"""Averages over classes, of which one may be unsure while the others hide it.

An average such as balanced accuracy has labels that raise it and labels that lower it as soon as
one class has both. Of a class of which no miss was seen, the delta method knows no doubt then. Its
own interval does.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from activetest.estimation.delta_method import divide_by_answered, linearise_metric
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import FEW, Estimate, Sample
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array


def list_classes(metric: Metric, means: Estimate, sample: Sample) -> list[tuple[float, Estimate]]:
    """The share of each class in an average, and the estimate (d = 1) of its own value.

    Without classes that have no value and so no share.
    """
    if metric.averaged is None:
        raise ValueError(f"{metric.title} is no average over classes")
    mean = means.limited_mean
    count = len(metric.statistics)
    answered = mean[count:].sum() if len(mean) > count else 1.0
    _, shares = metric.averaged(mean[:count] / answered)
    found = []
    for code in np.flatnonzero(shares > 0).tolist():
        part = divide_by_answered(metric, partial(_take_class, metric.averaged, code), sample)
        bounds = metric.lower, metric.upper
        found.append((float(shares[code]), linearise_metric(means, sample, part, bounds)))
    return found


def widen_average(
    found: Quantity,
    classes: list[tuple[float, Estimate]],
    build: Callable[[Estimate, float], Quantity],
) -> Quantity:
    """The interval of an average, joined with the one that the intervals of its classes leave.

    Only where a class has fewer than 3 labels that raise its value, or that lower it. The distances
    from the values of the classes to their limits, times their shares, add up as squares (Zou and
    Donner 2008). Of the classes with so few labels the largest distance counts alone: what the
    labels leave possible for a weighted sum of such shares is at its worst if one class has it all.
    """
    few = [not each.exact and each.minority_count < FEW for _, each in classes]
    if not any(few):
        return found
    value, squares = 0.0, []
    for share, each in classes:
        low, high = build(each, found.level).find_ends()
        at = float(np.clip(each.mean[0], *each.limits[:, 0]))
        value += share * at
        squares.append([(share * (at - low)) ** 2, (share * (high - at)) ** 2])
    chosen = np.array(few)
    of_known, of_few = np.array(squares)[~chosen], np.array(squares)[chosen]
    below, above = np.sqrt(of_known.sum(axis=0) + of_few.max(axis=0)).tolist()
    lower, upper = found.find_ends()
    return replace(found, lower=min(lower, value - below), upper=max(upper, value + above))


def _take_class(averaged: Callable[[Array], tuple[Array, Array]], code: int, mean: Array) -> Array:
    """(...) the value of one class."""
    values: Array = averaged(mean)[0][..., code]
    return values
