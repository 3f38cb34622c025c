"""Error rate: the share of items whose predicted class is not the label (Hand 1997)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "lower"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean zero-one loss, in [0, 1]."""
    arguments.refuse_argument("error", argument)
    return (linear_metric("error", statistic("zero_one")),)
