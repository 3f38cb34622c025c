"""Votes of further models, as the cache of a pool has them."""

from functools import partial

import numpy as np
import pytest

from activetest.cache.votes import MOST, FurtherModel, ensure_votes
from tests.makers import build_table

IDS = [f"i{row}" for row in range(4)]


def build(folder, name: str, order=(0, 1, 2, 3), **columns):
    arranged = {key: [values[row] for row in order] for key, values in columns.items()}
    return build_table(folder, {"id": [IDS[row] for row in order]} | arranged, name=name)


def vote(cache, *others, rounds=0) -> np.ndarray:
    """(N, V) votes of these pools about a cache's outputs."""
    further = [FurtherModel(each.fingerprint, rounds, partial(_keep, each)) for each in others]
    ensure_votes(cache, further)
    return cache.attach(["votes"]).rows(0, 4).votes


def _keep(cache):
    return cache


def test_a_model_that_says_only_classes_votes_where_it_says_the_same(tmp_path):
    own = build(tmp_path, "own", pred=["a", "b", "a", "b"])
    other = build(tmp_path, "other", pred=["a", "a", "a", "b"])
    assert vote(own, other).tolist() == [[1], [0], [1], [1]]


def test_classes_are_told_by_name(tmp_path):
    own = build(tmp_path, "own", pred=["b", "c", "b", "c"])
    other = build(tmp_path, "other", pred=["a", "c", "b", "b"])
    assert vote(own, other).tolist() == [[0], [1], [1], [0]]


def test_a_model_with_probabilities_votes_by_that_of_the_class(tmp_path):
    own = build(tmp_path, "own", prob_a=[0.6, 0.4, 0.9, 0.1], prob_b=[0.4, 0.6, 0.1, 0.9])
    other = build(tmp_path, "other", prob_a=[0.8, 0.8, 1.0, 1.0], prob_b=[0.2, 0.2, 0.0, 0.0])
    votes = vote(own, other)
    expected = np.log([4, 1 / 4, 999, 1 / 999]) / 4
    np.testing.assert_allclose(votes[:, 0], expected, atol=1 / 128)
    assert (votes * 64 == np.rint(votes * 64)).all()


def test_of_values_it_is_how_much_more_a_model_predicts(tmp_path):
    own = build(tmp_path, "own", pred=[1.5, 2.5, 3.5, 4.5])
    other = build(tmp_path, "other", pred=[2.5, 2.25, 3.5, 5.0])
    assert vote(own, other).tolist() == [[1.0], [-0.25], [0.0], [0.5]]


def test_items_are_matched_by_their_ids(tmp_path):
    own = build(tmp_path, "own", pred=["a", "b", "a", "b"])
    other = build(tmp_path, "other", (3, 1, 0, 2), pred=["a", "a", "a", "b"])
    assert vote(own, other).tolist() == [[1], [0], [1], [1]]


def test_each_model_has_a_column_and_says_when_it_came(tmp_path):
    own = build(tmp_path, "own", pred=["a", "b", "a", "b"])
    others = [build(tmp_path, name, pred=list(name)) for name in ("aaab", "bbaa")]
    assert vote(own, *others).shape == (4, 2)
    first, second = (partial(_keep, each) for each in others)
    ensure_votes(
        own,
        [
            FurtherModel(others[0].fingerprint, 0, first),
            FurtherModel(others[1].fingerprint, 3, second),
        ],
    )
    assert own.attach(["votes"]).vote_rounds == (0, 3)
    assert own.vote_rounds == ()


def test_votes_are_built_once_for_the_same_models(tmp_path):
    own = build(tmp_path, "own", pred=["a", "b", "a", "b"])
    first, second = (build(tmp_path, name, pred=list(name)) for name in ("aaab", "bbaa"))
    vote(own, first)
    ensure_votes(own, [FurtherModel(first.fingerprint, 0, partial(pytest.fail, "it was opened"))])
    assert vote(own, second).tolist() == [[0], [1], [1], [0]]


def test_of_many_models_the_first_ten_have_votes(tmp_path):
    own = build(tmp_path, "own", pred=["a", "b", "a", "b"])
    others = [build(tmp_path, f"v{at}", pred=["a", "b", "b", "a"]) for at in range(12)]
    assert vote(own, *others).shape == (4, MOST) == (4, 10)
    assert len(own.attach(["votes"]).vote_rounds) == 10
