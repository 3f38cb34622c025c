"""Squared calibration error: the reliability term of Murphy 1973 (Kumar, Liang and Ma 2019)."""

import numpy as np

from activetest.evidence import Array
from activetest.metrics import _arguments, _calibration
from activetest.metrics._metric import Facts, Metric, divide

TASK = "classification"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Sum over bins of share * (accuracy - confidence)^2, in [0, 1]; bins as for ece.

    Its square root is what is called l2 calibration error.
    """
    name = "calibration-error-squared"
    _arguments.needs_probabilities(name, facts)
    edges = _calibration.edges(name, facts, argument)
    statistics = (
        *_calibration.in_bins("right_in", edges),
        *_calibration.in_bins("conf_in", edges),
        *_calibration.in_bins("in_bin", edges),
    )
    return (
        Metric(
            _calibration.named(name, argument),
            statistics,
            _distance,
            upper=1.0,
            interval="calibration-squared",
        ),
    )


def _distance(mean: Array) -> Array:
    right, confidence, share = np.split(mean, 3, axis=-1)
    # A bin without items adds nothing.
    return np.nan_to_num(divide((right - confidence) ** 2, share)).sum(axis=-1)
