"""The verdict on every requirement: its level, its interval, and what several gates share."""

from dataclasses import replace

import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.reporting.verdicts import _add_hint
from activetest.study.ingest import ingest
from activetest.study.report import report
from activetest.study.stored import StoredStudy


@pytest.fixture
def labelled(begin_study, label_draws) -> StoredStudy:
    """60 of 90 items are labelled; every third label is wrong."""
    study = begin_study(groups=("place",))
    label_draws(study, 60)
    return study


def judge(study, *requirements, interval="fixed"):
    """The gates of these requirements."""
    return report(study, require=requirements, interval=interval).gates


def overall(study, level: float):
    """The ends of the fixed interval of the error at a level, as a gate of this level has them."""
    study.update(replace(study.choices, level=(1 + level) / 2))
    (gate,) = judge(study, "error<=0.5")
    study.update(replace(study.choices, level=0.95))
    assert gate.level == approx(level)
    return gate.lower, gate.upper


# Always met, and of another metric.
OTHER = "accuracy>=0.01"


def test_a_gate_has_one_end_of_the_interval_that_errs_half_as_often_on_that_side(labelled):
    """At level 0.95 either side may err with probability 0.05: the ends of a 90 % interval."""
    (gate,) = judge(labelled, "error<=0.5")
    assert gate.level == 0.9
    labelled.update(replace(labelled.choices, level=0.9))
    row = report(labelled, interval="fixed").estimates[0]
    labelled.update(replace(labelled.choices, level=0.95))
    assert gate.lower == approx(row.lower)
    # An end that much depends on is more careful where labels may be missing.
    assert row.upper < gate.upper < row.upper + 0.03
    (anytime,) = judge(labelled, "error<=0.5", interval="anytime")
    assert anytime.level == 0.9
    labelled.update(replace(labelled.choices, level=0.9))
    shown = report(labelled, interval="anytime").estimates[0]
    assert (anytime.lower, anytime.upper) == approx((shown.lower, shown.upper))


def test_a_level_close_to_certainty_stays_one_that_an_interval_can_have(labelled):
    labelled.update(replace(labelled.choices, level=1 - 1e-13))
    found = report(labelled, require=("error<=1",), interval="fixed")
    (gate,) = found.gates
    assert gate.level == approx(1 - 2e-13, abs=1e-14)
    written = catalog.load("render", "text").render(found)
    assert "100 %" not in written and "(99.99999999998 % intervals, for one look)" in written


@pytest.mark.parametrize("side", ["at most", "at least"])
def test_failing_one_of_two_gates_takes_the_interval_that_errs_half_as_often(labelled, side):
    """Bonferroni: with two gates each fails at 0.025, which is the study's own 95 % interval."""
    at_most = side == "at most"
    ends = [overall(labelled, level)[0 if at_most else 1] for level in (0.9, 0.95)]
    assert ends[0] > ends[1] if at_most else ends[0] < ends[1]
    op, between = "<=" if at_most else ">=", sum(ends) / 2
    assert judge(labelled, f"error{op}{between}")[0].verdict == "fail"
    shared, other = judge(labelled, f"error{op}{between}", OTHER)
    assert (shared.verdict, other.verdict) == ("undecided", "pass")
    words = "its interval misses the threshold, but one of 2 gates fails only by a wider one: "
    assert shared.reason.startswith(f"{words}they share the error of failing; a fixed interval")
    assert "misses" not in other.reason
    beyond = ends[1] + (ends[1] - ends[0]) / 2
    assert judge(labelled, f"error{op}{beyond}", OTHER)[0].verdict == "fail"


def test_passing_one_of_two_gates_takes_no_more_than_passing_one(labelled):
    narrow, wide = overall(labelled, 0.9), overall(labelled, 0.95)
    between = (narrow[1] + wide[1]) / 2
    assert [each.verdict for each in judge(labelled, f"error<={between}", OTHER)] == ["pass"] * 2


