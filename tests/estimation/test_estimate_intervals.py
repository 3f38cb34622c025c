"""Intervals of metrics, differences between groups, and the surrogate's own view."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation import beliefs, estimate, samples
from activetest.estimation.value import Value
from activetest.estimation.view import build_view
from activetest.intervals import calibration, group_t
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Sides
from activetest.nouns.log import LABELLED, PENDING, Log
from activetest.rounds.fit import find_free_items, fit_surrogate, make_generator, observe_statistics
from tests.makers import build_table, play_rounds

SIZE = 60
CLASSES = Choices("error", ("error", "f1[dog]"), "agreement", groups=("place",))
VALUES = Choices("rmse", ("rmse", "mae"), "residual", groups=("place",))

pytestmark = pytest.mark.pool(rows=SIZE, seed=4, groups=("place",), wrong=4)


@pytest.fixture
def values(tmp_path):
    """A regression pool with a feature and a group, and its labels."""
    rng = np.random.default_rng(5)
    pred, x = rng.normal(size=(2, SIZE))
    columns = {"id": range(SIZE), "pred": pred, "x": x, "place": ["barn", "tree"] * (SIZE // 2)}
    pool = build_table(tmp_path, columns, name="values", groups=("place",))
    return pool, pred + 0.5 * x + rng.normal(scale=0.4, size=SIZE)


def drawn(pool, truth, choices: Choices, *counts: int) -> Log:
    return play_rounds(pool, truth, *((choices, count) for count in counts), seed=2)


def of(pool, log: Log, choices: Choices, name: str, group: int = 0):
    """(sample, metric) over the whole pool or a group."""
    metric = specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))
    evidence = samples.collect_evidence(log, pool, choices, [metric], seed=2)
    return samples.build_sample(evidence, metric, evidence.groups[group]), metric


def estimate_metric(pool, log: Log, choices: Choices, name: str, group: int = 0) -> Value:
    return estimate.estimate_metric(*of(pool, log, choices, name, group), "doubly-robust")


@pytest.mark.parametrize("scored", [False, True])
def test_labels_that_contradict_verdicts_put_the_ends_of_their_share_apart(tmp_path, scored):
    """On either side; where the model says how sure it is, folds are used, and no line."""
    said, columns = np.arange(SIZE) % 2, {"id": range(SIZE)}
    columns["pred"] = np.where(said, "yes", "no")
    columns |= (
        {"prob_yes": np.where(said, 0.9, 0.1), "prob_no": 1 - np.where(said, 0.9, 0.1)}
        if scored
        else {}
    )
    pool, labels = build_table(tmp_path, columns, name="verdicts"), said.astype(float)
    code = [pool.classes.index(each) for each in ("no", "yes")]
    labels = np.array(code, float)[said]
    wrong = {0: code[1], 1: code[0], 3: code[0]}
    labels[list(wrong)] = list(wrong.values())
    choices = Choices("rate[yes]", ("rate[yes]",), "agreement")
    log = drawn(pool, labels, choices, SIZE // 2)
    value = estimate_metric(pool, log, choices, "rate[yes]")
    assert (value.estimate.excess is None) == scored
    if not scored:
        here = np.isin([1, 3, 0], log.rows)
        counts = value.estimate.excess.counts
        assert counts == approx((int(here[:2].sum()), int(here[2])), abs=0.5)
        found = estimate.build_interval(value, 0.95)
        plain = replace(value, estimate=replace(value.estimate, excess=None))
        own = estimate.build_interval(plain, 0.95)
        assert found.upper - found.lower > own.upper - own.lower


# --- which interval is whose


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["auroc[dog]", "average-precision[cat]"])
def test_an_area_under_a_curve_stays_between_0_and_1(pool, name, group):
    """A linear form around the labels knows no bounds; labels are what is predicted here."""
    truth = pool.rows(0, SIZE).outputs.pred.astype(float)
    log = drawn(pool, truth, CLASSES, 8, 8)
    metric = specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, CLASSES, [metric], seed=2, own_view=False)
    where = view.evidence.groups[group]
    value = view.value(metric, "doubly-robust", where)
    interval = view.interval(value, 0.95, group=where)
    assert 0 <= interval.lower <= value.value <= interval.upper <= 1


@pytest.mark.parametrize("name", ["auroc[dog]", "average-precision[cat]"])
def test_an_area_under_a_curve_has_half_of_the_width_on_either_side(pool, truth, name, monkeypatch):
    """It is less skewed than its labels' pulls, or to the other side, as one of shares is."""
    log = drawn(pool, truth, CLASSES, 20, 20)
    metric = specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, CLASSES, [metric], seed=2, own_view=False)
    value = view.value(metric, "doubly-robust")
    interval = view.interval(value, 0.6)
    monkeypatch.setattr(estimate, "_widen_curve", lambda value, found: found)
    plain = view.interval(value, 0.6)
    centre, half = value.value, (plain.upper - plain.lower) / 2
    ends = min(plain.lower, centre - half), max(plain.upper, centre + half)
    assert (interval.lower, interval.upper) == approx(ends)
    assert 0 < interval.lower < interval.upper < 1
    assert interval.upper - interval.lower > 1.002 * 2 * half


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("error", "korn-graubard"),
        ("accuracy", "korn-graubard"),
        ("f1[dog]", "delta-beta"),
        ("mcc", "delta-beta"),
        ("log-loss", "gamma"),
        ("ece", "calibration"),
    ],
)
def test_a_metric_of_classes_has_the_interval_of_its_range(pool, truth, name, method):
    one = estimate_metric(pool, drawn(pool, truth, CLASSES, 15, 15), CLASSES, name)
    interval = estimate.build_interval(one, 0.9)
    assert (interval.method, interval.level) == (method, 0.9)
    assert one.metric.lower <= interval.lower <= one.value <= interval.upper <= one.metric.upper
    assert interval.lower < interval.upper


