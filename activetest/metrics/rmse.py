"""Root mean squared error, in units of the label."""

from activetest.metrics._metric import Metric


def metric() -> Metric:
    """Square root of the mean squared loss."""
    return Metric("rmse", ("squared",), lambda mean: float(max(mean[0], 0.0)) ** 0.5)
