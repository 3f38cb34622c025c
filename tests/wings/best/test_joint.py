"""One belief about each item's label, for all models."""

import numpy as np
import pytest
from pytest import approx
from scipy.optimize import minimize

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.log import Log
from activetest.rounds.fit import fit_surrogate
from activetest.sampling.plan import plan_round
from activetest.simulation.simulate import answered
from activetest.wings.best import joint
from tests.wings.best.conftest import CHOICES

ROWS = 120
pytestmark = pytest.mark.pool(rows=ROWS, seed=3)
ALONE = tuple(statistic(f"zero_one({name})") for name in ("v1", "v2", "v3"))
APART = tuple(
    statistic(f"zero_one({a})-zero_one({b})") for a, b in (("v1", "v2"), ("v1", "v3"), ("v2", "v3"))
)


def fit(compared, log):
    return fit_surrogate(log, compared, CHOICES, rng=np.random.default_rng(0))


def label(contest, count, of="v1"):
    """The log of labels by which one model is right throughout."""
    truth = contest().rows(0, ROWS).others[of].outputs.pred.astype(float)
    drawn = plan_round(Log.empty(), contest(), CHOICES, seed=1, count=count)
    return answered(Log.empty(), drawn, truth)


def test_differences_are_those_of_their_parts_and_none_where_models_do_the_same(contest):
    log = label(contest, 30)
    compared = contest(log)
    surrogate, rows = fit(compared, log), compared.rows(0, ROWS)
    alone = surrogate.expected(rows, ALONE)
    apart = surrogate.expected(rows, APART)
    assert apart == approx(alone[[0, 0, 1]] - alone[[1, 2, 2]], abs=1e-12)
    pred = [rows.others[name].outputs.pred for name in ("v1", "v2", "v3")]
    for (a, b), line, each in zip(((0, 1), (0, 2), (1, 2)), apart, APART, strict=True):
        same = pred[a] == pred[b]
        mean, variance = moments(surrogate.beliefs(rows, (each,)))
        assert mean[0] == approx(line, abs=1e-12)
        assert not line[same].any() and not variance[0, same].any()
        assert 0 < same.sum() < ROWS and (variance[0, ~same] > 0).all()


def test_labels_say_which_model_to_trust_where_they_differ(contest):
    before = fit(contest(), Log.empty())
    rows = contest().rows(0, ROWS)
    for best, sign in (("v1", -1), ("v2", 1)):
        log = label(contest, 40, of=best)
        after = fit(contest(log), log)
        moved = after.expected(rows, APART[:1]) - before.expected(rows, APART[:1])
        assert sign * moved.sum() > 5


def test_beliefs_are_probabilities_of_the_classes_that_models_predict(contest):
    rows = contest().rows(0, ROWS)
    probs, mistakes = fit(contest(), Log.empty()).believe(rows)
    pred = np.stack([each.outputs.pred for each in rows.others.values()], axis=1)
    assert probs.sum(axis=1) == approx(1) and (probs >= 0).all()
    # A class that several predict counts once, for the first of them.
    assert not probs[:, 1][pred[:, 1] == pred[:, 0]].any()
    assert (mistakes[:, 0] == (pred != pred[:, :1])).all() and (mistakes[:, -1] == 1).all()


def test_the_shifts_are_the_mode_of_their_posterior():
    rng = np.random.default_rng(5)
    pred = rng.integers(0, 3, (50, 3))
    same = pred[:, :, None] == pred[:, None, :]
    logs = np.where(np.tril(same, -1).any(axis=2), -np.inf, rng.normal(0, 1, (50, 3)))
    logs = np.column_stack([logs, rng.normal(-1, 1, 50)])
    outcome = np.array([rng.choice(np.flatnonzero(np.isfinite(line))) for line in logs])
    found = joint._fit(logs, same, outcome)
    widths = np.array([0.5, 1.0, 0.5, 0.5, 0.5])

    def measure(shifts):
        logits = logs * np.where(np.isfinite(logs), 1 + shifts[0], 1)
        logits[:, 3] += shifts[1]
        logits[:, :3] += same @ shifts[2:]
        total = np.log(np.exp(logits).sum(axis=1))
        return ((shifts / widths) ** 2).sum() / 2 - (logits[range(50), outcome] - total).sum()

    best = minimize(measure, np.zeros(5), tol=1e-10)
    assert found == approx(best.x, abs=1e-4) and np.abs(found).max() > 0.1


def test_a_model_that_came_later_leaves_the_belief_of_earlier_rounds_as_it_was(
    pool, rivals, contest
):
    """Weights of their items are computed again, and have to be the same."""
    from activetest.rounds.compared_pool import ComparedPool

    two = ComparedPool("v1", pool, {"v2": rivals["v2"]}, Log.empty())
    truth = pool.rows(0, ROWS).outputs.pred.astype(float)
    log = Log.empty()
    for _ in range(2):
        log = answered(log, plan_round(log, two, CHOICES, seed=1, count=20), truth)
    last = log.history[-1]
    then = ComparedPool("v1", pool, {"v2": rivals["v2"]}, log).restore_surrogate(last)
    now = contest(log).restore_surrogate(last)
    rows = contest(log).rows(0, ROWS)
    assert now.expected(rows, APART[:1]) == approx(then.expected(rows, APART[:1]), abs=1e-12)
    assert np.isfinite(now.expected(rows, APART)).all()
