"""Values not recorded by rounds are predicted again, from labels that were known before them."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.cache.cache import ensure_cache
from activetest.estimation.repredict import _sum_over_pool, repredict
from activetest.item_statistics import specification
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.pool import Pool
from activetest.rounds.compared_pool import ComparedPool
from activetest.rounds.fit import (
    fit_surrogate,
    list_known_before,
    make_generator,
    restore_surrogate,
)
from tests.makers import build_table, play_rounds, supply_first

SIZE, ROUNDS = 40, 7
FEW = Choices("error", ("error",), "agreement", groups=("place",))
ALL = replace(FEW, metrics=("error", "f1[dog]", "log-loss"))
# Round r is predicted by the surrogate of the last round before or at it that is a power of two.
SOURCES = {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 4}

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


def statistics_of(pool, *names: str):
    """The statistics of metrics."""
    facts = specification.describe_pool(pool.roles, None, pool)
    return tuple(
        each for name in names for each in specification.find_metric(name, facts).statistics
    )


def played(pool, truth, choices: Choices) -> Log:
    """Rounds of three draws; labels are brought before the third and the sixth."""
    log = Log.empty()
    for number in range(1, ROUNDS + 1):
        if number in (3, 6):
            log = supply_first(log, pool, truth, 4)
        log = play_rounds(pool, truth, (choices, 3), log=log)
    return log


def ungrouped(log: Log) -> Log:
    """The log as if its rounds had been drawn before the study knew of any group."""
    history = (
        replace(each, groups=("",), imputed_sum=each.imputed_sum[:1], count=each.count[:1])
        for each in log.history
    )
    return replace(log, history=tuple(history))


@pytest.mark.parametrize("surrogate", ["agreement", "model"])
def test_a_round_that_is_its_own_source_says_what_it_would_have_recorded(pool, truth, surrogate):
    few, full = (
        played(pool, truth, replace(choices, surrogate=surrogate)) for choices in (FEW, ALL)
    )
    assert (few.rows == full.rows).all()
    again = repredict(few, pool, tuple(map(statistic, full.history[0].statistics)))
    for number in (1, 2, 4):
        one, other = again.history[number - 1], full.history[number - 1]
        assert (one.statistics, one.groups) == (other.statistics, other.groups)
        assert (one.count == other.count).all()
        assert one.imputed == approx(other.imputed, rel=1e-6, abs=1e-9)
        assert one.imputed_sum == approx(other.imputed_sum, rel=1e-6, abs=1e-6)


def test_groups_that_were_added_later_are_recalled(pool, truth):
    log = played(pool, truth, FEW)
    again = repredict(ungrouped(log), pool, statistics_of(pool, "error"))
    for one, other in zip(again.history, log.history, strict=True):
        assert one.groups == other.groups == ("", "place=barn", "place=tree")
        assert (one.count == other.count).all()
    for number in (1, 2, 4):
        one, other = again.history[number - 1], log.history[number - 1]
        assert one.imputed_sum == approx(other.imputed_sum, rel=1e-6)


@pytest.mark.parametrize("number", range(1, ROUNDS + 1))
def test_recalled_predictions_are_those_of_a_surrogate_that_knew_its_sources_labels(
    pool, truth, number
):
    """Fitted anew to nothing but the labels that were known before the source."""
    log, statistics = played(pool, truth, FEW), statistics_of(pool, "f1[dog]", "brier")
    one, source = repredict(log, pool, statistics).history[number - 1], SOURCES[number]
    drawn, seen = log.round < source, log.supplied_round <= source
    then = replace(
        log,
        **{name: getattr(log, name)[drawn] for name in ("rows", "q", "round", "status")},
        labels=log.labels[drawn],
        supplied_rows=log.supplied_rows[seen],
        supplied_status=log.supplied_status[seen],
        supplied_labels=log.supplied_labels[seen],
        supplied_round=log.supplied_round[seen],
        history=log.history[: source - 1],
    )
    surrogate = fit_surrogate(then, pool, FEW, rng=make_generator(1, source, "fit"))
    rows = pool.rows(0, SIZE)
    mean, _ = moments(surrogate.beliefs(rows, statistics))
    assert one.imputed == approx(mean[:, one.rows].T, rel=1e-5, abs=1e-9)
    free = np.ones(SIZE, bool)
    free[list_known_before(log, number)] = False
    for place, code in enumerate((None, 0, 1)):
        inside = free & (True if code is None else rows.codes[:, 0] == code)
        assert one.imputed_sum[place] == approx(mean[:, inside].sum(axis=1), rel=1e-4, abs=1e-6)
        assert one.count[place] == inside.sum()


@pytest.mark.parametrize("number", range(1, ROUNDS + 1))
def test_labels_that_came_after_its_source_do_not_change_what_a_round_recalls(pool, truth, number):
    """Labels drawn in the source or later, and labels supplied after it, say the opposite."""
    log, statistics = played(pool, truth, FEW), statistics_of(pool, "f1", "log-loss")
    late, brought_late = log.round >= SOURCES[number], log.supplied_round > SOURCES[number]
    other = replace(
        log,
        labels=np.where(late, (log.labels + 1) % 3, log.labels),
        supplied_labels=np.where(brought_late, (log.supplied_labels + 1) % 3, log.supplied_labels),
    )
    assert late.any()
    one, two = (repredict(each, pool, statistics).history[number - 1] for each in (log, other))
    np.testing.assert_array_equal(one.imputed, two.imputed)
    np.testing.assert_array_equal(one.imputed_sum, two.imputed_sum)


def test_only_what_a_round_says_is_changed(pool, truth):
    """Its draws, its surrogate and what it aimed at are facts."""
    log = played(pool, truth, FEW)
    again = repredict(log, pool, statistics_of(pool, "f1[dog]"))
    for one, other in zip(again.history, log.history, strict=True):
        for name in ("number", "choices", "params", "objectives"):
            assert getattr(one, name) == getattr(other, name)
        assert (one.rows == other.rows).all()
        assert (one.q == other.q).all()
    assert again.rows is log.rows


def test_what_a_round_recorded_stays_when_something_else_is_asked_as_well(pool, truth):
    log = played(pool, truth, FEW)
    again = repredict(log, pool, statistics_of(pool, "brier", "error"))
    (kept,) = {each.name for each in statistics_of(pool, "error")}
    for one, old in zip(again.history, log.history, strict=True):
        new, place = one.statistics.index(kept), old.statistics.index(kept)
        assert (one.imputed[:, new] == old.imputed[:, place]).all()
        assert (one.imputed_sum[:, new] == old.imputed_sum[:, place]).all()


def test_rounds_that_recorded_everything_stay_as_they_are(pool, truth):
    log = played(pool, truth, ALL)
    assert repredict(log, pool, statistics_of(pool, "f1[dog]", "error")).history == log.history
    assert repredict(Log.empty(), pool, statistics_of(pool, "f1[dog]")).history == ()
    mixed = replace(log, history=(*log.history[:2], *ungrouped(log).history[2:3], *log.history[3:]))
    again = repredict(mixed, pool, statistics_of(pool, "error"))
    assert [one is two for one, two in zip(again.history, mixed.history, strict=True)] == [
        number != 3 for number in range(1, ROUNDS + 1)
    ]


def test_recalling_does_not_depend_on_how_the_pool_was_cut_into_chunks(pool, truth, monkeypatch):
    log, statistics = played(pool, truth, FEW), statistics_of(pool, "f1[dog]")
    one = repredict(log, pool, statistics)
    monkeypatch.setattr(pool, "chunks", lambda: [(at, min(at + 7, SIZE)) for at in range(0, 40, 7)])
    other = repredict(log, pool, statistics)
    for before, after in zip(one.history, other.history, strict=True):
        assert after.imputed_sum == approx(before.imputed_sum)
        assert (after.count == before.count).all()


def test_a_round_knew_the_draws_before_it_and_the_labels_supplied_by_then(pool, truth):
    log = played(pool, truth, FEW)
    for number in range(1, ROUNDS + 1):
        known = set(list_known_before(log, number))
        assert known.isdisjoint(log.history[number - 1].rows)
        assert len(known) == 3 * (number - 1) + 4 * (number >= 3) + 4 * (number >= 6)
        assert SIZE - len(known) == log.history[number - 1].count[0]


def test_a_rounds_surrogate_comes_back_as_it_was(pool, truth):
    log = played(pool, truth, FEW)
    for each in log.history:
        mean, _ = moments(
            restore_surrogate(each, pool).beliefs(pool.take(each.rows), (statistic("zero_one"),))
        )
        assert each.imputed[:, 0] == approx(mean[0], rel=1e-6)


@pytest.fixture
def studied(tmp_path, monkeypatch):
    """studied(): the cache of a study with the same pool, which keeps results; and how many passes.

    Two models are one pool with other outputs of the second.
    """
    passes = []

    def count(*given):
        passes.append(given)
        return _sum_over_pool(*given)

    monkeypatch.setattr("activetest.estimation.repredict._sum_over_pool", count)

    def open_again():
        path = tmp_path / "pool.parquet"
        own = ensure_cache(Pool.open(str(path), groups=("place",)), tmp_path / "kept")
        return own, passes

    return open_again


def build_rival(pool, tmp_path, seed: int):
    """The cache of a model with other outputs for the same items."""
    probs = np.random.default_rng(seed).dirichlet([1, 1, 1], SIZE)
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(pool.classes)}
    named = {"id": pool.ids(np.arange(SIZE))} | columns
    return build_table(tmp_path, named, name=f"rival-{seed}")


def test_sums_over_the_pool_are_kept_until_what_they_follow_from_changes(pool, truth, studied):
    cache, passes = studied()
    log, asked = played(pool, truth, FEW), statistics_of(pool, "brier")
    first = repredict(log, cache, asked)
    again = repredict(log, studied()[0], asked)
    assert len(passes) == 3
    for one, other in zip(first.history, again.history, strict=True):
        assert (one.imputed_sum == other.imputed_sum).all() and (one.count == other.count).all()
    # Of other statistics, and of surrogates that learned from other labels.
    repredict(log, studied()[0], statistics_of(pool, "log-loss"))
    assert len(passes) == 6
    params = {**log.history[1].params, "mode": [0.5 for _ in log.history[1].params["mode"]]}
    changed = replace(log.history[1], params=params)
    other = replace(log, history=(log.history[0], changed, *log.history[2:]))
    found = repredict(other, studied()[0], asked)
    assert len(passes) == 7
    assert (found.history[1].imputed_sum != first.history[1].imputed_sum).any()


def test_sums_of_several_models_follow_from_each_models_outputs_and_labels(
    pool, truth, studied, tmp_path
):
    log, asked = played(pool, truth, FEW), (statistic("zero_one(v2)-zero_one(v1)"),)
    passes, found = studied()[1], []
    wrong = replace(log, labels=log.labels.copy())
    # The label of the first draw, by which the surrogates of later rounds were fitted.
    wrong.labels[0] = (wrong.labels[0] + 1) % 3
    for number, (seed, known) in enumerate([(1, log), (1, wrong), (2, wrong)], 1):
        rival = build_rival(pool, tmp_path, seed)
        for _ in range(2):
            compared = ComparedPool("v1", studied()[0], {"v2": rival}, known)
            again = repredict(known, compared, asked)
        # Round 1 learned from no label.
        assert len(passes) == (3 if number != 2 else 2)
        plain = ComparedPool("v1", pool, {"v2": rival}, known)
        fresh = repredict(known, plain, asked)
        passes.clear()
        for one, other in zip(again.history, fresh.history, strict=True):
            assert (one.imputed_sum == other.imputed_sum).all()
        found.append(again.history[1].imputed_sum)
    assert not any((found[0] == each).all() for each in found[1:])


def test_of_statistics_that_a_name_does_not_describe_nothing_is_kept(pool, truth, studied):
    """The influence on an area under a curve follows from labels."""
    log, passes = played(pool, truth, FEW), studied()[1]
    shape = replace(statistic("zero_one"), name="")
    for number in (1, 2):
        repredict(log, studied()[0], (shape,))
        assert len(passes) == 3 * number
