"""Means over parts of a population are unbiased, each part a stratum with draws of its own.

Over every order in which the draws can come, through the program's own code: see test_unbiased.
"""

from itertools import product

import numpy as np
import pytest

from activetest.estimation.view import build_view
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds import crossing
from activetest.rounds.fit import observe_statistics
from activetest.rounds.part_pool import cut_log, list_part_pools
from activetest.sampling import plan
from activetest.sampling.part_rounds import place_round
from activetest.simulation.simulate import answered
from tests.guarantees.test_unbiased import metric_of, orders

CHOICES = Choices("error", ("error",), "agreement", floor=0.2)
ESTIMATORS = ("lure", "doubly-robust")
ENDS = (4, 7)

pytestmark = pytest.mark.pool(rows=7, seed=3, groups=("place",))


@pytest.fixture
def parted(pool):
    """parted(ends): the pool as a population of parts that end there."""

    def cut(ends):
        pool.part_ends = ends
        pool.part_names = tuple(f"part{place}" for place in range(1, len(ends) + 1))
        return pool

    return cut


@pytest.fixture
def truth(pool):
    """Labels that make the black box wrong on the second, third and last item."""
    labels = pool.rows(0, pool.size).outputs.pred.astype(float)
    labels[[1, 2, -1]] = (labels[[1, 2, -1]] + 1) % 3
    return labels


def list_studies(pool, truth, batches, log=None):
    """(log, probability) of every way a study of parts can go.

    A batch is (draws of each part), or a rule that gives them for a log.
    """
    log = log or Log.empty()
    if not batches:
        yield log, 1.0
        return
    pools, number = list_part_pools(pool), len(log.history)
    counts = batches[0](log) if callable(batches[0]) else batches[0]
    drawn = []
    for part, count in zip(pools, counts, strict=True):
        if not count:
            continue
        state = plan.prepare_round(cut_log(log, part), part, CHOICES, seed=1)
        drawn.append((part, state, [*orders(state.q, count)]))
    for ways in product(*(found for _, _, found in drawn)):
        after, prob = log, 1.0
        for place, ((part, state, _), (rows, chance)) in enumerate(
            zip(drawn, ways, strict=True), start=1
        ):
            one = plan.record_round(state, np.array(rows), part)
            one = place_round(one, part, number + place, len(rows), first=number + 1)
            after, prob = answered(after, one, truth), prob * chance
        for end, more in list_studies(pool, truth, batches[1:], after):
            yield end, prob * more


def find_bias(pool, truth, batches, name="error"):
    """(estimators, d) expectation of the means over all studies, less the true means."""
    metric, expected, total = metric_of(pool, name), 0.0, 0.0
    for log, prob in list_studies(pool, truth, batches):
        view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=False)
        means = [view.value(metric, each).means.mean for each in ESTIMATORS]
        expected, total = expected + prob * np.array(means), total + prob
    assert total == pytest.approx(1, abs=1e-12)
    rows = pool.rows(0, pool.size)
    return expected - observe_statistics(rows, truth, metric.statistics).mean(axis=0)


@pytest.mark.parametrize("name", ["error", "f1[dog]"])
def test_several_parts_are_unbiased(parted, truth, name):
    """The second part comes after the first draws, and both are drawn from then on."""
    pool = parted(ENDS)
    bias = find_bias(pool, truth, [(2, 0), (1, 2)], name)
    assert np.abs(bias).max() < 1e-12


def test_numbers_of_draws_that_follow_labels_bias_it(parted, truth):
    """So allocate_draws does not look at labels: the weights are right given the numbers."""
    pool = parted(ENDS)

    def react(log):
        """Another draw of the part in which the first draws met an error, or else of the other."""
        wrong = log.labels != pool.take(log.rows).outputs.pred
        return (1, 0) if wrong[log.rows < ENDS[0]].any() else (0, 1)

    assert np.abs(find_bias(pool, truth, [(2, 2), react])).max() > 1e-4


def test_predictions_from_labels_of_the_round_and_of_other_parts_are_unbiased(
    parted, truth, monkeypatch
):
    monkeypatch.setattr(crossing, "FOLDS", 2)
    monkeypatch.setattr(crossing, "FEWEST_DRAWS", 2)
    monkeypatch.setattr(crossing, "HALF", 0.5)
    monkeypatch.setattr(crossing, "FEWEST_LABELS", 0.0)
    pool = parted(ENDS)
    assert np.abs(find_bias(pool, truth, [(2, 0), (1, 2)])).max() < 1e-12


@pytest.mark.ci
@pytest.mark.pool(rows=10, seed=3, groups=("place",))
def test_parts_of_six_and_four_items_are_unbiased(parted, truth):
    pool = parted((6, 10))
    assert np.abs(find_bias(pool, truth, [(2, 0), (1, 2)])).max() < 1e-12
