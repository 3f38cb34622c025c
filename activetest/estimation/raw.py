"""What a metric of the labels would be if the model's outputs were the labels.

The share of items that the model predicts as a class beside the share that are labelled as it, and
the mean prediction beside the mean label: what is reported where nobody asks people.
"""

import numpy as np

from activetest.estimation.samples import Group
from activetest.item_statistics.metric import Metric
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce


def measure_raw(cache: PoolView, metric: Metric, group: Group) -> float | None:
    """The metric of a group with every item's prediction as its label; None for other metrics.

    Predicted classes count, not their probabilities: of a score the share above the threshold, as
    decisions are taken. Weights of items count. None as well where the group has no weight.
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
        sums = [each.value(rows.outputs, labels)[:, 0] * rows.mass for each in metric.statistics]
        return np.stack([np.bincount(codes, each, values) for each in (rows.mass, *sums)])

    key = ("raw", tuple(each.name for each in metric.statistics), group.column)
    total, *sums = cache.compute_once(key, lambda: map_reduce(cache.chunks(), sum_piece, np.add))
    place = group.code or 0
    if not total[place] > 0:
        return None
    return float(metric.smooth(np.array(sums)[:, place] / total[place]))
