"""Root mean squared error, in units of the label (Chai and Draxler 2014)."""

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, take_mean
from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Array

TASK = "regression"
BETTER = "lower"
TITLE = "RMSE"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Square root of the mean squared loss."""
    arguments.refuse_argument("rmse", argument)
    return (Metric("rmse", (statistic("squared"),), _root),)


def _root(mean: Array) -> Array:
    # An unbiased estimate of a mean square can fall below zero.
    return np.sqrt(np.maximum(take_mean(mean), 0.0))
