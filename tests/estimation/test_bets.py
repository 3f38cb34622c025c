"""A bettor's knowledge of every draw, against an enumeration of everything that could be drawn."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation import bets
from activetest.estimation.anytime import compute_increments_at
from activetest.estimation.evidence import Group
from activetest.estimation.samples import collect_evidence
from activetest.item_statistics import specification
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import find_free_items
from activetest.rounds.weighted import find_rates
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from tests.makers import build_table, supply_labels

SIZE = 12
ERROR = Choices("error", ("error",), "agreement", groups=("place",))
COSTS = ((0.0, 5.0, 1.0), (2.0, -1.0, 2.0), (3.0, 0.5, 0.0))
# A metric, and the value of it that is bet against.
BETS = [("error", 0.0), ("brier", 0.0), ("cost", 0.0), ("f1[dog]", 0.4), ("recall[cat]", 0.7)]

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


class Study:
    """A log, and what was frozen before each of its rounds."""

    def __init__(self, pool, truth, choices: Choices):
        self.pool, self.truth, self.choices = pool, truth, choices
        self.log, self.frozen = Log.empty(), []
        # Items that nobody can answer.
        self.hopeless: set[int] = set()

    def draw(self, count: int, *, declined: int | None = None) -> "Study":
        """One more round; the draw at this place is declined."""
        frozen = plan.prepare_round(self.log, self.pool, self.choices, seed=1, count=count)
        drawn = plan.plan_round(self.log, self.pool, self.choices, seed=1, count=count)
        self.frozen.append(frozen)
        self.log = answered(self.log, drawn, self.truth)
        if declined is not None:
            at = len(self.log.rows) - count + declined
            self.log.status[at], self.log.labels[at] = DECLINED, np.nan
            self.hopeless.add(int(self.log.rows[at]))
        return self

    def pick(self, count: int) -> "Study":
        """One more round, of the largest scores."""
        frozen = plan.prepare_round(self.log, self.pool, self.choices, seed=1)
        rows = np.argsort(-frozen.q)[:count]
        deterministic = replace(
            plan.record_round(frozen, rows, self.pool), q=np.full(count, np.nan)
        )
        self.frozen.append(frozen)
        self.log = answered(self.log, deterministic, self.truth)
        return self

    def bring(self, count: int, *, status: int = LABELLED) -> "Study":
        """The first rows that nobody saw come without a draw."""
        rows = np.flatnonzero(find_free_items(self.log, SIZE))[:count]
        if status == DECLINED:
            self.hopeless |= set(rows.tolist())
        self.log = supply_labels(self.log, rows, self.truth, status=status)
        return self

    def bets(self, metric, group: int, value: float):
        evidence = collect_evidence(self.log, self.pool, self.choices, [metric], seed=1)
        (increments,) = compute_increments_at(evidence, metric, evidence.groups[group], [value])
        return increments


def enumerated(study: Study, metric, group: int, value: float, classes: list[int]) -> dict:
    """Every field of the increments, and the truth, by going through all items and classes.

    h is above - value below of the metric; what cannot be answered is worth nothing.
    """
    log, rows = study.log, study.pool.rows(0, SIZE)
    member = np.ones(SIZE, bool) if group == 0 else rows.codes[:, 0] == group - 1
    weights = np.array(metric.ratio[0]) - value * np.array(metric.ratio[1])

    def value(labels):
        """(N, K) h of every row at these labels (N, K)."""
        parts = [each.value(rows.outputs, labels) for each in metric.statistics]
        return weights[0] + sum(w * part for w, part in zip(weights[1:], parts, strict=True))

    table = value(np.tile(np.array(classes, float), (SIZE, 1)))
    if study.hopeless:
        table = np.hstack([table, np.zeros((SIZE, 1))])
    table = table * member[:, None]
    true = value(study.truth[:, None])[:, 0] * member
    true[list(study.hopeless)] = 0
    size, found = member.sum(), {"theta": true.sum() / member.sum()}
    for m, (row, number) in enumerate(zip(log.rows, log.round, strict=True)):
        if log.deterministic[m]:
            continue
        frozen = study.frozen[number - 1]
        mean, _ = moments(frozen.surrogate.beliefs(rows, metric.statistics))
        guess = (weights[0] + weights[1:] @ mean) * member
        known = np.append(log.rows[:m], log.supplied_rows[log.supplied_round <= number])
        left = np.setdiff1d(np.arange(SIZE), known)
        q = frozen.q[left] / frozen.q[left].sum()
        rest = guess[left].sum()
        values = (rest + (table[left] - guess[left, None]) / q[:, None]) / size
        each = (rest + (true[left] - guess[left]) / q) / size
        draw = {
            "value": each[left == row][0],
            "low": values.min(),
            "high": values.max(),
            "offset": true[known].sum() / size,
            "least": table[left].min(axis=1).sum() / size,
            "most": table[left].max(axis=1).sum() / size,
            "mean": q @ each,
        }
        for name, one in draw.items():
            found.setdefault(name, []).append(one)
    return found


def check(study: Study, metric, group: int, value: float, classes=(0, 1, 2)) -> None:
    """The increments are the enumeration's, and X has the conditional mean theta - offset."""
    increments = study.bets(metric, group, value)
    exact = enumerated(study, metric, group, value, list(classes))
    for name in ("value", "low", "high", "offset", "least", "most"):
        assert getattr(increments, name) == approx(exact[name], rel=1e-4, abs=1e-6), name
    assert exact["theta"] - increments.offset == approx(exact["mean"], rel=1e-4, abs=1e-6)
    assert (increments.low <= increments.value + 1e-6).all()
    assert (increments.value <= increments.high + 1e-6).all()
    assert (increments.least - 1e-6 <= exact["theta"] - increments.offset).all()
    assert (exact["theta"] - increments.offset <= increments.most + 1e-6).all()


