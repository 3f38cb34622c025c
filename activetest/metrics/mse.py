"""Mean squared error, in squared units of the label (Gauss 1823)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean squared loss."""
    _arguments.nothing("mse", argument)
    return (linear("mse", statistic("squared")),)
