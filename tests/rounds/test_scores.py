"""Scores to a power, top scores, and acquisitions that compare members."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from activetest.acquisition import scores as chapter
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Objective
from activetest.rounds.fit import fit_surrogate, make_generator
from activetest.rounds.scores import make_scorer
from activetest.sampling import plan
from activetest.simulation.simulate import answered

SIZE = 40
CHOICES = Choices("log-loss", ("log-loss",), "agreement", acquisition="xwed")

pytestmark = pytest.mark.pool(rows=SIZE, seed=3)


def scores(pool, choices: Choices, index=slice(None)) -> np.ndarray:
    """The scores of some rows in the first round."""
    surrogate = fit_surrogate(Log.empty(), pool, choices, rng=make_generator(1, 1, "fit"))
    score = make_scorer(surrogate, choices, seed=1, number=1)
    return score(pool.rows(0, SIZE)[index], (Objective(("log_loss",), (1.0,), 0.0),))[0]


@pytest.mark.parametrize("acquisition", ["xwed", "bald", "optimal"])
def test_a_row_has_the_score_it_has_among_all_rows_whatever_stands_beside_it(pool, acquisition):
    choices = replace(CHOICES, acquisition=acquisition)
    some = np.array([7, 30, 2])
    np.testing.assert_allclose(scores(pool, choices, some), scores(pool, choices)[some], rtol=1e-6)


def test_a_power_sharpens_what_draws_prefer(pool):
    even = replace(CHOICES, floor=0.0)
    sharp = plan.prepare_round(Log.empty(), pool, replace(even, power=4.0), seed=1).q
    plain = plan.prepare_round(Log.empty(), pool, even, seed=1).q
    np.testing.assert_allclose(sharp, plain**4 / (plain**4).sum(), rtol=1e-6)


def test_the_top_scores_are_taken_in_order_and_have_no_probability(pool):
    drawn = plan.plan_round(Log.empty(), pool, replace(CHOICES, selection="top"), seed=1, count=5)
    assert drawn.rows.tolist() == np.argsort(-scores(pool, CHOICES))[:5].tolist()
    assert np.isnan(drawn.q).all()


def test_the_top_scores_of_what_is_left_come_next(pool):
    top, truth = replace(CHOICES, selection="top"), np.zeros(SIZE)
    log = answered(Log.empty(), plan.plan_round(Log.empty(), pool, top, seed=1, count=30), truth)
    drawn = plan.plan_round(log, pool, top, seed=1, count=30)
    assert sorted([*log.rows, *drawn.rows]) == list(range(SIZE))


def test_members_that_never_differ_cannot_be_compared_once_there_are_labels(pool):
    choices = replace(CHOICES, surrogate="model")
    first = plan.plan_round(Log.empty(), pool, choices, seed=1, count=5)
    log = answered(Log.empty(), first, np.zeros(SIZE))
    with pytest.raises(ChoiceError, match="all members of the surrogate 'model' agree"):
        plan.prepare_round(log, pool, choices, seed=1)


@pytest.mark.parametrize("selection", ["draw", "top"])
def test_without_any_label_and_members_that_agree_items_are_drawn_at_random(pool, selection):
    choices = replace(CHOICES, surrogate="model", selection=selection)
    drawn = plan.plan_round(Log.empty(), pool, choices, seed=1, count=5)
    np.testing.assert_allclose(drawn.q, 1 / (SIZE - np.arange(5)))
    assert (drawn.choices["selection"], drawn.choices["floor"]) == ("draw", 1.0)
    other = plan.plan_round(Log.empty(), pool, choices, seed=2, count=5)
    assert set(other.rows) != set(drawn.rows)


def test_a_surrogate_that_only_says_right_or_wrong_is_refused_for_metric_information(pool):
    choices = replace(CHOICES, acquisition="metric-information")
    with pytest.raises(ChoiceError, match="asks which class a label will be") as refused:
        plan.prepare_round(Log.empty(), pool, choices, seed=1)
    assert "mc-dropout" in refused.value.hint


def test_metric_information_is_the_plain_sum_over_the_metrics_not_a_mixture_of_scaled_ones(pool):
    names = ("recall[dog]", "precision[owl]")
    aimless = replace(CHOICES, surrogate="linear", metrics=names, floor=0.0)

    def scores_for(metric: str, *also: str) -> np.ndarray:
        """Scores that the probabilities are in proportion to, from the recorded sum of squares."""
        choices = replace(aimless, acquisition="metric-information", metric=metric, also=also)
        frozen = plan.prepare_round(Log.empty(), pool, choices, seed=1)
        totals = {each.total for each in frozen.round.objectives}
        assert len(totals) == 1
        return frozen.q * np.sqrt(totals.pop() / (frozen.q**2).sum())

    first, second = map(scores_for, names)
    assert not np.isclose((first**2).sum(), (second**2).sum(), rtol=0.2)
    np.testing.assert_allclose(scores_for(*names), first + second, atol=2e-6)


@pytest.mark.parametrize("parameters", ["beliefs", "beliefs, rng=None", "beliefs, objectives"])
def test_acquisitions_of_other_packages_may_leave_out_what_they_are_scored_for(
    pool, parameters, monkeypatch
):
    """The interface had no objectives once, and a generator that was never given."""
    found: dict = {}
    exec(f"def score({parameters}):\n    return beliefs.probs[:, 0]", found)
    monkeypatch.setattr(chapter, "entropy", SimpleNamespace(score=found["score"]))
    choices = replace(CHOICES, acquisition="entropy", surrogate="model")
    assert scores(pool, choices).tolist() == pool.rows(0, SIZE).outputs.probs[:, 0].tolist()


def test_acquisitions_that_want_something_else_are_refused(pool, monkeypatch):
    def score(beliefs, rng):
        raise AssertionError("nobody can call it")

    monkeypatch.setattr(chapter, "entropy", SimpleNamespace(score=score))
    with pytest.raises(ChoiceError, match=r"'entropy' cannot be called: score\(beliefs, rng\)"):
        scores(pool, replace(CHOICES, acquisition="entropy", surrogate="model"))
