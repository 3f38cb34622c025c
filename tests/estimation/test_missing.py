"""Missing answers: what estimates make of them lies within the worst that they can be."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import norm

from activetest.estimation import estimate, missing, samples
from activetest.estimation.estimate import build_interval, estimate_difference
from activetest.estimation.evidence import Evidence
from activetest.estimation.view import ANYTIME, build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import restore_surrogate
from tests.makers import build_table, set_status, supply_labels

SIZE = 40
FACTS = Facts("classification", ("cat", "dog", "owl"), probabilities=True)
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
CODES = (0.0, 1.0, 2.0, -1.0)

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


def find(name: str):
    return specification.find_metric(name, FACTS)


def collected(log: Log, pool, name: str, surrogate=None) -> Evidence:
    return samples.collect_evidence(log, pool, CHOICES, [find(name)], seed=1, surrogate=surrogate)


def filled_of(log: Log, pool, name: str, group: int = 0, until: int | None = None):
    evidence = collected(log, pool, name)
    until = len(log.history) + 1 if until is None else until
    group = evidence.groups[group]
    return missing.fill_rounds(evidence, find(name), group, until)


def ordinary(log: Log, pool, name: str, group: int, estimator: str, surrogate=None):
    """The value of a log that lacks nothing; the surrogate matters to its model variance alone."""
    evidence = collected(log, pool, name, surrogate)
    sample = samples.build_sample(evidence, find(name), evidence.groups[group])
    return estimate.estimate_metric(sample, find(name), estimator)


def answers(log: Log, places, supplied=(), *, declined: bool = False):
    """Every log in which the missing items have answers: of each class, of none, or declined."""
    outcomes = [(LABELLED, code) for code in CODES] + [(DECLINED, np.nan)] * declined
    for given in product(outcomes, repeat=len(places) + len(supplied)):
        now = replace(
            log,
            status=log.status.copy(),
            labels=log.labels.copy(),
            supplied_status=log.supplied_status.copy(),
            supplied_labels=log.supplied_labels.copy(),
        )
        for place, (status, code) in zip(places, given, strict=False):
            now.status[place], now.labels[place] = status, code
        for place, (status, code) in zip(supplied, given[len(places) :], strict=True):
            now.supplied_status[place], now.supplied_labels[place] = status, code
        yield now


def ends_of(value) -> tuple[float, float]:
    return value.worst.ends


def scale(value) -> float:
    """A value on the scale of its linear estimate, cut off where that is impossible."""
    return float(np.clip(value.estimate.mean[0], *value.estimate.limits[:, 0]))


# --- what the complete data would give


@pytest.mark.parametrize("estimator", ["lure", "doubly-robust"])
@pytest.mark.parametrize("name", ["error", "accuracy", "brier", "f1[dog]", "precision[owl]"])
@pytest.mark.parametrize("group", [0, 1])
def test_the_estimate_with_any_answers_lies_within_the_worst_cases(
    pool, truth, play_rounds, name, estimator, group
):
    """Every answer of every missing item, drawn in three rounds."""
    whole = play_rounds((CHOICES, 8), (CHOICES, 6), (CHOICES, 6))
    for places in ((2, 9), (0, 18)):
        log = set_status(whole, list(places), PENDING)
        filled = filled_of(log, pool, name, group)
        value = missing.estimate_with_missing(filled, estimator)
        low, high = ends_of(value)
        assert low - 1e-9 <= scale(value) <= high + 1e-9
        surrogate = filled.evidence.surrogate
        found = [
            scale(ordinary(now, pool, name, group, estimator, surrogate))
            for now in answers(log, places)
        ]
        assert low - 1e-9 <= min(found) and max(found) <= high + 1e-9
        if estimator == "lure":
            assert (low, high) == approx((min(found), max(found)), abs=1e-9)


@pytest.mark.parametrize("labelled", [True, False])
def test_guesses_of_graded_values_keep_close_to_the_surrogate_where_answers_are_missing(
    pool, truth, play_rounds, labelled
):
    """How far a label moves later guesses is known only of those."""
    filled = filled_of(set_status(play_rounds((CHOICES, 12)), [3], PENDING), pool, "error")
    (one,) = filled.metric.statistics
    graded = replace(filled.metric, statistics=(replace(one, graded=True),))
    assert samples.build_sample(filled.evidence, graded, filled.group).graded.all()
    assert replace(filled, metric=graded).complete(filled.guess, labelled=labelled).graded is None


def test_macro_averages_and_other_functions_of_means_hold_their_answers_too(
    pool, truth, play_rounds
):
    """Found along the gradient: here these are the very worst."""
    whole = play_rounds((CHOICES, 12), (CHOICES, 12))
    for name in ("f1[macro]", "balanced-accuracy", "mcc"):
        log = set_status(whole, [3, 14], PENDING)
        filled = filled_of(log, pool, name)
        low, high = missing.estimate_with_missing(filled, "doubly-robust").worst.ends
        surrogate = filled.evidence.surrogate
        found = [
            scale(ordinary(now, pool, name, 0, "doubly-robust", surrogate))
            for now in answers(log, (3, 14))
        ]
        assert low - 1e-9 <= min(found) and max(found) <= high + 1e-9


def test_the_plain_formula_with_the_worst_answers_is_the_worst_case(pool, truth, play_rounds):
    """Where draws show more of a class than the pool can have, no mean is cut off."""
    uniform = replace(CHOICES, acquisition="uniform", surrogate="model")
    for seed, name in product(range(4, 12), ("precision[owl]", "f1[dog]")):
        log = set_status(play_rounds((uniform, 30), seed=seed), [2, 9], PENDING)
        filled = filled_of(log, pool, name)
        low, high = ends_of(missing.estimate_with_missing(filled, "iid"))
        surrogate = filled.evidence.surrogate
        found = [
            scale(ordinary(now, pool, name, 0, "iid", surrogate)) for now in answers(log, (2, 9))
        ]
        assert (low, high) == approx((min(found), max(found)), abs=1e-9)


@pytest.mark.parametrize("name", ["error", "recall[cat]"])
def test_items_that_might_be_declined_could_be_answered_or_not(pool, truth, play_rounds, name):
    """Where any item was declined, the target is a ratio of means."""
    whole = play_rounds((CHOICES, 8), (CHOICES, 8))
    whole = set_status(whole, [1, 6, 12], DECLINED)
    log = set_status(whole, [4, 9], PENDING)
    filled = filled_of(log, pool, name)
    for estimator in ("lure", "doubly-robust"):
        low, high = missing.estimate_with_missing(filled, estimator).worst.ends
        surrogate = filled.evidence.surrogate
        found = [
            scale(ordinary(now, pool, name, 0, estimator, surrogate))
            for now in answers(log, (4, 9), declined=True)
        ]
        assert low - 1e-9 <= min(found) and max(found) <= high + 1e-9


@pytest.mark.parametrize("name", ["error", "f1[dog]"])
def test_supplied_labels_that_were_taken_back_and_top_scores_are_missing_as_well(
    pool, truth, play_rounds, name
):
    """They are known to later draws only: here one of each."""
    log = play_rounds((CHOICES, 8))
    free = np.setdiff1d(np.arange(SIZE), log.rows)
    log = supply_labels(log, free[:3], truth)
    top = replace(CHOICES, selection="top")
    whole = play_rounds((top, 3), (CHOICES, 6), log=log)
    log = set_status(whole, [9], PENDING)
    supplied_status, supplied_labels = log.supplied_status.copy(), log.supplied_labels.copy()
    supplied_status[1], supplied_labels[1] = PENDING, np.nan
    log = replace(log, supplied_status=supplied_status, supplied_labels=supplied_labels)
    filled = filled_of(log, pool, name)
    assert (filled.drawn.tolist(), filled.supplied.tolist()) == ([9], [1])
    assert filled.evidence.used == len(log.rows)
    low, high = missing.estimate_with_missing(filled, "doubly-robust").worst.ends
    surrogate = filled.evidence.surrogate
    found = [
        scale(ordinary(now, pool, name, 0, "doubly-robust", surrogate))
        for now in answers(log, [9], [1])
    ]
    assert (low, high) == approx((min(found), max(found)), abs=1e-9)


def test_where_all_but_a_few_are_known_the_interval_is_what_these_could_be(
    pool, truth, play_rounds
):
    log = set_status(play_rounds((CHOICES, 20), (CHOICES, 20)), [3, 17, 30], PENDING)
    value = missing.estimate_with_missing(filled_of(log, pool, "error"), "doubly-robust")
    interval = build_interval(value, 0.95)
    known = np.delete(np.arange(SIZE), [3, 17, 30])
    wrong = (truth[log.rows] != pool.take(log.rows).outputs.pred)[known].sum()
    assert (interval.lower, interval.upper) == approx((wrong / SIZE, (wrong + 3) / SIZE))
    assert (interval.method, interval.estimate) == ("worst-case", value.value)


# --- intervals


def test_more_missing_answers_make_a_wider_interval(pool, truth, play_rounds):
    whole = play_rounds((CHOICES, 12), (CHOICES, 12))
    for name in ("error", "brier", "f1[dog]"):
        ends, intervals = [], []
        for places in ([5], [5, 14], [5, 14, 20], [0, 5, 14, 20, 23]):
            filled = filled_of(set_status(whole, places, PENDING), pool, name)
            value = missing.estimate_with_missing(filled, "doubly-robust")
            interval = build_interval(value, 0.95)
            ends.append(value.worst.ends)
            intervals.append((interval.lower, interval.upper))
        for pairs in (ends, intervals):
            low, high = np.array(pairs).T
            assert (np.diff(low) <= 1e-9).all() and (np.diff(high) >= -1e-9).all()
            # An end that is as far as it can be stays there.
            assert low[-1] < low[0] and (high[-1] > high[0] or high[0] == value.possible[1])


def test_intervals_stay_within_what_any_answers_could_make_of_the_metric(pool, truth, play_rounds):
    """Guesses are no labels: what they leave possible counts, and no more."""
    whole = play_rounds((CHOICES, 12), (CHOICES, 12))
    found = []
    for places in ((), (5,), (0, 5, 14)):
        log = set_status(whole, list(places), PENDING)
        value = (
            missing.estimate_with_missing(filled_of(log, pool, "f1[dog]"), "doubly-robust")
            if places
            else ordinary(log, pool, "f1[dog]", 0, "doubly-robust")
        )
        evidence = collected(log, pool, "f1[dog]")
        possible = samples.build_sample(evidence, find("f1[dog]")).possible
        assert value.possible == possible
        interval = build_interval(value, 0.95)
        assert possible[0] <= interval.lower and interval.upper <= possible[1] < 1
        found.append(possible)
    assert (np.diff(found, axis=0) * [-1, 1] >= 0).all() and found[-1] != found[0]


def test_the_interval_holds_those_of_the_worst_answers_and_no_other_answers_are_wider(
    pool, truth, play_rounds
):
    """Also its variance: without it intervals would be too narrow where the hard ones lack."""
    whole = play_rounds((CHOICES, 12), (CHOICES, 12))
    log = set_status(whole, [5, 14], PENDING)
    filled = filled_of(log, pool, "error")
    value = missing.estimate_with_missing(filled, "doubly-robust")
    interval = build_interval(value, 0.95)
    surrogate, found = filled.evidence.surrogate, []
    for now in answers(log, [5, 14]):
        every = build_interval(ordinary(now, pool, "error", 0, "doubly-robust", surrogate), 0.95)
        found.append((every.lower, every.upper))
    low, high = np.array(found).T
    assert interval.lower == approx(low.min()) and interval.upper == approx(high.max())
    assert interval.variance > build_interval(replace(value, worst=None), 0.95).variance


def test_only_missing_answers_inside_a_group_widen_its_interval(pool, truth, play_rounds):
    whole = play_rounds((CHOICES, 16), (CHOICES, 16))
    codes = pool.take(whole.rows).codes[:, 0]
    place = int(np.flatnonzero(codes == 0)[2])
    log = set_status(whole, [place], PENDING)
    for code in (0, 1):
        value = missing.estimate_with_missing(
            filled_of(log, pool, "error", code + 1), "doubly-robust"
        )
        low, high = value.worst.ends
        assert (low < scale(value) < high) == (code == 0)
    assert (low, high) == approx((scale(value), scale(value)))
    complete = ordinary(whole, pool, "error", 2, "doubly-robust")
    assert scale(value) == approx(scale(complete))


def test_a_difference_holds_both_groups_at_their_worst(pool, truth, play_rounds):
    whole = play_rounds((CHOICES, 16), (CHOICES, 16))
    codes = pool.take(whole.rows).codes[:, 0]
    places = [int(np.flatnonzero(codes == code)[3]) for code in (0, 1)]
    log = set_status(whole, places, PENDING)
    filled = filled_of(log, pool, "error")
    groups = filled.evidence.groups[1:]
    values = [
        missing.estimate_with_missing(filled.of_group(group), "doubly-robust") for group in groups
    ]
    interval = estimate_difference(*values, 0.95)
    surrogate = filled.evidence.surrogate
    for now in answers(log, places):
        pair = [ordinary(now, pool, "error", group, "doubly-robust", surrogate) for group in (1, 2)]
        each = estimate_difference(*pair, 0.95)
        assert interval.lower <= each.lower + 1e-9 and each.upper - 1e-9 <= interval.upper


# --- which of the two


def widths(log: Log, pool, name: str = "error") -> dict[int, float]:
    evidence = collected(log, pool, name)
    return missing.expect_widths(evidence, find(name), evidence.groups[0], 0.95)


def is_filled(log: Log, pool, name: str = "error") -> bool:
    evidence = collected(log, pool, name)
    found = missing.fill_missing(evidence, find(name), evidence.groups[0], 0.95)
    return found is not None


def test_whole_rounds_are_used_from_the_number_of_missing_answers_on_at_which_they_are_narrower(
    pool, truth, play_rounds
):
    """The choice turns where the expected widths cross, and only there."""
    whole = play_rounds((CHOICES, 14), (CHOICES, 16))
    chosen, narrower = [], []
    for count in range(1, 16):
        log = set_status(whole, list(range(14, 14 + count)), PENDING)
        rounds, filled = widths(log, pool).values()
        chosen.append(is_filled(log, pool))
        narrower.append(filled < rounds)
    assert chosen == narrower
    assert chosen[0] and not chosen[-1]
    assert (np.diff(np.array(chosen, int)) <= 0).all()


def test_a_round_of_which_no_answer_has_come_changes_nothing(pool, truth, play_rounds):
    """Filling it would gain no label; before a later round that has labels it can be worth it."""
    whole = play_rounds((CHOICES, 12), (CHOICES, 5), (CHOICES, 6), (CHOICES, 6))
    first, second, third, last = (np.flatnonzero(whole.round == each) for each in range(1, 5))
    assert widths(set_status(whole, [*second, *third, *last], PENDING), pool) == {}
    for name in ("error", "f1[dog]", "brier"):
        assert not is_filled(set_status(whole, last, PENDING), pool, name)
    log = set_status(whole, [second[0], *last], PENDING)
    assert list(widths(log, pool)) == [2, 4]
    assert list(widths(set_status(log, third, PENDING), pool)) == [2, 3]
    assert list(widths(set_status(whole, [first[0], *second], PENDING), pool)) == [1, 2, 5]


@pytest.mark.parametrize("name", ["error", "f1[dog]"])
@pytest.mark.parametrize("place", [0, 1])
def test_an_expected_width_is_that_of_the_variance_and_of_what_is_missing(
    pool, truth, play_rounds, place, name
):
    """Of the draws that are used, by the first round's surrogate; and Wilson's (1927)."""
    choices = replace(CHOICES, metric=name, metrics=(name,))
    log = play_rounds((choices, 14))
    log = supply_labels(log, np.setdiff1d(np.arange(SIZE), log.rows)[:4], truth)
    log = play_rounds((choices, 16), log=log)
    log = set_status(log, [15, 20, 21], PENDING)
    lacking = log.supplied_status.copy()
    lacking[0] = PENDING
    log = replace(log, supplied_status=lacking)
    evidence, metric = collected(log, pool, name), find(name)
    group = evidence.groups[place]
    found = missing.expect_widths(evidence, metric, group, 0.9)
    codes, first = pool.take(log.rows).codes, log.history[0]
    inside = group.membership(codes)
    # Linear where the first round saw the metric, in the group.
    mean = first.imputed_sum[place] / first.count[place]
    slope = np.ones(1) if name == "error" else metric.gradient(mean)
    objective = combine_statistics(metric.statistics, list(slope))
    span = objective.upper - objective.lower
    beliefs = restore_surrogate(first, pool).beliefs(pool.take(log.rows), (objective,))
    believed = moments(beliefs)[1][0] * inside

    def measure(rows) -> np.ndarray:
        labels = np.tile(np.array(CODES), (len(rows.index), 1))
        values = sum(
            each.value(rows.outputs, labels) * weight
            for each, weight in zip(metric.statistics, slope, strict=True)
        )
        return (values.max(axis=1) - values.min(axis=1)) * group.membership(rows.codes)

    ranges = measure(pool.take(log.rows)), measure(pool.take(log.supplied_rows))
    expected = {}
    for until, used in ((2, 14), (3, 30)):
        left = SIZE - np.arange(used)
        weights = 1 / (left * (left - 1.0))
        weights /= weights.sum()
        q = log.q[:used]
        variance = (weights**2 * (1 / q - 1) / q) @ believed[:used]
        wilson = norm.ppf(0.95) * span / (2 * inside[:used].sum())
        # A missing draw counts as drawn, and as known to all draws after it.
        missed = [15, 20, 21] if until == 3 else []
        range_ = sum(
            (weights[at] / q[at] + weights[at + 1 :].sum()) * ranges[0][at] for at in missed
        )
        range_ += weights[14:].sum() * ranges[1][0] * (until == 3)
        width = 2 * norm.ppf(0.95) * np.sqrt(variance / group.size**2 + wilson**2)
        expected[until] = width + range_ / group.size
    assert found == approx(expected, rel=1e-4)


def test_where_all_is_drawn_a_missing_label_is_one_item(pool, truth, play_rounds):
    log = set_status(play_rounds((CHOICES, 20), (CHOICES, 20)), [30, 33], PENDING)
    z = norm.ppf(0.975)
    filled = widths(log, pool)[3]
    left = SIZE - np.arange(SIZE)
    weights = 1 / (left * np.maximum(left - 1, 1e-300))
    weights /= weights.sum()
    # The last draw, which is certain, outweighs all others: only Wilson's width is left.
    assert weights[-1] == 1
    assert filled == approx(2 * z * z / (2 * SIZE) + 2 / SIZE)


def test_a_first_round_about_other_classes_is_taken_to_vary_as_it_can(pool, truth, play_rounds):
    log = set_status(play_rounds((CHOICES, 14), (CHOICES, 16)), [20], PENDING)
    other = replace(log, history=(replace(log.history[0], objectives=()), log.history[1]))
    evidence = samples.collect_evidence(
        other, pool, CHOICES, [find("error")], seed=1, predict_again=False
    )
    found = missing.expect_widths(evidence, find("error"), evidence.groups[0], 0.95)
    left = SIZE - np.arange(14)
    weights = 1 / (left * (left - 1.0))
    weights /= weights.sum()
    q = log.q[:14]
    # A share of 0 or 1 has a variance of a quarter at most.
    variance = (weights**2 * (1 / q - 1) / q).sum() / 4 / SIZE**2
    z = norm.ppf(0.975)
    assert found[2] == approx(2 * z * np.sqrt(variance + (z / 28) ** 2))


def test_guesses_of_the_estimator_stay_within_what_an_item_could_be(pool, truth, play_rounds):
    """Brier losses of items have ranges of their own; items outside of the group keep theirs."""
    log = set_status(play_rounds((CHOICES, 12), (CHOICES, 12)), range(12, 22), PENDING)
    filled = filled_of(log, pool, "brier", 1)
    inside = filled.inside > 0
    assert inside.any() and not inside.all()
    lowest, highest = filled.values.min(axis=1), filled.values.max(axis=1)
    assert len(np.unique(highest.round(6))) > 1

    def guess_all(value):
        one = SimpleNamespace(guess=np.full((len(filled.steps), 1), value))
        return missing._take_guess(filled, filled.guess, lambda sample: one)

    assert guess_all(9.0)[inside] == approx(highest[inside])
    assert guess_all(-9.0)[inside] == approx(lowest[inside])
    middle = float((lowest.max() + highest.min()) / 2)
    assert guess_all(middle)[inside] == approx(middle)
    for value in (9.0, middle):
        assert (guess_all(value)[~inside] == filled.guess[~inside]).all()
    # Without guesses, or before there are any, those of the rounds stay.
    assert guess_all(0.0) is filled.guess
    assert missing._take_guess(filled, filled.guess, lambda sample: object()) is filled.guess


def test_a_supplied_label_that_was_taken_back_leaves_more_possible(pool, truth, play_rounds):
    log = play_rounds((CHOICES, 12))
    log = supply_labels(log, np.setdiff1d(np.arange(SIZE), log.rows)[:8], truth)
    log = play_rounds((CHOICES, 12), log=log)
    taken = log.supplied_status.copy()
    taken[:3] = PENDING
    log = replace(log, supplied_status=taken)
    filled = filled_of(log, pool, "f1[dog]")
    value = missing.estimate_with_missing(filled, "doubly-robust")
    evidence = collected(log, pool, "f1[dog]")
    assert value.possible == samples.build_sample(evidence, find("f1[dog]")).possible


def test_a_worst_case_without_a_value_is_none(pool, truth, play_rounds):
    """All items are drawn, and only those that are dogs lack their answer: perhaps none is."""
    whole = play_rounds((CHOICES, 20), (CHOICES, 20))
    dogs = np.flatnonzero(truth[whole.rows] == 1)
    assert 0 < len(dogs) < 20
    log = set_status(whole, dogs, PENDING)
    value = missing.estimate_with_missing(filled_of(log, pool, "recall[dog]"), "doubly-robust")
    assert value.worst.low is None or value.worst.high is None
    interval = build_interval(value, 0.95)
    assert (interval.lower, interval.upper) == (0, 1)


def test_too_few_labels_are_no_interval(pool, truth, play_rounds):
    """Of a round with one label, or with more missing answers than labels."""
    whole = play_rounds((CHOICES, 6), (CHOICES, 20))
    found = widths(set_status(whole, [1, *range(6, 12)], PENDING), pool)
    assert np.isinf(found[1]) and np.isfinite([found[2], found[3]]).all()
    found = widths(set_status(whole, [2], PENDING), pool)
    assert np.isfinite([found[1], found[3]]).all()
    assert np.isfinite(widths(set_status(whole, list(range(13)), PENDING), pool)[3])
    assert np.isinf(widths(set_status(whole, list(range(14)), PENDING), pool)[3])


def test_values_have_every_combination_of_their_bounds(tmp_path):
    outputs = {"id": ["a", "b"], "pred": np.array([1.0, 2.0])}
    pool = build_table(tmp_path, outputs)
    lower, upper = (replace(statistic("zero_one"), lower=low, upper=9.0) for low in (-1, 0))
    metric = replace(find("error"), statistics=(lower, upper))
    found = missing.list_values(pool.rows(0, 2), metric, len(pool.classes))
    assert found.tolist() == [[[-1, 0], [-1, 9], [9, 0], [9, 9]]] * 2
    found = missing.list_values(pool.rows(0, 1), metric, len(pool.classes), declined=True)
    assert found[0].tolist() == [[-1, 0, 1], [-1, 9, 1], [9, 0, 1], [9, 9, 1], [0, 0, 0]]


def test_a_metric_without_a_value_at_the_worst_has_none_there(pool, truth, play_rounds):
    """Of the one item predicted and found to be a dog, the answer lacks."""
    whole = play_rounds((CHOICES, 20), (CHOICES, 20))
    pred = pool.take(whole.rows).outputs.pred
    dogs = np.flatnonzero((pred == 1) | (truth[whole.rows] == 1))
    log = set_status(whole, dogs, PENDING)
    value = missing.estimate_with_missing(filled_of(log, pool, "f1[dog]"), "doubly-robust")
    assert value.worst.ends == approx((0, 1), abs=1e-6)
    interval = build_interval(value, 0.95)
    assert (interval.lower, interval.upper) == approx((0, 1), abs=1e-6)


def test_the_choice_knows_no_label(pool, truth, play_rounds):
    """Whatever the labels are, and whatever surrogate learns from them, widths are the same."""
    whole = play_rounds((CHOICES, 14), (CHOICES, 16))
    rng = np.random.default_rng(0)
    for places in ([3, 20], [15], list(range(16, 26))):
        log = set_status(whole, places, PENDING)
        before = widths(log, pool)
        for _ in range(3):
            labels = np.where(log.status == LABELLED, rng.integers(3, size=30), np.nan)
            assert widths(replace(log, labels=labels), pool) == before


def test_an_unlikely_draw_widens_more_and_an_answer_that_cannot_matter_does_not(
    pool, truth, play_rounds
):
    whole = play_rounds((CHOICES, 14), (CHOICES, 16))
    found = {place: widths(set_status(whole, [place], PENDING), pool)[3] for place in range(14, 30)}
    order = sorted(found, key=found.__getitem__)
    prob = whole.q[order]
    assert prob[0] > prob[-1]
    # Whether an item that is not predicted as an owl is one does not matter to precision.
    pred = pool.take(whole.rows).outputs.pred
    other = int(np.flatnonzero(pred[14:] != 2)[0]) + 14
    log = set_status(whole, [other], PENDING)
    value = missing.estimate_with_missing(filled_of(log, pool, "precision[owl]"), "doubly-robust")
    assert value.worst.ends == approx((scale(value), scale(value)))


def test_rounds_that_nobody_answered_yet_are_left_out(pool, truth, play_rounds):
    """Earlier answers that are missing are filled all the same."""
    whole = play_rounds((CHOICES, 10), (CHOICES, 12), (CHOICES, 8))
    log = set_status(whole, [4, *range(22, 30)], PENDING)
    evidence = collected(log, pool, "error")
    filled = missing.fill_missing(evidence, find("error"), evidence.groups[0], 0.95)
    assert filled.drawn.tolist() == [4]
    assert filled.evidence.used == 22 and filled.evidence.whole
    nothing = set_status(whole, list(range(30)), PENDING)
    assert not is_filled(nothing, pool)


def test_without_a_worst_case_whole_rounds_are_used(pool, truth, play_rounds):
    """Losses that have no bound, calibration errors, and anytime-valid intervals."""
    whole = play_rounds((CHOICES, 10), (CHOICES, 20))
    log = set_status(whole, [25], PENDING)
    metrics = [find(name) for name in ("error", "log-loss", "ece")]
    view = build_view(log, pool, CHOICES, metrics, seed=1, own_view=False)
    assert [view.fill_missing(metric) is not None for metric in metrics] == [True, False, False]
    used = [len(view.value(metric, "doubly-robust").sample.q) for metric in metrics]
    assert used == [30, 10, 10]
    assert len(view.value(metrics[0], "doubly-robust", kind=ANYTIME).sample.q) == 10


def test_doubt_about_other_labels_stays_and_missing_ones_add_none(pool, truth, play_rounds):
    whole = play_rounds((CHOICES, 8), (CHOICES, 8))
    shares = np.random.default_rng(2).dirichlet([1, 1, 1], size=16)
    log = replace(whole, soft=shares, supplied_soft=np.empty((0, 3)))
    lacking = set_status(replace(log, soft=shares.copy()), [5], PENDING)
    lacking.soft[5] = np.nan
    filled = filled_of(lacking, pool, "error")
    value = missing.estimate_with_missing(filled, "doubly-robust")
    certain = shares.copy()
    certain[5] = [1, 0, 0]
    doubt = ordinary(replace(log, soft=certain), pool, "error", 0, "doubly-robust").sample
    assert value.sample.label_variance(np.ones(1)) == approx(doubt.label_variance(np.ones(1)))
    assert value.sample.label_variance(np.ones(1)) > 0
