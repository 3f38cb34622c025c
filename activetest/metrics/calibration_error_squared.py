"""Squared calibration error: the reliability term of Murphy 1973 (Kumar, Liang and Ma 2019)."""

import numpy as np

from activetest.item_statistics import arguments, calibration
from activetest.item_statistics.metric import Facts, Metric, divide
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "lower"
TITLE = "Squared calibration error[ ({} bins)]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Sum over bins of share * (accuracy - confidence)^2, in [0, 1]; bins as for ece.

    Its square root is what is called l2 calibration error.
    """
    name = "calibration-error-squared"
    arguments.require_probabilities(name, facts)
    edges = calibration.find_edges(name, facts, argument)
    statistics = (
        *calibration.statistics_of_bins("right_in", edges),
        *calibration.statistics_of_bins("conf_in", edges),
        *calibration.statistics_of_bins("in_bin", edges),
    )
    return (
        Metric(
            calibration.add_bins_to_name(name, argument),
            statistics,
            _distance,
            upper=1.0,
            interval="calibration-squared",
        ),
    )


def _distance(mean: Array) -> Array:
    right, confidence, share = np.split(mean, 3, axis=-1)
    # A bin without items adds nothing.
    values: Array = np.nan_to_num(divide((right - confidence) ** 2, share)).sum(axis=-1)
    return values
