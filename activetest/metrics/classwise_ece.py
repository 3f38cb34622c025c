"""Classwise expected calibration error (Kull et al. 2019; called static by Nixon et al. 2019)."""

from itertools import chain

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, calibration
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "lower"
TITLE = "Classwise calibration error[ ({} bins)]"

# Bins of all classes together: every one is two statistics.
_MOST = 1500


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean over classes of the sum over bins of |share of the class - its probability|, in [0, 1].

    Every class has its own bins, of the probability of the class; what may be asked of them is as
    for ece: classwise-ece[equal-count,10].
    """
    name = "classwise-ece"
    arguments.require_probabilities(name, facts)
    classes = len(facts.classes)
    _, bins = calibration.parse_bins(name, argument)
    if bins * classes > _MOST:
        raise ChoiceError(
            f"{name!r} would have {bins} bins for each of {classes} classes, {_MOST} at most",
            "ask for ece, or for fewer bins as in classwise-ece[5]",
        )
    edges = [calibration.find_edges(name, facts, argument, code) for code in range(classes)]
    in_bins = calibration.statistics_of_bins
    statistics = (
        *chain(*(in_bins(f"true_in:{code}", each) for code, each in enumerate(edges))),
        *chain(*(in_bins(f"prob_in:{code}", each) for code, each in enumerate(edges))),
    )

    def distance(mean: Array) -> Array:
        true, probability = np.split(mean, 2, axis=-1)
        values: Array = np.abs(true - probability).sum(axis=-1) / classes
        return values

    named = calibration.add_bins_to_name(name, argument)
    return (Metric(named, statistics, distance, upper=1.0, interval="calibration"),)
