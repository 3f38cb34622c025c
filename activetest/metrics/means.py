"""Metrics that are the mean of an item statistic, and two that are made of such means.

Those without options are rows; others have a function each.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Formula, Metric, linear_metric, take_mean
from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Array

# Classes that top-k-error looks at unless another number is given.
_TOP = 5
# A variance smaller than this share of the mean square is what rounding leaves of none.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Mean:
    """The mean of a statistic, scaled and shifted.

    name       as users write it
    statistic  its name
    require    require(name, facts) raises ChoiceError for pools that do not say enough
    """

    name: str
    statistic: str
    require: Callable[[str, Facts], None] | None = None
    slope: float = 1.0
    shift: float = 0.0

    def metrics(self, facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
        """The one metric. Raises ChoiceError for an argument, and as require does."""
        arguments.refuse_argument(self.name, argument)
        if self.require:
            self.require(self.name, facts)
        found = statistic(self.statistic)
        return (linear_metric(self.name, found, slope=self.slope, shift=self.shift),)


error = Mean("error", "zero_one")
"""Mean zero-one loss, in [0, 1]: the share of items whose predicted class is not the label.

Hand 1997.
"""

accuracy = Mean("accuracy", "zero_one", slope=-1.0, shift=1.0)
"""One minus the error, in [0, 1] (Hand 1997).

The draws that estimate an error well estimate an accuracy well.
"""

log_loss = Mean("log-loss", "log_loss", arguments.require_probabilities)
"""Mean negative log-probability of the label, in nats (Good 1952).

Probabilities are floored at 1e-12, so a mistake costs at most 27.6.
"""

brier = Mean("brier", "brier", arguments.require_probabilities)
"""Mean squared distance between probabilities and labels, summed over classes (Brier 1950).

In [0, 2]; half of it is what binary scorers often call by this name.
"""

mse = Mean("mse", "squared")
"""Mean squared error, in squared units of the label (Gauss 1823)."""

mae = Mean("mae", "absolute")
"""Mean absolute error, in units of the label (Willmott and Matsuura 2005)."""

nll = Mean("nll", "nll", arguments.require_deviation)
"""Mean of -log N(label; prediction, deviation^2), constant included, in nats.

Densities can exceed 1, so it can be negative. A deviation below 1e-12 counts as 1e-12. Good 1952;
Gneiting and Raftery 2007.
"""


@Formula
def top_k_error(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of items whose label is not among the 5 most probable classes, in [0, 1].

    top-k-error[3] is about another number, smaller than that of the classes. Of equal probabilities
    the last classes go first, as in scikit-learn. Krizhevsky et al. 2012.
    """
    name = "top-k-error"
    arguments.require_probabilities(name, facts)
    classes = len(facts.classes)
    if argument is None and classes <= _TOP:
        raise ChoiceError(
            f"{name!r}: the {_TOP} most probable of {classes} classes are all of them",
            f"name a smaller number: {name}[{max(classes - 1, 1)}]",
        )
    example = f"{name}[{min(3, classes - 1)}]"
    count = arguments.parse_whole_number(name, argument or str(_TOP), 1, classes - 1, example)
    return (linear_metric(f"{name}[{count}]", statistic(f"missed_top:{count}")),)


