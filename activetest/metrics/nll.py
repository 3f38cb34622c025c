"""Gaussian negative log-likelihood of the label (Good 1952; Gneiting and Raftery 2007)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
BETTER = "lower"
TITLE = "Negative log-likelihood"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean of -log N(label; prediction, deviation^2), constant included, in nats.

    Densities can exceed 1, so it can be negative. A deviation below 1e-12 counts as 1e-12.
    """
    arguments.refuse_argument("nll", argument)
    arguments.require_deviation("nll", facts)
    return (linear_metric("nll", statistic("nll")),)
