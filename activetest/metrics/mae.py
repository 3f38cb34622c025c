"""Mean absolute error, in units of the label (Willmott and Matsuura 2005)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
BETTER = "lower"
TITLE = "MAE"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean absolute loss."""
    arguments.refuse_argument("mae", argument)
    return (linear_metric("mae", statistic("absolute")),)
