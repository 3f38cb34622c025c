"""Labels of an item that give a metric the same value: those that add the same to its statistics.

ALT-MAS (eq. 4 to 7) asks which labels of one item, all other items held fixed, give a metric equal
values. A metric is a map of sums of item statistics, such as tp and fp of a class, so labels for
which the item adds the same to every sum give it the same value, whatever the other items are.
Other labels give it another value, or none (0/0), except where two fractions happen to be equal:

- recall of a class, where this item is found as all others of the class are, or missed as all are;
  F-scores, where it is missed and no item of the class is found; specificity likewise
- kappa, where two classes are predicted equally often; Matthews correlation, where all items are
  predicted as one class
- averages of rates, areas under curves and classwise calibration, where changes cancel

tests/item_statistics/test_kinds.py counts them over all small pools. Counts decide, and not values
of the metric, because most of these cases depend on the labels of other items, few of which are
known, and end with the next label; and because values that are equal as fractions need not be equal
as floating-point numbers, nor the other way round.

So accuracy, weighted recall and macro-precision tell the predicted class from all others, precision
of a class does so for items predicted as it and else tells nothing, recall and F1 of a class tell
that class from all others, and macro-recall tells all classes apart.
"""

from functools import lru_cache

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.rows import Array, Outputs

# Up to so many classes a table of them is kept for each metric.
_MOST_CLASSES = 128


def find_kinds(statistics: tuple[Statistic, ...], outputs: Outputs, classes: int) -> Array:
    """(R, C) the kind of every class for each of R items: the first class that is of the same kind.

    statistics are those of one metric. Where all of them depend on the predicted class alone, and
    classes are not many, one table of classes serves all items.
    """
    if classes <= _MOST_CLASSES and all(each.cells for each in statistics):
        kinds: Array = _tabulate_kinds(statistics, classes)[outputs.pred]
        return kinds
    return _partition(statistics, outputs, classes)


@lru_cache(maxsize=4096)
def _tabulate_kinds(statistics: tuple[Statistic, ...], classes: int) -> Array:
    """(C, C) the kind of every class for items of each predicted class."""
    return _partition(statistics, Outputs(np.arange(classes)), classes)


def _partition(statistics: tuple[Statistic, ...], outputs: Outputs, classes: int) -> Array:
    """(R, C) kinds by what every statistic counts."""
    kinds = np.zeros((len(outputs.pred), classes), np.intp)
    for each in statistics:
        counted = each.count(outputs, classes)
        if (counted != counted[:, :1]).any():
            kinds = _refine(kinds, counted)
    return kinds


def _refine(kinds: Array, counted: Array) -> Array:
    """(R, C) kinds that are alike in both: kinds (R, C), and numbers (R, C) that are compared."""
    order = np.lexsort((counted, kinds), axis=1)
    kinds, counted = (np.take_along_axis(each, order, axis=1) for each in (kinds, counted))
    first = np.ones(kinds.shape, bool)
    first[:, 1:] = (kinds[:, 1:] != kinds[:, :-1]) | (counted[:, 1:] != counted[:, :-1])
    # Equal ones keep their order, so that each kind begins with the first of its classes.
    places = np.maximum.accumulate(np.where(first, np.arange(kinds.shape[1]), 0), axis=1)
    refined = np.empty_like(kinds)
    np.put_along_axis(refined, order, np.take_along_axis(order, places, axis=1), axis=1)
    return refined
