"""Bias: the mean of prediction minus label, in its units (Jolliffe and Stephenson 2003)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean signed difference: positive when the model predicts too much."""
    arguments.refuse_argument("bias", argument)
    return (linear_metric("bias", statistic("signed")),)
