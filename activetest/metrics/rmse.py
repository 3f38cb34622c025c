"""Root mean squared error, in units of the label (Chai and Draxler 2014)."""

import numpy as np

from activetest.evidence import Array
from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, first
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Square root of the mean squared loss."""
    _arguments.nothing("rmse", argument)
    return (Metric("rmse", (statistic("squared"),), _root),)


def _root(mean: Array) -> Array:
    # An unbiased estimate of a mean square can fall below zero.
    return np.sqrt(np.maximum(first(mean), 0.0))
