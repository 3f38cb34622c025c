"""Estimates are exactly unbiased over every order in which the draws can come.

The code under test is the program's own from the log to the estimate; only the race is replaced, by
going through all its outcomes with their probabilities. Nothing here is random.
"""

from dataclasses import replace

import numpy as np
import pytest

from activetest import assess, cache, catalog, rounds, samples
from activetest.evidence import LABELLED, Choices, Log
from activetest.pool import Pool
from activetest.workflow.simulate import answered

SIZE, BATCHES = 6, (2, 2)
ESTIMATORS = ("lure", "doubly-robust")


@pytest.fixture
def pool(tmp_path, write_pool):
    return cache.build(
        Pool.open(str(write_pool(tmp_path / "pool.parquet", SIZE, seed=3)), groups=("place",)),
        tmp_path / "cache",
    )


@pytest.fixture
def truth(pool):
    """Labels that make the black box wrong on the second, third and last item."""
    labels = pool.rows(0, SIZE).outputs.pred.astype(float)
    labels[[1, 2, 5]] = (labels[[1, 2, 5]] + 1) % 3
    return labels


def orders(strength, count):
    """(rows, probability) of every ordered draw of `count` rows."""
    if not count:
        yield (), 1.0
        return
    for row in np.flatnonzero(strength):
        rest = strength.copy()
        rest[row] = 0
        for more, prob in orders(rest, count - 1):
            yield (row, *more), strength[row] / strength.sum() * prob


def studies(pool, truth, choices, *, bring=lambda log: (), batches=BATCHES, log=None):
    """(log, probability) of every way a study can go; bring(log): rows brought after a round."""
    log = log or Log.empty()
    if not batches:
        yield log, 1.0
        return
    frozen = rounds.freeze(log, pool, choices, seed=1)
    for rows, prob in orders(frozen.strength, batches[0]):
        after = answered(log, rounds.record(frozen, np.array(rows), pool, choices), truth)
        after = brought(after, bring(after), truth)
        for end, more in studies(pool, truth, choices, bring=bring, batches=batches[1:], log=after):
            yield end, prob * more


def brought(log, rows, truth):
    rows = np.array(rows, np.int64)
    return replace(
        log,
        brought_rows=np.append(log.brought_rows, rows),
        brought_status=np.append(log.brought_status, np.full(len(rows), LABELLED)),
        brought_labels=np.append(log.brought_labels, truth[rows]),
        brought_round=np.append(log.brought_round, np.full(len(rows), len(log.history) + 1)),
    )


def expectation(pool, truth, choices, estimator, name, *, group=0, **ways):
    """Expected estimate of the mean statistic, and the true one."""
    metric = catalog.load("metrics", name).metric()
    mean = total = 0.0
    for log, prob in studies(pool, truth, choices, **ways):
        evidence = samples.gather(log, pool)
        one = samples.sample(evidence, metric, evidence.groups[group])
        # A group that happens to be known completely is reported exactly, which is no estimate.
        one = replace(one, unknown=max(one.unknown, 1))
        mean += prob * assess.estimate(one, estimator).mean[0]
        total += prob
    assert total == pytest.approx(1)
    rows = pool.rows(0, pool.size)
    values = rounds.observed(rows, truth, metric.statistics)[:, 0]
    return mean, values[
        samples.gather(Log.empty(), pool).groups[group].holds(rows.codes) > 0
    ].mean()


def first_unseen(pool):
    """The first row nobody has seen, once any error has been seen: brought in answer to labels."""

    def pick(log):
        errors = any(log.labels != pool.take(log.rows).outputs.pred)
        free = np.flatnonzero(rounds.unseen(log, SIZE))
        return free[:1] if errors and len(free) > 2 else ()

    return pick


