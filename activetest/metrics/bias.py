"""Bias: the mean of prediction minus label, in units of the label."""

import numpy as np

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean signed difference: positive when the model predicts too much."""
    return Metric("bias", ("signed",), first, lower=-np.inf)
