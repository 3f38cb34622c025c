"""From samples to numbers: the delta method, ratios, differences, and which interval is whose."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation import estimate, samples
from activetest.estimation.delta_method import linearise_metric
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, Log
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from tests.makers import build_pool, play_rounds, set_status, supply_labels

SIZE = 60
CHOICES = Choices("f1[dog]", ("f1[dog]", "error"), "agreement", groups=("place",))
MODEL = replace(CHOICES, surrogate="model")
SEVERAL = ("f1[dog]", "f1", "mcc", "kappa", "balanced-accuracy", "precision[owl]")

pytestmark = pytest.mark.pool(rows=SIZE, seed=4, groups=("place",), wrong=4)


def drawn(pool, truth, *counts: int, declined: int = 0, choices: Choices = CHOICES) -> Log:
    """A log of rounds of so many draws; the first ones of each are declined."""
    log = Log.empty()
    for count in counts:
        log = play_rounds(pool, truth, (choices, count), log=log, seed=2)
        start = len(log.rows) - count
        log = set_status(log, slice(start, start + declined), DECLINED)
    return log


def metric_of(pool, name: str):
    return specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))


def of(pool, log: Log, name: str, group: int = 0, choices: Choices = CHOICES):
    """(sample, metric) over the whole pool or a group."""
    metric = metric_of(pool, name)
    evidence = samples.collect_evidence(log, pool, choices, [metric], seed=2)
    return samples.build_sample(evidence, metric, evidence.groups[group]), metric


def numeric(smooth, mean) -> np.ndarray:
    """(d,) derivative, from steps of another size than the program's."""
    steps = 1e-4 * np.eye(len(mean))
    return np.array([(smooth(mean + step) - smooth(mean - step)) / 2e-4 for step in steps])


# --- metrics of several means


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust"])
@pytest.mark.parametrize("name", SEVERAL)
def test_a_function_of_means_has_the_variance_of_its_linear_part(pool, truth, name, estimator):
    sample, metric = of(pool, drawn(pool, truth, 15, 15), name)
    estimated = estimate.estimate_metric(sample, metric, estimator)
    means = catalog.load("estimators", estimator).estimate(sample)
    inside = np.clip(means.mean, *means.limits)
    slope = numeric(metric.smooth, inside)
    assert estimated.value == estimated.estimate.mean[0] == approx(metric.smooth(inside))
    assert estimated.estimate.variance[0, 0] == approx(slope @ means.variance @ slope, rel=1e-3)
    assert estimated.estimate.terms[:, 0] == approx(
        estimated.value + (means.terms - inside) @ slope, abs=1e-4
    )
    assert estimated.estimate.guess[:, 0] == approx(means.guess @ slope, rel=1e-3, abs=1e-6)
    assert (estimated.slope, estimated.several) == (1.0, True)


def test_a_map_of_one_mean_keeps_the_mean_and_says_how_steep_it_is(pool, truth):
    sample, metric = of(pool, drawn(pool, truth, 15, 15), "accuracy")
    estimated = estimate.estimate_metric(sample, metric, "doubly-robust")
    error = estimate.estimate_metric(
        *of(pool, drawn(pool, truth, 15, 15), "error"), "doubly-robust"
    )
    assert estimated.value == approx(1 - error.value)
    assert estimated.estimate.mean == approx(error.estimate.mean)
    assert estimated.estimate.variance == approx(error.estimate.variance)
    assert (estimated.slope, estimated.several) == (approx(-1), False)


def test_accuracy_as_the_sum_of_hits_is_accuracy(pool, truth):
    """The micro average of F1 by its own means, one statistic per class and kind."""
    log = drawn(pool, truth, 15, 15)
    sample, metric = of(pool, log, "f1")
    hits = replace(metric, smooth=lambda mean: mean[..., :3].sum(axis=-1))
    one = estimate.estimate_metric(sample, hits, "lure")
    means = catalog.load("estimators", "lure").estimate(sample)
    right = (log.labels == pool.take(log.rows).outputs.pred).astype(float)
    known = np.cumsum(right) - right
    terms = (known + right / log.q) / SIZE
    # No class is clipped here, so nothing bends.
    assert (means.mean[:3] >= means.limits[0, :3]).all()
    assert (means.mean[:3] <= means.limits[1, :3]).all()
    assert one.value == approx(sample.weights @ terms)
    assert one.estimate.terms[:, 0] == approx(terms)


