"""Requirements of every estimator and interval: a new file inherits these tests."""

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation import estimate as assess
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.nouns.estimate import Estimate, Increments, PassSums, Sample
from activetest.nouns.quantity import Quantity

MODEL_BASED = catalog.having("estimators", "MODEL_BASED")
ERROR = specification.find_metric("error", Facts("classification", ("cat", "dog")))


def sample(name: str = "lure", *, draws: int = 20, size: int = 60) -> Sample:
    """Uniform draws of a 0/1 statistic, of the kind that an estimator is for.

    Whatever was not drawn is not known.
    """
    rng = np.random.default_rng(6)
    stats = (rng.random((draws, 1)) < 0.3).astype(float)
    imputed = np.full((draws, 1), 0.25)
    left = size - np.arange(draws, dtype=float)
    weights = 1 / (left * np.maximum(left - 1, 1e-9))
    total = stats.sum(axis=0)
    unknown = size - draws
    return Sample(
        stats=stats,
        q=1 / left,
        weights=weights / weights.sum(),
        known_sum=np.cumsum(stats, axis=0) - stats,
        imputed=imputed,
        imputed_sum=0.25 * left[:, None],
        inside=np.ones(draws),
        left=left,
        size=size,
        total=total,
        unknown=unknown,
        counted=np.ones(draws),
        uniform=True,
        limits=np.array([total, total + unknown]) / size,
        expect=lambda weights: (
            np.full(draws, 0.25 * weights[0]),
            np.full(draws, 0.25 * 0.75 * weights[0] ** 2),
        ),
        label_variance=lambda weights: 0.0,
        surrogate=np.array([0.25 * unknown]),
        posterior=rng.binomial(unknown, 0.25, size=(200, 1)) if unknown else np.zeros((200, 1)),
        passes=PassSums(*rng.binomial(size, 0.25, size=(3, 50, 1)) * (unknown / size)),
        replaced=name == "importance",
    )


# --- estimators


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_estimates_are_finite_means_with_a_variance(name):
    estimate = catalog.load("estimators", name).estimate(sample(name))
    assert estimate.mean.shape == (1,)
    assert estimate.variance.shape == (1, 1)
    assert np.isfinite(estimate.mean).all()
    assert estimate.variance[0, 0] > 0
    assert 0 <= estimate.mean[0] <= 1
    assert not estimate.exact


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_values_of_drawn_items_come_with_the_variance_that_the_surrogate_expects(name):
    estimate = assess.estimate_metric(sample(name), ERROR, name).estimate
    assert (
        (estimate.model_variance == 0)
        if estimate.draws is not None
        else (estimate.model_variance > 0)
    )
    assert np.isfinite(estimate.model_variance)


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_an_estimate_has_one_term_weight_and_guess_per_draw_or_none_at_all(name):
    estimate = catalog.load("estimators", name).estimate(sample(name))
    count = 20 if estimate.draws is None else 0
    assert estimate.terms.shape == estimate.guess.shape == (count, 1)
    assert estimate.weights.shape == estimate.inside.shape == (count,)
    if count:
        assert estimate.weights @ estimate.terms == approx(estimate.mean)


@pytest.mark.parametrize("name", catalog.names("estimators"))
def test_an_estimate_is_the_truth_when_everything_is_known(name):
    whole = sample(name, draws=60, size=60)
    estimate = catalog.load("estimators", name).estimate(whole)
    assert estimate.exact
    assert estimate.mean[0] == whole.stats.mean()
    assert estimate.variance[0, 0] == 0


@pytest.mark.parametrize("name", MODEL_BASED)
@pytest.mark.parametrize("draws", [0, 1])
def test_an_estimate_that_rests_on_the_surrogate_needs_no_draws(draws, name):
    assert np.isfinite(catalog.load("estimators", name).estimate(sample(name, draws=draws)).mean)


@pytest.mark.parametrize("name", sorted({*catalog.names("estimators")} - {*MODEL_BASED}))
@pytest.mark.parametrize("draws", [0, 1])
def test_an_estimate_from_too_few_draws_does_not_exist(name, draws):
    with pytest.raises(NotEstimable):
        catalog.load("estimators", name).estimate(sample(name, draws=draws))


# --- intervals


def build_interval(
    name: str, level: float, *, exact: bool = False, spread: float = 1.0
) -> Quantity:
    """The interval for 0.3, of draws that are so many times as far apart as they might be."""
    rng = np.random.default_rng(11)
    if name == "betting":
        value = 0.3 + 0.2 * spread * rng.choice([-1, 1], size=1000)
        ends, nothing = np.tile([[-0.5], [1.5]], 1000), np.zeros(1000)
        increments = Increments(value, *ends, offset=nothing, least=nothing, most=nothing + 1)
        limits = (0.3, 0.3) if exact else (0.0, 1.0)
        return catalog.load("intervals", name).interval(
            increments, level, low=limits[0], high=limits[1]
        )
    # A calibration error is of what happened and what was claimed, by bin, and a squared one of
    # the bins' shares besides.
    means = {"calibration": [0.3, 0.0], "calibration-squared": [0.3**0.5, 0.0, 1.0]}
    means = np.array(means.get(name, [0.3]))
    columns = len(means)
    noise = rng.normal(scale=0.3 * spread, size=(20, 1)) * (means > 0)
    variance = np.zeros((1, 1)) if exact else np.full((1, 1), 0.004 * spread**2)
    scale = 0.0 if exact else 0.06 * spread
    estimate = Estimate(
        mean=means,
        variance=variance,
        terms=means + noise,
        weights=sample().weights,
        guess=np.zeros((20, columns)),
        limits=np.tile([[0.1], [0.8]], columns),
        inside=np.ones(20),
        draws=0.3 + scale * rng.normal(size=(200, 1)),
        exact=exact,
        model_variance=float(variance[0, 0]),
        minority_count=6.0,
        weighted_minority_count=6.0,
    )
    return catalog.load("intervals", name).interval(estimate, level)


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_intervals_hold_the_estimate_and_widen_with_the_level(name):
    narrow, wide = build_interval(name, 0.8), build_interval(name, 0.99)
    assert narrow.lower < 0.3 < narrow.upper < wide.upper
    # An end may be as low as can be.
    assert wide.lower < narrow.lower or wide.lower == narrow.lower == approx(0.1)
    assert (narrow.level, narrow.method) == (0.8, name)


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_an_interval_has_no_width_when_everything_is_known(name):
    one = build_interval(name, 0.95, exact=True)
    assert one.lower == approx(0.3)
    assert one.upper == approx(0.3)
    assert one.method == "exact"


@pytest.mark.parametrize("name", catalog.names("intervals"))
def test_a_larger_variance_widens_an_interval(name):
    one, other = build_interval(name, 0.9), build_interval(name, 0.9, spread=2.0)
    assert other.upper - other.lower > one.upper - one.lower