def test_rounding_is_no_label_that_lowers_a_rate(pool):
    """Labels are what is predicted: no false alarm is seen, so specificity is not reliable."""
    truth = pool.rows(0, SIZE).outputs.pred.astype(float)
    for seed in range(10):
        log = play_rounds(pool, truth, (CLASSES, 15), (CLASSES, 15), seed=seed)
        rate, opposite = (
            estimate_metric(pool, log, CLASSES, name)
            for name in ("specificity[dog]", "false-positive-rate[dog]")
        )
        assert rate.estimate.minority_count == opposite.estimate.minority_count == 0
        found, other = (estimate.build_interval(each, 0.95) for each in (rate, opposite))
        assert (found.lower, found.upper) == (approx(1 - other.upper), approx(1 - other.lower))


@pytest.mark.parametrize("name", ["rmse", "mae", "bias"])
def test_a_metric_of_values_has_gamma_limits(values, name):
    one = estimate_metric(values[0], drawn(*values, VALUES, 15, 15), VALUES, name)
    interval = estimate.build_interval(one, 0.9)
    assert interval.method == "gamma"
    assert one.metric.lower <= interval.lower < one.value < interval.upper


def test_a_metric_without_a_lower_bound_has_them_too(values):
    one = estimate_metric(values[0], drawn(*values, VALUES, 15, 15), VALUES, "r2")
    interval = estimate.build_interval(one, 0.9)
    assert interval.method == "gamma"
    assert interval.lower < one.value < interval.upper <= 1


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["mse", "bias", "r2"])
def test_values_beyond_the_farthest_put_the_ends_of_a_number_without_bounds_apart(
    values, name, group, monkeypatch
):
    """By several times what the farthest draw added, where few draws make most of the variance."""
    pool, truth = values
    truth = truth + np.where(np.arange(SIZE) % 7 == 0, 9.0, 0.0)
    log = drawn(pool, truth, VALUES, 15, 15)

    def build(times: float, of_square: float = 0.0):
        monkeypatch.setattr(estimate, "_FARTHEST", times)
        monkeypatch.setattr(estimate, "_FARTHEST_SQUARE", of_square)
        one = estimate_metric(pool, log, VALUES, name, group)
        return one, estimate.build_interval(one, 0.9, group=group > 0)

    (one, plain), (_, found) = build(0.0), build(4.5, 2.5)
    terms = one.estimate.terms[:, 0]
    parts = one.estimate.weights * (terms - one.estimate.weights @ terms)
    # Of squares more is hidden, which is nothing with 20 degrees of freedom.
    degrees = one.estimate.spread_freedom
    of_square = 0.0 if name == "bias" else min(max(20 / degrees - 1, 0.0), 1.0)
    hidden = 4.5 * min(10 / degrees, 1.0) + 2.5 * of_square
    assert (of_square > 0) == (name != "bias")
    least, most = 1.6449 * hidden * np.array([-parts.min(), parts.max()])
    centre = float(one.estimate.limited_mean[0])
    assert found.lower == approx(
        max(centre - np.hypot(centre - plain.lower, least), one.metric.lower), rel=1e-4
    )
    assert found.upper == approx(
        min(centre + np.hypot(plain.upper - centre, most), one.metric.upper), rel=1e-4
    )
    assert found.upper - found.lower > 1.1 * (plain.upper - plain.lower)


