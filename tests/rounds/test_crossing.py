"""Predictions of rounds from their own labels, when they are made, and what is kept of them."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.estimation import samples
from activetest.estimation.missing import fill_rounds
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING
from activetest.rounds import crossing
from activetest.study.study import Study
from tests.makers import set_status, supply_labels

CHOICES = Choices("error", ("error",), "agreement", floor=0.3)

pytestmark = pytest.mark.pool(rows=400, seed=3, groups=("place",))


@pytest.fixture
def metric(pool):
    return specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))


@pytest.fixture
def collect(pool, metric):
    """collect(log): the evidence of a log about the error."""
    return lambda log: samples.collect_evidence(log, pool, CHOICES, [metric], seed=1)


def crossed(log, collect) -> list[bool]:
    return collect(log).crossed.rounds.tolist()


def test_rounds_of_25_draws_and_more_learn_from_themselves(play_rounds, collect):
    log = play_rounds((CHOICES, 24), (CHOICES, 25), (CHOICES, 60))
    assert crossed(log, collect) == [False, True, True]


@pytest.mark.parametrize("change", [{"refit": "never"}, {"refit": "50"}, {"surrogate": "model"}])
def test_rounds_whose_surrogates_do_not_learn_at_each_round_do_not(play_rounds, collect, change):
    log = play_rounds((replace(CHOICES, **change), 40))
    assert crossed(log, collect) == [False]


def test_top_scores_do_not(play_rounds, collect):
    log = play_rounds((replace(CHOICES, selection="top"), 40))
    assert crossed(log, collect) == [False]


def test_imported_draws_do_only_where_they_were_uniform(play_rounds, collect):
    (objective,) = play_rounds((CHOICES, 40)).history[0].objectives
    log = play_rounds((CHOICES, 40))
    for total, learns in ((np.nan, False), (400.0, True)):
        one = replace(log.history[0], imported=True, objectives=(replace(objective, total=total),))
        assert crossed(replace(log, history=(one,)), collect) == [learns]


def test_of_the_first_round_the_answered_beginning_learns_and_of_others_nothing(
    play_rounds, collect
):
    log = play_rounds((CHOICES, 60), (CHOICES, 60))
    first, second = (set_status(log, [place], PENDING) for place in (40, 100))
    assert collect(first).crossed.used.tolist() == [True] * 40 + [False] * 20 + [True] * 60
    assert collect(first).used == 40
    assert crossed(second, collect) == [True, False]
    assert crossed(set_status(log, [10], PENDING), collect) == [False, True]
    assert crossed(set_status(log, [10], DECLINED), collect) == [True, True]


def test_where_answers_are_filled_a_round_says_what_it_said_before(
    pool, play_rounds, collect, metric
):
    log = set_status(play_rounds((CHOICES, 60), (CHOICES, 60)), [40, 100], PENDING)
    evidence = collect(log)
    filled = fill_rounds(evidence, metric, evidence.groups[0], 3).evidence
    assert not filled.crossed.rounds.any() and filled.used == 120
    declined = set_status(play_rounds((CHOICES, 60)), [40], DECLINED)
    evidence = collect(declined)
    filled = fill_rounds(evidence, metric, evidence.groups[0], 0, declined=True).evidence
    assert filled.crossed.rounds.all()


def test_a_drawn_item_follows_other_folds_and_the_rest_all_draws_but_the_last(
    pool, play_rounds, truth, collect
):
    """A label of the item's own fold, and the last one for the rest, change nothing."""
    log = play_rounds((CHOICES, 60))
    folds = crossing.find_folds(pool.hashes, 1)
    assert np.unique(folds).tolist() == [0, 1, 2, 3, 4]
    found = collect(log).log.history[0].crossed

    pred = pool.take(log.rows).outputs.pred

    def flip(place):
        labels = log.labels.copy()
        labels[place] = pred[place] if labels[place] != pred[place] else (pred[place] + 1) % 3
        return collect(replace(log, labels=labels)).log.history[0].crossed

    place = 7
    same = folds[log.rows] == folds[log.rows[place]]
    other = flip(place).imputed
    assert (other[same] == found.imputed[same]).all()
    assert (other[~same] != found.imputed[~same]).any(axis=1).all()
    last = flip(59)
    undrawn, after = (each.sums[0] - each.imputed.sum(axis=0) for each in (found, last))
    assert after == pytest.approx(undrawn, rel=1e-9)
    assert flip(58).sums[0] != pytest.approx(found.sums[0], rel=1e-9)


