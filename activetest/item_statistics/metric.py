"""A metric is an item statistic and a smooth map of its mean: theta = phi(mean_j h(f_j, y_j))."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.arguments import name_metric
from activetest.nouns.rows import Array, Outputs

# A mean below this is what rounding leaves of nothing: less than one item in fifty million. Above
# the gradient's smallest step, so that no denominator comes into being on the way.
_EMPTY = 2e-8
_STEP, _SMALL = 1e-5, 1e-3


@dataclass(frozen=True)
class Facts:
    """The facts of a pool that decide what can be asked for.

    task            "classification" or "regression"
    classes         names of the classes, in code order; empty for regression
    positive        code of the positive class of a binary pool; None with more classes
    probabilities   whether class probabilities are known
    deviation       whether a predictive standard deviation is known
    costs           (C, C) cost of predicting (row) for the truth (column), as tuples; None without
    scores          scores(None) -> (N,) confidences; scores(code) -> (N,) probabilities of a class;
                    read only by metrics with bins of equal counts; None while no pool is at hand
    weights         weights() -> (N,) of the items, in the order of the scores; None without
    center          a typical label: around it squares of labels are taken; regression only
    open_classes    whether labels may be of classes that are not among these
    judge           whether the outputs are a judge's
    scale           what stands in the brackets of the mean label that is asked for, as in mean[0,1]
    models          names of the study's models, that of the pool's outputs first; None while no
                    pool is at hand: any model may be there
    """

    task: str
    classes: tuple[str, ...] = ()
    positive: int | None = None
    probabilities: bool = False
    deviation: bool = False
    costs: tuple[tuple[float, ...], ...] | None = None
    scores: Callable[[int | None], Array] | None = None
    center: float = 0.0
    weights: Callable[[], Array] | None = None
    open_classes: bool = False
    judge: bool = False
    scale: str | None = None
    models: tuple[str, ...] | None = ()


@dataclass(frozen=True)
class Metric:
    """A function of the means of statistics.

    name           as users write it, without a class
    statistics     (d,) what to take means of, in the order smooth expects them
    smooth         (..., d) means -> (...) values of the metric; NaN where it is undefined
    lower, upper   range of the value
    class_name     the class that a per-class metric is about
    undefined      why there is no value where smooth gives NaN
    interval       family member that its interval needs; None for the usual choice
    refine         for metrics that are no function of means (areas under curves): refine(outputs,
                   labels (M,), weights (M,)) -> the Metric of one mean, linear around what these
                   weighted items say; statistics are then empty
    ratio          (2, 1 + d) weights of 1 and the means above and below the line, for metrics that
                   are such a ratio; below a mean stands 1 alone. None for all others
    of_labels      the labels alone make the value, so that it is worth comparing with what the
                   model's outputs would make of it if they were the labels
    against        a metric of_labels, where this one is what the model's outputs make of it minus
                   it: the first is known, so that both have the same interval
    given_shares   given_shares(shares (C,) of items predicted as each class) -> the same metric as
                   a ratio of two means, for one that is such a ratio once these are known
    models         names of the models whose outputs it is of: of the first minus the same of the
                   second, where there are two; empty for the pool's own model
    averaged       (..., d) means -> (..., C) values of the classes and (..., C) their shares in the
                   metric, for one that is an average over classes; a class without a value has
                   NaN and the share 0. None for all others
    """

    name: str
    statistics: tuple[Statistic, ...]
    smooth: Callable[[Array], Array]
    lower: float = 0.0
    upper: float = np.inf
    class_name: str | None = None
    undefined: str = ""
    interval: str | None = None
    refine: Callable[[Outputs, Array, Array], "Metric"] | None = None
    ratio: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    of_labels: bool = False
    against: "Metric | None" = None
    given_shares: Callable[[Sequence[float]], "Metric"] | None = None
    averaged: Callable[[Array], tuple[Array, Array]] | None = None
    models: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with the class and the models, as a specification is written."""
        return name_metric(self.name, self.class_name, self.models)

    @property
    def transform(self) -> Callable[[Array], Array]:
        """Monotone map to the metric from what intervals are made for: its one mean, or itself."""
        return self.smooth if len(self.statistics) == 1 else take_mean

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of what intervals are made for: of the one mean, or of the metric itself."""
        about = self.statistics[0] if len(self.statistics) == 1 else self
        return about.lower, about.upper

    def gradient(self, mean: Array) -> Array:
        """(d,) derivative of the smooth map at mean, by central differences."""
        mean = np.asarray(mean, float)
        steps = _STEP * np.maximum(np.abs(mean), _SMALL)
        moves = np.diag(steps)
        return (self.smooth(mean + moves) - self.smooth(mean - moves)) / (2 * steps)


def forget_map(metric: Metric) -> Metric:
    """The metric of several means as one that is defined wherever these are: the first of them."""
    if len(metric.statistics) == 1:
        return metric
    return replace(
        metric,
        smooth=take_mean,
        lower=-np.inf,
        upper=np.inf,
        interval=None,
        ratio=None,
        given_shares=None,
        averaged=None,
    )


class Formula(NamedTuple):
    """A metric with a function of its own, as the catalogue gives it; a decorator of functions.

    metrics  metrics(facts, argument=None) -> what is asked for; argument is what the brackets hold
    """

    metrics: Callable[..., tuple[Metric, ...]]


def linear_metric(
    name: str,
    statistic: Statistic,
    *,
    slope: float = 1.0,
    shift: float = 0.0,
    class_name: str | None = None,
    of_labels: bool = False,
    against: Metric | None = None,
) -> Metric:
    """The metric shift + slope * mean, with the range that the statistic's bounds give it."""
    lower, upper = sorted((shift + slope * statistic.lower, shift + slope * statistic.upper))
    return Metric(
        name,
        (statistic,),
        lambda mean: shift + slope * take_mean(mean),
        lower,
        upper,
        class_name,
        ratio=((shift, slope), (1.0, 0.0)),
        of_labels=of_labels,
        against=against,
    )


