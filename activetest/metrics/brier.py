"""Brier score: the mean squared distance between probabilities and labels (Brier 1950).

The distance is summed over classes.
"""

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean Brier loss, in [0, 2]; half of it is what binary scorers often call by this name."""
    return Metric("brier", ("brier",), first, upper=2.0)
