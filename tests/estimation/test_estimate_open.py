"""Intervals where much is known, and of pools that are nearly drawn altogether."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta, binomtest, norm, t

from activetest.estimation.estimate import (
    build_interval,
    estimate_metric,
    include_known,
    restrict_to_open,
)
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.estimate import Sample
from activetest.nouns.quantity import Quantity

ZERO_ONE = Statistic("zero_one", lambda outputs, labels: labels, lower=0.0, upper=1.0)
LOSS = replace(ZERO_ONE, name="loss", upper=np.inf)
ERROR = linear_metric("error", ZERO_ONE)
MSE = replace(linear_metric("mse", LOSS), upper=np.inf)
BIAS = replace(linear_metric("bias", replace(ZERO_ONE, lower=-np.inf, upper=np.inf)), lower=-np.inf)


def uniform_draws(values, *, size: int, known: int = 0, known_sum: float = 0.0) -> Sample:
    """Uniform draws with these values from what was open of a pool, nothing imputed."""
    values = np.asarray(values, float)
    drawn, count = np.arange(len(values)), len(values)
    left = (size - known - drawn).astype(float)
    # LURE's weights, of a pool of the open items.
    weights = 1 / (left * (left - 1))
    total = known_sum + values.sum()
    unknown = size - known - count
    return Sample(
        stats=values[:, None],
        q=1 / left,
        weights=weights / weights.sum(),
        known_sum=known_sum + (np.cumsum(values) - values)[:, None],
        imputed=np.zeros((count, 1)),
        imputed_sum=np.zeros((count, 1)),
        inside=np.ones(count),
        left=left,
        size=size,
        total=np.array([total]),
        unknown=unknown,
        counted=np.ones(count),
        uniform=True,
        limits=np.array([[total], [total + unknown]]) / size,
        expect=lambda weights: (np.zeros(count), np.zeros(count)),
        label_variance=lambda weights: 0.0,
    )


def ends(sample: Sample, metric: Metric = ERROR, level: float = 0.95, **how) -> tuple[float, float]:
    interval = build_interval(estimate_metric(sample, metric, "lure"), level, **how)
    return interval.lower, interval.upper


def errors(count: int, wrong: int) -> np.ndarray:
    """Zeros with so many ones among them, spread evenly."""
    return np.isin(np.arange(count), np.arange(wrong) * count // wrong).astype(float)


# --- known items


def test_estimate_open_narrow_the_interval():
    """700 of 1,497 are known, 50 of them wrong, and 3 of 40 draws from the others are."""
    values = errors(40, 3)
    lower, upper = ends(uniform_draws(values, size=1497, known=700, known_sum=50.0))
    open_, alone = 797 / 1497, ends(uniform_draws(values, size=797))
    assert lower == approx((50 + 797 * alone[0]) / 1497)
    assert upper == approx((50 + 797 * alone[1]) / 1497)
    # As wide as the interval of the open part, times its share; not as of 3 draws from all.
    exact = binomtest(3, 40).proportion_ci(0.95, method="exact")
    assert upper - lower < open_ * (exact.high - exact.low) * 1.05
    assert 0.03 < lower < (50 + 3 / 40 * 797) / 1497 < upper < 0.15


def test_estimate_open_without_an_error_narrow_the_interval():
    """700 of 1,497 are known, all of them right."""
    values = errors(40, 3)
    lower, upper = ends(uniform_draws(values, size=1497, known=700))
    alone = ends(uniform_draws(values, size=797))
    assert (lower, upper) == approx((797 / 1497 * alone[0], 797 / 1497 * alone[1]))


@pytest.mark.parametrize("metric", [MSE, BIAS])
def test_estimate_open_narrow_the_interval_of_losses(metric):
    values = np.random.default_rng(0).exponential(size=60)
    sample = uniform_draws(values, size=1000, known=600, known_sum=90.0)
    free = np.array([[-np.inf], [np.inf]])
    value = estimate_metric(replace(sample, limits=free), metric, "lure")
    interval = build_interval(value, 0.95)
    assert interval.method == "gamma"
    alone = replace(uniform_draws(values, size=400), limits=free)
    found = ends(alone, metric)
    assert interval.lower == approx(0.09 + 0.4 * found[0])
    assert interval.upper == approx(0.09 + 0.4 * found[1])


def test_the_interval_of_a_group_is_about_its_open_part_too():
    values = errors(40, 3)
    whole = ends(uniform_draws(values, size=1497, known=700, known_sum=50.0), group=True)
    alone = ends(uniform_draws(values, size=797), group=True)
    assert whole == approx([(50 + 797 * end) / 1497 for end in alone])


def test_an_estimate_of_the_open_part_becomes_one_of_the_whole_again():
    sample = uniform_draws(errors(40, 3), size=1497, known=700, known_sum=50.0)
    value = estimate_metric(sample, ERROR, "lure").estimate
    assert (value.known, value.open_share) == (approx(50 / 1497), approx(797 / 1497))
    part = restrict_to_open(value)
    assert part.mean == approx(errors(40, 3).mean(), rel=0.02)
    assert part.limits[:, 0] == approx([3 / 797, (797 - 37) / 797])
    assert part.weights @ part.terms == approx(part.mean)
    factor = 1497 / 797
    assert part.variance == approx(value.variance * factor**2)
    found = include_known(Quantity(None, 0.1, 0.3, 0.9, "x", variance=0.02), value)
    assert found.lower == approx((50 + 79.7) / 1497)
    assert found.upper == approx((50 + 3 * 79.7) / 1497)
    assert (found.estimate, found.level, found.method) == (approx(float(value.mean[0])), 0.9, "x")
    assert found.variance == approx(0.02 / factor**2)
    model = restrict_to_open(replace(value, model_variance=0.5))
    assert model.model_variance == approx(0.5 * factor**2)
    assert (part.known, part.open_share) == (0.0, 1.0)


def test_without_known_items_nothing_moves():
    value = estimate_metric(uniform_draws(errors(40, 3), size=797), ERROR, "lure").estimate
    assert (value.known, value.open_share) == (0.0, 1.0)
    assert restrict_to_open(value).mean == value.mean


def test_where_a_round_recorded_no_number_of_items_nothing_is_taken_as_known():
    sample = uniform_draws(errors(40, 3), size=1497, known=700, known_sum=50.0)
    bare = replace(sample, left=0 * sample.left, remaining=sample.left)
    value = estimate_metric(bare, ERROR, "lure").estimate
    assert (value.known, value.open_share, value.open_items) == (0.0, 1.0, np.inf)


# --- small pools


def test_uniform_draws_of_nearly_all_of_a_small_pool_are_as_good_as_they_are():
    """95 of 100 items: 7 errors, and at most 5 more."""
    sample = uniform_draws(errors(95, 7), size=100)
    value = estimate_metric(sample, ERROR, "lure")
    assert value.estimate.undrawn == approx(0.05)
    interval = build_interval(value, 0.95)
    assert 0.07 <= interval.lower < interval.upper < 0.095
    # Of the variance of uniform draws without the factor, 1 / 20: they save nothing and lose
    # nothing.
    single = 0.073 * (1 - 0.073)
    assert single / (interval.variance + single / 100) > 85


@pytest.mark.parametrize("wrong", [1, 6])
def test_the_interval_of_a_small_pool_that_is_nearly_drawn_holds(wrong):
    """90 of 100 drawn."""
    rng, held, runs, widths = np.random.default_rng(0), 0, 400, []
    for _ in range(runs):
        pool = rng.permutation(errors(100, wrong))
        lower, upper = ends(uniform_draws(pool[:90], size=100))
        widths.append(upper - lower)
        held += lower <= wrong / 100 <= upper
    assert held / runs >= 0.95
    # Without the factor of the finite pool it would be 0.06 and more.
    assert np.mean(widths) < 0.04


# --- labels as uniform draws would have shown them


def test_labels_count_as_uniform_draws_would_have_shown_them():
    """Four errors: two from draws twice as likely as uniform ones, two half as likely."""
    sample = uniform_draws(errors(40, 4), size=1000)
    wrong = np.flatnonzero(sample.stats[:, 0])
    ratio = np.ones(40)
    ratio[wrong] = [2, 2, 0.5, 0.5]
    value = estimate_metric(replace(sample, q=sample.q * ratio), ERROR, "lure").estimate
    assert value.uniform_minority_count == approx(0.5 + 0.5 + 1 + 1)
    assert value.minority_count == approx(4)
    assert value.uniform_count == approx(36 + 0.5 + 0.5 + 1 + 1)
    assert value.max_weight == approx(2)
    likely = replace(sample, q=sample.q * 3)
    value = estimate_metric(likely, ERROR, "lure").estimate
    # Draws that are all likelier cannot have missed what uniform ones show.
    assert (value.uniform_minority_count, value.max_weight) == (approx(4 / 3), 1.0)


def test_a_member_of_a_group_is_compared_with_a_uniform_draw_from_the_pool():
    sample = uniform_draws(errors(40, 4), size=1000)
    part = replace(sample, left=sample.left / 4, remaining=sample.left)
    assert estimate_metric(part, ERROR, "lure").estimate.uniform_minority_count == approx(4)


def test_a_gate_asks_more_of_an_end_than_an_interval_does():
    values = errors(60, 9)
    narrow, wide = (
        ends(uniform_draws(values, size=900), level=0.9, decides=decides)
        for decides in (False, True)
    )
    assert wide[0] == narrow[0]
    assert wide[1] > narrow[1]
    one = estimate_metric(uniform_draws(values, size=900), ERROR, "lure").estimate
    size = (1 / 60 * (1 - 60 / 900)) ** -1 * (norm.ppf(0.05) / t.ppf(0.05, one.freedom)) ** 2
    far = beta.ppf(0.95, 0.15 * size + 1, 0.85 * size)
    assert wide[1] == approx(far, rel=0.02)
