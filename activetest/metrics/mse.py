"""Mean squared error, in squared units of the label (Gauss 1823)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear
from activetest.item_statistics.statistic import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean squared loss."""
    arguments.nothing("mse", argument)
    return (linear("mse", statistic("squared")),)