def most_uncertain(pool, choices):
    """A deterministic rule: the unseen row with the highest score."""

    def pick(log):
        frozen = rounds.freeze(log, pool, replace(choices, floor=0.0), seed=1)
        return [int(np.argmax(frozen.strength))]

    return pick


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("surrogate", ["agreement", "model"])
@pytest.mark.parametrize("metric", ["error", "log-loss"])
def test_an_adaptive_study_is_unbiased(pool, truth, estimator, surrogate, metric):
    choices = Choices(metric, (metric,), surrogate, floor=0.2)
    mean, target = expectation(pool, truth, choices, estimator, metric)
    assert mean == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_labels_brought_in_answer_to_errors_leave_it_unbiased(pool, truth, estimator):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    mean, target = expectation(pool, truth, choices, estimator, "error", bring=first_unseen(pool))
    assert mean == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_deterministic_picks_between_the_rounds_leave_it_unbiased(pool, truth, estimator):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    pick = most_uncertain(pool, choices)
    # A pick before the last draw is part of what is known; after it, it would enter no term.
    mean, target = expectation(
        pool,
        truth,
        choices,
        estimator,
        "error",
        bring=lambda log: pick(log) if len(log.history) == 1 else (),
    )
    assert mean == pytest.approx(target, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("group", [1, 2])
def test_a_group_is_unbiased_from_the_same_draws(pool, truth, estimator, group):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    mean, target = expectation(pool, truth, choices, estimator, "error", group=group)
    assert mean == pytest.approx(target, rel=1e-6)


def test_forgetting_the_probabilities_would_be_seen_here(pool, truth):
    """The plain mean of the same draws is biased: the enumeration can tell."""
    choices = Choices("error", ("error",), "model", floor=0.2)
    mean = sum(
        prob * np.mean(log.labels != pool.take(log.rows).outputs.pred)
        for log, prob in studies(pool, truth, choices)
    )
    wrong = np.mean(truth != pool.rows(0, SIZE).outputs.pred)
    assert abs(mean - wrong) > 0.01


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_when_everything_is_drawn_the_estimate_is_the_truth(pool, truth, estimator):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    log = Log.empty()
    while len(log.rows) < SIZE:
        log = answered(log, rounds.plan(log, pool, choices, seed=5, count=4), truth)
    made = assess.estimate(
        samples.sample(samples.gather(log, pool), catalog.load("metrics", "error").metric()),
        estimator,
    )
    assert made.exact
    assert made.mean[0] == np.mean(truth != pool.rows(0, SIZE).outputs.pred)
    assert made.variance[0, 0] == 0


def test_lure_is_the_formula_of_the_paper(pool, truth):
    """Active Testing, eq. (3)-(4), written as it stands there."""
    choices = Choices("log-loss", ("log-loss",), "agreement", floor=0.2)
    log = Log.empty()
    for _ in range(2):
        log = answered(log, rounds.plan(log, pool, choices, seed=2, count=2), truth)
    size, labels = SIZE, len(log.rows)
    metric = catalog.load("metrics", "log-loss").metric()
    losses = rounds.observed(pool.take(log.rows), log.labels, metric.statistics)[:, 0]
    m = np.arange(1, labels + 1)
    v = 1 + (size - labels) / (size - m) * (1 / ((size - m + 1) * log.probs) - 1)
    made = assess.estimate(samples.sample(samples.gather(log, pool), metric), "lure")
    assert made.mean[0] == pytest.approx(np.mean(v * losses))


def test_doubly_robust_with_nothing_imputed_is_lure(pool, truth):
    choices = Choices("error", ("error",), "agreement", floor=0.2)
    log = answered(Log.empty(), rounds.plan(Log.empty(), pool, choices, seed=2, count=4), truth)
    one = samples.sample(samples.gather(log, pool), catalog.load("metrics", "error").metric())
    # Nothing imputed, and nothing learned about the level: the group was not recorded.
    bare = replace(one, imputed=one.imputed * 0, imputed_sum=one.imputed_sum * 0, left=one.left * 0)
    robust, lure = (assess.estimate(bare, name) for name in ("doubly-robust", "lure"))
    assert robust.mean == pytest.approx(lure.mean)
    assert robust.variance == pytest.approx(lure.variance)