def test_where_a_metric_is_not_defined_the_reason_is_said(pool):
    pred = pool.rows(0, SIZE).outputs.pred
    dogs = np.flatnonzero(pred == 1)
    log = drawn(pool, np.where(pred == 1, 0.0, pred), 5, 5)
    assert not np.isin(log.rows, dogs).all()
    sample, metric = of(pool, log, "recall[dog]")
    with pytest.raises(NotEstimable, match="no item labelled as 'dog' has been seen"):
        estimate.estimate_metric(sample, metric, "lure")


def test_where_some_are_declined_and_no_other_is_wrong_the_error_is_nothing(pool):
    log = drawn(pool, pool.rows(0, SIZE).outputs.pred.astype(float), 15, declined=3)
    assert estimate.estimate_metric(*of(pool, log, "error"), "lure").value == 0


def test_a_metric_that_is_defined_at_a_single_point_has_no_interval(pool, truth):
    sample, metric = of(pool, drawn(pool, truth, 15), "mcc")
    means = catalog.load("estimators", "doubly-robust").estimate(sample)
    at = np.clip(means.mean, *means.limits)

    def smooth(mean):
        return np.where(np.abs(mean - at).sum(axis=-1) < 1e-12, 0.5, np.nan)

    with pytest.raises(NotEstimable):
        linearise_metric(means, sample, replace(metric, smooth=smooth), (-1, 1))


def test_posterior_draws_stay_within_what_known_labels_leave_possible(pool, truth):
    sample, metric = of(pool, drawn(pool, truth, 15), "error")
    means = catalog.load("estimators", "doubly-robust").estimate(sample)
    limits, draws = np.array([[0.2], [0.7]]), np.array([[2.0], [-1.0], [0.5]])
    means = replace(means, mean=np.array([0.3]), limits=limits, draws=draws)
    linear = linearise_metric(means, sample, metric, (0, 1))
    assert linear.draws.ravel().tolist() == [0.7, 0.2, 0.5]


# --- what the surrogate and the labels say about a variance


@pytest.mark.parametrize("name", ["error", "f1[dog]"])
def test_what_is_known_leaves_no_variance_to_expect(pool, truth, name):
    sample, metric = of(pool, drawn(pool, truth, SIZE - 10, 10), name)
    estimated = estimate.estimate_metric(sample, metric, "doubly-robust").estimate
    assert estimated.exact
    assert estimated.model_variance == 0
    assert estimated.variance[0, 0] == 0


def test_where_the_rest_was_supplied_draws_leave_nothing_to_expect(pool, truth):
    """They were uncertain when they were made; now every label is known."""
    log = drawn(pool, truth, 20)
    log = supply_labels(log, np.setdiff1d(np.arange(SIZE), log.rows), truth)
    sample, metric = of(pool, log, "error")
    estimated = estimate.estimate_metric(sample, metric, "doubly-robust").estimate
    assert estimated.exact and estimated.model_variance == 0


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["error", "f1[dog]", "log-loss", "mcc"])
def test_the_variance_that_the_surrogate_expects(pool, truth, name, group):
    """sum_m w_m^2 (1/q - 1)/q E[(h - guess)^2] / N^2, h the gradient times the statistics.

    The black box is its own surrogate: E goes through its probabilities, class by class. The guess
    of a mean without bounds follows earlier draws: that it left the surrogate is no variance.
    """
    log = drawn(pool, truth, 15, 15, choices=MODEL)
    sample, metric = of(pool, log, name, group, choices=MODEL)
    estimated = estimate.estimate_metric(sample, metric, "doubly-robust").estimate
    means = catalog.load("estimators", "doubly-robust").estimate(sample)
    inside = np.clip(means.mean, *means.limits)
    slope = np.ones(1) if len(inside) == 1 else numeric(metric.smooth, inside)
    outputs = pool.take(log.rows).outputs
    tables = [each.value(outputs, None) for each in metric.statistics]
    values, guess = np.tensordot(slope, tables, 1), (means.guess @ slope)[:, None]
    within = np.cumprod([1, *sample.inside[:-1]])[:, None] > 0
    center = (outputs.probs * values).sum(axis=1, keepdims=True)
    residual = values - np.where(within & (name == "log-loss"), center, guess)
    expected = (outputs.probs * residual**2).sum(axis=1) * sample.inside
    q, w = sample.q, sample.weights
    exact = (w**2 * (1 / q - 1) / q) @ expected / sample.size**2
    assert estimated.model_variance == approx(exact, rel=1e-3)