def test_an_anytime_valid_gate_of_several_fails_later_and_passes_as_soon(labelled):
    """Capital of 20 refutes at 0.05, and of 40 at 0.025."""

    def find_threshold(capital: float) -> float:
        low, high = 0.0, 0.33
        while high - low > 1e-3:
            middle = (low + high) / 2
            enough = judge(labelled, f"error<={middle}", interval="anytime")[0].e_fail >= capital
            low, high = (middle, high) if enough else (low, middle)
        return low

    between, surely = find_threshold(30), find_threshold(41)
    assert judge(labelled, f"error<={between}", interval="anytime")[0].verdict == "fail"
    shared = judge(labelled, f"error<={between}", OTHER, interval="anytime")[0]
    assert shared.verdict == "undecided"
    assert shared.reason.startswith("its interval misses the threshold, but one of 2 gates fails")
    assert judge(labelled, f"error<={surely}", OTHER, interval="anytime")[0].verdict == "fail"


def test_the_labels_that_a_gate_still_needs_are_those_that_the_gates_together_need(
    begin_study, label_draws
):
    """Half of the labels are wrong: a gate at 0.4 is about to fail, at 0.05 or at a tenth of it."""
    study = begin_study()
    label_draws(study, 30, lambda row, code: (code + (row % 2)) % 3)
    (alone,) = judge(study, "error<=0.33", interval="anytime")
    first, *_ = judge(study, "error<=0.33", *[OTHER] * 19, interval="anytime")
    assert (alone.verdict, first.verdict) == ("undecided", "undecided")
    assert 0 < alone.more_labels < first.more_labels <= 60


def test_an_estimate_at_its_threshold_needs_every_label_that_is_missing(labelled):
    value = report(labelled).estimates[0].estimate
    (gate,) = judge(labelled, f"error<={value}", interval="anytime")
    assert gate.verdict == "undecided"
    assert gate.more_labels == 30
    assert gate.estimate == approx(value)


def test_an_interval_that_few_labels_cannot_make_reliable_decides_nothing(begin_study, label_draws):
    """The interval of a loss without bounds lies below the threshold, and yet may be far off."""
    study = begin_study()
    label_draws(study, 20)
    (gate,) = judge(study, "log-loss<=1000")
    assert gate.upper < 1000
    assert gate.verdict == "undecided"
    assert not gate.quantity.reliable
    assert gate.reason == "there are too few labels for its interval to be reliable"
    label_draws(study, 70)
    (gate,) = judge(study, "log-loss<=1000")
    assert (gate.verdict, gate.method, gate.reason) == ("pass", "exact", None)


@pytest.mark.parametrize("interval", ["anytime", "fixed"])
def test_once_everything_is_known_the_value_decides(begin_study, label_draws, interval):
    study = begin_study()
    label_draws(study, 90)
    value = report(study).estimates[0].estimate
    assert value == approx(1 / 3)
    for op, sign in (("<=", 1), (">=", -1)):
        for shift, word in ((0.0, "pass"), (0.01, "pass"), (-0.01, "fail")):
            (gate,) = judge(study, f"error{op}{value + sign * shift}", interval=interval)
            assert gate.verdict == word
            assert (gate.estimate, gate.lower, gate.upper) == approx((value,) * 3)


def test_a_group_is_judged_once_ten_of_its_draws_are_labelled(begin_study, label_draws):
    study = begin_study(groups=("place",))
    seen = set()
    for _ in range(8):
        label_draws(study, 3)
        gates = judge(study, "error@place=barn<=0.999", "error@place=tree<=0.999")
        for gate in gates:
            seen.add((gate.n_labeled >= 10, gate.reason or ""))
            assert (gate.estimate is None) == (gate.n_labeled < 10)
            assert ("a group needs 10 labels" in gate.reason) == (gate.n_labeled < 10)
            assert gate.group in ({"place": "barn"}, {"place": "tree"})
    assert {enough for enough, _ in seen} == {False, True}


