"""Mean squared error, in squared units of the label."""

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean squared loss."""
    return Metric("mse", ("squared",), first)