@pytest.mark.parametrize("name", ["log-loss", "brier", "f1[dog]"])
def test_what_labels_of_classes_bound_is_not_put_apart(pool, truth, name, monkeypatch):
    log, widths = drawn(pool, truth, CLASSES, 15, 15), []
    for times in (0.0, 4.5):
        monkeypatch.setattr(estimate, "_FARTHEST", times)
        found = estimate.build_interval(estimate_metric(pool, log, CLASSES, name), 0.9)
        widths.append(found.upper - found.lower)
    assert widths[0] == widths[1] > 0


@pytest.mark.parametrize(
    ("name", "method"),
    [("error", "group-beta"), ("f1[dog]", "group-beta"), ("log-loss", "group-t")],
)
def test_a_group_has_an_interval_that_counts_its_own_labels(pool, truth, name, method):
    one = estimate_metric(pool, drawn(pool, truth, CLASSES, 15, 15), CLASSES, name, 1)
    interval = estimate.build_interval(one, 0.9, group=True)
    assert interval.method == method
    assert one.metric.lower <= interval.lower < one.value < interval.upper <= one.metric.upper


def test_a_map_of_one_mean_sends_the_means_interval_through(pool, truth, values):
    log = drawn(pool, truth, CLASSES, 15, 15)
    error, accuracy = (
        estimate.build_interval(estimate_metric(pool, log, CLASSES, name), 0.9)
        for name in ("error", "accuracy")
    )
    assert (accuracy.lower, accuracy.upper) == approx((1 - error.upper, 1 - error.lower))
    log = drawn(*values, VALUES, 15, 15)
    mse, rmse = (
        estimate.build_interval(estimate_metric(values[0], log, VALUES, name), 0.9)
        for name in ("mse", "rmse")
    )
    assert (rmse.lower**2, rmse.upper**2) == approx((mse.lower, mse.upper))
    assert rmse.variance == mse.variance


def test_the_slope_of_a_map_is_its_derivative_at_the_mean(values):
    one = estimate_metric(values[0], drawn(*values, VALUES, 15, 15), VALUES, "rmse")
    assert one.slope == approx(1 / (2 * one.value), rel=1e-4)


# --- differences between groups


@pytest.mark.parametrize("name", ["error", "f1[cat]", "accuracy", "rmse", "mse"])
def test_a_difference_has_the_variance_of_the_differences_of_terms(pool, truth, values, name):
    """Of the metric itself: each group's terms times the slope of its map."""
    choices = VALUES if name in ("rmse", "mse") else CLASSES
    pool, truth = values if choices is VALUES else (pool, truth)
    log = drawn(pool, truth, choices, 20, 20)
    one, two = (estimate_metric(pool, log, choices, name, group) for group in (1, 2))
    interval = estimate.estimate_difference(one, two, 0.9)
    apart = interval.estimate
    assert apart == approx(one.value - two.value)
    terms = one.slope * one.estimate.terms[:, 0] - two.slope * two.estimate.terms[:, 0]
    weights = one.estimate.weights
    shown = (weights**2 @ (terms - weights @ terms) ** 2) / (1 - (weights**2).sum())
    expected = sum(each.slope**2 * each.estimate.model_variance for each in (one, two))
    assert interval.variance == approx(max(shown, expected))
    bold = [
        replace(each, estimate=replace(each.estimate, model_variance=0.0)) for each in (one, two)
    ]
    assert estimate.estimate_difference(*bold, 0.9).variance == approx(shown)
    assert (interval.method, interval.level) == ("group-t", 0.9)


def test_a_sum_of_gaps_may_grow_by_as_much_as_the_share_of_mistakes(pool, truth):
    """Labels are what is predicted: no mistake was met, and each further one adds to a gap."""
    right = pool.rows(0, SIZE).outputs.pred.astype(float)
    for labels in (truth, right):
        log = drawn(pool, labels, CLASSES, 10, 10)
        gaps, wrong = (estimate_metric(pool, log, CLASSES, name) for name in ("ece", "error"))
        for decides in (False, True):
            found = estimate.build_interval(gaps, 0.9, decides=decides)
            plain = calibration.interval(gaps.means, 0.9)
            own = estimate.build_interval(wrong, 0.9, decides=decides)
            room = calibration.remove_bias(gaps.means) + own.upper - wrong.value
            assert found.upper == approx(min(max(plain.upper, room), 1), abs=0.02)
    assert found.upper > plain.upper + 0.05


