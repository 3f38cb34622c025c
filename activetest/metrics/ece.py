"""Expected calibration error (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017).

How far confidence and accuracy are apart, in the mean over items of bins of the confidence: the
probability of the predicted class. Bins of equal counts: Nguyen and O'Connor 2015.
"""

import numpy as np

from activetest.item_statistics import arguments, calibration
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "lower"
TITLE = "Calibration error[ ({} bins)]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Sum over bins of |share right - confidence|, in [0, 1]; 15 bins of equal width.

    ece[10], ece[equal-count] and ece[equal-count,10] are others. As an estimate from few labels it
    is too large: chance alone moves accuracy away from confidence (Kumar, Liang and Ma 2019).
    """
    arguments.require_probabilities("ece", facts)
    edges = calibration.find_edges("ece", facts, argument)
    statistics = (
        *calibration.statistics_of_bins("right_in", edges),
        *calibration.statistics_of_bins("conf_in", edges),
    )
    name = calibration.add_bins_to_name("ece", argument)
    return (Metric(name, statistics, _distance, upper=1.0, interval="calibration"),)


def _distance(mean: Array) -> Array:
    right, confidence = np.split(mean, 2, axis=-1)
    values: Array = np.abs(right - confidence).sum(axis=-1)
    return values
