"""Items that can change a metric, and what is certain of the others, by their predicted class.

An item cannot change a metric where every statistic of the metric has one value for all labels that
the item could have: whatever the gradient of the metric, gradient . h is known before any label.
Precision of a class does not change with items predicted as another class.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic, tabulate
from activetest.nouns.rounding import is_above
from activetest.nouns.rows import Array

# Steps of Dinkelbach's iteration: it converges faster than Newton's, in a handful.
_ITERATIONS = 100


@dataclass(frozen=True)
class Certain:
    """Facts that follow from the predicted class alone about the d statistics of a metric.

    relevant   (C,) whether items predicted as the class can change the metric
    values     (C, d) statistics of items that cannot; 0 for the others
    """

    relevant: Array
    values: Array

    @property
    def classes(self) -> frozenset[int]:
        """Codes of the predicted classes whose items can change the metric."""
        return frozenset(np.flatnonzero(self.relevant).tolist())


# With more classes than this, every item counts as one that can change a metric: tables of all
# predicted classes and all labels would grow with the square.
MOST_CLASSES = 5000


def find_certain(metric: Metric, classes: int, *, open_classes: bool) -> Certain | None:
    """The certain part of a metric in a pool of so many classes; None where every item matters.

    open_classes says whether labels may be outside the classes.
    """
    cells = metric.statistics and all(each.cells for each in metric.statistics)
    if not classes or not cells or classes > MOST_CLASSES:
        return None
    return _find_certain(metric.statistics, classes, open_classes)


@lru_cache(maxsize=4096)
def _find_certain(
    statistics: tuple[Statistic, ...], classes: int, open_classes: bool
) -> Certain | None:
    relevant = np.zeros(classes, bool)
    values = np.empty((classes, len(statistics)))
    for place, each in enumerate(statistics):
        (table,) = tabulate((each,), classes, others=open_classes or classes < 2)
        relevant |= (table != table[:, :1]).any(axis=1)
        values[:, place] = table[:, 0]
        if relevant.all():
            return None
    return Certain(relevant, np.where(relevant[:, None], 0.0, values))


def find_possible_ratio(
    metric: Metric,
    known: Array,
    answered: float,
    unknown: Array,
    *,
    open_classes: bool,
    declinable: bool,
) -> tuple[float, float]:
    """Smallest and largest value that a ratio of sums can still have, over all completions.

    known (d,) is the sum of the statistics over what is known, answered the number of those items,
    unknown (C,) the number of the others by predicted class; declinable says whether one of them
    may turn out not to have an answer, which counts nowhere. Exact, by Dinkelbach's iteration
    (1967): at a value t each item takes the label that is best for above - t below. The metric's
    own range where it is no ratio, or where its statistics depend on more than the predicted class.
    """
    cells = metric.statistics and all(each.cells for each in metric.statistics)
    if metric.ratio is None or not cells or len(unknown) > MOST_CLASSES:
        return metric.lower, metric.upper
    weights = np.array(metric.ratio)
    kinds, options = _list_options(metric.statistics, len(unknown), open_classes)
    # (K, L, 2) what an item adds above and below the line.
    adds = weights[:, 0] + options @ weights[:, 1:].T
    if declinable:
        adds = np.concatenate([adds, np.zeros((len(adds), 1, 2))], axis=1)
    counts = np.bincount(kinds, unknown, minlength=len(adds))
    start = weights[:, 0] * answered + weights[:, 1:] @ known
    low = _optimise_ratio(start, adds, counts, -1, metric.upper)
    high = _optimise_ratio(start, adds, counts, 1, metric.lower)
    if low is None or high is None or is_above(low, high):
        return metric.lower, metric.upper
    # Where nothing can change the ratio, rounding may leave the ends in the other order.
    return max(min(low, high), metric.lower), min(max(low, high), metric.upper)


def _optimise_ratio(
    start: Array, adds: Array, counts: Array, sign: int, value: float
) -> float | None:
    """The extreme ratio, from a value on the other side of it; None where there is none."""
    if not np.isfinite(value):
        return None
    for _ in range(_ITERATIONS):
        best = (sign * (adds[..., 0] - value * adds[..., 1])).argmax(axis=1)
        above, below = start + counts @ adds[np.arange(len(adds)), best]
        scale = abs(start).sum() + counts @ abs(adds).sum(axis=2).max(axis=1)
        if sign * (above - value * below) <= 1e-12 * scale:
            return float(value)
        if below <= 0:
            return None
        value = above / below
    return None


@lru_cache(maxsize=1024)
def _list_options(
    statistics: tuple[Statistic, ...], classes: int, open_classes: bool
) -> tuple[Array, Array]:
    """(C,) the kind of each predicted class, and (K, L, d) the statistics under every label.

    Kinds, and labels that come to the same for all kinds, are listed once.
    """
    # One class alone says that labels of others can come: else there would be nothing to predict.
    table = np.moveaxis(tabulate(statistics, classes, others=open_classes or classes < 2), 0, 2)
    rows, kinds = np.unique(table.reshape(classes, -1), axis=0, return_inverse=True)
    options = np.unique(rows.reshape(len(rows), *table.shape[1:]), axis=1)
    return kinds.reshape(-1), options