def test_a_difference_is_as_wide_as_the_intervals_of_its_values_make_it(pool, truth):
    """Their distances to the limits that count add up as squares, where that is more."""
    log = drawn(pool, truth, CLASSES, 20, 20)
    one, two = (estimate_metric(pool, log, CLASSES, "error", group) for group in (1, 2))
    # Of one group next to nothing was seen: no label of its rarer kind.
    unseen = replace(one.estimate, sides=Sides((0.0, 0.0), (1.0, 1.0)), one_draw=5.0)
    for first in (one, replace(one, estimate=unseen)):
        _, joint = estimate.combine_difference(first, two)
        plain = group_t.interval(joint, 0.9)
        found = estimate.estimate_difference(first, two, 0.9)
        apart = found.estimate
        left, right = (estimate.build_interval(each, 0.9, group=True) for each in (first, two))
        below = np.hypot(first.value - left.lower, right.upper - two.value)
        above = np.hypot(left.upper - first.value, two.value - right.lower)
        assert found.lower == approx(max(min(plain.lower, apart - below), -1))
        assert found.upper == approx(min(max(plain.upper, apart + above), 1))
    assert found.upper > plain.upper + 0.05


def test_a_difference_the_other_way_round_is_the_mirror_image(pool, truth):
    log = drawn(pool, truth, CLASSES, 20, 20)
    one, two = (estimate_metric(pool, log, CLASSES, "error", group) for group in (1, 2))
    interval, mirrored = (
        estimate.estimate_difference(*pair, 0.95) for pair in ((one, two), (two, one))
    )
    assert mirrored.estimate == approx(-interval.estimate)
    assert (mirrored.lower, mirrored.upper) == approx((-interval.upper, -interval.lower))


def test_groups_share_draws_so_their_difference_is_no_sum_of_variances(pool, truth):
    """A draw that falls into one group tells its term there, and a constant in the other."""
    log = drawn(pool, truth, CLASSES, 20, 20)
    one, two = (estimate_metric(pool, log, CLASSES, "error", group) for group in (1, 2))
    one, two = (
        replace(each, estimate=replace(each.estimate, model_variance=0.0)) for each in (one, two)
    )
    interval = estimate.estimate_difference(one, two, 0.95)
    separate = one.estimate.variance[0, 0] + two.estimate.variance[0, 0]
    assert interval.variance != approx(separate, rel=1e-6)
    weights = one.estimate.weights
    off = [each.estimate.terms[:, 0] - each.estimate.mean[0] for each in (one, two)]
    shared = (weights**2 * off[0]) @ off[1] / (1 - weights @ weights)
    assert interval.variance == approx(separate - 2 * shared)


def test_a_difference_of_what_is_known_is_exact(pool, truth):
    log = drawn(pool, truth, CLASSES, 40, 20)
    one, two = (estimate_metric(pool, log, CLASSES, "f1[cat]", group) for group in (1, 2))
    interval = estimate.estimate_difference(one, two, 0.95)
    apart = interval.estimate
    rows = pool.rows(0, SIZE)
    first, second = (
        evaluate(one.metric, rows[here].outputs, truth[here])
        for here in (np.flatnonzero(rows.codes[:, 0] == code) for code in (0, 1))
    )
    assert apart == approx(first - second)
    assert (interval.method, interval.lower, interval.upper) == ("exact", apart, apart)


def test_a_group_of_which_everything_is_known_adds_no_doubt_to_a_difference(pool, truth):
    log = drawn(pool, truth, CLASSES, 20, 20)
    rows = np.flatnonzero(find_free_items(log, SIZE) & (pool.rows(0, SIZE).codes[:, 0] == 0))
    count = len(rows)
    assert count
    log = replace(
        log,
        supplied_rows=rows,
        supplied_status=np.full(count, LABELLED),
        supplied_labels=truth[rows],
        supplied_round=np.full(count, 3),
    )
    one, two = (estimate_metric(pool, log, CLASSES, "error", group) for group in (1, 2))
    assert one.estimate.exact
    assert not two.estimate.exact
    alone = max(two.estimate.variance[0, 0], two.estimate.model_variance)
    for pair in ((one, two), (two, one)):
        interval = estimate.estimate_difference(*pair, 0.9)
        apart = interval.estimate
        assert apart == approx(pair[0].value - pair[1].value)
        assert (interval.method, interval.variance) == ("group-t", approx(alone))