def test_sums_are_those_of_folds_over_what_could_be_drawn(pool, play_rounds, truth, collect):
    """Items that were drawn or supplied before the round are not in them; groups add up."""
    log = supply_labels(play_rounds((CHOICES, 30)), [3, 5], truth)
    log = play_rounds((CHOICES, 40), log=log)
    evidence = collect(log)
    second = evidence.log.history[1]
    known = second.crossed.sums[0]
    assert second.crossed.sums[1:].sum(axis=0) == pytest.approx(known, rel=1e-6)
    assert known[0] < second.count[0] == 400 - 32


def test_shares_follow_expected_labels_of_the_rarer_kind(pool, play_rounds, collect):
    """They are those of the others: of all draws but the item's own, and but the last."""
    log = play_rounds((CHOICES, 80))
    found = collect(log).log.history[0].crossed
    wrong = log.history[0].imputed[:, 0]
    others = np.append(wrong.sum() - wrong, wrong[:-1].sum())
    more = np.maximum(np.minimum(others, 79 - others) - 10, 0)
    assert np.append(found.share, found.rest_share) == pytest.approx(more / (more + 15), abs=1e-5)
    assert 0.1 < found.rest_share < 0.9
    few = collect(play_rounds((CHOICES, 25))).log.history[0].crossed
    assert few.share.max() == few.rest_share == 0


def count_fits(monkeypatch) -> list[int]:
    """Numbers of surrogates that are fitted for folds, as they are."""
    calls, plain = [], crossing.fit_others

    def fit(round, cache, sets):
        calls.append(len(sets))
        return plain(round, cache, sets)

    monkeypatch.setattr(crossing, "fit_others", fit)
    return calls


def test_what_a_round_says_is_found_once_and_again_where_a_label_changes(
    play_rounds, collect, monkeypatch
):
    calls = count_fits(monkeypatch)
    log = play_rounds((CHOICES, 80), (CHOICES, 80))
    first = collect(log)
    assert calls == [9, 9]
    assert collect(log).crossed.imputed.tolist() == first.crossed.imputed.tolist()
    kept = crossing.keep_crossed(log, first.log)
    assert kept.history[0].statistics == log.history[0].statistics
    collect(kept)
    assert calls == [9, 9]
    labels = log.labels.copy()
    labels[100] = (labels[100] + 1) % 3
    changed = collect(replace(kept, labels=labels))
    assert calls == [9, 9, 9]
    assert (changed.crossed.imputed[:80] == first.crossed.imputed[:80]).all()


def test_a_study_keeps_it_for_later_reports(folder, write_pool, monkeypatch):
    """Another process finds it in the cache; a corrected label makes it anew."""
    write_pool(folder / "pool.parquet", 400, seed=3)
    study = Study.create("pool.parquet", groups=["place"], seed=1, surrogate="agreement")
    ids = study.next(80).ids
    study.ingest({name: ("cat", "dog", "owl")[place % 3] for place, name in enumerate(ids)})
    first = study.report(metrics=["error"])
    calls = count_fits(monkeypatch)
    again = Study.open().report(metrics=["error"])
    assert not calls and again.headline == first.headline
    Study.open().ingest({ids[0]: "owl"}, replace=True)
    changed = Study.open().report(metrics=["error"])
    assert calls == [9] and changed.headline.estimate != first.headline.estimate