def test_requirements_that_no_study_can_judge_are_refused_with_the_reason(labelled):
    with pytest.raises(ChoiceError, match="error is never below 0 or above 1"):
        judge(labelled, "error<=1.5")
    with pytest.raises(ChoiceError, match="never below 0 or above 1"):
        judge(labelled, "error>=-0.5")
    with pytest.raises(ChoiceError, match="no item has place=east") as raised:
        judge(labelled, "error@place=east<=0.5")
    assert raised.value.hint.startswith("the values of place are ")
    with pytest.raises(ChoiceError, match="'planet' is not a group of this study") as raised:
        judge(labelled, "error@planet=x<=0.5")
    assert raised.value.hint == "did you mean 'place'?"
    with pytest.raises(ChoiceError, match="'hue' is not a group of this study") as raised:
        judge(labelled, "error@hue=x<=0.5")
    assert "'hue'])` adds it" in raised.value.hint
    with pytest.raises(ChoiceError, match="cannot be decided at every look"):
        judge(labelled, "log-loss<=5", interval="anytime")
    labelled.update(replace(labelled.choices, level=0.5))
    with pytest.raises(ChoiceError, match=r"above 0\.5, and this study has 0\.5"):
        judge(labelled, "error<=0.5")
    assert report(labelled).gates == ()


def test_a_gate_without_a_number_names_another_interval_and_no_further_draws():
    hint = 'use `interval="fixed"`'
    assert _add_hint(NotEstimable("no bound", hint)) == f"no bound ({hint})"
    assert _add_hint(NotEstimable("no labels", "`study.next(10)`")) == "no labels"
    assert _add_hint(NotEstimable("no labels")) == "no labels"


@pytest.mark.parametrize(
    ("requirement", "word"),
    [
        ("error<=0.9", "pass"),
        ("error<=0.02", "fail"),
        ("accuracy@place=tree>=0.05", "pass"),
        ("recall[cat]>=0.001", "pass"),
    ],
)
def test_a_verdict_that_stays_shows_the_labels_of_its_moment(
    begin_study, label_draws, requirement, word
):
    """It is as in the first report that had it, whatever comes later."""
    study, first = begin_study(groups=("place",)), None
    for number in range(1, 9):
        label_draws(study, 8)
        (gate,) = judge(study, requirement, interval="anytime")
        assert (gate.decided_round is None) == (gate.verdict == "undecided")
        if first is None and gate.verdict == word:
            assert (gate.decided_round, gate.reason) == (number, None)
            first = gate
        elif first is not None:
            assert gate.reason.startswith(f"decided in round {first.decided_round}; ")
            assert replace(gate, reason=None, e_pass=0.0, e_fail=0.0) == replace(
                first, e_pass=0.0, e_fail=0.0
            )
            assert gate.e_pass >= first.e_pass and gate.e_fail >= first.e_fail
    assert first is not None and first.decided_round < 8


def test_supplied_labels_that_make_a_verdict_certain_are_of_its_moment(
    begin_study, label_draws, label_file
):
    """Half of the pool is supplied: the error is at most 0.6, whatever the rest is."""
    study = begin_study()
    label_draws(study, 4)
    cache, drawn = study.cache(), {draw.id for draw in study.ledger.record().draws}
    names = cache.classes
    pred = cache.rows(0, 90).outputs.pred
    free = [row for row in range(90) if f"item-{row}" not in drawn]
    ingest(study, label_file(*(f"item-{row},{names[pred[row]]}" for row in free[:50])))
    (first,) = judge(study, "error<=0.45", interval="anytime")
    assert (first.verdict, first.decided_round) == ("pass", 1)
    label_draws(study, 10)
    (later,) = judge(study, "error<=0.45", interval="anytime")
    assert later.reason.startswith("decided in round 1; ")
    assert later.quantity == first.quantity and later.n_labeled == first.n_labeled == 4


def test_every_format_says_in_which_round_a_verdict_was_decided(begin_study, label_draws):
    study = begin_study()
    label_draws(study, 30)
    label_draws(study, 20)
    found = report(study, require=("error<=0.9",))
    assert found.gates[0].n_labeled == 30
    decided = "decided in round 1; the estimate, the interval and the labels are those of that"
    for name in ("text", "markdown", "junit", "json"):
        written = " ".join(str(catalog.load("render", name).render(found)).split())
        assert decided in written
    assert '"decided_round": 1' in catalog.load("render", "json").render(found)
    assert "decided in round: 1" in catalog.load("render", "junit").render(found)
