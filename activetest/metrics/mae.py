"""Mean absolute error, in units of the label."""

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean absolute loss."""
    return Metric("mae", ("absolute",), first)