# --- the surrogate's own view


@pytest.mark.parametrize("name", ["error", "f1[dog]", "log-loss"])
def test_the_surrogate_speaks_for_everything_without_a_label(pool, truth, name):
    """Labels as they are, and its expectation for the rest: also for items that wait for one."""
    log = drawn(pool, truth, CLASSES, 15, 10)
    rows = np.flatnonzero(find_free_items(log, SIZE))[:5]
    log = replace(
        log,
        supplied_rows=rows,
        supplied_status=np.full(5, LABELLED),
        supplied_labels=truth[rows],
        supplied_round=np.full(5, 3),
    )
    log.status[20:], log.labels[20:] = PENDING, np.nan
    sample, metric = of(pool, log, CLASSES, name)
    imputation = beliefs.impute_unknown(
        samples.collect_evidence(log, pool, CLASSES, [metric], seed=2)
    )
    surrogate = fit_surrogate(log, pool, CLASSES, rng=make_generator(2, 3, "fit"))
    known = np.append(log.rows[:20], rows)
    rest = np.setdiff1d(np.arange(SIZE), known)
    mean = surrogate.expected(pool.take(rest), metric.statistics).sum(axis=1)
    assert imputation.count == len(rest) == SIZE - 25
    assert imputation.mean == approx(mean, rel=1e-5)
    total = observe_statistics(pool.take(known), truth[known], metric.statistics).sum(axis=0)
    result = estimate.estimate_metric(
        beliefs.add_imputation(sample, metric, imputation), metric, "ase"
    )
    assert result.value == approx(metric.smooth((total + mean) / SIZE), rel=1e-5)
    interval = estimate.build_interval(result, 0.9)
    assert interval.method == "credible"
    assert interval.lower < result.value < interval.upper


def test_the_literal_own_view_is_the_mean_expectation_of_all_items(pool, truth):
    """Eq. (4) of the paper: labels teach the surrogate, and are not filled in."""
    log = drawn(pool, truth, CLASSES, 15, 10)
    _, metric = of(pool, log, CLASSES, "error")
    view = build_view(log, pool, CLASSES, [metric], seed=2, own_view=True)
    surrogate = fit_surrogate(log, pool, CLASSES, rng=make_generator(2, 3, "fit"))
    everything = pool.rows(0, SIZE)
    expected = surrogate.expected(everything, metric.statistics)[0].mean()
    found = view.value(metric, "ase[plug-in=nothing]")
    assert found.value == approx(expected, rel=1e-5)
    assert found.value != approx(view.value(metric, "ase").value, rel=1e-5)
    interval = view.interval(found, 0.9)
    assert interval.lower < found.value < interval.upper


@pytest.mark.parametrize("name", ["ece", "classwise-ece[5]", "calibration-error-squared"])
def test_what_the_surrogate_expects_of_a_sum_of_gaps_has_no_interval(pool, truth, name):
    """Drawing labels adds to such a sum: its posterior can miss the truth always."""
    log = drawn(pool, truth, CLASSES, 10)
    sample, metric = of(pool, log, CLASSES, name)
    imputation = beliefs.impute_unknown(
        samples.collect_evidence(log, pool, CLASSES, [metric], seed=2)
    )
    result = estimate.estimate_metric(
        beliefs.add_imputation(sample, metric, imputation), metric, "ase"
    )
    assert 0 < result.value < 1
    with pytest.raises(NotEstimable, match="no valid posterior"):
        estimate.build_interval(result, 0.8)


def test_a_sum_of_gaps_that_is_known_is_exact_also_for_the_surrogate(pool, truth):
    """Its interval is that of the metric, and not of the sum that this is a share of."""
    log = drawn(pool, truth, CLASSES, SIZE)
    for name in ("ece", "classwise-ece[5]"):
        sample, metric = of(pool, log, CLASSES, name)
        result = estimate.estimate_metric(sample, metric, "ase")
        assert result.estimate.exact and result.value > 0
        interval = estimate.build_interval(result, 0.8)
        assert interval.lower == interval.upper == approx(result.value)
        exact = estimate.estimate_metric(sample, metric, "doubly-robust")
        assert result.value == approx(exact.value, abs=1e-6)