@pytest.mark.parametrize("name", ["error", "brier"])
def test_on_average_over_the_draws_it_is_the_sum_over_all_that_could_be_drawn(tmp_path, name):
    """sum_m w_m^2 sum_{R_m} E[h^2] (1/q - 1) / N^2 for LURE, which guesses nothing: two draws."""
    pool = build_pool(tmp_path, 7, seed=4)
    frozen, metric = plan.prepare_round(Log.empty(), pool, MODEL, seed=2), metric_of(pool, name)
    rows, s = pool.rows(0, 7), frozen.q
    table = metric.statistics[0].value(rows.outputs, None)
    square = (rows.outputs.probs * table**2).sum(axis=1)
    found = exact = 0.0
    for pair in permutations(range(7), 2):
        left = np.delete(np.arange(7), pair[0])
        q = s / s.sum(), s[left] / s[left].sum()
        chance = q[0][pair[0]] * s[pair[1]] / s[left].sum()
        drawn = plan.record_round(frozen, np.array(pair), pool)
        sample, _ = of(pool, answered(Log.empty(), drawn, np.zeros(7)), name, choices=MODEL)
        sums = square @ (1 / q[0] - 1), square[left] @ (1 / q[1] - 1)
        found += chance * estimate.estimate_metric(sample, metric, "lure").estimate.model_variance
        exact += chance * sample.weights**2 @ sums / 7**2
    assert found == approx(exact, rel=1e-5)


def test_labels_are_counted_by_how_much_they_pull(pool, truth):
    log = drawn(pool, truth, 15, 15)
    sample, metric = of(pool, log, "error")
    estimated = estimate.estimate_metric(sample, metric, "lure").estimate
    wrong = sample.stats[:, 0] == 1
    inverse = 1 / sample.q
    value = [inverse[side].sum() ** 2 / (inverse[side] ** 2).sum() for side in (wrong, ~wrong)]
    assert estimated.minority_count == approx(min(wrong.sum(), (~wrong).sum()))
    assert estimated.weighted_minority_count == approx(min(value))
    assert estimated.weighted_minority_count < estimated.minority_count
    # Hits pull F1 up; false alarms and misses pull it down; everything else leaves it alone.
    sample, metric = of(pool, log, "f1[dog]")
    hits, *errors = sample.stats.sum(axis=0)
    estimated = estimate.estimate_metric(sample, metric, "lure").estimate
    assert 0 < estimated.minority_count <= min(hits, sum(errors)) * (1 + 1e-9)


@pytest.mark.parametrize("rarer", ["wrong", "right"])
def test_draws_outside_a_group_are_not_counted_in_it(pool, truth, rarer):
    pred = pool.rows(0, SIZE).outputs.pred
    if rarer == "right":
        truth = np.where(truth == pred, (pred + 1) % 3, pred).astype(float)
    sample, metric = of(pool, drawn(pool, truth, 15, 15), "error", 1)
    estimated = estimate.estimate_metric(sample, metric, "lure").estimate
    counts = [(sample.inside * (sample.stats[:, 0] == label)).sum() for label in (0, 1)]
    assert np.argmin(counts) == (rarer == "wrong")
    assert estimated.minority_count == approx(min(counts))


def test_labels_that_all_pull_one_way_say_nothing_of_the_other(pool):
    log = drawn(pool, pool.rows(0, SIZE).outputs.pred.astype(float), 15)
    estimated = estimate.estimate_metric(*of(pool, log, "error"), "doubly-robust").estimate
    assert estimated.minority_count == estimated.weighted_minority_count == 0
    assert estimated.model_variance > 0


