"""Error rate: the share of items whose predicted class is not the label (Hand 1997)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "classification"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean zero-one loss, in [0, 1]."""
    _arguments.nothing("error", argument)
    return (linear("error", statistic("zero_one")),)
