"""Anytime-valid intervals: bets on every draw, and ratios by inverting them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation import samples
from activetest.estimation.anytime import bet_on_metric, compute_increments_at
from activetest.estimation.view import find_possible_range
from activetest.intervals import betting
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate, ratio_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, Log
from tests.makers import build_table, play_rounds, set_status

SIZE = 80
CHOICES = Choices(
    *("f1[dog]", ("f1[dog]", "error"), "agreement"), groups=("place",), declined="ignore"
)

# Metrics, and bounds other than 0 and 1.
METRICS, LIMITS = ("error", "f1[dog]", "recall[cat]", "brier"), {"brier": (0.0, 2.0)}

pytestmark = pytest.mark.pool(rows=SIZE, seed=4, groups=("place",), wrong=4)


def drawn(pool, truth, *counts: int, seed: int = 2, hopeless=()) -> Log:
    """A log of rounds of so many draws; items that are hopeless are declined."""
    log = Log.empty()
    for count in counts:
        log = play_rounds(pool, truth, (CHOICES, count), log=log, seed=seed)
        declined = np.isin(log.rows, hopeless)
        log = set_status(log, declined, DECLINED)
    return log


def metric_of(pool, name: str):
    return specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))


def gathered(pool, log: Log, metric):
    return samples.collect_evidence(log, pool, CHOICES, [metric], seed=2)


def found(pool, log: Log, metric, level: float = 0.9, *, group: int = 0, limits=(0.0, 1.0)):
    evidence = gathered(pool, log, metric)
    bets = bet_on_metric(evidence, metric, evidence.groups[group], limits, limits[0])
    return bets.interval(level, limits)


def left_standing(pool, log: Log, metric, level: float, values, group: int = 0) -> np.ndarray:
    """The values that no bettor has refuted, with bets made for each of them."""
    evidence = gathered(pool, log, metric)
    interval = compute_increments_at(evidence, metric, evidence.groups[group], values)
    limit = np.log(2 / (1 - level))
    largest = [max(side.max() for side in betting.log_e_values(one, 0.0)) for one in interval]
    return values[np.array(largest) < limit]


# --- ratios


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["f1[dog]", "recall[cat]", "precision[owl]"])
def test_a_ratios_interval_is_that_of_the_values_that_exact_bets_leave_standing(
    pool, truth, name, group
):
    """But for what chords between values of a grid, and outcome_values in common, make of the bets.

    Those bets are others and as fair, so either may refute a little more.
    """
    log, metric = drawn(pool, truth, *[10] * 5), metric_of(pool, name)
    interval = found(pool, log, metric, 0.6, group=group)
    values = np.linspace(0.001, 0.999, 300)
    open_ = left_standing(pool, log, metric, 0.6, values, group)
    assert len(open_)
    assert abs(open_.min() - interval.lower) < 0.02
    assert abs(interval.upper - open_.max()) < 0.02


def test_a_mean_agrees_with_its_form_as_a_ratio(pool, truth):
    """Errors over errors and hits."""
    log, error = drawn(pool, truth, *[10] * 4), metric_of(pool, "error")
    hits = [statistic(f"tp:{code}") for code in range(3)]
    share = ratio_metric(
        "share", [*error.statistics, *hits], above=[0, 1, 0, 0, 0], below=[0, 1, 1, 1, 1], upper=1.0
    )
    for level in (0.5, 0.95):
        one, other = (found(pool, log, metric, level) for metric in (error, share))
        # A ratio's bettors of one piece of the range share their outcome_values.
        assert (one.lower, one.upper) == approx((other.lower, other.upper), abs=5e-4)
        assert one.method == other.method == "betting"


def test_accuracy_is_one_minus_error(pool, truth):
    log = drawn(pool, truth, *[10] * 4)
    error, accuracy = (found(pool, log, metric_of(pool, name)) for name in ("error", "accuracy"))
    assert (accuracy.lower, accuracy.upper) == approx((1 - error.upper, 1 - error.lower), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "share"), [("f1[micro]", 1.0), ("recall[micro]", 1.0), ("specificity[micro]", 0.5)]
)
def test_a_micro_average_misses_a_share_of_the_errors(pool, truth, name, share):
    """The denominator is a constant, and need not be 1: of three classes it is 2 or 3."""
    log = drawn(pool, truth, *[10] * 4)
    error, micro = (found(pool, log, metric_of(pool, each)) for each in ("error", name))
    ends = (1 - share * error.upper, 1 - share * error.lower)
    assert (micro.lower, micro.upper) == approx(ends, abs=1e-6)


def test_a_bet_on_a_ratio_is_won_by_who_knows_it(pool, truth):
    """The mean of above - t below is positive where the ratio is larger than t."""
    log, metric = drawn(pool, truth, *[10] * 7), metric_of(pool, "f1[dog]")
    true = evaluate(metric, pool.rows(0, SIZE).outputs, truth)
    evidence = gathered(pool, log, metric)
    low, high = compute_increments_at(
        evidence, metric, evidence.groups[0], (true - 0.3, true + 0.2)
    )
    against_at_most, against_at_least = betting.log_e_values(low, 0.0)
    assert against_at_most.max() > np.log(10) > against_at_least.max()
    against_at_most, against_at_least = betting.log_e_values(high, 0.0)
    assert against_at_least.max() > np.log(10) > against_at_most.max()


# --- what holds at every look


@pytest.mark.parametrize(
    ("studies", "most"), [(12, 10), pytest.param(30, 18, marks=pytest.mark.ci)], ids=str
)
@pytest.mark.parametrize("hopeless", [(), (3, 17, 21, 40, 41, 66)], ids=["answered", "declined"])
def test_it_holds_the_truth_at_every_look(pool, truth, hopeless, studies, most):
    """In studies of 50 labels, looked at early and at the end: what was refuted once stays so.

    Half of the studies may miss the truth, and up to 9 of 30 do: with that probability more than 18
    of 30, or 10 of 12, do by chance in one of 10,000.
    """
    level, misses, widest = 0.5, dict.fromkeys(METRICS, 0), dict.fromkeys(METRICS, 0.0)
    here = np.setdiff1d(np.arange(SIZE), hopeless)
    outputs = pool.rows(0, SIZE)[here].outputs
    for seed in range(studies):
        log = drawn(pool, truth, *[10] * 5, seed=seed, hopeless=hopeless)
        for name in METRICS:
            metric, ends, held = metric_of(pool, name), LIMITS.get(name, (0.0, 1.0)), True
            true = evaluate(metric, outputs, truth[here])
            for look in (10, 50):
                names = ("rows", "q", "round", "status", "labels")
                parts = {one: getattr(log, one)[:look] for one in names}
                now = replace(log, **parts, history=log.history[: look // 10])
                interval = found(pool, now, metric, level, limits=ends)
                held &= interval.lower <= true <= interval.upper
            misses[name] += not held
            widest[name] = max(widest[name], (interval.upper - interval.lower) / ends[1])
    assert max(misses.values()) <= most
    # A bettor who knew nothing would leave everything standing.
    assert max(widest.values()) < 0.5


def test_it_never_widens_where_what_is_certain_stays(pool, truth):
    metric = metric_of(pool, "f1[dog]")
    whole = [found(pool, drawn(pool, truth, *[10] * looks), metric) for looks in range(1, 7)]
    for before, after in itertools.pairwise(whole):
        assert before.lower <= after.lower + 1e-3
        assert after.upper <= before.upper + 1e-3


def test_the_higher_the_level_the_wider_it_is(pool, truth):
    log = drawn(pool, truth, *[10] * 3)
    for name in ("error", "f1[dog]"):
        narrow, wide = (found(pool, log, metric_of(pool, name), level) for level in (0.5, 0.99))
        assert wide.lower < narrow.lower < narrow.upper
        # Labels that are known may leave no F1 above this one possible.
        assert (narrow.upper < wide.upper) if name == "error" else (narrow.upper <= wide.upper)
        assert (narrow.level, wide.level) == (0.5, 0.99)


# --- what needs no bets, and what has none


def test_what_is_known_for_certain_needs_no_bet(pool, truth):
    log = drawn(pool, truth, 10)
    interval = found(pool, log, metric_of(pool, "error"), limits=(0.25, 0.25))
    assert (interval.lower, interval.upper, interval.method) == (0.25, 0.25, "exact")


@pytest.mark.parametrize("name", ["error", "f1[dog]", "mcc", "ece"])
@pytest.mark.parametrize("hopeless", [(), (3, 17, 40)], ids=["answered", "declined"])
def test_when_everything_is_known_the_metric_is_certain(pool, truth, name, hopeless):
    log, metric = drawn(pool, truth, SIZE - 1, 1, hopeless=hopeless), metric_of(pool, name)
    here = np.setdiff1d(np.arange(SIZE), hopeless)
    true = evaluate(metric, pool.rows(0, SIZE)[here].outputs, truth[here])
    known = find_possible_range(samples.build_sample(gathered(pool, log, metric), metric), metric)
    assert known == approx((true, true))


def test_a_label_that_is_a_value_can_be_any_value(tmp_path):
    """Whether an interval covers it is open for every item, wherever the interval is."""
    rng, size = np.random.default_rng(5), 120
    pred = rng.normal(50, 10, size)
    columns = {"id": range(size), "pred": pred, "pred_std": np.full(size, 2.0)}
    pool = build_table(tmp_path, columns)
    metric, truth = metric_of(pool, "interval-coverage"), pred + 2 * rng.normal(size=size)
    choices = Choices("interval-coverage", ("mse",), "residual", interval="anytime")
    log = play_rounds(pool, truth, *[(choices, 20)] * 3, seed=2)
    evidence = samples.collect_evidence(log, pool, choices, [metric], seed=2)
    (interval,) = compute_increments_at(evidence, metric, evidence.groups[0], [0.0])
    assert (interval.most - interval.least) * size == approx(size - np.arange(60))
    assert (interval.low <= interval.value + 1e-9).all()
    assert (interval.value <= interval.high + 1e-9).all()
    true = evaluate(metric, pool.rows(0, size).outputs, truth)
    limits = (0.0, 1.0)
    bets = bet_on_metric(evidence, metric, evidence.groups[0], limits, 0.0)
    interval = bets.interval(0.95, limits)
    assert interval.lower < true < interval.upper


def test_before_the_first_draw_everything_is_possible(pool, truth):
    for name in ("error", "recall[dog]"):
        interval = found(pool, Log.empty(), metric_of(pool, name))
        assert (interval.lower, interval.upper) == (0, 1)


@pytest.mark.parametrize(
    ("name", "problem"), [("mcc", "none is valid at every look"), ("log-loss", "bound")]
)
def test_metrics_that_cannot_be_bet_on_are_refused_with_a_way_out(pool, truth, name, problem):
    with pytest.raises(NotEstimable, match=problem) as refused:
        found(pool, drawn(pool, truth, 10), metric_of(pool, name), limits=(0.0, 9.0))
    assert refused.value.hint == 'use `interval="fixed"`'
