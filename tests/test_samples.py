"""From a log to samples: what was known before each draw, and which draws count."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import assess, cache, catalog, rounds, samples
from activetest.errors import ChoiceError, NotEstimable
from activetest.evidence import DECLINED, LABELLED, PENDING, Choices, Log
from activetest.pool import Pool
from activetest.workflow.simulate import answered

SIZE = 40
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))
ERROR = catalog.load("metrics", "error").metric()


@pytest.fixture
def pool(tmp_path, write_pool):
    path = write_pool(tmp_path / "pool.parquet", SIZE, seed=3)
    return cache.build(Pool.open(str(path), groups=("place",)), tmp_path / "cache")


@pytest.fixture
def truth(pool):
    """Labels of which every third is wrong."""
    pred = pool.rows(0, SIZE).outputs.pred.astype(float)
    return np.where(np.arange(SIZE) % 3 == 0, (pred + 1) % 3, pred)


def drawn(log: Log, pool, truth, count: int, *, status: int = LABELLED, **chosen) -> Log:
    """The log after one more round, all of whose items have this status."""
    one = rounds.plan(log, pool, replace(CHOICES, **chosen), seed=1, count=count)
    after = answered(log, one, truth)
    if status != LABELLED:
        after.status[-count:], after.labels[-count:] = status, np.nan
    return after


def brought(log: Log, pool, truth, count: int) -> Log:
    """The log after the first rows that nobody saw were labelled without a draw."""
    rows = np.flatnonzero(rounds.unseen(log, pool.size))[:count]
    return replace(
        log,
        brought_rows=np.append(log.brought_rows, rows),
        brought_status=np.append(log.brought_status, np.full(count, LABELLED)),
        brought_labels=np.append(log.brought_labels, truth[rows]),
        brought_round=np.append(log.brought_round, np.full(count, len(log.history) + 1)),
    )


def of(log: Log, pool, group: int = 0):
    evidence = samples.gather(log, pool)
    return samples.sample(evidence, ERROR, evidence.groups[group])


# --- what was known


@pytest.mark.parametrize("group", [0, 1, 2])
def test_before_each_draw_everything_earlier_is_known_and_the_rest_is_guessed(pool, truth, group):
    """Known, guessed and counted, against a walk through the log that forgets nothing."""
    log = drawn(Log.empty(), pool, truth, 5)
    log = brought(log, pool, truth, 4)
    log = drawn(brought(drawn(log, pool, truth, 5), pool, truth, 3), pool, truth, 5)
    one = of(log, pool, group)
    codes = pool.rows(0, SIZE).codes
    member = samples.gather(log, pool).groups[group].holds(codes)
    wrong = (truth != pool.rows(0, SIZE).outputs.pred) * member
    for m, number in enumerate(log.round):
        seen = np.append(log.rows[:m], log.brought_rows[log.brought_round <= number])
        assert one.known_sum[m, 0] == wrong[seen].sum()
        assert one.left[m] == member.sum() - member[seen].sum()
    assert one.total[0] == wrong[np.append(log.rows, log.brought_rows)].sum()
    assert one.unknown == one.left[-1] - one.inside[-1]


def test_groups_of_a_column_add_up_to_the_pool(pool, truth):
    log = drawn(drawn(Log.empty(), pool, truth, 5), pool, truth, 5)
    whole, *parts = (of(log, pool, group) for group in range(3))
    for name in ("known_sum", "imputed", "imputed_sum", "inside", "left", "doubt", "total"):
        assert sum(getattr(part, name) for part in parts) == approx(getattr(whole, name))


def test_a_round_records_the_doubt_that_its_estimate_will_have(pool, truth):
    """Sums of r v, r g^2, r g and r with r = 1 / q - 1, straight from the frozen scores."""
    log = drawn(Log.empty(), pool, truth, 5)
    frozen = rounds.freeze(log, pool, CHOICES, seed=1)
    record = rounds.record(frozen, np.flatnonzero(frozen.free)[:3], pool, CHOICES)
    r = 1 / frozen.strength[frozen.free] - 1
    g, v = frozen.mean[:, frozen.free], frozen.variance[:, frozen.free]
    sums = [(r * v).sum(axis=1), (r * g**2).sum(axis=1), (r * g).sum(axis=1), [r.sum()] * len(g)]
    assert record.doubt[0] == approx(np.transpose(sums), rel=1e-5)
    assert record.imputed_sum[0] == approx(g.sum(axis=1), rel=1e-5)


# --- which draws count


def test_only_whole_rounds_count_and_a_started_first_round_says_so(pool, truth):
    log = drawn(drawn(Log.empty(), pool, truth, 5), pool, truth, 5)
    for place, used, whole in ((9, 5, True), (5, 5, True), (3, 3, False), (0, 0, True)):
        status = log.status.copy()
        status[place] = PENDING
        evidence = samples.gather(replace(log, status=status), pool)
        assert (evidence.used, evidence.whole) == (used, whole)


def test_a_label_that_was_taken_back_ends_what_can_be_used(pool, truth):
    log = brought(drawn(Log.empty(), pool, truth, 5), pool, truth, 2)
    log = drawn(log, pool, truth, 5)
    gone = replace(log, brought_status=np.array([LABELLED, PENDING]))
    assert samples.gather(log, pool).used == 10
    assert samples.gather(gone, pool).used == 5


def test_rare_labels_are_counted_among_the_answered_draws_only(pool, truth):
    """Labels that were brought, and declined items, do not make the variance of draws surer."""
    log = drawn(Log.empty(), pool, truth, 12)
    wrong = int((truth[log.rows] != pool.take(log.rows).outputs.pred).sum())
    assert of(log, pool).tally == min(wrong, 12 - wrong)
    assert of(brought(log, pool, truth, 20), pool).tally == of(log, pool).tally
    declined = drawn(log, pool, truth, 12, status=DECLINED)
    assert of(declined, pool).tally == of(log, pool).tally


# --- declined items


def test_the_estimate_is_about_the_items_that_can_be_answered(pool, truth):
    """Of uniform draws: the share of errors among the answered ones."""
    log = drawn(Log.empty(), pool, truth, 20, acquisition="uniform")
    status = np.where(np.arange(20) < 8, DECLINED, LABELLED)
    log = replace(log, status=status, labels=np.where(status == LABELLED, log.labels, np.nan))
    made = assess.estimate(of(log, pool), "lure")
    answered = log.rows[8:]
    wrong = truth[answered] != pool.take(answered).outputs.pred
    assert made.mean[0] == approx(wrong.mean())
    assert made.inside.sum() == 12


def test_brought_labels_do_not_speak_for_draws_that_were_all_declined(pool, truth):
    log = brought(Log.empty(), pool, truth, 10)
    log = drawn(log, pool, truth, 10, status=DECLINED)
    with pytest.raises(NotEstimable, match="no draw has a label"):
        assess.estimate(of(log, pool), "doubly-robust")


# --- the draws themselves


def test_draws_do_not_depend_on_how_the_pool_was_cut_into_chunks(pool, truth, monkeypatch):
    log = drawn(Log.empty(), pool, truth, 5)
    one = rounds.plan(log, pool, CHOICES, seed=1, count=10)
    monkeypatch.setattr(pool, "chunks", lambda: [(at, min(at + 7, SIZE)) for at in range(0, 40, 7)])
    other = rounds.plan(log, pool, CHOICES, seed=1, count=10)
    assert (one.rows == other.rows).all()
    assert one.probs == approx(other.probs)
    assert one.imputed_sum == approx(other.imputed_sum)


def test_without_a_floor_an_item_that_could_never_be_drawn_is_refused(pool, monkeypatch):
    """No estimate is unbiased when some item has no chance, so no such draw is made."""
    uniform = catalog.load("acquisition", "uniform")
    half = lambda beliefs, rng: np.arange(len(beliefs.probs)) % 2.0  # noqa: E731
    monkeypatch.setattr(uniform, "score", half)
    choices = replace(CHOICES, acquisition="uniform", floor=0.0)
    with pytest.raises(ChoiceError, match="20 items could never be drawn"):
        rounds.plan(Log.empty(), pool, choices, seed=1, count=5)
    assert len(rounds.plan(Log.empty(), pool, replace(choices, floor=0.1), seed=1, count=5).rows)
