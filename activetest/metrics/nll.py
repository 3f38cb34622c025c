"""Gaussian negative log-likelihood of the label (Good 1952; Gneiting and Raftery 2007)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean of -log N(label; prediction, deviation^2), constant included, in nats.

    Densities can exceed 1, so it can be negative. A deviation below 1e-12 counts as 1e-12.
    """
    _arguments.nothing("nll", argument)
    _arguments.needs_deviation("nll", facts)
    return (linear("nll", statistic("nll")),)
