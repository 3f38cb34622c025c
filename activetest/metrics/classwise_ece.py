"""Classwise expected calibration error (Kull et al. 2019; called static by Nixon et al. 2019)."""

from itertools import chain

import numpy as np

from activetest.errors import ChoiceError
from activetest.evidence import Array
from activetest.metrics import _arguments, _calibration
from activetest.metrics._metric import Facts, Metric

TASK = "classification"

# Bins of all classes together: every one is two statistics.
_MOST = 1500


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean over classes of the sum over bins of |share of the class - its probability|, in [0, 1].

    Every class has its own bins, of the probability of the class; what may be asked of them is as
    for ece: classwise-ece[equal-count,10].
    """
    name = "classwise-ece"
    _arguments.needs_probabilities(name, facts)
    classes = len(facts.classes)
    _, bins = _calibration.asked(name, argument)
    if bins * classes > _MOST:
        raise ChoiceError(
            f"{name!r} would have {bins} bins for each of {classes} classes, {_MOST} at most",
            "ask for ece, or for fewer bins as in classwise-ece[5]",
        )
    edges = [_calibration.edges(name, facts, argument, code) for code in range(classes)]
    statistics = (
        *chain(*(_calibration.in_bins(f"true_in:{c}", each) for c, each in enumerate(edges))),
        *chain(*(_calibration.in_bins(f"prob_in:{c}", each) for c, each in enumerate(edges))),
    )

    def distance(mean: Array) -> Array:
        true, probability = np.split(mean, 2, axis=-1)
        return np.abs(true - probability).sum(axis=-1) / classes

    named = _calibration.named(name, argument)
    return (Metric(named, statistics, distance, upper=1.0, interval="calibration"),)
