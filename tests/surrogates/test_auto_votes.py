"""The surrogate of all evidence, with votes of the study's other models."""

import json
from dataclasses import replace

import numpy as np
import pytest

from activetest.item_statistics.statistic import statistic
from activetest.surrogates import auto
from tests.surrogates.test_auto import fit, hard, log_loss, split_params, without

MISTAKES = (statistic("zero_one"),)


@pytest.fixture
def pool(class_pool):
    """pool(*hits): hard labels; a model for each of the hits, which is right on that share."""

    def make(*hits: float, size: int = 800):
        made = hard(without(class_pool(size), "features", "external", "trained"))
        rng = np.random.default_rng(4)
        truth, own = made.labels, made.rows.outputs.pred
        others = [
            np.where(rng.random(size) < each, truth, rng.integers(3, size=size)) for each in hits
        ]
        votes = np.column_stack([each == own for each in others]).astype(np.float32)
        made.rows = replace(made.rows, votes=votes)
        return made

    return make


def test_a_model_that_is_often_right_helps(pool):
    made = pool(0.9)
    rest = slice(40, None)
    without_votes = replace(made.rows, votes=None)
    ours = log_loss(fit(made.training(40)), made, rest)
    made.rows = without_votes
    assert ours < log_loss(fit(made.training(40)), made, rest) - 0.1


def test_a_model_that_knows_nothing_is_soon_ignored(pool):
    made = pool(0.0)
    slopes = [fit(made.training(count)).mode[-1] for count in (0, 60, 600)]
    assert slopes[0] > slopes[1] > abs(slopes[2])
    assert abs(slopes[2]) < 0.15


def test_before_any_label_votes_speak_for_the_model(pool):
    made = pool(0.9, 0.5)
    wrong = fit(made.training(0)).expected(made.rows, MISTAKES)[0]
    count = made.rows.votes.sum(axis=1)
    means = [wrong[count == each].mean() for each in (0, 1, 2)]
    assert means[0] > means[1] > means[2]
    assert means[1] == pytest.approx(1 / (1 + 3 * np.exp(0.5)), abs=0.001)


def test_many_votes_together_count_for_two_at_most(pool):
    made = pool(*[0.9] * 10)
    wrong = fit(made.training(0)).expected(made.rows, MISTAKES)[0]
    count = made.rows.votes.sum(axis=1)
    assert wrong[count == 10].mean() == pytest.approx(1 / (1 + 3 * np.exp(2)), abs=0.001)


def test_each_model_is_weighed_by_itself(pool):
    surrogate = fit(pool(0.95, 0.0).training(200))
    good, bad = surrogate.mode[-2:]
    assert good > 1 > abs(bad) + 0.3


def test_it_says_how_many_models_it_listens_to(pool):
    assert fit(pool(0.9, 0.5).training(20)).auxiliary_outputs[-1] == "2 further models"
    assert fit(pool(0.9).training(20)).auxiliary_outputs[-1] == "1 further model"


@pytest.mark.parametrize("count", [0, 60])
def test_what_is_restored_believes_the_same_also_where_models_came_later(pool, count):
    made = pool(0.9, 0.5)
    surrogate = fit(made.training(count, statistics=("zero_one",)))
    plain, arrays = split_params(surrogate.params())
    restored = auto.restore({**json.loads(json.dumps(plain)), **arrays})
    more = np.hstack([made.rows.votes, np.ones((len(made.labels), 1), np.float32)])
    later = replace(made.rows, votes=more)
    found, again = (
        each.expected(rows, MISTAKES) for each, rows in ((surrogate, made.rows), (restored, later))
    )
    assert (found == again).all()


def test_rows_without_votes_that_it_learned_from_are_refused(pool):
    made = pool(0.9, 0.5)
    surrogate = fit(made.training(20))
    for votes in (None, made.rows.votes[:, :1]):
        with pytest.raises(ValueError, match="lack votes"):
            surrogate.expected(replace(made.rows, votes=votes), MISTAKES)


@pytest.mark.parametrize("forged", [-1, 0])
def test_stored_votes_of_no_model_are_refused(pool, forged):
    params = fit(pool(0.9).training(20, statistics=("zero_one",))).params()
    name = next(each for each in params if each.endswith("evidence.votes"))
    with pytest.raises(ValueError, match="votes of no model"):
        auto.restore({**params, name: forged})


def test_a_model_that_states_its_confidence_is_believed_before_others(class_pool):
    """Networks of the same training rows agree on mistakes: half of the belief knows that."""
    made = without(class_pool(400), "features", "external", "trained")
    confidence = made.rows.outputs.confidence.astype(float)
    design = np.log(confidence / (1 - confidence)).astype(np.float32)[:, None]
    votes = np.zeros((400, 1), np.float32)
    made.rows = replace(made.rows, design=design, votes=votes)
    assert fit(made.training(0)).mode[-1] == pytest.approx(0.25)


def test_values_learn_from_votes(value_pool):
    made = value_pool()
    truth = made.rows.external[:, 0]
    made.rows = replace(made.rows, external=None, trained=None)
    plain = auto.fit(made.training(60))
    votes = (truth - made.rows.outputs.pred).astype(np.float32)[:, None]
    made.rows = replace(made.rows, votes=np.hstack([votes, -votes]))
    ours = auto.fit(made.training(60))
    assert ours.evidence.votes == 2
    asked = (statistic("squared"),)
    left = (made.labels - made.rows.outputs.pred) ** 2
    losses = [
        ((each.expected(made.rows, asked)[0] - left)[60:] ** 2).mean() for each in (ours, plain)
    ]
    assert losses[0] < losses[1]