@Formula
def cost(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean cost per item of the predictions, in the units of a matrix of costs (Elkan 2001).

    A label of a class that the pool does not have costs the most that the prediction can cost.
    """
    arguments.refuse_argument("cost", argument)
    if facts.costs is None:
        raise ChoiceError(
            "'cost' needs a matrix of costs, and this study has none",
            '`study.change(costs="costs.csv")`',
        )
    # The name carries the whole matrix: a round stays what it was when the costs change.
    costs = json.dumps(facts.costs, separators=(",", ":"))
    return (linear_metric("cost", statistic(f"cost:{costs}")),)


@Formula
def rate(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of items whose label is a class, in [0, 1], such as a pass rate, prevalence, win rate.

    Of a class, or * for every class. Without an argument: of the positive class of a binary pool,
    of every class of any other. A mean of labels, for which predictions stand where labels are
    missing (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-powered inference").
    """
    codes = arguments.parse_single_classes("rate", facts, argument)
    return tuple(_rate_of_class(code, facts) for code in codes)


def _rate_of_class(code: int, facts: Facts) -> Metric:
    of_class = statistic(f"true:{code}")
    return linear_metric("rate", of_class, class_name=facts.classes[code], of_labels=True)


@Formula
def mean(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean label, in its units (Horvitz and Thompson 1952); mean[0,1]: on a scale from 0 to 1.

    The ends of the scale bound the mean: with them there are bets on it, and intervals that hold at
    every look. A label outside counts as the nearest end. Raises ChoiceError for anything else than
    two numbers in ascending order. Predictions stand where labels are missing, as for rate.
    """
    if argument is None:
        return (linear_metric("mean", statistic("label:0.0"), of_labels=True),)
    low, high = _parse_scale(argument)
    name = f"mean[{low:g},{high:g}]"
    return (linear_metric(name, statistic(f"label_within:{low!r}:{high!r}"), of_labels=True),)


def _parse_scale(argument: str) -> tuple[float, float]:
    """Both ends of the scale."""
    parts = argument.split(",")
    if len(parts) != 2:
        raise ChoiceError(
            f"'mean' takes both ends of the labels' scale, not {argument!r}",
            "for example mean[0,1]",
        )
    largest = arguments.LARGEST_NUMBER
    low, high = (
        arguments.parse_number("mean", part.strip(), -largest, largest, "mean[0,1]")
        for part in parts
    )
    if not low < high:
        raise ChoiceError(
            f"'mean' takes the lower end of the scale first, not {argument!r}",
            f"for example mean[{min(low, high):g},{max(low, high):g}]"
            if low != high
            else "for example mean[0,1]",
        )
    return low, high


@Formula
def bias(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean of prediction minus label (Jolliffe and Stephenson 2003): of a judge, minus people.

    Positive when the model predicts too much. Of values, in their units, without an argument. Of a
    class, or * for every class, the share predicted as it minus the share labelled as it, in
    [-1, 1]: their frequency bias as a difference; without an argument, of the positive class of a
    binary pool, of every class of any other.
    """
    if facts.task == "regression":
        arguments.refuse_argument("bias", argument)
        # Of other pools it is the mean of the differences alone.
        (against,) = mean.metrics(facts, facts.scale) if facts.judge else (None,)
        return (linear_metric("bias", statistic("signed"), against=against),)
    return tuple(
        linear_metric(
            "bias",
            statistic(f"excess:{code}"),
            class_name=facts.classes[code],
            against=_rate_of_class(code, facts),
        )
        for code in arguments.parse_single_classes("bias", facts, argument)
    )


@Formula
def rmse(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Square root of the mean squared loss, in units of the label (Chai and Draxler 2014)."""
    arguments.refuse_argument("rmse", argument)
    return (Metric("rmse", (statistic("squared"),), _find_root),)


def _find_root(mean: Array) -> Array:
    # An unbiased estimate of a mean square can fall below zero.
    return np.sqrt(np.maximum(take_mean(mean), 0.0))


@Formula
def r2(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One minus the mean squared loss over the variance of the labels (Wright 1921).

    1 at best, no lower bound; 0 is what predicting the mean label of the pool for every item would
    reach.
    """
    arguments.refuse_argument("r2", argument)
    center = repr(float(facts.center))
    names = ("squared", f"label:{center}", f"label_squared:{center}")
    return (
        Metric(
            "r2",
            tuple(map(statistic, names)),
            _explain,
            lower=-np.inf,
            upper=1.0,
            undefined="all labels seen are the same",
        ),
    )


def _explain(mean: Array) -> Array:
    squared, label, label_squared = np.moveaxis(mean, -1, 0)
    variance = label_squared - label**2
    there = variance > _ROUNDING * label_squared
    return np.where(there, 1 - squared / np.where(there, variance, 1.0), np.nan)[()]


@Formula
def pinball(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean pinball loss, in units of the label (Koenker and Bassett 1978).

    pinball[0.9] takes predictions as 0.9-quantiles. At 0.5, unless another level is given: half the
    mean absolute error.
    """
    level = arguments.parse_number("pinball", argument or "0.5", 0, 1, "pinball[0.9]")
    return (linear_metric(f"pinball[{level!r}]", statistic(f"pinball:{level!r}")),)


@Formula
def interval_coverage(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of labels within the central interval of N(prediction, deviation^2), in [0, 1].

    Of level 0.9, unless another is given: interval-coverage[0.5]. Good is what equals the level.
    Gneiting et al. 2007.
    """
    name = "interval-coverage"
    arguments.require_deviation(name, facts)
    level = arguments.parse_number(name, argument or "0.9", 0, 1, f"{name}[0.5]")
    return (linear_metric(f"{name}[{level!r}]", statistic(f"inside:{level!r}")),)
