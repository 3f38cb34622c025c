"""Missing answers: what estimates make of them lies within the worst that they can be."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import estimate, missing, samples
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from tests.makers import set_status

SIZE = 40
FACTS = Facts("classification", ("cat", "dog", "owl"), probabilities=True)
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
CODES = (0.0, 1.0, 2.0, -1.0)

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


def find(name: str):
    return specification.find_metric(name, FACTS)


def collected(log: Log, pool, name: str, surrogate=None) -> samples.Evidence:
    return samples.collect_evidence(log, pool, CHOICES, [find(name)], seed=1, surrogate=surrogate)


def filled_of(log: Log, pool, name: str, group: int = 0, until: int | None = None):
    evidence = collected(log, pool, name)
    until = len(log.history) + 1 if until is None else until
    group = evidence.groups[group]
    return missing.fill_rounds(evidence, pool, find(name), group, until)


def ordinary(log: Log, pool, name: str, group: int, estimator: str, surrogate=None):
    """The value of a log that lacks nothing; the surrogate matters to its model variance alone."""
    evidence = collected(log, pool, name, surrogate)
    sample = samples.build_sample(evidence, find(name), evidence.groups[group])
    return estimate.estimate_metric(sample, find(name), estimator)


def answers(log: Log, places, supplied=(), *, declined: bool = False):
    """Every log in which the missing items have answers: of each class, of none, or declined."""
    outcomes = [(LABELLED, code) for code in CODES] + [(DECLINED, np.nan)] * declined
    for given in product(outcomes, repeat=len(places) + len(supplied)):
        now = replace(
            log,
            status=log.status.copy(),
            labels=log.labels.copy(),
            supplied_status=log.supplied_status.copy(),
            supplied_labels=log.supplied_labels.copy(),
        )
        for place, (status, code) in zip(places, given, strict=False):
            now.status[place], now.labels[place] = status, code
        for place, (status, code) in zip(supplied, given[len(places) :], strict=True):
            now.supplied_status[place], now.supplied_labels[place] = status, code
        yield now


def ends_of(value) -> tuple[float, float]:
    return value.worst.ends


def scale(value) -> float:
    """A value on the scale of its linear estimate, cut off where that is impossible."""
    return float(np.clip(value.estimate.mean[0], *value.estimate.limits[:, 0]))


# --- what the complete data would give


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust"])
@pytest.mark.parametrize("name", ["error", "accuracy", "brier", "f1[dog]", "precision[owl]"])
@pytest.mark.parametrize("group", [0, 1])
def test_the_estimate_with_any_answers_lies_within_the_worst_cases(
    pool, truth, play_rounds, name, estimator, group
):
    """Every answer of every missing item, drawn in three rounds."""
    whole = play_rounds((CHOICES, 8), (CHOICES, 6), (CHOICES, 6))
    for places in ((2, 9), (0, 15, 18), (19,)):
        log = set_status(whole, list(places), PENDING)
        filled = filled_of(log, pool, name, group)
        value = missing.estimate_with_missing(filled, estimator)
        low, high = ends_of(value)
        assert low - 1e-9 <= scale(value) <= high + 1e-9
        surrogate = filled.evidence.surrogate
        found = [
            scale(ordinary(now, pool, name, group, estimator, surrogate))
            for now in answers(log, places)
        ]
        assert low - 1e-9 <= min(found) and max(found) <= high + 1e-9
        if estimator == "lure":
            assert (low, high) == approx((min(found), max(found)), abs=1e-9)
