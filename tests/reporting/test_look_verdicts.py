"""Sequential gates: a verdict is a function of the log at the last complete look."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.estimation.looks import plan_looks
from activetest.estimation.spending import find_look_levels
from activetest.study.ingest import ingest
from activetest.study.init import describe_setup
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.status import status
from activetest.study.stored import StoredStudy
from tests.makers import init

# Every third label is wrong.
FAR, NEAR = "error<=0.9", "error<=0.45"


@pytest.fixture
def begin(begin_study):
    """A study of 90 items with sequential gates: looks after 20, 40 and 60 draws, unless others."""
    return lambda **choices: begin_study(**({"budget": 60, "looks": 3} | choices))


def judge(study, *requirements, **options):
    """The gates of these requirements."""
    return report(study, require=requirements or (NEAR,), **options).gates


def test_a_budget_before_the_first_draw_makes_gates_sequential(begin_study):
    assert begin_study(budget=60).choices.interval == "sequential"


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"budget": 60, "interval": "fixed"},
        {"budget": 60, "interval": "anytime"},
        {"budget": 60, "selection": "top", "acquisition": "xwed"},
    ],
)
def test_other_studies_have_other_gates(begin_study, choices):
    study = begin_study(**choices)
    assert study.choices.interval == choices.get("interval", "fixed")
    assert study.choices.looks == 5


def test_nothing_is_decided_before_and_between_looks(begin, label_draws):
    """Numbers of a gate change when a look is complete, and at no other time."""
    study, seen = begin(), []
    for _ in range(7):
        label_draws(study, 10)
        (gate,) = judge(study, "error<=0.34")
        seen.append(
            (gate.look, gate.estimate, gate.lower, gate.upper, gate.n_labeled, gate.n_answers)
            if gate.look
            else (0,)
        )
    assert [each[0] for each in seen] == [0, 1, 1, 2, 2, 3, 3]
    assert len(set(seen)) == 4
    assert [each[4:] for each in seen[1::2]] == [(20, 20), (40, 40), (60, 60)]


def test_words_say_when_the_next_look_is(begin, label_draws):
    study = begin()
    label_draws(study, 15)
    (gate,) = judge(study, "error<=0.34")
    assert (gate.look, gate.looks, gate.labels_to_next_look, gate.lower) == (0, 3, 5, None)
    assert gate.reason == "the first of 3 looks comes after 5 more labels"
    label_draws(study, 24)
    (gate,) = judge(study, "error<=0.34")
    assert (gate.look, gate.labels_to_next_look) == (1, 1)
    assert gate.reason.startswith(
        "undecided at look 1 of 3; the next comes after 1 more label; if draws go on like this"
    )
    label_draws(study, 30)
    (gate,) = judge(study, "error<=0.34")
    assert (gate.look, gate.labels_to_next_look, gate.more_labels) == (3, None, None)
    assert gate.reason == (
        "undecided at the last of 3 looks, and stays so unless every item gets a label: until "
        "then, further labels narrow the intervals of the tables and decide nothing; "
        '`interval="anytime"` or another study with a budget may still decide it, with an error '
        "of its own (see the page on gates)"
    )


def test_what_is_left_to_do_after_the_last_look_is_what_this_gate_allows(begin, label_draws):
    """Values of a population are never certain, and few gates can be decided at every look."""
    study = begin(groups=("place",), looks=1, budget=30)
    label_draws(study, 30)
    asked = ("error<=0.34", "f1>=0.6", "error@place=barn,tree<=0.05")
    gates = judge(study, *asked)
    assert {gate.verdict for gate in gates} == {"undecided"}
    assert ["anytime" in gate.reason for gate in gates] == [True, False, False]
    assert all("; another study with a budget" in gate.reason for gate in gates[1:])
    (sampled,) = judge(study, "error<=0.34", population=True)
    assert sampled.reason.startswith("it is about the population that this pool is a sample of; ")
    assert "and stays so: further labels" in sampled.reason
    assert "every item" not in sampled.reason and "anytime" not in sampled.reason
    assert judge(study, NEAR, interval="anytime")[0].method == "betting"


def test_every_format_says_that_the_looks_are_over(begin, label_draws):
    study = begin(looks=1, budget=30)
    label_draws(study, 30)
    found = report(study, require=("error<=0.34",))
    for name in ("text", "markdown", "junit", "html", "json"):
        written = " ".join(str(catalog.load("render", name).render(found)).split())
        assert "undecided at the last of 1 looks" not in written, name
        assert "undecided at the only look, and stays so unless every item gets a label" in written


@pytest.mark.parametrize("metric", ["error", "balanced-accuracy", "log-loss"])
def test_the_interval_at_a_look_is_the_fixed_one_at_its_level(begin, label_draws, metric):
    study = begin()
    for draws in (20, 40):
        label_draws(study, 20)
        (gate,) = judge(study, f"{metric}<=1")
        plan = plan_looks(study.choices, 90)
        level = find_look_levels(plan, [20, 40][: draws // 20])[-1]
        if gate.decided_round == 1 and draws == 40:
            continue
        # A fixed gate of level 1 - p has the ends that err with p each.
        study.update(replace(study.choices, level=float(1 - level)))
        (once,) = judge(study, f"{metric}<=1", interval="fixed")
        study.update(replace(study.choices, level=0.95))
        assert (gate.lower, gate.upper) == approx((once.lower, once.upper))
        assert gate.estimate == approx(once.estimate, abs=1e-12)
        assert gate.level == 0.9


def test_a_verdict_stays_whatever_comes_later(begin, label_draws, label_file):
    study, first = begin(), None
    for number in range(6):
        label_draws(study, 10)
        (gate,) = judge(study, FAR)
        assert (gate.verdict == "pass") == (number > 0)
        if number == 1:
            first = gate
            assert (gate.decided_round, gate.look, gate.n_labeled) == (2, 1, 20)
        elif first is not None:
            assert gate == first
    drawn = {draw.id for draw in study.ledger.record().draws}
    free = [f"item-{row}" for row in range(90) if f"item-{row}" not in drawn]
    ingest(study, label_file(*(f"{id},owl" for id in free[:10])))
    init("pool.parquet", surrogate="model", acquisition="uniform", metric=("accuracy",))
    label_draws(StoredStudy.open(), 10)
    assert judge(StoredStudy.open(), FAR) == (first,)


def test_reports_in_between_change_nothing_and_write_nothing(begin, label_draws, folder):
    """A study that is looked at after every batch has the gates of one that is looked at once."""
    asked = ("error<=0.34", "error<=0.5", "accuracy>=0.2")
    study, seen = begin(), []
    for _ in range(4):
        label_draws(study, 16)
        # The first one records the gates, which change no number.
        judge(study, *asked)
        before = {path: path.read_bytes() for path in study.folder.iterdir() if path.is_file()}
        seen.append(judge(study, *asked))
        after = {path: path.read_bytes() for path in study.folder.iterdir() if path.is_file()}
        assert before == after
    study.folder.rename(folder / "seen")
    once = begin()
    for _ in range(4):
        label_draws(once, 16)
    assert judge(once, *asked) == seen[-1]


def test_the_order_in_which_labels_come_changes_no_verdict(begin, label_file, folder):
    """Rounds are drawn first, and their labels come in two orders, in two files."""
    found = []
    for order in range(2):
        study = begin()
        ids = [row["id"] for _ in range(4) for row in next_batch(study, 11, new=True).rows]
        labels = [f"{id},{('cat', 'dog')[len(id) % 2]}" for id in ids]
        rng = np.random.default_rng(order)
        shuffled = labels if not order else [labels[place] for place in rng.permutation(44)]
        for half in (shuffled[:22], shuffled[22:]):
            ingest(study, label_file(*half))
        found.append(judge(study, NEAR, FAR, "f1>=0.1"))
        study.folder.rename(folder / f"order-{order}")
    assert found[0] == found[1]
    assert found[0][0].look == 2


def test_a_missing_answer_delays_the_look_and_a_declined_one_completes_it(
    begin, label_draws, label_file
):
    study = begin()
    ids = [row["id"] for row in next_batch(study, 20).rows]
    ingest(study, label_file(*(f"{id},cat" for id in ids[1:])))
    (gate,) = judge(study)
    assert (gate.look, gate.labels_to_next_look) == (0, 1)
    ingest(study, label_file(f"{ids[0]},,declined", header="id,label,status"))
    (gate,) = judge(study)
    assert (gate.look, gate.n_labeled) == (1, 19)


def test_a_round_that_passes_two_looks_carries_the_error_of_the_first_over(begin, label_draws):
    study = begin()
    label_draws(study, 45)
    (gate,) = judge(study, "error<=0.34")
    plan = plan_looks(study.choices, 90)
    (level,) = find_look_levels(plan, [45])
    study.update(replace(study.choices, level=float(1 - level)))
    (once,) = judge(study, "error<=0.34", interval="fixed")
    assert gate.look == 2
    assert (gate.lower, gate.upper) == approx((once.lower, once.upper))
    assert level > find_look_levels(plan, [20, 45])[-1]


def test_there_is_no_verdict_after_the_last_look_until_everything_is_known(begin, label_draws):
    study = begin()
    label_draws(study, 60)
    (last,) = judge(study, "error<=0.3334")
    assert (last.verdict, last.look) == ("undecided", 3)
    label_draws(study, 29)
    assert judge(study, "error<=0.3334") == (last,)
    label_draws(study, 1)
    passed, failed = judge(study, "error<=0.3334", "error<=0.3333")
    assert (passed.verdict, failed.verdict) == ("pass", "fail")
    assert passed.reason == "every answer is known"


@pytest.mark.parametrize("supplied", [0, 10])
def test_the_last_look_at_every_item_is_exact(begin, label_draws, label_file, supplied):
    study = begin(budget=90)
    cache = study.cache()
    right = cache.classes[int(cache.rows(0, 1).outputs.pred[0])]
    if supplied:
        pred = cache.rows(0, 90).outputs.pred
        lines = [f"item-{row},{cache.classes[pred[row]]}" for row in range(supplied)]
        ingest(study, label_file(*lines))
    assert right in cache.classes
    for _ in range(3):
        label_draws(study, 30)
    (gate,) = judge(study, "error<=0.34")
    assert gate.method == "exact"
    assert gate.lower == gate.upper == gate.estimate
    assert gate.verdict == "pass"


def test_of_several_gates_each_fails_at_its_share_of_the_error(begin, label_draws):
    """Passing takes all of them, and no correction."""
    study = begin()
    label_draws(study, 40)
    plan = plan_looks(study.choices, 90)
    ends = []
    for gates in (1, 20):
        level = find_look_levels(plan, [40], gates=gates)[0]
        study.update(replace(study.choices, level=float(1 - level)))
        ends.append(judge(study, "error<=0.3", interval="fixed")[0])
        study.update(replace(study.choices, level=0.95))
    between = (ends[0].lower + ends[1].lower) / 2
    assert judge(study, f"error<={between}")[0].verdict == "fail"
    shared = judge(study, f"error<={between}", *[FAR] * 19)[0]
    assert shared.verdict == "undecided"
    assert shared.reason.startswith(
        "its interval misses the threshold, but one of 20 gates fails only by a wider one: they "
        "share the error of failing; undecided at look 2 of 3"
    )
    above = ends[0].upper + 1e-6
    assert judge(study, f"error<={above}", *[FAR] * 19)[0].verdict == "pass"


def test_a_look_with_too_few_labels_decides_nothing_and_a_later_one_may(begin, label_draws):
    study = begin()
    label_draws(study, 20)
    (gate,) = judge(study, "log-loss<=9")
    assert gate.verdict == "undecided" and "too few labels for its interval" in gate.reason
    label_draws(study, 40)
    (gate,) = judge(study, "log-loss<=9")
    assert (gate.verdict, gate.look) == ("pass", 3)


def test_of_several_gates_each_waits_longer_to_fail(begin, label_draws):
    study = begin()
    label_draws(study, 40)
    assert judge(study, "error<=0.31")[0].more_labels == 20
    assert judge(study, "error<=0.31", *[FAR] * 19)[0].more_labels is None


def test_a_gate_that_will_hardly_pass_says_so_and_still_waits(begin, label_draws):
    study = begin()
    label_draws(study, 20)
    assert judge(study, "error<=0.25")[0].p_pass is None
    label_draws(study, 25)
    hopeless, likely = judge(study, "error<=0.25", "error<=0.5")
    assert hopeless.verdict == "undecided"
    assert hopeless.p_pass < 0.05
    assert 0.5 < likely.p_pass < 1
    assert "if draws go on like this, it passes by the last look" in hopeless.reason
    assert "if draws go on like this" not in likely.reason
    assert likely.more_labels == likely.labels_to_next_look == 15


def test_a_gate_that_will_hardly_pass_or_fail_says_both(begin, label_draws):
    study = begin()
    label_draws(study, 20)
    label_draws(study, 35)
    (neither,) = judge(study, "error<=0.35")
    assert neither.reason.endswith(
        "if draws go on like this, it stays undecided: by the last look it passes and it fails "
        "with a probability below 5 % each"
    )


def test_a_last_look_at_every_item_decides_by_the_value_itself(begin, label_draws):
    """Whatever is near the threshold then passes or fails."""
    study = begin(budget=90)
    for _ in range(2):
        label_draws(study, 30)
    near = judge(study, "error<=0.35")[0]
    (same,) = judge(study, f"error<={near.estimate}")
    assert same.verdict == "undecided"
    assert (same.p_pass, same.more_labels) == (0.5, 30)
    above, below = judge(study, f"error<={near.estimate + 0.01}", f"error>={near.estimate + 0.01}")
    assert 0.5 < above.p_pass < 1
    assert below.p_pass == approx(1 - above.p_pass, abs=0.05)
    assert "if draws go on like this" not in below.reason


def test_groups_and_metrics_without_bets_have_sequential_gates(begin, label_draws):
    study = begin(groups=("place",))
    label_draws(study, 20)
    few = judge(study, "error@place=barn<=0.99")[0]
    assert few.reason.startswith("a group needs 10 labels for a gate")
    label_draws(study, 40)
    gates = judge(study, "error@place=barn<=0.99", "mcc>=-0.9", "balanced-accuracy>=0.05")
    assert [gate.verdict for gate in gates] == ["pass"] * 3
    assert gates[0].group == {"place": "barn"}


def test_reports_show_fixed_intervals_beside_sequential_gates(begin, label_draws):
    study = begin()
    label_draws(study, 20)
    row = report(study, require=(NEAR,)).estimates[0]
    assert row.quantity.kind == "fixed"
    assert row == report(study, interval="fixed").estimates[0]
    assert row == report(study, interval="sequential").estimates[0]
    gate = judge(study, NEAR, interval="anytime")[0]
    assert gate.method == "betting" and gate.looks is None
    assert judge(study, NEAR, population=True)[0].looks == 3


def test_a_study_that_began_without_looks_has_none(begin_study, label_draws):
    study = begin_study()
    label_draws(study, 20)
    with pytest.raises(ChoiceError, match="planned no looks before its first draw"):
        judge(study, NEAR, interval="sequential")
    init("pool.parquet", budget=60)
    study = StoredStudy.open()
    assert study.choices.interval == "fixed"
    assert judge(study, NEAR)[0].method == "betting"


def test_every_format_says_at_which_look_a_gate_stands(begin, label_draws):
    study = begin()
    label_draws(study, 20)
    label_draws(study, 20)
    found = report(study, require=(FAR, "error<=0.25"))
    for name in ("text", "markdown", "junit", "html"):
        written = " ".join(str(catalog.load("render", name).render(found)).split())
        assert "decided at look 1 of 3, in round 1" in written, name
        assert "undecided at look 2 of 3" in written, name
    assert "90 % intervals, for 3 planned looks" in catalog.load("render", "text").render(found)
    junit = catalog.load("render", "junit").render(found)
    assert "look: 2 of 3" in junit and "labels until the next look: 20" in junit
    document = catalog.load("render", "json").render(found)
    assert '"look": 2' in document and '"labels_to_next_look": 20' in document


@pytest.mark.parametrize("interval", [None, "fixed"])
def test_a_gate_on_a_difference_is_decided_by_the_interval_of_the_difference(
    begin, label_draws, interval
):
    """At the last look of the whole pool it is exact; before, as tables show it."""
    study = begin(groups=("place",), looks=1, budget=60)
    asked = "error@place=barn,tree<=0.9", "error@place=tree,barn>=-0.9"
    label_draws(study, 12)
    few = judge(study, *asked, interval="fixed")[0]
    assert (few.verdict, few.estimate) == ("undecided", None)
    assert few.reason == "a group needs 10 labels for a gate"
    label_draws(study, 48)
    first, mirrored = judge(study, *asked, interval=interval)
    # A gate of this level has the ends of an interval that errs twice as often.
    study.update(replace(study.choices, level=0.9))
    (row,) = (
        each
        for each in report(study, differences=("place",), interval="fixed").estimates
        if each.against and {*each.group.values(), *each.against.values()} == {"barn", "tree"}
    )
    study.update(replace(study.choices, level=0.95))
    sign = 1 if row.group == {"place": "barn"} else -1
    assert first.estimate == approx(sign * row.estimate)
    # Each end of a gate has to hold alone: it is at least as far off.
    lower, upper = sorted((sign * row.lower, sign * row.upper))
    assert first.lower <= lower + 1e-9 and upper - 1e-9 <= first.upper
    assert (first.group, first.against) == ({"place": "barn"}, {"place": "tree"})
    assert (mirrored.estimate, mirrored.lower) == approx((-first.estimate, -first.upper))
    assert (first.verdict, mirrored.verdict) == ("pass", "pass")
    assert first.n_labeled == row.n_labeled and first.n_answers == row.n_answers
    failed = judge(study, f"error@place=barn,tree<={first.lower - 0.01}", interval=interval)[0]
    assert failed.verdict == "fail"


def test_a_gate_on_a_difference_needs_two_groups_and_an_interval_that_exists(begin, label_draws):
    study = begin(groups=("place",))
    label_draws(study, 20)
    with pytest.raises(ChoiceError, match="a difference between groups cannot be decided at every"):
        judge(study, "error@place=barn,tree<=0.1", interval="anytime")
    with pytest.raises(ChoiceError, match="no item has place=barn,sea"):
        judge(study, "error@place=barn,sea<=0.1")
    with pytest.raises(ChoiceError, match="no item has place=barn,barn"):
        judge(study, "error@place=barn,barn<=0.1")
    with pytest.raises(ChoiceError, match="a difference of error is never below -1 or above 1"):
        judge(study, "error@place=barn,tree<=1.1")


def test_every_format_says_that_a_gate_is_about_a_difference(begin, label_draws):
    study = begin(groups=("place",), looks=1, budget=60)
    label_draws(study, 60)
    found = report(study, require=("error@place=barn,tree<=-0.9",))
    junit = catalog.load("render", "junit").render(found)
    assert "group: place: barn minus tree" in junit
    assert "FAIL: Error is" in junit and "% for place: barn minus tree (90 % confidence" in junit
    assert '"against": {' in catalog.load("render", "json").render(found)
    assert "error@place=barn,tree" in catalog.load("render", "html").render(found)


def test_a_look_rests_on_a_surrogate_that_knew_no_later_label(begin, label_draws, label_file):
    """All labels are right at the look, and all are wrong afterwards: its intervals stay."""
    study = begin(groups=("place",))
    asked = [f"{name}<=1" for name in ("log-loss", "brier", "balanced-accuracy", "f1", "mcc")]
    asked += [f"error@place={value}<=0.4" for value in ("barn", "tree")]
    label_draws(study, 20, lambda row, code: code)

    def read() -> list:
        return [(gate.look, gate.estimate, gate.lower, gate.upper) for gate in judge(study, *asked)]

    seen = read()
    cache, drawn = study.cache(), {draw.id for draw in study.ledger.record().draws}
    pred = cache.rows(0, 90).outputs.pred
    free = [row for row in range(90) if f"item-{row}" not in drawn][:25]
    ingest(study, label_file(*(f"item-{row},{cache.classes[pred[row] - 1]}" for row in free)))
    assert read() == seen
    label_draws(study, 8, lambda row, code: (code + 1) % 3)
    assert read() == seen
    label_draws(study, 8, lambda row, code: (code + 1) % 3)
    assert read() == seen


def test_looks_count_the_items_that_draws_can_reach_in_every_command(begin, label_draws):
    """Precision of a class is drawn from what is predicted as that class."""
    study = begin(metric="precision[cat]", budget=90)
    reachable = int((study.cache().rows(0, 90).outputs.pred == 0).sum())
    line = f"gates: sequential, 3 looks, the last after {reachable} draws (every item that can be "
    assert line + "drawn, so its value is exact)" in str(describe_setup(study))
    first = -(-reachable // 3)
    assert status(study).sentence.endswith(f"; look 1 of 3 after {first} more labels")
    label_draws(study, first)
    requirement = "precision[cat]>=0.66"
    (gate,) = judge(study, requirement)
    assert (gate.look, gate.labels_to_next_look) == (1, -(-2 * reachable // 3) - first)
    assert status(study).sentence.endswith(
        f"; look 2 of 3 after {gate.labels_to_next_look} more labels"
    )
    label_draws(study, reachable - first)
    (gate,) = judge(study, requirement)
    assert (gate.look, gate.method) == (3, "exact")
    assert gate.verdict == ("pass" if gate.estimate >= 0.66 else "fail")


def test_a_last_look_that_should_be_exact_and_is_not_decides_nothing(begin, label_draws):
    """Its error is spent: the draws came to reach other items after the first one."""
    study = begin(metric="precision[cat]", budget=90, looks=2)
    reachable = int((study.cache().rows(0, 90).outputs.pred == 0).sum())
    label_draws(study, 4)
    study.update(replace(study.choices, metric="error"))
    label_draws(study, reachable - 4)
    (gate,) = judge(study, "precision[cat]>=0.2")
    assert (gate.look, gate.verdict) == (2, "undecided")
    assert "no error is left for this look" in gate.reason