def test_the_interval_of_a_mean_over_classes_is_that_of_the_sum_over_as_many(pool, truth):
    """Three classes of five bins: the interval is for the sum of all gaps."""
    sample, metric = of(pool, drawn(pool, truth, CLASSES, 20), CLASSES, "classwise-ece[5]")
    result = estimate.estimate_metric(sample, metric, "doubly-robust")
    found = estimate.build_interval(result, 0.8)
    whole = catalog.load("intervals", "calibration").interval(result.means, 0.8)
    assert 0 < found.upper < 1
    assert (3 * found.lower, 3 * found.upper) == (approx(whole.lower), approx(whole.upper))


def test_members_scatter_around_the_expectation_with_labels_drawn(pool, truth):
    """The posterior of the sum has at least the variance that drawing labels alone gives it."""
    log = drawn(pool, truth, CLASSES, 15, 10)
    metric = specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))
    imputation = beliefs.impute_unknown(
        samples.collect_evidence(log, pool, CLASSES, [metric], seed=2)
    )
    surrogate = fit_surrogate(log, pool, CLASSES, rng=make_generator(2, 3, "fit"))
    wrong = surrogate.expected(
        pool.take(np.flatnonzero(find_free_items(log, SIZE))), metric.statistics
    )[0]
    sums = imputation.posterior[:, 0]
    deviation = sums.std()
    assert deviation > 0.85 * np.sqrt((wrong * (1 - wrong)).sum())
    assert abs(sums.mean() - imputation.mean[0]) < 4 * deviation / len(sums) ** 0.5


def test_the_surrogates_own_view_has_no_draws_behind_it(pool, truth):
    sample, metric = of(pool, drawn(pool, truth, CLASSES, 20), CLASSES, "mcc")
    known = replace(sample, surrogate=sample.total * 1.0, posterior=np.tile(sample.total, (3, 1)))
    result = estimate.estimate_metric(known, metric, "ase")
    assert len(result.estimate.terms) == len(result.estimate.weights) == 0
    assert result.estimate.model_variance == 0
    assert result.estimate.freedom == np.inf


@pytest.mark.parametrize("surrogate", ["model", "agreement"])
def test_members_that_are_asked_about_a_few_alike_items_say_what_they_say_about_all(
    tmp_path, surrogate, monkeypatch
):
    """54 items are alike: six of them, scaled up by nine, stand for their sum and its variance."""
    columns = {"id": range(SIZE), "prob_no": np.full(SIZE, 0.2), "prob_yes": np.full(SIZE, 0.8)}
    pool = build_table(tmp_path, columns, name="alike")
    choices = Choices("error", ("error",), surrogate)
    truth = (np.arange(SIZE) % 4 > 0).astype(float)
    log = drawn(pool, truth, choices, 6)
    _, metric = of(pool, log, choices, "error")
    evidence = samples.collect_evidence(log, pool, choices, [metric], seed=2)
    whole = beliefs.impute_unknown(evidence)
    asked = []
    totals = type(evidence.surrogate).totals
    monkeypatch.setattr(
        type(evidence.surrogate),
        "totals",
        lambda self, rows, *rest: asked.append(len(rows.index)) or totals(self, rows, *rest),
    )
    monkeypatch.setattr(beliefs, "_MEMBER_ROWS", 6)
    few = beliefs.impute_unknown(evidence)
    assert asked == [6]
    if surrogate == "model":
        # Its members are all the same: what is left is the labels, drawn from the round's numbers.
        chance = make_generator(2, 2, "posterior").standard_normal(whole.posterior.shape)
        assert whole.posterior == approx(whole.mean + (54 * 0.8 * 0.2) ** 0.5 * chance, rel=1e-4)
    assert few.mean == approx(whole.mean)
    assert few.posterior == approx(whole.posterior, rel=1e-4)
    assert whole.posterior.std() > 0.5


@pytest.mark.parametrize("metric", ["error", "f1[cat]"])
def test_a_number_keeps_its_record_from_the_interval_to_the_row(pool, truth, metric):
    """The record that a report shows is the one that the method of the interval built."""
    log = drawn(pool, truth, CLASSES, 20, 20)
    value = estimate_metric(pool, log, CLASSES, metric)
    found = estimate.build_interval(value, 0.9)
    assert (found.estimate, found.level) == (value.value, 0.9) and np.isfinite(found.variance)
    assert (
        found.find_ends() == (found.lower, found.upper)
        and found.lower <= found.estimate <= found.upper
    )
    # The variance is for savings alone: it makes no other number of one.
    assert replace(found, variance=7.0) == found and "variance" not in repr(found)
    with pytest.raises(ValueError, match="no interval"):
        _ = replace(found, lower=None).find_ends()
