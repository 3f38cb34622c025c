"""Rounds: which items can be drawn, and which the largest scores are."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError, NotEstimable
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import find_metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.hashing import uniforms
from activetest.sampling import plan
from tests.makers import build_table, play_rounds

# The black box speaks for itself: the score of an item is sqrt(p (1 - p)).
TOP = Choices("error", ("error",), "model", selection="top")
FACTS = Facts("classification", ("no", "yes"))
SURE = [0.5, 1.0, 0.9, 0.9, 1.0, 0.7, 0.9, 1.0]


@pytest.fixture
def sure(tmp_path):
    """Eight items; of three the black box is certain, and of three alike."""
    columns = {"id": range(8), "prob_no": 1 - np.array(SURE), "prob_yes": SURE}
    return build_table(tmp_path, columns)


def take(pool, count: int, log=None, **changes) -> plan.Round:
    choices = replace(TOP, **changes)
    return plan.plan_round(log or Log.empty(), pool, choices, seed=4, count=count)


def test_the_largest_scores_come_first_then_ties_by_chance_and_certain_items_last(sure):
    """Scores of zero are the smallest, and no reason to leave an item out."""
    numbers = uniforms(sure.hashes, 4, 1)
    alike, certain = (sorted(rows, key=lambda row: numbers[row]) for rows in ((2, 3, 6), (1, 4, 7)))
    one = take(sure, 8)
    assert one.rows.tolist() == [0, 5, *alike, *certain]
    assert np.isnan(one.q).all() and one.deterministic
    assert take(sure, 3).rows.tolist() == [0, 5, alike[0]]


def test_what_was_taken_is_not_taken_again(sure):
    truth = np.ones(8)
    log = play_rounds(sure, truth, (TOP, 3), (TOP, 2), seed=4)
    assert sorted(log.rows) == sorted(take(sure, 5).rows)
    assert set(take(sure, 8, log).rows) == set(range(8)) - set(log.rows)
    whole = play_rounds(sure, truth, (TOP, 8), seed=4)
    with pytest.raises(NotEstimable, match="every item of the pool is drawn or labelled"):
        take(sure, 1, whole)


def test_draws_need_a_chance_for_every_item_and_the_largest_scores_do_not(sure):
    with pytest.raises(ChoiceError, match="with floor 0, 3 items could never be drawn"):
        take(sure, 2, selection="draw", floor=0.0)
    assert take(sure, 2, floor=0.0).rows.tolist() == take(sure, 2).rows.tolist()
    # The floor is for draws: what it gives certain items does not move the largest scores.
    assert take(sure, 8, floor=1.0).rows.tolist() == take(sure, 8).rows.tolist()


def test_draws_have_the_probabilities_that_the_floor_and_the_scores_give(sure):
    """sqrt((1 - f^2) s^2 / mean s^2 + f^2), over what is left."""
    one = take(sure, 8, selection="draw", floor=0.4)
    squares = np.array(SURE) * (1 - np.array(SURE))
    weight = np.sqrt((1 - 0.4**2) * squares / squares.mean() + 0.4**2)
    left = weight.sum()
    for row, prob in zip(one.rows, one.q, strict=True):
        assert prob == approx(weight[row] / left, rel=1e-5)
        left -= weight[row]


def test_draws_have_the_probabilities_that_clipping_gives_in_any_chunks(sure, monkeypatch):
    """max(q, f / N) of the first draw, scaled to a sum of one, over what is left."""
    one = take(sure, 8, selection="draw", floor=0.4, floor_rule="clip")
    scores = np.sqrt(np.array(SURE) * (1 - np.array(SURE)))
    weight = np.maximum(scores / scores.sum(), 0.4 / 8)
    left = weight.sum()
    assert np.isclose(weight, 0.4 / 8).sum() == 3
    for row, prob in zip(one.rows, one.q, strict=True):
        assert prob == approx(weight[row] / left, rel=1e-5)
        left -= weight[row]
    monkeypatch.setattr(sure, "chunks", lambda: [(0, 1), (1, 6), (6, 8)])
    again = take(sure, 8, selection="draw", floor=0.4, floor_rule="clip")
    assert (again.rows == one.rows).all() and (again.q == one.q).all()
    assert one.choices["floor_rule"] == "clip"


def test_a_power_sharpens_the_scores(sure):
    one = take(sure, 8, selection="draw", floor=0.3, power=3.0)
    squares = (np.array(SURE) * (1 - np.array(SURE))) ** 3
    weight = np.sqrt((1 - 0.3**2) * squares / squares.mean() + 0.3**2)
    assert one.q[0] == approx(weight[one.rows[0]] / weight.sum(), rel=1e-5)
    (objective,) = one.objectives
    assert objective.peak == approx(0.5)
    assert objective.total == approx((squares / 0.25**3).sum(), rel=1e-5)


def test_a_round_records_what_was_not_known_and_how_many_labels_it_was_fitted_to(sure):
    log = play_rounds(sure, np.ones(8), (TOP, 3), seed=4)
    one = take(sure, 2, log)
    assert (one.number, one.fit_round, one.fit_labels) == (2, 2, 3)
    assert one.count.tolist() == [5]
    left = sorted(set(range(8)) - set(log.rows))
    assert one.statistics == (find_metric("error", FACTS).statistics[0].name,)
    assert one.imputed_sum[0, 0] == approx(sum(1 - SURE[row] for row in left))
    assert one.imputed[:, 0] == approx([1 - SURE[row] for row in one.rows])
