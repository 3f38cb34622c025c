"""Mean absolute error, in units of the label (Willmott and Matsuura 2005)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean absolute loss."""
    _arguments.nothing("mae", argument)
    return (linear("mae", statistic("absolute")),)
