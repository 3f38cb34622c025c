"""Value of a metric of the labels if the model's outputs were the labels.

The share of items that the model predicts as a class beside the share that are labelled as it, and
the mean prediction beside the mean label: what is reported where nobody asks people.
"""

from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.evidence import Group
from activetest.estimation.value import Value
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.system.parallel import map_reduce


def measure_raw(cache: PoolView, metric: Metric, group: Group) -> float | None:
    """The metric of a group with every item's prediction as its label; None for other metrics.

    Predicted classes count, not their probabilities: of a score the share above the threshold, as
    decisions are taken. Values count as they are predicted, whatever the scale of labels. Weights
    of items count. None as well where the group has no weight.
    """
    if not metric.of_labels:
        return None
    values = 1 if group.column is None else len(cache.group_values[group.column])

    def sum_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        codes = (
            np.zeros(len(rows.index), np.intp)
            if group.column is None
            else rows.codes[:, group.column]
        )
        # (1 + d, values) the weights, and the sums of every statistic.
        labels = rows.outputs.pred[:, None]
        found = [
            each.value(rows.outputs, labels) if cache.classes else labels
            for each in metric.statistics
        ]
        sums = [each[:, 0] * rows.mass for each in found]
        return np.stack([np.bincount(codes, each, values) for each in (rows.mass, *sums)])

    key = ("raw", tuple(each.name for each in metric.statistics), group.column)
    total, *sums = cache.compute_once(key, lambda: map_reduce(cache.chunks(), sum_piece, np.add))
    place = group.code or 0
    if not total[place] > 0:
        return None
    return float(metric.smooth(np.array(sums)[:, place] / total[place]))


def negate(metric: Metric) -> Metric:
    """A metric that is a raw value minus a metric of the labels, without that raw value.

    Only the metric of the labels is estimated: add_raw makes of it what it is in a group.
    """
    if metric.against is None:
        raise ValueError(f"{metric.title} is no difference from a raw value")
    (each,) = metric.against.statistics
    return linear_metric(
        metric.name, each, slope=-1.0, class_name=metric.class_name, against=metric.against
    )


def add_raw(metric: Metric, cache: PoolView, group: Group) -> Metric:
    """The metric in a group: one that negate gave, with the raw value there; others as they are.

    Raises NotEstimable where the group has no raw value.
    """
    if metric.against is None:
        return metric
    raw = measure_raw(cache, metric.against, group)
    if raw is None:
        raise NotEstimable("the group has no weight", "`study.next(10)`")
    (each,) = metric.statistics
    return linear_metric(metric.name, each, slope=-1.0, shift=raw, class_name=metric.class_name)


def add_raw_to_value(value: Value, cache: PoolView, group: Group) -> Value:
    """The value of such a metric in a group, and of its worst cases."""
    metric = add_raw(value.metric, cache, group)
    if metric is value.metric:
        return value
    shift = float(metric.smooth(np.zeros(1)))
    worst = value.worst
    if worst is not None:
        worst = worst.change(lambda each: add_raw_to_value(each, cache, group))
    return replace(
        value,
        metric=metric,
        value=value.value + shift,
        worst=worst,
    )


def give_shares(metric: Metric, cache: PoolView, group: Group) -> Metric:
    """The metric in a group with its shares of predicted classes; itself where it needs none.

    Raises NotEstimable where the group has no weight.
    """
    if metric.given_shares is None:
        return metric
    rates = (
        linear_metric("rate", statistic(f"true:{code}"), of_labels=True)
        for code in range(len(cache.classes))
    )
    shares = [measure_raw(cache, rate, group) for rate in rates]
    found = [share for share in shares if share is not None]
    if len(found) < len(shares):
        raise NotEstimable("the group has no weight", "`study.next(10)`")
    return metric.given_shares(found)
