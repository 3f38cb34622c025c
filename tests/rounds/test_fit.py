"""When a surrogate is fitted again, and what it may learn from."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, PENDING, Log
from activetest.nouns.rows import Outputs
from activetest.rounds.fit import (
    _count_verdicts,
    _try_out,
    find_predicted_as,
    find_reusable_round,
    fit_others,
    fit_surrogate,
    get_surrogate,
    list_labelled,
    make_generator,
    restore_surrogate,
)
from activetest.sampling import plan
from tests.makers import label_items, play_rounds, supply_labels

SIZE, BATCH = 40, 3
CHOICES = Choices("error", ("error",), "agreement")
STATISTICS = (statistic("zero_one"),)

pytestmark = pytest.mark.pool(rows=SIZE, seed=3)


def played(pool, choices: Choices, count: int) -> Log:
    """Rounds of three draws, all of whose items the model is wrong about."""
    return play_rounds(pool, label_items(pool, wrong=1), *[(choices, BATCH)] * count)


@pytest.mark.parametrize(
    ("refit", "fit_round"),
    [
        ("every", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        # With 0, 3, 6, 12 and 24 labels.
        ("doubling", [1, 2, 3, 3, 5, 5, 5, 5, 9]),
        # After at least 7 more: with 0, 9 and 18.
        ("7", [1, 1, 1, 4, 4, 4, 7, 7, 7]),
        ("never", [1, 1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_a_schedule_says_when_a_surrogate_learns_again(pool, refit, fit_round):
    log = played(pool, replace(CHOICES, refit=refit), 9)
    assert [each.fit_round for each in log.history] == fit_round
    for each in log.history:
        assert each.params == log.history[each.fit_round - 1].params


def test_a_surrogate_that_learns_again_has_other_parameters(pool):
    log = played(pool, replace(CHOICES, refit="7"), 4)
    assert log.history[3].params != log.history[0].params


@pytest.mark.parametrize("surrogate", ["agreement", "linear", "auto"])
def test_a_surrogate_that_never_learns_from_labels_knows_none_whenever_it_is_fitted(
    pool, surrogate
):
    """Nor those that were supplied before the first draw, nor what others learned from them."""
    never = replace(CHOICES, surrogate=surrogate, refit="never")
    every = replace(never, refit="every")
    nothing = fit_surrogate(Log.empty(), pool, every, rng=make_generator(1, 3, "fit"))
    rows, truth = pool.rows(0, SIZE), label_items(pool, wrong=1)
    expected = nothing.expected(rows, STATISTICS)
    supplied = supply_labels(Log.empty(), range(9), truth)
    log = play_rounds(pool, truth, (every, BATCH), (every, BATCH), log=supplied)
    drawn = plan.plan_round(log, pool, never, seed=1, count=BATCH)
    assert (drawn.fit_round, drawn.fit_labels) == (3, 0)
    found = get_surrogate(log, pool, never, seed=1)
    assert found.expected(rows, STATISTICS) == pytest.approx(expected)
    learned = get_surrogate(log, pool, every, seed=1)
    assert learned.expected(rows, STATISTICS) != pytest.approx(expected, rel=1e-3)
    # It learns again where another schedule is chosen.
    again = plan.plan_round(
        played(pool, never, 2), pool, replace(never, refit="doubling"), seed=1, count=BATCH
    )
    assert (again.fit_round, again.fit_labels) == (3, 6)


def test_another_surrogate_or_schedule_is_fitted_at_once(pool):
    seldom = replace(CHOICES, refit="100")
    log = played(pool, seldom, 2)
    assert find_reusable_round(log, seldom).number == 2
    assert find_reusable_round(log, replace(seldom, surrogate="model")) is None
    assert find_reusable_round(log, replace(seldom, refit="99")) is None


def test_labels_that_are_still_missing_do_not_count(pool):
    seldom = replace(CHOICES, refit="3")
    log = played(pool, seldom, 2)
    waiting = np.where(log.round == 2, PENDING, LABELLED)
    assert find_reusable_round(replace(log, status=waiting), seldom).fit_round == 2
    assert find_reusable_round(log, seldom) is None


def test_a_surrogate_in_use_says_what_it_said(pool):
    seldom = replace(CHOICES, refit="100")
    log = played(pool, seldom, 3)
    again = get_surrogate(log, pool, seldom, seed=1)
    assert again.params() == log.history[0].params


def test_a_surrogate_is_fitted_with_the_random_numbers_of_the_next_round(pool, monkeypatch):
    """A report after two rounds shows the surrogate that the third would have."""
    log, numbers = played(pool, CHOICES, 2), []

    def watch(log, cache, choices, *, rng):
        numbers.append(rng.random())
        return fit_surrogate(log, cache, choices, rng=rng)

    monkeypatch.setattr("activetest.rounds.fit.fit_surrogate", watch)
    get_surrogate(log, pool, CHOICES, seed=5)
    assert numbers == [make_generator(5, 3, "fit").random()]


def test_a_surrogate_that_is_lost_is_fitted_anew_and_recorded_as_such(pool):
    seldom = replace(CHOICES, refit="100")
    log = played(pool, seldom, 3)
    pool.unavailable = {"agreement": "the file it rests on is another"}
    assert find_reusable_round(log, seldom, pool.unavailable) is None
    drawn = plan.plan_round(log, pool, seldom, seed=1, count=BATCH)
    assert (drawn.fit_round, drawn.fit_labels) == (4, 9)
    assert drawn.params != log.history[0].params


def test_verdicts_are_counted_once_and_probabilities_never(pool, monkeypatch):
    fitted = fit_surrogate(Log.empty(), pool, CHOICES, rng=make_generator(1, 1, "fit"))
    assert "shares" not in fitted.params()
    monkeypatch.setattr(pool, "chunks", lambda *_: [(0, 7), (7, 20), (20, SIZE)])
    codes = pool.rows(0, SIZE).outputs.pred
    verdicts = replace(pool.take([0, 1]), outputs=Outputs(codes[:2]))
    monkeypatch.setattr(
        pool, "rows", lambda start, stop: SimpleNamespace(outputs=Outputs(codes[start:stop]))
    )
    expected = (np.bincount(codes, minlength=len(pool.classes)) + 1) / (SIZE + len(pool.classes))
    assert (_count_verdicts(pool, verdicts) == expected).all()
    monkeypatch.setattr(pool, "chunks", lambda *_: [])
    assert (_count_verdicts(pool, verdicts) == expected).all()


def test_items_of_a_class_are_found_in_every_chunk(pool, monkeypatch):
    pred = pool.rows(0, SIZE).outputs.pred
    monkeypatch.setattr(pool, "chunks", lambda: [(0, 7), (7, 20), (20, SIZE)])
    assert (find_predicted_as(pool, (0, 2)) == (pred != 1)).all()
    assert not find_predicted_as(pool, ()).any()
    assert find_predicted_as(pool, None).all()


# --- what somebody else recorded


def put(place, value):
    """A function that puts a value somewhere in an array."""

    def harm(array):
        array[place] = value
        return array

    return harm


FORGED = {
    "effects below zero": ("effects", lambda _: -1),
    "effects of another number of classes": ("effects", lambda _: 2),
    "a coefficient that is none": ("mode", put(0, np.nan)),
    "a coefficient without end": ("mode", put(0, 1e300)),
    "one coefficient less": ("mode", lambda mode: mode[:-1]),
    "no coefficient": ("mode", lambda mode: mode[:0]),
    "a variance below zero": ("covariance", put((0, 0), -1.0)),
    "a variance without end": ("covariance", put((0, 0), np.inf)),
    "variances alone": ("covariance", np.diag),
    "statistics in another order": ("learned", lambda learned: learned[::-1]),
    "statistics that there are not": ("learned", put(0, "none")),
    "costs of two classes": ("cost", lambda cost: cost[:, :2]),
    "costs in a row": ("cost", lambda cost: cost[0]),
    "costs that are words": ("cost", lambda cost: np.char.add(cost.astype(str), "x")),
    "noise below zero": ("noise", lambda noise: -1 - noise),
    "errors of a class that there is not": ("confused", lambda _: np.array([[0, 3]])),
    "errors of a class below zero": ("confused", lambda _: np.array([[-1, 0]])),
    "errors that are no pairs": ("confused", lambda _: np.array([0, 1, 2])),
    "shares of two classes": ("shares", lambda _: np.array([0.5, 0.5])),
    "shares that are none": ("shares", lambda _: np.array([0.5, 0.5, np.nan])),
}


@pytest.mark.parametrize("surrogate", ["agreement", "auto"])
@pytest.mark.parametrize("harm", FORGED)
def test_a_round_that_nobody_fitted_is_refused(pool, surrogate, harm):
    last = played(pool, replace(CHOICES, surrogate=surrogate), 2).history[-1]
    restore_surrogate(last, pool)
    name, forge = FORGED[harm]
    forged = {name: forge(np.array(last.params.get(name, 0)))}
    with pytest.raises(StudyError, match="cannot be restored"):
        restore_surrogate(replace(last, params={**last.params, **forged}), pool)


def test_coefficients_that_do_not_fit_the_pool_are_refused(pool):
    """They fit each other: one component more than the pool has."""
    last = played(pool, CHOICES, 2).history[-1]
    size = len(last.params["mode"]) + 1
    forged = {"mode": np.zeros(size), "covariance": np.eye(size)}
    with pytest.raises(StudyError, match="cannot be restored"):
        restore_surrogate(replace(last, params={**last.params, **forged}), pool)


def test_a_surrogate_that_expects_no_number_of_one_statistic_is_not_restored(pool):
    half = SimpleNamespace(expected=lambda *_: np.array([[0.5], [np.nan]]))
    with pytest.raises(ValueError, match="no number"):
        _try_out(half, pool)


def test_a_model_that_came_later_has_no_vote_in_earlier_rounds(pool, monkeypatch):
    votes = np.random.default_rng(1).integers(2, size=(SIZE, 2)).astype(np.float32)
    rows, take = pool.rows, pool.take

    def give_votes(found):
        return found.change(votes=votes[found.index])

    monkeypatch.setattr(type(pool), "vote_rounds", (0, 2))
    monkeypatch.setattr(pool, "rows", lambda *each: give_votes(rows(*each)))
    monkeypatch.setattr(pool, "take", lambda each: give_votes(take(each)))
    choices = replace(CHOICES, surrogate="auto")
    log = played(pool, choices, 4)
    restored = [restore_surrogate(each, pool) for each in log.history]
    assert [each.evidence.votes for each in restored] == [1, 1, 2, 2]
    again = fit_others(log.history[1], pool, [list_labelled(log)])
    assert again[0].evidence.votes == 1
