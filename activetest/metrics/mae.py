"""Mean absolute error, in units of the label (Willmott and Matsuura 2005)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear
from activetest.item_statistics.statistic import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean absolute loss."""
    arguments.nothing("mae", argument)
    return (linear("mae", statistic("absolute")),)