def test_one_uniform_draw_has_the_variance_of_the_metrics_linear_part(pool, truth):
    """Of uniform draws: the plain variance around the mean."""
    log = drawn(pool, truth, 30, choices=replace(CHOICES, acquisition="uniform", floor=1.0))
    sample, metric = of(pool, log, "f1[dog]")
    estimated = estimate.estimate_metric(sample, metric, "lure").estimate
    slope = numeric(metric.smooth, sample.stats.mean(axis=0))
    pull = (sample.stats - sample.stats.mean(axis=0)) @ slope
    assert estimated.one_draw == approx((pull**2).mean(), rel=1e-3)


def test_the_plain_formula_is_that_of_the_drawn_items(pool, truth):
    """Of uniform draws, also where they show more of a class than the pool can have."""
    uniform = replace(CHOICES, acquisition="uniform", surrogate="model")
    names, beyond = ("precision[owl]", "f1[dog]", "f1", "mcc", "kappa", "balanced-accuracy"), 0
    for seed in range(20):
        log = play_rounds(pool, truth, (uniform, 30), seed=seed)
        labels, outputs = truth[log.rows], pool.take(log.rows).outputs
        for name in names:
            sample, metric = of(pool, log, name, choices=uniform)
            value = estimate.estimate_metric(sample, metric, "iid")
            assert value.value == approx(evaluate(metric, outputs, labels), abs=1e-9)
            assert estimate.estimate_metric(sample, metric, "lure").value == approx(value.value)
            means = value.means.mean
            beyond += int((means < sample.limits[0]).any() or (means > sample.limits[1]).any())
    assert beyond


# --- declined items


def test_a_mean_over_answerable_items_is_a_ratio_of_two_means(pool, truth):
    log = drawn(pool, truth, 15, 15, declined=4)
    sample, metric = of(pool, log, "error")
    means = catalog.load("estimators", "lure").estimate(sample)
    estimated = estimate.estimate_metric(sample, metric, "lure")
    whole, answered = means.mean
    assert answered < 1
    assert estimated.value == approx(whole / answered)
    slope = np.array([1 / answered, -whole / answered**2])
    assert estimated.estimate.variance[0, 0] == approx(slope @ means.variance @ slope, rel=1e-3)
    assert estimated.estimate.terms[:, 0] == approx(
        estimated.value + (means.terms - means.mean) @ slope
    )
    assert estimated.estimate.inside.sum() == 22
    assert estimated.estimate.limits.tolist() == [[0], [1]]


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust"])
def test_a_ratio_of_means_does_not_mind_what_cannot_be_answered(pool, truth, estimator):
    """F1 has counts above and below the line: the share of answerable items cancels."""
    sample, metric = of(pool, drawn(pool, truth, 15, 15, declined=4), "f1[dog]")
    estimated = estimate.estimate_metric(sample, metric, estimator)
    means = catalog.load("estimators", estimator).estimate(sample)
    inside = np.clip(means.mean, *means.limits)
    slope = numeric(metric.smooth, inside[:3])
    assert estimated.value == approx(metric.smooth(inside[:3]))
    variance = slope @ means.variance[:3, :3] @ slope
    assert estimated.estimate.variance[0, 0] == approx(variance, rel=1e-3)


def test_without_an_answer_there_is_no_value(pool, truth):
    log = drawn(pool, truth, 10, declined=10)
    with pytest.raises(NotEstimable, match="every labelled item was declined"):
        estimate.estimate_metric(*of(pool, log, "f1[dog]"), "lure")


# --- everything known


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust", "ase"])
@pytest.mark.parametrize("group", [0, 1, 2])
@pytest.mark.parametrize("name", [*SEVERAL, "error", "log-loss", "ece"])
def test_when_everything_is_known_the_value_is_the_truth(pool, truth, name, group, estimator):
    sample, metric = of(pool, drawn(pool, truth, 40, 20), name, group)
    estimated, rows = estimate.estimate_metric(sample, metric, estimator), pool.rows(0, SIZE)
    here = np.flatnonzero((rows.codes[:, 0] == group - 1) | (group == 0))
    assert estimated.value == approx(evaluate(metric, rows[here].outputs, truth[here]), rel=1e-6)
    if estimator != "ase":
        interval = estimate.build_interval(estimated, 0.95, group=group > 0)
        assert interval.method == "exact"
        assert interval.lower == interval.upper == approx(estimated.value)