def metric_of(pool, name: str):
    return specification.find_metric(
        name, specification.describe_pool(pool.roles, COSTS[: len(pool.classes)], pool)
    )


@pytest.mark.parametrize("group", [0, 1, 2])
@pytest.mark.parametrize(("name", "value"), BETS)
def test_every_draw_is_known_to_its_last_digit(pool, truth, name, value, group):
    study = Study(pool, truth, ERROR).draw(2).draw(3).draw(4)
    check(study, metric_of(pool, name), group, value)


def test_draws_among_items_that_matter_are_bet_on(pool, truth):
    """Draws for the precision of a class are of items that are predicted as it alone."""
    only = replace(ERROR, metric="precision[dog]", metrics=("precision[dog]",))
    study = Study(pool, truth, only).draw(2)
    assert (pool.take(study.log.rows).outputs.pred == pool.classes.index("dog")).all()
    assert len(study.bets(metric_of(pool, "precision[dog]"), 0, 0.5).value) > 0


def test_replaying_rounds_says_so_where_it_takes_long(pool, truth, monkeypatch):
    titles, reduce = [], bets.map_reduce

    def note(*given, title: str = "", **more):
        titles.append(title)
        return reduce(*given, title=title, **more)

    monkeypatch.setattr(bets, "map_reduce", note)
    Study(pool, truth, ERROR).draw(2).bets(metric_of(pool, "error"), 0, 0.0)
    assert titles == ["replaying the rounds"]


