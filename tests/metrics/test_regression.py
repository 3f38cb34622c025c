"""Metrics of values: likelihood, coverage, R squared, quantiles."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import norm

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.item_statistics.specification import (
    bound_losses,
    suggest_bound,
    why_not_bettable,
)
from activetest.metrics.means import bias, interval_coverage, mae, mean, nll, pinball, r2, rmse
from activetest.nouns.rows import Outputs


def build_metric(module, facts, argument=None):
    (metric,) = module.metrics(facts, argument)
    return metric


def test_the_likelihood_is_that_of_a_gaussian_with_its_constant(values):
    facts, outputs, labels = values()
    expected = -norm.logpdf(labels, outputs.pred, outputs.std).mean()
    assert evaluate(build_metric(nll, facts), outputs, labels) == approx(expected, rel=1e-12)
    sure = Outputs(labels, std=np.full(len(labels), 0.01))
    assert evaluate(build_metric(nll, facts), sure, labels) < 0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_coverage_is_the_share_of_labels_inside(level, values):
    facts, outputs, labels = values()
    low, high = norm.interval(level, outputs.pred, outputs.std)
    expected = ((low <= labels) & (labels <= high)).mean()
    metric = build_metric(interval_coverage, facts, str(level))
    assert metric.name == f"interval-coverage[{level}]"
    assert evaluate(metric, outputs, labels) == expected
    assert (metric.lower, metric.upper) == (0, 1)
    assert build_metric(interval_coverage, facts).name == "interval-coverage[0.9]"


def test_labels_without_spread_have_no_r_squared(values):
    facts, outputs, _ = values()
    metric = build_metric(r2, facts)
    assert np.isnan(evaluate(metric, outputs, np.full(400, 1234.5678)))
    assert metric.undefined == "all labels seen are the same"
    assert (metric.lower, metric.upper) == (-np.inf, 1)


@pytest.mark.parametrize("center", [0.0, 9.5, -40.0])
def test_r_squared_does_not_depend_on_the_center(center, values):
    _, outputs, labels = values()
    metric = build_metric(r2, Facts("regression", center=center))
    expected = 1 - ((outputs.pred - labels) ** 2).mean() / labels.var()
    assert evaluate(metric, outputs, labels) == approx(expected, rel=1e-10)


def test_predicting_the_mean_label_explains_nothing(values):
    facts, _, labels = values()
    level = Outputs(np.full(len(labels), labels.mean()))
    assert evaluate(build_metric(r2, facts), level, labels) == approx(0, abs=1e-12)


def test_the_pinball_loss_is_least_at_the_quantile(values):
    facts, outputs, labels = values()
    metric = build_metric(pinball, facts, "0.9")
    assert metric.name == "pinball[0.9]"

    def loss(guess):
        return evaluate(metric, Outputs(np.full(len(labels), guess)), labels)

    best = np.quantile(labels, 0.9)
    assert loss(best) < min(loss(best - 0.5), loss(best + 0.5))
    half = evaluate(build_metric(mae, facts), outputs, labels) / 2
    assert evaluate(build_metric(pinball, facts), outputs, labels) == approx(half, rel=1e-12)


@pytest.mark.parametrize("argument", ["0", "1", "90", "high", "nan"])
def test_levels_are_between_zero_and_one(argument):
    facts = Facts("regression", deviation=True)
    for module, example in (
        (pinball, "pinball[0.9]"),
        (interval_coverage, "interval-coverage[0.5]"),
    ):
        with pytest.raises(ChoiceError, match="between 0 and 1") as refused:
            module.metrics(facts, argument)
        assert refused.value.hint == f"for example {example}"


def test_a_mean_square_below_zero_has_the_root_zero():
    assert build_metric(rmse, Facts("regression")).smooth(np.array([-0.01])) == 0


def test_the_mean_is_of_labels_and_within_a_scale_of_labels_on_it(values):
    facts, outputs, labels = values()
    assert evaluate(build_metric(mean, facts), outputs, labels) == approx(labels.mean(), rel=1e-12)
    metric = build_metric(mean, facts, " -0.5, 1")
    assert (metric.name, metric.lower, metric.upper) == ("mean[-0.5,1]", -0.5, 1)
    expected = np.clip(labels, -0.5, 1).mean()
    assert expected != approx(labels.mean())
    assert evaluate(metric, outputs, labels) == approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("1", "for example mean[0,1]"),
        ("0,1,2", "for example mean[0,1]"),
        ("0,x", "for example mean[0,1]"),
        ("0,inf", "for example mean[0,1]"),
        ("nan,1", "for example mean[0,1]"),
        ("2,2", "for example mean[0,1]"),
        ("5,1", "for example mean[1,5]"),
    ],
)
def test_a_scale_is_two_numbers_in_ascending_order(argument, hint):
    with pytest.raises(ChoiceError) as refused:
        mean.metrics(Facts("regression"), argument)
    assert refused.value.hint == hint


def test_a_mean_has_bets_within_a_scale_and_a_loss_within_a_bound(values):
    facts, outputs, labels = values()
    plain, scaled = build_metric(mean, facts), build_metric(mean, facts, "0,1")
    assert why_not_bettable(plain) == "mean has no bound on what a label can be"
    assert suggest_bound(plain) == "'mean[0,1]' says that labels lie between 0 and 1"
    assert why_not_bettable(scaled) is None
    assert bound_losses(plain, 0.5) is plain
    bounded = bound_losses(build_metric(mae, facts), 0.5)
    assert why_not_bettable(bounded) is None
    assert (bounded.lower, bounded.upper) == (0, 0.5)
    assert all(each.graded and not each.is_indicator for each in bounded.statistics)
    expected = np.minimum(np.abs(labels - outputs.pred), 0.5).mean()
    assert evaluate(bounded, outputs, labels) == approx(expected, rel=1e-12)
    assert suggest_bound(build_metric(mae, facts)) == "`bound` says what one item can cost"
    on_scale, without = (
        build_metric(bias, replace(facts, judge=True, scale=each)) for each in ("0,1", None)
    )
    assert why_not_bettable(on_scale) is None
    assert why_not_bettable(without) == "bias has no bound on what a label can be"
    assert suggest_bound(without) == suggest_bound(plain)
