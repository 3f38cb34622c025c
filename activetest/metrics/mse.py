"""Mean squared error, in squared units of the label (Gauss 1823)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
BETTER = "lower"
TITLE = "MSE"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean squared loss."""
    arguments.refuse_argument("mse", argument)
    return (linear_metric("mse", statistic("squared")),)