def test_a_round_that_cannot_be_predicted_again_has_no_increments(pool, truth):
    """Here the second draw of a round has half of the probability that its weight gives it."""
    study = Study(pool, truth, ERROR).draw(3).draw(3)
    metric = metric_of(pool, "error")
    study.bets(metric, 0, 0.0)
    study.log.q[4] /= 2
    with pytest.raises(NotEstimable, match="the weights of round 2 cannot be computed again"):
        study.bets(metric, 0, 0.0)


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize(("name", "value"), [BETS[0], BETS[3]])
def test_supplied_labels_are_known_from_their_round_on(pool, truth, name, value, group):
    study = Study(pool, truth, ERROR).bring(1).draw(2).bring(2).draw(2).draw(2).bring(1)
    check(study, metric_of(pool, name), group, value)


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize(("name", "value"), [BETS[0], BETS[3]])
def test_nobody_bets_on_picks_and_they_are_known_after_them(pool, truth, name, value, group):
    study = Study(pool, truth, ERROR).pick(1).draw(2).pick(2).bring(1).draw(3).pick(1)
    check(study, metric_of(pool, name), group, value)
    assert len(study.bets(metric_of(pool, name), group, value).value) == 5


@pytest.mark.parametrize("group", [0, 2])
@pytest.mark.parametrize(("name", "value"), BETS)
def test_items_that_are_ignored_are_worth_nothing(pool, truth, name, value, group):
    study = Study(pool, truth, replace(ERROR, declined="ignore")).draw(3, declined=1)
    study.bring(1, status=DECLINED).draw(3, declined=0).draw(2)
    check(study, metric_of(pool, name), group, value)


@pytest.mark.parametrize("acquisition", ["optimal", "expected-loss", "uniform"])
@pytest.mark.parametrize("surrogate", ["agreement", "model"])
@pytest.mark.parametrize("interval", ["fixed", "anytime"])
def test_whatever_the_draws_aimed_at(pool, truth, acquisition, surrogate, interval):
    find_objectives = {"metric": "f1[dog]", "also": ("log-loss",), "acquisition": acquisition}
    choices = replace(ERROR, **find_objectives, surrogate=surrogate, interval=interval)
    study = Study(pool, truth, choices).draw(3).bring(1).draw(3)
    check(study, metric_of(pool, "f1[dog]"), 0, 0.6)


@pytest.mark.parametrize("priced", [False, True])
def test_clipped_draws_are_known_to_their_last_digit(pool, truth, tmp_path, monkeypatch, priced):
    """In any chunks: the level at which weights were clipped is computed again."""
    if priced:
        columns = pq.read_table(tmp_path / "pool.parquet").to_pydict()
        columns |= {"cents": [1.0, 9.0, 4.0] * (SIZE // 3)}
        pool = build_table(tmp_path, columns, name="priced", price="cents", groups=("place",))
    choices = replace(ERROR, floor=0.8, floor_rule="clip", acquisition="expected-loss", power=2.0)
    study = Study(pool, truth, choices).draw(3).bring(1).draw(3)
    for state in study.frozen:
        rates = find_rates(pool)
        weight = state.q[state.q > 0] / (1 if rates is None else rates[state.q > 0])
        assert 1 < np.isclose(weight, weight.min()).sum() < len(weight)
    check(study, metric_of(pool, "brier"), 0, 0.0)
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 5), (5, 6), (6, 12)])
    check(study, metric_of(pool, "brier"), 1, 0.0)


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize(("name", "value"), BETS)
def test_draws_that_chose_between_groups(pool, truth, name, value, group):
    between = {"acquisition": "thompson", "question": "identify", "floor": 0.1}
    study = Study(pool, truth, replace(ERROR, **between)).draw(2).bring(1)
    study.choices = replace(study.choices, metric="ece[2]", interval="anytime")
    check(study.draw(3).draw(2), metric_of(pool, name), group, value)
    study.choices = replace(study.choices, floor=0.0)
    study.draw(2)
    study.choices = ERROR
    check(study.draw(1), metric_of(pool, name), group, value)
    assert len(study.bets(metric_of(pool, name), group, value).value) == 8


@pytest.mark.parametrize("interval", ["fixed", "anytime"])
def test_draws_by_the_sum_over_several_metrics(pool, truth, interval):
    """Weights are computed again from the kinds of labels, which rounds do not record."""
    aims = {"metric": "error", "also": ("recall[dog]", "f1[dog]"), "surrogate": "linear"}
    choices = replace(ERROR, **aims, acquisition="metric-information", interval=interval)
    study = Study(pool, truth, choices).draw(3).bring(1).draw(3)
    assert len({each.total for each in study.log.history[-1].objectives}) == 1
    check(study, metric_of(pool, "error"), 0, 0.5)


