"""Accuracy: the share of items whose predicted class is the label."""

from activetest.metrics._metric import Metric


def metric() -> Metric:
    """One minus the mean zero-one loss, in [0, 1].

    The draws that estimate an error well estimate an accuracy well.
    """
    return Metric("accuracy", ("zero_one",), lambda mean: 1.0 - float(mean[0]), upper=1.0)
