"""Bias: the mean of prediction minus label, in its units (Jolliffe and Stephenson 2003)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean signed difference: positive when the model predicts too much."""
    _arguments.nothing("bias", argument)
    return (linear("bias", statistic("signed")),)
