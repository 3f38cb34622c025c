"""From a log to samples: what was known before each draw, and which draws count."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.acquisition import scores
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation import estimate, samples
from activetest.estimation.evidence import Evidence
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import find_free_items, observe_statistics
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from tests.makers import supply_first

SIZE = 40
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
ERROR = specification.find_metric("error", Facts("classification", ("cat", "dog", "owl")))

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


def drawn(log: Log, pool, truth, count: int, *, status: int = LABELLED, **chosen) -> Log:
    """The log after one more round, all of whose items have this status."""
    one = plan.plan_round(log, pool, replace(CHOICES, **chosen), seed=1, count=count)
    after = answered(log, one, truth)
    if status != LABELLED:
        after.status[-count:], after.labels[-count:] = status, np.nan
    return after


def gathered(log: Log, pool) -> Evidence:
    return samples.collect_evidence(log, pool, CHOICES, [ERROR], seed=1)


def of(log: Log, pool, group: int = 0):
    evidence = gathered(log, pool)
    return samples.build_sample(evidence, ERROR, evidence.groups[group])


# --- what was known


@pytest.mark.parametrize("group", [0, 1, 2])
def test_before_each_draw_everything_earlier_is_known_and_the_rest_is_guessed(pool, truth, group):
    """Known, guessed and counted, against a walk through the log that forgets nothing."""
    log = drawn(Log.empty(), pool, truth, 5)
    log = supply_first(log, pool, truth, 4)
    log = drawn(supply_first(drawn(log, pool, truth, 5), pool, truth, 3), pool, truth, 5)
    one = of(log, pool, group)
    codes = pool.rows(0, SIZE).codes
    member = gathered(log, pool).groups[group].membership(codes)
    wrong = (truth != pool.rows(0, SIZE).outputs.pred) * member
    for m, number in enumerate(log.round):
        seen = np.append(log.rows[:m], log.supplied_rows[log.supplied_round <= number])
        assert one.known_sum[m, 0] == wrong[seen].sum()
        assert one.left[m] == member.sum() - member[seen].sum()
    assert one.total[0] == wrong[np.append(log.rows, log.supplied_rows)].sum()
    assert one.unknown == one.left[-1] - one.inside[-1]


def test_groups_of_a_column_add_up_to_the_pool(pool, truth):
    log = drawn(drawn(Log.empty(), pool, truth, 5), pool, truth, 5)
    whole, *parts = (of(log, pool, group) for group in range(3))
    for name in ("known_sum", "imputed", "imputed_sum", "inside", "left", "counted", "total"):
        assert sum(getattr(part, name) for part in parts) == approx(getattr(whole, name))
    expected = [one.expect(np.array([2.0])) for one in (whole, *parts)]
    assert np.sum(expected[1:], axis=0) == approx(np.array(expected[0]))


def test_a_round_records_what_its_surrogate_expects_of_every_configured_metric(pool, truth):
    """At the drawn items, and summed over what was free in every group."""
    choices = replace(CHOICES, metrics=("error", "recall[dog]"), also=("brier",))
    log = drawn(Log.empty(), pool, truth, 5)
    free = find_free_items(log, SIZE)
    frozen = plan.prepare_round(log, pool, choices, seed=1)
    record = plan.record_round(frozen, np.flatnonzero(free)[[7, 2, 30]], pool)
    assert record.statistics == ("zero_one", "brier", "tp:1", "fn:1")
    rows = pool.rows(0, SIZE)
    asked = tuple(map(statistic, record.statistics))
    mean, _ = moments(frozen.surrogate.beliefs(rows, asked))
    assert record.imputed == approx(mean[:, record.rows].T, rel=1e-5)
    assert record.groups == ("", "place=barn", "place=tree")
    for place, code in enumerate((None, 0, 1)):
        inside = free & (True if code is None else rows.codes[:, 0] == code)
        assert record.imputed_sum[place] == approx(mean[:, inside].sum(axis=1), rel=1e-5)
        assert record.count[place] == inside.sum()


def test_what_is_expected_of_a_drawn_item_comes_from_the_surrogate_that_knows_every_label(
    pool, truth
):
    log = drawn(supply_first(drawn(Log.empty(), pool, truth, 5), pool, truth, 6), pool, truth, 5)
    evidence = gathered(log, pool)
    mean, variance = samples.build_sample(evidence, ERROR).expect(np.array([3.0]))
    known = np.append(log.rows, log.supplied_rows)
    assert len(known) == 16
    wrong = moments(evidence.surrogate.beliefs(pool.take(log.rows), ERROR.statistics))[0][0]
    assert mean == approx(3 * wrong)
    assert variance == approx(9 * wrong * (1 - wrong), rel=1e-5)
    fewer = samples.collect_evidence(
        drawn(Log.empty(), pool, truth, 5), pool, CHOICES, [ERROR], seed=1
    )
    assert np.abs(evidence.surrogate.mode - fewer.surrogate.mode).max() > 0.01


def test_a_round_that_knows_nothing_of_a_group_says_nothing_about_it(pool, truth):
    """Its part of the sample is as without a surrogate; also with items that were declined."""
    log = drawn(drawn(Log.empty(), pool, truth, 8), pool, truth, 8, status=DECLINED)
    early = log.history[0]
    early = replace(early, groups=("",), imputed_sum=early.imputed_sum[:1], count=early.count[:1])
    log = replace(log, history=(early, log.history[1]))
    evidence = samples.collect_evidence(log, pool, CHOICES, [ERROR], seed=1, predict_again=False)
    one = samples.build_sample(evidence, ERROR, evidence.groups[1])
    for name in ("imputed", "imputed_sum", "left"):
        assert (getattr(one, name)[:8] == 0).all(), name
        assert (getattr(one, name)[8:] > 0).any(), name


def test_what_a_round_did_not_record_of_a_group_is_predicted_again(pool, truth):
    log = drawn(Log.empty(), pool, truth, 8)
    early = log.history[0]
    early = replace(early, groups=("",), imputed_sum=early.imputed_sum[:1], count=early.count[:1])
    evidence = samples.collect_evidence(
        replace(log, history=(early,)), pool, CHOICES, [ERROR], seed=1
    )
    recorded = gathered(log, pool)
    for name in ("imputed", "imputed_sum", "left"):
        found, expected = (
            getattr(samples.build_sample(each, ERROR, each.groups[1]), name)
            for each in (evidence, recorded)
        )
        assert found == approx(expected, rel=1e-5), name
        assert (found > 0).any(), name


# --- which draws count


def test_only_whole_rounds_count_and_a_started_first_round_says_so(pool, truth):
    log = drawn(drawn(Log.empty(), pool, truth, 5), pool, truth, 5)
    for place, used, whole in ((9, 5, True), (5, 5, True), (3, 3, False), (0, 0, True)):
        status = log.status.copy()
        status[place] = PENDING
        evidence = gathered(replace(log, status=status), pool)
        assert (evidence.used, evidence.whole) == (used, whole)


def test_a_label_that_was_taken_back_ends_what_can_be_used(pool, truth):
    log = supply_first(drawn(Log.empty(), pool, truth, 5), pool, truth, 2)
    log = drawn(log, pool, truth, 5)
    gone = replace(log, supplied_status=np.array([LABELLED, PENDING]))
    assert gathered(log, pool).used == 10
    assert gathered(gone, pool).used == 5


def test_why_labels_wait_names_every_round_that_is_not_complete(pool, truth):
    log = drawn(Log.empty(), pool, truth, 5)
    assert samples.describe_unfinished(gathered(log, pool)) == ""
    log = drawn(drawn(log, pool, truth, 4), pool, truth, 3)

    def explain(*missing: int) -> str:
        status = log.status.copy()
        status[list(missing)] = PENDING
        return samples.describe_unfinished(gathered(replace(log, status=status), pool))

    assert explain() == explain(9, 10, 11) == ""
    assert explain(4, 5, 6, 7, 8) == (
        "5 items of rounds 1 and 2 have no label, and items count in order"
    )
    assert explain(0, 5, 11) == (
        "3 items of rounds 1, 2 and 3 have no label, and rounds count in order"
    )
    assert explain(8) == "1 item of round 2 has no label, and rounds count in order"
    supplied = drawn(supply_first(Log.empty(), pool, truth, 2), pool, truth, 5)
    gone = replace(supplied, supplied_status=np.array([LABELLED, PENDING]))
    assert samples.describe_unfinished(gathered(gone, pool)) == (
        "a label that later draws were made with was taken back"
    )


def test_rare_labels_are_counted_among_the_answered_draws_only(pool, truth):
    """Labels that were brought, and declined items, do not make the variance of draws surer."""
    log = drawn(Log.empty(), pool, truth, 12)
    wrong = int((truth[log.rows] != pool.take(log.rows).outputs.pred).sum())
    more = supply_first(log, pool, truth, 20)
    declined = drawn(log, pool, truth, 12, status=DECLINED)
    for each in (log, more, declined):
        estimated = estimate.estimate_metric(of(each, pool), ERROR, "lure")
        assert estimated.estimate.minority_count == approx(min(wrong, 12 - wrong))


# --- declined items


def test_the_estimate_is_about_the_items_that_can_be_answered(pool, truth):
    """Of uniform draws: the share of errors among the answered ones."""
    log = drawn(Log.empty(), pool, truth, 20, acquisition="uniform")
    status = np.where(np.arange(20) < 8, DECLINED, LABELLED)
    log = replace(log, status=status, labels=np.where(status == LABELLED, log.labels, np.nan))
    estimated = estimate.estimate_metric(of(log, pool), ERROR, "lure")
    answered = log.rows[8:]
    wrong = truth[answered] != pool.take(answered).outputs.pred
    assert estimated.value == estimated.estimate.mean[0] == approx(wrong.mean())
    assert estimated.estimate.inside.sum() == 12


def test_supplied_labels_do_not_speak_for_draws_that_were_all_declined(pool, truth):
    log = supply_first(Log.empty(), pool, truth, 10)
    log = drawn(log, pool, truth, 10, status=DECLINED)
    with pytest.raises(NotEstimable, match="none of the drawn items here has a label"):
        estimate.estimate_metric(of(log, pool), ERROR, "doubly-robust")


# --- what known items weigh


def test_estimate_open_weigh_what_they_weigh_in_lure(pool, truth):
    log = supply_first(drawn(Log.empty(), pool, truth, 5), pool, truth, 6)
    log = supply_first(drawn(drawn(log, pool, truth, 5), pool, truth, 5), pool, truth, 4)
    evidence = gathered(log, pool)
    rows, labels, weights = samples.known_weights(
        log, SIZE, evidence.groups[0], evidence.drawn, evidence.supplied
    )
    wrong = observe_statistics(pool.take(rows), labels, ERROR.statistics)[:, 0]
    estimated = estimate.estimate_metric(of(log, pool), ERROR, "lure")
    assert weights @ wrong / SIZE == approx(estimated.value)
    # The last four came after every draw: no term knows them.
    assert (weights == 0).sum() == 4


def test_when_everything_is_known_every_item_weighs_the_same(pool, truth):
    log = supply_first(drawn(Log.empty(), pool, truth, 5), pool, truth, SIZE - 5)
    evidence = gathered(log, pool)
    rows, labels, weights = samples.known_weights(
        log, SIZE, evidence.groups[1], evidence.drawn, evidence.supplied
    )
    assert sorted(rows) == list(range(SIZE))
    assert (labels == truth[rows]).all()
    assert (weights == evidence.groups[1].membership(pool.take(rows).codes)).all()


# --- labels that are in doubt


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("name", ["error", "f1[dog]"])
def test_doubt_about_labels_is_the_variance_of_estimates_with_labels_drawn(
    pool, truth, name, group
):
    """Labels of other items stay: what each adds is its variance over its own possible classes.

    The last share is that of a class which the pool does not have.
    """
    metric = specification.find_metric(name, Facts("classification", ("cat", "dog", "owl")))
    log = supply_first(drawn(Log.empty(), pool, truth, 6), pool, truth, 3)
    log = drawn(log, pool, truth, 6)
    rng, weights = np.random.default_rng(2), np.array([1.0, -2.0, 0.5])[: len(metric.statistics)]
    shares = rng.dirichlet([1, 1, 1, 0.3], size=15)

    def estimated(labels, supplied_labels) -> tuple[float, samples.Sample]:
        now = replace(log, labels=labels, supplied_labels=supplied_labels)
        now = replace(now, soft=shares[:12, :3], supplied_soft=shares[12:, :3])
        evidence = samples.collect_evidence(now, pool, CHOICES, [metric], seed=1)
        one = samples.build_sample(evidence, metric, evidence.groups[group])
        return catalog.load("estimators", "lure").estimate(one).mean @ weights, one

    exact = 0.0
    for place in range(15):
        values = []
        for code in (0.0, 1.0, 2.0, -1.0):
            labels = np.concatenate([log.labels, log.supplied_labels])
            labels[place] = code
            values.append(estimated(labels[:12], labels[12:])[0])
        exact += shares[place] @ np.square(values) - (shares[place] @ values) ** 2
    _, one = estimated(log.labels, log.supplied_labels)
    assert one.label_variance(weights) == approx(exact, rel=1e-6)
    assert of(log, pool).label_variance(np.ones(1)) == 0


# --- the draws themselves


def test_draws_do_not_depend_on_how_the_pool_was_cut_into_chunks(pool, truth, monkeypatch):
    log = drawn(Log.empty(), pool, truth, 5)
    one = plan.plan_round(log, pool, CHOICES, seed=1, count=10)
    monkeypatch.setattr(pool, "chunks", lambda: [(at, min(at + 7, SIZE)) for at in range(0, 40, 7)])
    other = plan.plan_round(log, pool, CHOICES, seed=1, count=10)
    assert (one.rows == other.rows).all()
    assert one.q == approx(other.q)
    assert one.imputed_sum == approx(other.imputed_sum)


def test_without_a_floor_an_item_that_could_never_be_drawn_is_refused(pool, monkeypatch):
    """No estimate is unbiased when some item has no chance, so no such draw is made."""
    half = scores.Score(lambda beliefs: np.arange(len(beliefs.probs)) % 2.0)
    monkeypatch.setattr(scores, "optimal", half)
    choices = replace(CHOICES, acquisition="optimal", floor=0.0)
    with pytest.raises(ChoiceError, match="20 items could never be drawn"):
        plan.plan_round(Log.empty(), pool, choices, seed=1, count=5)
    assert len(
        plan.plan_round(Log.empty(), pool, replace(choices, floor=0.1), seed=1, count=5).rows
    )


def test_the_lowest_floor_of_the_rounds_that_were_used_is_known(pool, truth):
    uniform = drawn(Log.empty(), pool, truth, 4, acquisition="uniform", floor=0.1)
    assert of(uniform, pool).floor == 1
    log = drawn(drawn(uniform, pool, truth, 4, floor=0.4), pool, truth, 4, floor=0.2)
    assert of(log, pool).floor == 0.2
    clipped = drawn(log, pool, truth, 4, floor=0.2, floor_rule="clip")
    assert of(clipped, pool).floor == pytest.approx(0.2 / 1.2)
    # A round without answers is not used yet.
    assert of(drawn(log, pool, truth, 3, status=PENDING, floor=0.05), pool).floor == 0.2
