"""LURE as a mean of unbiased steps."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimators import lure
from activetest.nouns.estimate import Sample

SIZE = 30


def sample(truth: np.ndarray, rows: np.ndarray, probs: np.ndarray) -> Sample:
    """Draws of these rows, without a surrogate."""
    stats = truth[rows][:, None]
    before = np.cumsum(stats, axis=0) - stats
    ahead = len(truth) - np.arange(len(rows), dtype=float)
    weights = 1 / (ahead * (ahead - 1))
    nothing = np.zeros_like(stats)
    return Sample(
        stats=stats,
        q=probs,
        weights=weights / weights.sum(),
        known_sum=before,
        imputed=nothing,
        imputed_sum=nothing,
        inside=np.ones(len(rows)),
        left=np.zeros(len(rows)),
        size=len(truth),
        total=stats.sum(axis=0),
        unknown=len(truth) - len(rows),
        counted=np.ones(len(rows)),
        uniform=False,
        limits=np.array([[-np.inf], [np.inf]]),
        expect=lambda weights: (np.zeros(len(rows)), np.zeros(len(rows))),
        label_variance=lambda weights: 0.0,
    )


def uniform(count: int = 10, seed: int = 1) -> Sample:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(SIZE)[:count]
    return sample(rng.normal(size=SIZE), rows, 1 / (SIZE - np.arange(count)))


def test_of_uniform_draws_it_is_the_plain_mean():
    one = uniform()
    assert lure.estimate(one).mean[0] == approx(one.stats.mean())


def test_draws_in_proportion_to_the_statistic_are_exact():
    """q_i = h_i over the sum of h over what is left: every step is the truth."""
    truth = np.random.default_rng(2).random(SIZE) + 0.1
    rows = np.array([3, 7, 20, 4, 5])
    left = truth.sum() - (np.cumsum(truth[rows]) - truth[rows])
    estimated = lure.estimate(sample(truth, rows, truth[rows] / left))
    assert estimated.terms[:, 0] == approx(np.full(5, truth.mean()))
    assert estimated.variance[0, 0] == approx(0, abs=1e-25)


def test_a_step_does_not_depend_on_later_labels():
    one = uniform()
    stats = one.stats.copy()
    stats[-1] += 5
    changed = lure.estimate(replace(one, stats=stats))
    before = lure.estimate(one)
    assert (changed.terms[:-1] == before.terms[:-1]).all()
    assert changed.terms[-1] - before.terms[-1] == approx(5 / one.q[-1] / SIZE)


def test_shifting_uniform_statistics_shifts_the_estimate_and_keeps_the_variance():
    one = uniform()
    moved = replace(one, stats=one.stats + 3, known_sum=one.known_sum + 3 * np.arange(10)[:, None])
    assert lure.estimate(moved).mean[0] == approx(lure.estimate(one).mean[0] + 3)
    assert lure.estimate(moved).variance == approx(lure.estimate(one).variance)


def test_several_means_are_each_by_itself_and_their_covariance_is_that_of_every_sum():
    first, second = uniform(seed=1), uniform(seed=2)
    names = ("stats", "known_sum", "imputed", "imputed_sum")
    both = replace(
        first,
        **{name: np.hstack([getattr(first, name), getattr(second, name)]) for name in names},
    )
    estimated, weights = lure.estimate(both), np.array([2.0, -0.5])
    assert estimated.mean == approx([lure.estimate(first).mean[0], lure.estimate(second).mean[0]])
    summed = replace(first, **{name: (getattr(both, name) @ weights)[:, None] for name in names})
    assert weights @ estimated.variance @ weights == approx(lure.estimate(summed).variance[0, 0])


def test_it_takes_every_item_to_be_nothing():
    assert (lure.estimate(uniform()).guess == 0).all()


def test_the_estimated_variance_is_right_on_average():
    """4000 samples of 12 uniform draws from 30, against the closed form of the plain mean."""
    truth = np.random.default_rng(3).normal(size=SIZE)
    rng = np.random.default_rng(4)
    probs = 1 / (SIZE - np.arange(12))
    found = np.array(
        [
            lure.estimate(sample(truth, rng.permutation(SIZE)[:12], probs)).variance[0, 0]
            for _ in range(4000)
        ]
    )
    exact = truth.var(ddof=1) / 12 * (1 - 12 / SIZE)
    assert abs(found.mean() - exact) < 0.05 * exact + 4 * found.std() / 4000**0.5


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_draws_have_no_estimate(count):
    with pytest.raises(NotEstimable):
        lure.estimate(uniform(count))