def ratio_metric(
    name: str,
    statistics: Sequence[Statistic],
    *,
    above: Sequence[float],
    below: Sequence[float],
    **fields: Any,
) -> Metric:
    """The metric (above . (1, means)) / (below . (1, means)), with these fields of Metric."""
    above, below = tuple(map(float, above)), tuple(map(float, below))
    smooth = partial(_ratio, np.array(above), np.array(below))
    return Metric(name, tuple(statistics), smooth, ratio=(above, below), **fields)


def take_mean(mean: Array) -> Array:
    """The smooth map of a metric that is a mean itself: (..., 1) means -> (...) values."""
    result: Array = mean[..., 0]
    return result


def divide(above: Array, below: Array) -> Array:
    """(...) above / below; NaN where there is nothing below."""
    there = below > _EMPTY
    return np.where(there, above / np.where(there, below, 1.0), np.nan)[()]


def evaluate(
    metric: Metric, outputs: Outputs, labels: Array, weights: Array | None = None
) -> float:
    """The metric's value where every label (R,) is known; NaN where it is undefined.

    weights (R,) are those of the items, 1 unless given.
    """
    outputs = outputs.in_double
    if metric.refine:
        metric = metric.refine(
            outputs, labels, np.ones(len(labels)) if weights is None else weights
        )
    values = [each.value(outputs, labels[:, None])[:, 0] for each in metric.statistics]
    means = [
        value.mean() if weights is None else weights @ value / weights.sum() for value in values
    ]
    return float(metric.smooth(np.array(means)))


def _ratio(above: Array, below: Array, mean: Array) -> Array:
    return divide(above[0] + mean @ above[1:], below[0] + mean @ below[1:])