@pytest.mark.parametrize("acquisition", ["bald", "metric-information"])
@pytest.mark.parametrize("interval", ["fixed", "anytime"])
def test_draws_before_any_label_where_all_members_agree(pool, truth, acquisition, interval):
    """They are uniform, whatever the floor and the selection: the round records what it was."""
    agreeing = {"surrogate": "model", "acquisition": acquisition, "selection": "top"}
    study = Study(pool, truth, replace(ERROR, **agreeing, interval=interval)).draw(3)
    assert study.log.q == approx([1 / 12, 1 / 11, 1 / 10])
    study.choices = ERROR
    check(study.bring(1).draw(3), metric_of(pool, "error"), 0, 0.5)


def test_bets_on_a_study_that_explores_a_surface(pool, truth):
    """The weights of its rounds are computed again from the arms that they keep."""
    explores = {"acquisition": "surface-variance", "question": "surface", "surface": "beta"}
    names = {"attributes": ("place",), "groups": ("place",)}
    study = Study(pool, truth, replace(ERROR, **explores, **names, floor=0.1, min_support=1))
    study.draw(3).draw(2)
    assert {type(each.allocation).__name__ for each in study.log.history} == {"ArmAllocation"}
    check(study, metric_of(pool, "error"), 0, 0.0)
    check(study, metric_of(pool, "error"), 1, 0.1)
    (first, second) = study.log.history
    lost = replace(first.allocation, arms=(("moon",),), weight=(0.1,))
    study.log = replace(study.log, history=(replace(first, allocation=lost), second))
    with pytest.raises(NotEstimable, match="no longer the same"):
        study.bets(metric_of(pool, "error"), 0, 0.0)


def test_bets_need_the_groups_that_a_round_chose_between(pool, truth):
    between = {"acquisition": "thompson", "question": "identify", "floor": 0.1}
    study = Study(pool, truth, replace(ERROR, **between)).draw(4)
    (first,) = study.log.history
    for allocation in (
        replace(first.allocation, group="ink"),
        replace(first.allocation, weight=(0.1,)),
    ):
        study.log = replace(study.log, history=(replace(first, allocation=allocation),))
        with pytest.raises(NotEstimable, match="which no longer exist"):
            study.bets(metric_of(pool, "error"), 0, 0.0)


def test_when_all_is_drawn_the_last_draw_has_one_item(pool, truth):
    study = Study(pool, truth, ERROR).draw(7).draw(5)
    check(study, metric_of(pool, "error"), 0, 0.0)
    increments = study.bets(metric_of(pool, "error"), 0, 0.0)
    assert increments.most[-1] - increments.least[-1] == approx(1 / SIZE)


def test_a_group_that_is_known_is_bet_on_while_others_are_drawn(pool, truth):
    """Nothing is to be won from items outside the group."""
    members = np.flatnonzero(pool.rows(0, SIZE).codes[:, 0] == 0)
    study = Study(pool, truth, ERROR)
    study.log = supply_labels(study.log, members, truth)
    increments = study.draw(3).bets(metric_of(pool, "error"), 1, 0.0)
    for name in ("value", "low", "high", "least", "most"):
        assert getattr(increments, name) == approx(np.zeros(3)), name


def test_a_started_round_counts_as_far_as_it_is_answered(pool, truth):
    study = Study(pool, truth, ERROR).draw(5)
    whole = study.bets(metric_of(pool, "error"), 0, 0.0)
    study.log.status[3:], study.log.labels[3:] = PENDING, np.nan
    some = study.bets(metric_of(pool, "error"), 0, 0.0)
    for name in ("value", "low", "high", "offset", "least", "most"):
        assert getattr(some, name) == approx(getattr(whole, name)[:3])


