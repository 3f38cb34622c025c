"""Estimates of models' values, and the posterior that follows."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from activetest.item_statistics.compared import bind_metric
from activetest.nouns.log import Log
from activetest.rounds.compared_pool import ComparedPool
from activetest.rounds.fit import observe_statistics
from activetest.rounds.race import blend_scores
from activetest.rounds.scores import make_scorer
from activetest.sampling.plan import plan_round, prepare_round
from activetest.simulation.simulate import answered
from activetest.wings.best.standing import (
    Standing,
    find_judged,
    judge,
    make_rng,
    measure_standing,
    weigh_pairs,
)
from tests.guarantees.test_unbiased import SIZE, studies
from tests.wings.best.conftest import CHOICES

EMPTY = Standing(
    ("v1", "v2"),
    higher=False,
    mean=np.array([0.2, 0.1]),
    covariance=np.zeros((2, 2)),
    apart=np.array([[0, 0.2], [0.2, 0]]),
    scale=1.0,
    telling=0,
)


def draw(standing, seed=0, count=200_000):
    return standing.draw(np.random.default_rng(seed), count)


@pytest.mark.pool(rows=SIZE, seed=3)
@pytest.mark.parametrize("acquisition", ["top-two", "non-unanimous"])
def test_estimates_of_all_models_are_unbiased(pool, rivals, contest, acquisition):
    """Over every order in which the draws can come, though rounds aim at what labels say."""
    truth = pool.rows(0, SIZE).outputs.pred.astype(float)
    truth[-1] = (truth[-1] + 1) % 3
    truth[3] = contest().rows(0, SIZE).others["v3"].outputs.pred[3]
    choices = replace(CHOICES, acquisition=acquisition)
    expected, chances = np.zeros(3), 0.0
    for log, chance in studies(contest(), truth, choices):
        standing = measure_standing(log, contest(log), choices, seed=1)
        expected, chances = expected + chance * standing.mean, chances + chance
    metric = find_judged(contest(), choices)
    rows = contest().rows(0, SIZE)
    names = tuple(bind_metric(metric, each).statistics[0] for each in ("v1", "v2", "v3"))
    target = observe_statistics(rows, truth, names).mean(axis=0)
    assert chances == approx(1) and target.max() - target.min() > 0.1
    assert expected == approx(target, abs=1e-7)


@pytest.mark.pool(rows=120, seed=3)
@pytest.mark.parametrize("acquisition", ["top-two", "non-unanimous"])
def test_the_probabilities_of_draws_follow_from_what_a_round_records(contest, acquisition):
    choices = replace(CHOICES, acquisition=acquisition)
    truth = contest().rows(0, 120).outputs.pred.astype(float)
    log = Log.empty()
    for _ in range(3):
        log = answered(log, plan_round(log, contest(), choices, seed=1, count=15), truth)
    for last in log.history[1:]:
        compared = contest(log)
        state = prepare_round(*(replace_log(log, last.number), compared, choices), seed=1, count=15)
        score = make_scorer(compared.restore_surrogate(last), choices, seed=1, number=last.number)
        free = state.q > 0
        scores = score(compared.rows(0, 120), last.objectives) * free
        totals = np.array([each.total for each in last.objectives])
        weight = blend_scores(scores, free, choices.floor, totals, int(free.sum()))
        assert weight / weight.sum() == approx(state.q, rel=1e-6)


def replace_log(log, number):
    """The log before a round."""
    before = log.round < number
    kept = {name: getattr(log, name)[before] for name in ("rows", "q", "round", "status", "labels")}
    return replace(log, **kept, history=log.history[: number - 1])


def test_without_labels_models_that_differ_alike_are_best_alike():
    names = ("a", "b", "c")
    apart = 0.2 * (1 - np.eye(3))
    none = replace(
        EMPTY, models=names, mean=np.full(3, np.nan), covariance=np.zeros((3, 3)), apart=apart
    )
    found = judge(draw(none), 0.0)
    assert found.best == approx(np.full(3, 1 / 3), abs=0.005)
    assert found.regret == approx(np.full(3, found.regret.mean()), abs=0.001)


def test_the_posterior_of_two_models_is_that_of_a_normal_mean():
    """Prior of the difference: mean 0, standard deviation half the share of differing items."""
    covariance = np.array([[0.004, 0.001], [0.001, 0.003]])
    standing = replace(EMPTY, covariance=covariance, telling=1_000_000)
    prior, error = 0.1**2, 0.004 + 0.003 - 2 * 0.001
    mean, variance = 0.1 * prior / (prior + error), prior * error / (prior + error)
    found = draw(standing)
    apart = found[:, 1] - found[:, 0]
    assert apart.mean() == approx(mean, abs=0.001)
    assert apart.std() == approx(np.sqrt(variance), rel=0.01)
    chance = stats.norm.cdf(mean / np.sqrt(variance))
    assert judge(found, 0.0).best[1] == approx(chance, abs=0.005)
    higher = replace(standing, higher=True)
    assert judge(draw(higher), 0.0).best[0] == approx(chance, abs=0.005)


def test_models_that_are_the_same_stay_the_same():
    apart = np.array([[0, 0.2, 0.2], [0.2, 0, 0], [0.2, 0, 0]])
    covariance = np.zeros((3, 3))
    covariance[0, 0] = 0.01
    standing = replace(
        *(EMPTY,),
        models=("a", "b", "c"),
        mean=np.array([0.2, 0.1, 0.1]),
        covariance=covariance,
        apart=apart,
    )
    found = draw(standing)
    assert found[:, 1] == approx(found[:, 2], abs=1e-9)
    best = judge(found, 0.0).best
    assert 0 < best[1] == best[2] and best[0] + best[1] == approx(1)


def test_draws_do_not_follow_signs_that_are_free(monkeypatch):
    """Another processor may give the opposite of an eigenvector."""
    covariance = np.array([[0.004, 0.001], [0.001, 0.003]])
    found, plain = draw(replace(EMPTY, covariance=covariance)), np.linalg.eigh

    def flip(matrix):
        values, vectors = plain(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", flip)
    assert draw(replace(EMPTY, covariance=covariance)) == approx(found, abs=1e-12)


def test_with_a_tolerance_several_models_may_be_best_at_once():
    standing = replace(EMPTY, covariance=np.eye(2) * 1e-9, telling=100)
    exact = judge(draw(standing), 0.0)
    assert exact.best.tolist() == [0, 1] and exact.leader == 1
    assert exact.regret == approx([0.1, 0], abs=1e-3)
    assert judge(draw(standing), 0.11).best.tolist() == [1, 1]


@pytest.mark.pool(rows=120, seed=3)
def test_few_labels_that_agree_leave_doubt(contest):
    """By each of them the first model is right, and the estimate has hardly any variance."""
    truth = contest().rows(0, 120).outputs.pred.astype(float)
    sure = []
    for count in (2, 4, 40):
        drawn = plan_round(Log.empty(), contest(), CHOICES, seed=1, count=count)
        log = answered(Log.empty(), drawn, truth)
        standing = measure_standing(log, contest(log), CHOICES, seed=1)
        sure.append(judge(standing.draw(make_rng(1, 2)), 0.0).best[0])
    assert sure[0] < 0.9 and sure[1] < 0.97 < sure[2]


@pytest.mark.pool(rows=60, seed=3)
def test_once_all_is_known_the_best_is(contest):
    truth = contest().rows(0, 60).others["v3"].outputs.pred.astype(float)
    drawn = plan_round(Log.empty(), contest(), CHOICES, seed=1, count=60)
    log = answered(Log.empty(), drawn, truth)
    standing = measure_standing(log, contest(log), CHOICES, seed=1)
    assert standing.mean[2] == 0 and (standing.mean[:2] > 0).all()
    assert judge(standing.draw(make_rng(1, 2)), 0.0).best.tolist() == [0, 0, 1]


def test_pairs_have_the_chances_of_top_two_thompson_sampling():
    best = np.array([0.55, 0.3, 0.15])
    pairs, shares = weigh_pairs(best, least=0.0)
    rng = np.random.default_rng(0)
    first = rng.choice(3, 200_000, p=best)
    second = rng.choice(3, 200_000, p=best)
    while (same := first == second).any():
        second[same] = rng.choice(3, int(same.sum()), p=best)
    drawn = np.sort(np.stack([first, second], axis=1), axis=1)
    for pair, share in zip(pairs, shares, strict=True):
        assert share == approx((drawn == pair).all(axis=1).mean(), abs=0.005)
    certain, one = weigh_pairs(np.array([1.0, 0.0, 0.0]))
    assert one.sum() == approx(1) and {0} == {*certain[:, 0].tolist()}


@pytest.mark.pool(rows=200, seed=4)
def test_the_covariance_is_that_of_many_studies(pool, rivals):
    """Of differences, which is all that says which model is best: over 200 studies."""
    truth = (pool.rows(0, 200).outputs.pred + (np.arange(200) % 3 == 0)) % 3
    compared = ComparedPool("v1", pool, rivals, Log.empty())
    means, expected = [], 0.0
    basis = np.array([[1, -1, 0], [0, 1, -1]])
    for seed in range(200):
        log = Log.empty()
        for _ in range(2):
            log = answered(log, plan_round(log, compared, CHOICES, seed=seed, count=20), truth)
        standing = measure_standing(log, compared, CHOICES, seed=seed)
        means.append(basis @ standing.mean)
        expected = expected + basis @ standing.covariance @ basis.T / 200
    seen = np.cov(np.array(means).T)
    assert np.sqrt(np.diag(expected)) == approx(np.sqrt(np.diag(seen)), rel=0.2)
