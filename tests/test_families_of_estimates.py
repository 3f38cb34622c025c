"""What every estimator, interval and metric owes: a new file inherits these tests."""

from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.evidence import Estimate, Sample
from activetest.metrics._losses import loss


def sample(*, draws: int = 20, size: int = 60) -> Sample:
    """Uniform draws of a 0/1 statistic; whatever was not drawn is not known."""
    rng = np.random.default_rng(6)
    stats = (rng.random((draws, 1)) < 0.3).astype(float)
    imputed = np.full((draws, 1), 0.25)
    left = size - np.arange(draws, dtype=float)
    weights = 1 / (left * np.maximum(left - 1, 1e-9))
    total = stats.sum(axis=0)
    unknown = size - draws
    return Sample(
        stats=stats,
        probs=1 / left,
        weights=weights / weights.sum(),
        known_sum=np.cumsum(stats, axis=0) - stats,
        imputed=imputed,
        imputed_sum=0.25 * left[:, None],
        inside=np.ones(draws),
        left=left,
        doubt=np.tile([2.0, 1.0, 1.0, 5.0], (draws, 1, 1)) * left[:, None, None],
        size=size,
        total=total,
        unknown=unknown,
        tally=int(min(total[0], draws - total[0])),
        uniform=True,
        limits=np.array([total, total + unknown]) / size,
        surrogate=np.array([0.25 * unknown]),
        posterior=rng.binomial(unknown, 0.25, size=(200, 1)) if unknown else np.zeros((200, 1)),
    )


# --- estimators


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_estimates_are_finite_means_with_a_variance(name):
    made = catalog.load("estimators", name).estimate(sample())
    assert made.mean.shape == (1,)
    assert made.variance.shape == (1, 1)
    assert made.model_variance.shape == (1, 1)
    assert np.isfinite(made.mean).all()
    assert made.variance[0, 0] > 0
    assert 0 <= made.mean[0] <= 1
    assert not made.exact


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_an_estimate_is_the_truth_when_everything_is_known(name):
    whole = sample(draws=60, size=60)
    made = catalog.load("estimators", name).estimate(whole)
    assert made.exact
    assert made.mean[0] == whole.stats.mean()
    assert made.variance[0, 0] == 0


@pytest.mark.parametrize("name", catalog.names("estimators"))
@pytest.mark.parametrize("draws", [0, 1])
def test_an_estimate_from_too_few_draws_does_not_exist(name, draws):
    if name == "ase":
        assert np.isfinite(catalog.load("estimators", name).estimate(sample(draws=draws)).mean)
        return
    with pytest.raises(NotEstimable):
        catalog.load("estimators", name).estimate(sample(draws=draws))


# --- intervals


def estimate(*, exact: bool = False) -> Estimate:
    """A mean of 0.3 with members, so that every interval can be made of it."""
    rng = np.random.default_rng(11)
    one = sample()
    variance = np.zeros((1, 1)) if exact else np.full((1, 1), 0.004)
    draws = np.full((200, 1), 0.3) if exact else rng.normal(0.3, 0.06, size=(200, 1))
    terms = 0.3 + rng.normal(scale=0.3, size=(20, 1))
    return Estimate(
        mean=np.array([0.3]),
        variance=variance,
        terms=terms,
        weights=one.weights,
        tally=6,
        limits=np.array([[0.1], [0.8]]),
        inside=one.inside,
        model_variance=variance,
        draws=draws,
        exact=exact,
    )


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_intervals_hold_the_estimate_and_widen_with_the_level(name):
    make = catalog.load("intervals", name).interval
    narrow, wide = make(estimate(), 0.8), make(estimate(), 0.99)
    assert wide.lower < narrow.lower < 0.3 < narrow.upper < wide.upper
    assert (narrow.level, narrow.method) == (0.8, name)


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_an_interval_has_no_width_when_everything_is_known(name):
    made = catalog.load("intervals", name).interval(estimate(exact=True), 0.95)
    assert made.lower == pytest.approx(0.3)
    assert made.upper == pytest.approx(0.3)


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_a_larger_variance_widens_an_interval(name):
    make = catalog.load("intervals", name).interval
    one = estimate()
    other = replace(
        one,
        variance=4 * one.variance,
        model_variance=4 * one.model_variance,
        draws=0.3 + 2 * (one.draws - 0.3),
    )
    assert (
        make(other, 0.9).upper - make(other, 0.9).lower
        > make(one, 0.9).upper - make(one, 0.9).lower
    )


# --- metrics


@pytest.mark.parametrize("name", catalog.names("metrics"))
def test_metrics_are_smooth_maps_of_statistics_that_exist(name):
    metric = catalog.load("metrics", name).metric()
    assert metric.name == name
    assert all(callable(loss(statistic)) for statistic in metric.statistics)
    mean = np.full(len(metric.statistics), 0.3)
    assert metric.lower <= metric.smooth(mean) <= metric.upper
    for axis, slope in enumerate(metric.gradient(mean)):
        step = np.eye(len(mean))[axis] * 0.01
        chord = (metric.smooth(mean + step) - metric.smooth(mean - step)) / 0.02
        assert slope == pytest.approx(chord, rel=0.01)
