"""Draws with replacement, and what the papers say about estimates that do not fit the draws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.pool.pool import Pool
from activetest.simulation.simulate import simulate
from activetest.simulation.with_replacement import (
    ReplacedDraws,
    collect_sample,
    find_draw_probabilities,
)
from tests.makers import init

SAMPLES = Path(__file__).parents[2] / "sample_data"
DIGITS, KEY = SAMPLES / "digits.parquet", SAMPLES / "digits.labels.csv"
MODEL = Choices("error", ("error",), "model", "active-risk")

pytestmark = pytest.mark.pool(rows=40)


@pytest.fixture(scope="module")
def played():
    """60 studies of the digits by acquisition and estimator, at 20 and 100 draws."""
    results = simulate(
        Pool.open(str(DIGITS)),
        KEY,
        metrics=("error",),
        budgets=(20, 100),
        runs=60,
        seed=2,
        workers=1,
        surrogate="agreement",
        acquisition=("optimal", "active-risk"),
        estimators=("lure", "importance", "naive"),
    )
    return {(one.acquisition, one.estimator, one.budget): one for one in results}


def test_every_draw_has_the_estimates_that_fit_it(played):
    found = {(acquisition, estimator) for acquisition, estimator, _ in played}
    assert ("optimal", "lure") in found and ("active-risk", "importance") in found
    assert ("active-risk", "lure") not in found and ("optimal", "importance") not in found


def test_importance_weighting_comes_to_the_truth(played):
    """Biased by less than a standard error of one study, and less the more draws there are."""
    few, many = (played["active-risk", "importance", budget] for budget in (20, 100))
    assert many.rmse < 0.7 * few.rmse
    assert abs(many.bias) < 4 * many.rmse / many.runs**0.5 + 0.1 * many.rmse


def test_a_label_may_come_twice_and_the_budget_counts_draws(played):
    assert 50 < played["active-risk", "importance", 100].n_labeled < 100
    assert played["optimal", "lure", 100].n_labeled == 100


def test_the_plain_mean_of_active_draws_is_biased_and_lure_is_not(played):
    """Active Testing, Fig. 8 (a)."""
    naive, lure = (played["optimal", name, 100] for name in ("naive", "lure"))
    assert naive.bias > 10 * naive.rmse / naive.runs**0.5 / 2
    assert abs(lure.bias) < 4 * lure.rmse / lure.runs**0.5
    assert naive.rmse > 2 * lure.rmse


def test_probabilities_follow_the_distance_from_the_risk(pool):
    """Sawade 2010: with the model itself, sqrt(p (1 - R)^2 + (1 - p) R^2), p an item's error."""
    choices = replace(MODEL, floor=0.0)
    surrogate = catalog.load("surrogates", "model").restore({})
    nothing = ReplacedDraws(np.empty(0, np.int64), np.empty(0)).to_log(np.zeros(40))
    strength = find_draw_probabilities(nothing, pool, choices, surrogate, seed=1, number=1)
    errors = 1 - pool.scores().astype(float)
    risk = errors.mean()
    expected = np.sqrt(errors * (1 - risk) ** 2 + (1 - errors) * risk**2)
    assert strength == approx(expected / expected.sum(), rel=1e-5)
    cubed = find_draw_probabilities(
        nothing, pool, replace(choices, power=3.0), surrogate, seed=1, number=1
    )
    assert cubed == approx(expected**3 / (expected**3).sum(), rel=1e-5)


def test_the_estimate_of_every_item_drawn_once_evenly_is_the_truth(pool):
    truth = np.arange(40) % 3.0
    draws = ReplacedDraws(np.arange(40), np.full(40, 1 / 40))
    error = statistic("zero_one").value(pool.rows(0, 40).outputs, truth[:, None]).mean()
    metric = _error(pool)
    found = catalog.load("estimators", "importance").estimate(
        collect_sample(draws, pool, truth, metric)
    )
    assert found.mean == approx([error])
    # Nothing leaves the pool, so doubt stays.
    assert not found.exact and found.variance[0, 0] > 0


def test_the_mean_over_all_draws_is_the_truth_when_weights_are_known(pool):
    """h / (N q) is unbiased: its sum over items weighted by q is the mean."""
    truth, rng = np.arange(40) % 3.0, np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(40))
    one = collect_sample(ReplacedDraws(np.arange(40), probs), pool, truth, _error(pool))
    outputs = pool.rows(0, 40).outputs
    mean = statistic("zero_one").value(outputs, truth[:, None]).mean()
    assert probs @ (one.stats[:, 0] / (40 * one.q)) == approx(mean)


def _error(pool):
    return specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))


def test_an_item_that_came_twice_is_learned_from_once():
    truth = np.array([0.0, 1.0, 2.0])
    log = ReplacedDraws(np.array([2, 0, 2, 2]), np.full(4, 1 / 3)).to_log(truth)
    assert log.rows.tolist() == [2, 0] and log.labels.tolist() == [2.0, 0.0]


def test_a_study_does_not_draw_with_replacement(folder, write_pool):
    write_pool(folder / "pool.parquet", 10)
    with pytest.raises(ChoiceError, match="draws with replacement"):
        init("pool.parquet", acquisition="active-risk")
