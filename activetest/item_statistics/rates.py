"""Rates of classes, as precision and recall, and their averages over classes.

A rate is a ratio of sums of a class's hits (tp), false alarms (fp) and misses (fn). Averages:

macro     the mean over the classes that have the rate. A class whose rate would be 0/0, such as
          the precision of one that is never predicted, is left out: scikit-learn's
          zero_division=nan, where its default counts a 0
weighted  the same mean, each class weighted by its share of the labels
micro     the rate of the sums over all classes: every error is a false alarm of one class and a
          miss of another

A label of a class that the pool does not have is a false alarm of the class that was predicted, and
no class's miss; in the micro average it is both.

Where a rate is divided by what weighs its class, as recall is, the weighted mean is a ratio of two
sums over all classes: the share of right predictions among the items whose label is of a class that
the pool has. So it is the accuracy where no label can be of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, divide, ratio_metric
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.arguments import add_to_brackets
from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array

_COUNTS = ("tp", "fp", "fn")
AVERAGES = ("macro", "micro", "weighted")
# Weight of a class in an average: weights of 1, tp, fp and fn.
_IMPORTANCE = {"macro": (1, 0, 0, 0), "weighted": (0, 1, 0, 1)}


@dataclass(frozen=True)
class Rate:
    """A ratio of two weighted sums of 1 and the shares of tp, fp and fn among all items.

    name           as users write it
    above, below   (4,) weights of 1, tp, fp and fn
    empty          why there is no value where the sum below is 0; {} stands for the class
    """

    name: str
    above: tuple[float, ...]
    below: tuple[float, ...]
    empty: str

    def metrics(self, facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
        """The rate of a class, of every class (*), or averaged; see arguments.parse_classes."""
        meant = arguments.parse_classes(self.name, facts, argument, AVERAGES)
        if meant == "micro":
            return (_micro(self, len(facts.classes)),)
        if meant == "weighted" and self.below == _IMPORTANCE[meant]:
            return (_weighted_share(self, facts),)
        if isinstance(meant, str):
            return (average(self, len(facts.classes), add_to_brackets(self.name, meant), meant),)
        return tuple(_of_class(self, code, facts.classes[code]) for code in meant)


def average(rate: Rate, classes: int, name: str, kind: str = "macro") -> Metric:
    """The macro or weighted average over all classes."""
    arguments.require_few_classes(name, classes)
    importance = _IMPORTANCE[kind]
    rows = np.array([rate.above, rate.below, importance], float)
    kept = _columns_with_weight(rows)
    rows = rows[:, [0, *kept]]
    return Metric(
        name,
        tuple(statistic(f"{_COUNTS[k - 1]}:{code}") for k in kept for code in range(classes)),
        partial(_average_rates, rows),
        upper=1.0,
        undefined=rate.empty.format("any class"),
        averaged=partial(_list_rates, rows),
    )


def of_counts(rate: Rate, counts: Mapping[str, Statistic], class_name: str, name: str) -> Metric:
    """The rate of a class under this name, from the statistics that are its tp, fp and fn."""
    rows = np.array([rate.above, rate.below], float)
    kept = _columns_with_weight(rows)
    above, below = rows[:, [0, *kept]]
    return ratio_metric(
        name,
        [counts[_COUNTS[k - 1]] for k in kept],
        above=above.tolist(),
        below=below.tolist(),
        upper=1.0,
        class_name=class_name,
        undefined=rate.empty.format(repr(class_name)),
    )


def _of_class(rate: Rate, code: int, name: str) -> Metric:
    counts = {each: statistic(f"{each}:{code}") for each in _COUNTS}
    return of_counts(rate, counts, name, rate.name)


def _micro(rate: Rate, classes: int) -> Metric:
    # With error rate e the sums over classes of 1, tp, fp and fn are C, 1 - e, e and e.
    above, below = (
        np.array([classes * constant + tp, fp + fn - tp])
        for constant, tp, fp, fn in (rate.above, rate.below)
    )
    # Its errors cancel below, and below a mean stands 1 alone.
    scale = below[0] or 1.0
    above, below = above / scale, below / scale
    name = add_to_brackets(rate.name, "micro")
    return ratio_metric(
        name, [statistic("zero_one")], above=above.tolist(), below=below.tolist(), upper=1.0
    )


def _weighted_share(rate: Rate, facts: Facts) -> Metric:
    """The weighted mean of a rate that is a share of the items of each class: of those found."""
    # Of 1, the errors, and the items whose label is one of the classes.
    statistics, above, below = ["zero_one"], [1.0, -1.0], [1.0, 0.0]
    if facts.open_classes or len(facts.classes) < 2:
        statistics, above, below = ["zero_one", "of_class"], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]
    return ratio_metric(
        add_to_brackets(rate.name, "weighted"),
        [statistic(each) for each in statistics],
        above=above,
        below=below,
        upper=1.0,
        undefined=rate.empty.format("any class"),
    )


def _columns_with_weight(rows: Array) -> list[int]:
    """The columns after the first that have a weight."""
    return [int(k) for k in np.flatnonzero(rows.any(axis=0)) if k]


def _average_rates(rows: Array, mean: Array) -> Array:
    """(...) average; rows (3, 1 + S) weights above, below and of a class; mean (..., S * C)."""
    values, importance = _find_rates(rows, mean)
    values = np.where(np.isnan(values), 0.0, values)
    return divide((importance * values).sum(axis=-1), importance.sum(axis=-1))


def _list_rates(rows: Array, mean: Array) -> tuple[Array, Array]:
    """(..., C) rates of the classes and their shares in the average; see Metric.averaged."""
    values, importance = _find_rates(rows, mean)
    return values, importance / importance.sum(axis=-1, keepdims=True)


def _find_rates(rows: Array, mean: Array) -> tuple[Array, Array]:
    """(..., C) rates of the classes and what each weighs: nothing where the rate is NaN."""
    counts = mean.reshape(*mean.shape[:-1], rows.shape[1] - 1, -1)
    above, below, importance = (row[0] + contract("s,...sc->...c", row[1:], counts) for row in rows)
    values = divide(above, below)
    return values, np.where(np.isnan(values), 0.0, importance)
