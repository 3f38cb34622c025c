"""Declined items: metrics over all items lie between the values with the worst answers of these."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import estimate, samples
from activetest.estimation.estimate import build_interval
from activetest.estimation.population import Population
from activetest.estimation.view import ANYTIME, View, build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from tests.estimation.test_missing import answers
from tests.makers import build_table, play_rounds, set_status, supply_labels

SIZE = 40
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
IGNORE = replace(CHOICES, declined="ignore")
# Metrics that a step along the gradient bounds exactly: of one mean, and ratios of two.
RATIOS = ("error", "accuracy", "brier", "f1[dog]", "precision[owl]", "recall[cat]")

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",), wrong=3)


@pytest.fixture
def log(pool, truth) -> Log:
    """Three rounds; a drawn item and a supplied one were declined."""
    log = play_rounds(pool, truth, (CHOICES, 8), (CHOICES, 6), (CHOICES, 6))
    rows = np.setdiff1d(np.arange(SIZE), log.rows)[:3]
    log = supply_labels(log, rows, truth)
    status = log.supplied_status.copy()
    status[1] = DECLINED
    return set_status(replace(log, supplied_status=status), [9], DECLINED)


def find(pool, name: str):
    return specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))


def view(pool, log: Log, *names: str, choices: Choices = CHOICES, **fields) -> View:
    return build_view(
        log, pool, choices, [find(pool, name) for name in names], seed=1, own_view=False, **fields
    )


def answered(pool, log: Log, name: str, estimator: str, group: int = 0):
    """The value with each answer of the declined items, from the surrogate that knows none."""
    surrogate = view(pool, log, name).evidence.surrogate
    places = np.flatnonzero(log.status == DECLINED).tolist()
    supplied = np.flatnonzero(log.supplied_status == DECLINED).tolist()
    for now in answers(log, places, supplied):
        found = samples.collect_evidence(
            now, pool, CHOICES, [find(pool, name)], seed=1, surrogate=surrogate
        )
        sample = samples.build_sample(found, find(pool, name), found.groups[group])
        yield estimate.estimate_metric(sample, find(pool, name), estimator)


# --- between the worst answers


@pytest.mark.parametrize("name", [*RATIOS, "f1[macro]", "mcc", "kappa"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_ends_are_the_smallest_and_largest_value_over_the_answers_of_declined_items(
    pool, log, name, grouped
):
    there = view(pool, log, name)
    group = 1 + int(pool.take(log.rows[[9]]).codes[0, 0]) if grouped else 0
    for estimator in ("doubly-robust", "lure"):
        value = there.value(find(pool, name), estimator, there.evidence.groups[group])
        found = [each.value for each in answered(pool, log, name, estimator, group)]
        # Where means are cut off at what is possible, and of averages, it is the worst in sight.
        error = 1e-9 if name in RATIOS and not grouped else 0.03
        assert value.over_all == (approx(min(found), abs=error), approx(max(found), abs=error))


@pytest.mark.parametrize("name", RATIOS)
def test_the_interval_is_the_hull_of_those_of_the_worst_answers_and_its_own(pool, log, name):
    there = view(pool, log, name)
    value = there.value(find(pool, name), "doubly-robust")
    found = sorted(answered(pool, log, name, "doubly-robust"), key=lambda each: each.value)
    cases = [found[0], found[-1], replace(value, declined=None)]
    intervals = [build_interval(each, 0.9) for each in cases]
    hull = build_interval(value, 0.9)
    assert hull.estimate == value.value
    assert hull.lower <= min(each.lower for each in intervals) + 1e-9
    assert hull.upper >= max(each.upper for each in intervals) - 1e-9
    # Of several labels that make the same value, any may be the worst.
    if name in ("error", "accuracy"):
        assert hull.lower == approx(min(each.lower for each in intervals))
        assert hull.upper == approx(max(each.upper for each in intervals))
    # Random labels would meet declined items too: these cost no label.
    assert hull.variance == intervals[2].variance


def test_a_number_keeps_its_own_estimate_where_only_the_worst_answers_leave_it_in_doubt(pool, log):
    there = view(pool, log, "error")
    value = there.value(find(pool, "error"), "doubly-robust")
    certain = replace(value, estimate=replace(value.estimate, exact=True))
    worst, hull = build_interval(value.declined.low, 0.9), build_interval(certain, 0.9)
    assert hull.method == worst.method != "exact"
    assert hull.estimate == value.value != worst.estimate


def test_items_without_an_answer_are_at_their_worst_together_with_declined_ones(pool, log):
    waiting = set_status(log, [4, 12], PENDING)
    there = view(pool, waiting, "error")
    assert there.fill_missing(find(pool, "error")) is not None
    value = there.value(find(pool, "error"), "doubly-robust")
    logs = []
    for code in (-1.0, None):
        now = replace(waiting, status=waiting.status.copy(), labels=waiting.labels.copy())
        supplied, labels = waiting.supplied_status.copy(), waiting.supplied_labels.copy()
        pred = pool.take(waiting.rows).outputs.pred
        for place in (4, 9, 12):
            now.status[place] = LABELLED
            now.labels[place] = pred[place] if code is None else code
        supplied[1] = LABELLED
        labels[1] = pool.take(waiting.supplied_rows).outputs.pred[1] if code is None else code
        logs.append(replace(now, supplied_status=supplied, supplied_labels=labels))
    surrogate = there.evidence.surrogate
    worst, best = (
        view(pool, each, "error", surrogate=surrogate).value(find(pool, "error"), "doubly-robust")
        for each in logs
    )
    assert value.over_all == approx((best.value, worst.value))
    assert build_interval(value, 0.9).upper == approx(build_interval(worst, 0.9).upper)


def test_where_everything_is_known_the_ends_are_those_of_the_pool(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, SIZE))
    log = set_status(log, [0, 7, 21], DECLINED)
    gone = log.rows[[0, 7, 21]]
    for name in ("error", "f1[dog]"):
        there = view(pool, log, name)
        value = there.value(find(pool, name), "doubly-robust")
        found, outputs = [], pool.rows(0, SIZE).outputs
        for now in answers(log, (0, 7, 21)):
            labels = truth.copy()
            labels[gone] = now.labels[[0, 7, 21]]
            found.append(evaluate(find(pool, name), outputs, labels))
        interval = there.interval(value, 0.95)
        assert (interval.lower, interval.upper) == approx((min(found), max(found)))
        assert (interval.method, interval.estimate) == ("worst-case", value.value)


def test_items_that_cannot_change_the_metric_leave_it_as_it_is(pool, truth):
    """Precision of a class that no declined item was predicted as."""
    log = play_rounds(pool, truth, (CHOICES, 20))
    cats = np.flatnonzero(pool.take(log.rows).outputs.pred == 0)[:2]
    log, name = set_status(log, cats, DECLINED), "precision[owl]"
    assert view(pool, log, name).value(find(pool, name), "doubly-robust").declined is None
    name = "precision[cat]"
    assert view(pool, log, name).value(find(pool, name), "doubly-robust").declined is not None


def test_nothing_bounds_losses_without_a_bound(pool, log):
    there = view(pool, log, "log-loss", "auroc[dog]", "ece")
    value = there.value(find(pool, "log-loss"), "doubly-robust")
    assert not value.declined.bounded
    own = build_interval(replace(value, declined=None), 0.9)
    assert build_interval(value, 0.9) == own
    # Of a curve the linear form has no bound, but the curve has; of gaps the smallest is their own.
    for name in ("auroc[dog]", "ece"):
        value = there.value(find(pool, name), "doubly-robust")
        least, most = value.over_all
        assert value.declined.bounded and 0 <= least < most <= 1
    assert least == 0


def test_declined_items_that_are_ignored_widen_nothing(pool, log):
    for name in ("error", "f1[dog]"):
        ignored = view(pool, log, name, choices=IGNORE)
        value = ignored.value(find(pool, name), "doubly-robust")
        assert value.declined is None
        counted = view(pool, log, name).value(find(pool, name), "doubly-robust")
        assert counted.value == value.value
        wide, narrow = build_interval(counted, 0.9), build_interval(value, 0.9)
        assert wide.upper - wide.lower > narrow.upper - narrow.lower


def test_a_weighted_item_counts_at_its_worst_with_its_weight(tmp_path):
    """Of all items by hand; of some, with each answer of a drawn and of a supplied one."""
    rng = np.random.default_rng(8)
    weight = rng.uniform(0.5, 3, 30)
    columns = {"id": range(30), "prob_a": rng.random(30), "weight": weight}
    columns["prob_b"] = 1 - columns["prob_a"]
    pool = build_table(tmp_path, columns, weight="weight")
    pred = pool.rows(0, 30).outputs.pred
    truth = np.where(rng.random(30) < 0.3, 1 - pred, pred).astype(float)
    choices = Choices("error", ("error",), "agreement")
    log = set_status(play_rounds(pool, truth, (choices, 30)), [3, 11], DECLINED)
    gone = log.rows[[3, 11]]
    there = view(pool, log, "error", choices=choices)
    wrong = (truth != pred) * weight
    wrong[gone] = 0
    expected = wrong.sum() / weight.sum(), (wrong.sum() + weight[gone].sum()) / weight.sum()
    assert there.value(find(pool, "error"), "doubly-robust").over_all == approx(expected)
    log = set_status(play_rounds(pool, truth, (choices, 7)), [3], DECLINED)
    others = np.setdiff1d(np.arange(30), log.rows)
    log = supply_labels(log, others[np.argsort(weight[others])][-2:], truth)
    log = replace(log, supplied_status=np.array([LABELLED, DECLINED]))
    log = play_rounds(pool, truth, (choices, 7), log=log)
    for name in ("error", "precision[b]", "recall[b]"):
        value = view(pool, log, name, choices=choices).value(find(pool, name), "lure")
        found = [each.value for each in answered(pool, log, name, "lure")]
        assert value.over_all == approx((min(found), max(found)))


# --- differences, and the population behind the pool


def test_a_difference_is_at_its_worst_where_one_group_is_low_and_the_other_high(pool, log):
    there = view(pool, log, "error")
    groups = tuple(there.evidence.groups[1:3])
    first, second = (
        there.value(find(pool, "error"), "doubly-robust", group, alike=True) for group in groups
    )
    interval = there.difference(first, second, groups, 0.9)
    for high, low in ((first, second), (second, first)):
        joint = estimate.estimate_difference(high.declined.high, low.declined.low, 0.9)
        ends = (joint.lower, joint.upper) if high is first else (-joint.upper, -joint.lower)
        assert interval.lower <= ends[0] + 1e-12 and ends[1] <= interval.upper + 1e-12
    plain = [replace(each, declined=None) for each in (first, second)]
    own = estimate.estimate_difference(*plain, 0.9)
    assert interval.upper - interval.lower > own.upper - own.lower


def test_of_the_population_the_ends_are_those_of_the_logs_with_the_worst_answers(pool, log):
    there = view(pool, log, "error", population=Population())
    value = there.value(find(pool, "error"), "doubly-robust")
    pred, supplied = pool.take(log.rows).outputs.pred, pool.take(log.supplied_rows).outputs.pred
    found = []
    for wrong in (False, True):
        gone, more = log.status == DECLINED, log.supplied_status == DECLINED
        now = replace(
            log,
            status=np.where(gone, LABELLED, log.status),
            labels=np.where(gone, -1.0 if wrong else pred, log.labels),
            supplied_status=np.where(more, LABELLED, log.supplied_status),
            supplied_labels=np.where(more, -1.0 if wrong else supplied, log.supplied_labels),
        )
        surrogate = there.evidence.surrogate
        whole = view(pool, now, "error", population=Population(), surrogate=surrogate)
        each = whole.value(find(pool, "error"), "doubly-robust")
        found.append(whole.interval(each, 0.9))
    interval = there.interval(value, 0.9)
    assert interval.lower == approx(min(found[0].lower, interval.lower))
    assert interval.upper == approx(found[1].upper)


# --- what holds at every look


@pytest.mark.parametrize("name", ["error", "brier", "recall[cat]"])
def test_bets_see_every_declined_item_at_its_least_and_at_its_most(pool, log, name):
    """As bets on the log in which these items have such labels; of recall, at a threshold."""
    there, metric, threshold = view(pool, log, name), find(pool, name), 0.4
    group = there.evidence.groups[0]
    bets, limits = there.bet_on_metric(metric, group, threshold)
    values = []
    places = np.flatnonzero(log.status == DECLINED).tolist()
    supplied = np.flatnonzero(log.supplied_status == DECLINED).tolist()
    for now in answers(log, places, supplied):
        if (np.append(now.labels, now.supplied_labels) < 0).any():
            # Two other classes than the predicted one are as wrong as any.
            continue
        found, _ = view(pool, now, name).bet_on_metric(metric, group, threshold, limits)
        values.append(found.at.value + found.at.offset)
    assert bets.at.value + bets.at.offset == approx(np.min(values, axis=0), abs=1e-6)
    assert bets.most.at.value + bets.most.at.offset == approx(np.max(values, axis=0), abs=1e-6)
    assert (bets.at.low <= bets.at.value + 1e-9).all()
    assert (bets.most.at.value <= bets.most.at.high + 1e-9).all()


def test_an_interval_that_holds_at_every_look_begins_at_the_least_and_ends_at_the_most(pool, log):
    there, metric = view(pool, log, "error"), find(pool, "error")
    bets, limits = there.bet_on_metric(metric, there.evidence.groups[0], 0.5)
    found = there.confidence_sequence(metric, 0.9)
    assert found == bets.interval(0.9, limits)
    least, most = (replace(each, most=None).interval(0.9, limits) for each in (bets, bets.most))
    assert (found.lower, found.upper) == (least.lower, most.upper)
    assert found.upper > least.upper and found.lower < most.lower
    assert there.value(metric, "doubly-robust", kind=ANYTIME).over_all[1] < found.upper
    # All of declined items is possible, whatever is known of the others.
    assert limits == there.possible_range(metric, there.evidence.groups[0])
    pred = pool.take(log.rows).outputs.pred
    errors = int(((log.labels != pred) & (log.status == LABELLED)).sum())
    pred = pool.take(log.supplied_rows).outputs.pred
    errors += int(((log.supplied_labels != pred) & (log.supplied_status == LABELLED)).sum())
    right = len(log.rows) + 3 - 2 - errors
    assert limits == approx((errors / SIZE, 1 - right / SIZE))


def test_declined_items_that_are_ignored_leave_one_bet(pool, log):
    there = view(pool, log, "error", choices=IGNORE)
    bets, _ = there.bet_on_metric(find(pool, "error"), there.evidence.groups[0], 0.5)
    assert bets.most is None


def test_groups_without_a_declined_item_have_a_worst_case_only_where_they_are_compared(pool, truth):
    """By the same draws as the other group."""
    log = play_rounds(pool, truth, (CHOICES, 20))
    log = set_status(log, np.flatnonzero(pool.take(log.rows).codes[:, 0] == 0)[:1], DECLINED)
    there = view(pool, log, "error")
    first, second = there.evidence.groups[1:3]
    metric = find(pool, "error")
    assert there.value(metric, "doubly-robust", first).declined is not None
    assert there.value(metric, "doubly-robust", second).declined is None
    compared = there.value(metric, "doubly-robust", second, alike=True)
    assert compared.over_all == approx((compared.value, compared.value))
