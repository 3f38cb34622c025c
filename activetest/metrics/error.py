"""Error rate: the share of items whose predicted class is not the label."""

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean zero-one loss, in [0, 1]."""
    return Metric("error", ("zero_one",), first, upper=1.0)
