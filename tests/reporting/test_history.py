"""The band of random labels against outside references, and rounds that are shown."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from activetest.estimation.random_draws import RandomDraws
from activetest.estimation.view import build_view
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.reporting.history import RandomBand, find_random_band
from activetest.reporting.rows import estimate_row

# So many items that drawing without replacement makes no difference.
MANY = 1e15


def make_band(mean, single, *, share, size=MANY, transform=None, upper=np.inf, more=0.0):
    """The band around a mean, at 95 %."""
    upper = 1.0 if share else upper
    transform = transform or (lambda each: each[0])
    bounds = 0.0, upper
    metric = SimpleNamespace(lower=0.0, upper=upper, bounds=bounds, transform=transform)
    value = SimpleNamespace(estimate=SimpleNamespace(mean=np.array([mean])), metric=metric)
    return RandomBand(value, single, RandomDraws(size), more, share, 0.95)


@pytest.mark.parametrize(("wrong", "labels"), [(3, 10), (1, 40), (95, 100), (240, 1000)])
def test_of_a_share_the_band_is_wilsons_interval(wrong, labels):
    share = wrong / labels
    band = make_band(share, share * (1 - share), share=True)
    wilson = stats.binomtest(wrong, labels).proportion_ci(0.95, method="wilson")
    assert band.find_ends(labels) == pytest.approx((wilson.low, wilson.high), abs=1e-9)


def test_of_a_mean_the_band_is_students_interval():
    losses = np.random.default_rng(1).gamma(2.0, 3.0, 30)
    band = make_band(losses.mean(), losses.var(ddof=1), share=False)
    expected = stats.t.interval(0.95, 29, losses.mean(), stats.sem(losses))
    assert band.find_ends(30) == pytest.approx(expected, abs=1e-9)
    root = make_band(
        losses.mean(), losses.var(ddof=1), share=False, transform=lambda x: x[0] ** 0.5
    )
    assert root.find_ends(30) == pytest.approx(np.sqrt(expected), abs=1e-9)


def test_drawing_without_replacement_narrows_it_until_all_is_known():
    band = make_band(5.0, 4.0, share=False, size=50)
    lower, upper = band.find_ends(40)
    reach = stats.t.ppf(0.975, 39) * (4.0 * (1 / 40 - 1 / 50)) ** 0.5
    assert (lower, upper) == pytest.approx((5 - reach, 5 + reach))
    assert band.find_ends(50) == pytest.approx((5, 5))
    assert band.find_ends(51) == (None, None)
    # The variance of the pool's own sampling stays.
    lower, upper = make_band(5.0, 4.0, share=False, size=50, more=0.25).find_ends(50)
    assert upper - lower == pytest.approx(2 * stats.t.ppf(0.975, 49) * 0.5)


def test_no_label_says_nothing_and_the_band_stays_within_the_metrics_range():
    assert make_band(0.2, 0.16, share=True).find_ends(0) == (None, None)
    assert make_band(5.0, 4.0, share=False).find_ends(1) == (None, None)
    lower, upper = make_band(0.5, 40.0, share=False, upper=7.0).find_ends(3)
    assert (lower, upper) == (0.0, 7.0)


@pytest.mark.pool(rows=400, wrong=4)
def test_at_the_random_labels_that_are_as_good_it_is_as_wide_as_the_interval(pool, play_rounds):
    choices = Choices(metric="error", metrics=("error",), surrogate="model")
    log = play_rounds((choices, 60), (choices, 60))
    metric = find_metric("error", describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, choices, [metric], seed=1, own_view=False)
    band = find_random_band(view, metric, "doubly-robust")
    value = view.value(metric, "doubly-robust")
    interval = view.interval(value, 0.95)
    random = estimate_row(view, metric, "doubly-robust", level=0.95).n_eff
    lower, upper = band.find_ends(round(random))
    assert upper - lower == pytest.approx(interval.upper - interval.lower, rel=0.15)
    assert band.find_ends(30)[1] > upper