def test_chunks_and_many_values_at_once_change_nothing(pool, truth, monkeypatch):
    study, metric = Study(pool, truth, ERROR).draw(4).draw(4), metric_of(pool, "f1[dog]")
    values = (0.1, 0.2, 0.5, 0.7, 0.9)
    one = [study.bets(metric, 1, value) for value in values]
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 5), (5, 6), (6, 12)])
    evidence = collect_evidence(study.log, pool, ERROR, [metric], seed=1)
    other = compute_increments_at(evidence, metric, evidence.groups[1], values)
    for before, after in zip(one, other, strict=True):
        for name in ("value", "low", "high", "offset", "least", "most"):
            # The surrogate's expectations are in single precision: their last digit may differ.
            assert getattr(after, name) == approx(getattr(before, name), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("declined", [False, True])
def test_rows_are_alike_where_every_statistic_depends_on_the_prediction_alone(pool, declined):
    """The range over all labels of 0.5 + 2 error - 3 brier, row by row; without brier, by class."""
    rows = pool.rows(0, SIZE)
    error, brier = (metric_of(pool, name).statistics[0] for name in ("error", "brier"))
    nobody = np.zeros((1, 0))
    weights = np.array([[0.5, 2.0, -3.0]])
    tested = bets.TestedMean(Group("", SIZE), (error, brier), weights, nobody, nobody)
    ends, kinds = replace(tested, outcomes=3, answerable=declined).by_kind(rows)
    assert kinds is None
    labels = np.tile([0.0, 1.0, 2.0], (SIZE, 1))
    table = 0.5 + 2 * error.value(rows.outputs, labels) - 3 * brier.value(rows.outputs, labels)
    if declined:
        # Items that cannot be answered are worth nothing.
        table = np.hstack([table, np.zeros((SIZE, 1))])
    assert ends[:, 0] == approx(np.stack([table.min(axis=1), table.max(axis=1)]), rel=1e-5)
    alone = bets.TestedMean(Group("", SIZE), (error,), weights[:, :2], nobody, nobody)
    ends, kinds = replace(alone, outcomes=3, answerable=declined).by_kind(rows)
    assert (kinds == rows.outputs.pred).all()
    low = 0.0 if declined else 0.5
    assert ends[:, 0] == approx(np.array([[low] * 3, [2.5] * 3]))


@pytest.mark.parametrize("called", [["cat", "dog"], ["cat"]], ids=["two classes", "one class"])
def test_a_label_of_a_class_that_was_never_predicted_is_possible(tmp_path, called):
    pred = [called[row % len(called)] for row in range(SIZE)]
    place = ["barn" if row % 4 else "tree" for row in range(SIZE)]
    columns = {"id": range(SIZE), "pred": pred, "place": place}
    pool = build_table(tmp_path, columns, groups=("place",))
    codes = pool.rows(0, SIZE).outputs.pred
    truth = np.where(np.arange(SIZE) % 3 == 0, -1.0, codes)
    study = Study(pool, truth, ERROR).draw(3).draw(4)
    for name, value in (("error", 0.0), ("recall[cat]", 0.5)):
        check(study, metric_of(pool, name), 0, value, [*range(len(called)), -1])


def test_without_a_draw_there_is_nothing_to_bet_on(pool, truth):
    for study in (Study(pool, truth, ERROR).bring(3), Study(pool, truth, ERROR).pick(3)):
        increments = study.bets(metric_of(pool, "error"), 0, 0.0)
        assert len(increments.value) == len(increments.most) == 0


@pytest.mark.parametrize(
    ("name", "problem"),
    [("log-loss", "bound on what one item can cost"), ("mcc", "none is valid at every look")],
)
def test_bets_that_nobody_could_settle_are_refused(pool, truth, name, problem):
    study = Study(pool, truth, ERROR).draw(3)
    with pytest.raises(NotEstimable, match=problem) as refused:
        study.bets(metric_of(pool, name), 0, 0.5)
    assert '`interval="fixed"`' in refused.value.hint
