"""Columns that learned a model's answers from the features of other items."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import log_softmax

from activetest.cache import answers, learners
from activetest.cache.answers import learn_answers

SIZE = 600


def hashes(count: int = SIZE, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**63, count).astype(np.uint64)


def make_boxes(count: int = SIZE, *, seed: int = 1, width: int = 5, classes: int = 3):
    """Features, answers that follow them in nine of ten items, and where they do not."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, width)).astype(np.float32)
    said = (features @ rng.normal(size=(width, classes))).argmax(axis=1)
    odd = rng.random(count) < 0.1
    said = np.where(odd, (said + rng.integers(1, classes, count)) % classes, said)
    return features, said, odd


def learn(features, said, confidence=None, keys=None):
    keys = hashes(len(said)) if keys is None else keys
    return learn_answers([learners.Features(lambda rows: features[rows])], said, confidence, keys)


def test_an_answer_unlike_those_to_similar_items_has_a_low_column():
    features, said, odd = make_boxes()
    found = learn(features, said)
    assert found.columns.shape == (SIZE, 3)
    assert found.columns.dtype == np.float32
    assert 0.8 < found.hits[0] < 0.95
    assert (found.columns[~odd].mean(axis=0) > found.columns[odd].mean(axis=0) + 1.5).all()


@pytest.mark.parametrize("seed", range(6))
def test_noise_foretells_nothing_and_leaves_no_column(seed):
    features, said, _ = make_boxes(seed=seed)
    shuffled = features[np.random.default_rng(seed).permutation(SIZE)]
    found = learn(shuffled, said)
    assert found.columns.shape == (SIZE, 0)
    assert found.hits == (0,)


def test_what_rare_classes_are_together_is_not_foretold():
    """A feature tells whether a class is rare, and of the frequent ones half of which it is."""
    rng = np.random.default_rng(4)
    size = 4_000
    rare = rng.random(size) < 0.7
    said = np.where(rare, rng.integers(2, 500, size), rng.integers(0, 2, size))
    told = np.where(rare, 4.0, np.where(rng.random(size) < 0.5, said, 2.0))
    found = learn(told[:, None].astype(np.float32) + rng.normal(0, 0.01, (size, 1)), said)
    assert found.columns.shape[1] > 0
    assert 0.15 < found.hits[0] < 0.3


def test_what_the_confidence_says_is_taken_out():
    """Also what its square says: a line and a parabola are left of no column."""
    features, said, odd = make_boxes()
    confidence = np.where(odd, 0.5, 3.0) + np.random.default_rng(5).normal(size=SIZE)
    plain, without = learn(features, said), learn(features, said, confidence)
    basis = np.column_stack([np.ones(SIZE), confidence, confidence**2])
    assert np.abs(basis.T @ without.columns / SIZE).max() < 0.01
    assert np.abs(basis.T @ plain.columns / SIZE).max() > 0.2
    assert plain.columns.mean(axis=0) == approx(0, abs=0.01)


def test_no_column_depends_on_the_order_of_rows():
    features, said, _ = make_boxes()
    keys, order = hashes(), np.random.default_rng(2).permutation(SIZE)
    found, turned = (
        learn(features, said, keys=keys),
        learn(features[order], said[order], keys=keys[order]),
    )
    assert (turned.columns == found.columns[order]).all()
    assert turned.hits == found.hits


@pytest.mark.parametrize("kept", [SIZE, 300])
def test_items_with_the_same_features_are_judged_without_each_other(kept, monkeypatch):
    """Were they learned one by one, every answer would be foretold by its twins."""
    monkeypatch.setattr(answers, "MOST_ROWS", 3 * kept)
    features, said, odd = make_boxes()
    once = learn(features, said)
    three = learn(np.repeat(features, 3, axis=0), np.repeat(said, 3), keys=hashes(3 * SIZE))
    apart = [
        each.columns[~o].mean(0) - each.columns[o].mean(0)
        for each, o in ((once, odd), (three, np.repeat(odd, 3)))
    ]
    assert three.columns.shape == (3 * SIZE, 3)
    assert three.hits == approx(once.hits, abs=0.05)
    assert apart[1] == approx(apart[0], abs=0.8)
    twins = three.columns.reshape(SIZE, 3, 3)
    assert (twins == twins[:, :1]).all()


def test_items_that_were_not_learned_are_judged_as_those_that_were(monkeypatch):
    features, said, odd = make_boxes(3 * SIZE)
    monkeypatch.setattr(answers, "MOST_ROWS", SIZE)
    monkeypatch.setattr(answers, "AT_ONCE", 500)
    found, keys = learn(features, said).columns, hashes(3 * SIZE)
    learned = np.argsort(np.argsort(keys)) < SIZE
    for of in (odd, ~odd):
        spread = found[of & learned].std(axis=0)
        assert found[of & ~learned].mean(axis=0) == approx(
            found[of & learned].mean(axis=0), abs=0.7
        )
        assert found[of & ~learned].std(axis=0) == approx(spread, rel=0.35)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (np.zeros((SIZE, 3), np.float32), np.arange(SIZE) % 2),
        (np.random.default_rng(0).normal(size=(SIZE, 3)).astype(np.float32), np.zeros(SIZE, int)),
        (np.random.default_rng(0).normal(size=(49, 3)).astype(np.float32), np.arange(49) % 2),
        (np.empty((SIZE, 0), np.float32), np.arange(SIZE) % 2),
        (np.tile(np.eye(3, dtype=np.float32), (SIZE // 3, 1)), np.arange(SIZE) % 3),
    ],
    ids=["constant", "one class", "few rows", "no features", "three different rows"],
)
def test_where_nothing_can_be_learned_there_is_no_column(features, said):
    assert learn(features, said).columns.shape == (len(said), 0)


def test_more_features_than_rows_leave_out_the_linear_column_alone():
    """A design of more than a quarter of the rows gives away the row itself."""
    rng = np.random.default_rng(4)
    features, said, _ = make_boxes(200)
    wide = np.hstack([features, 0.01 * rng.normal(size=(200, 100)).astype(np.float32)])
    found = learn(wide, said)
    assert 1 <= found.columns.shape[1] <= 2


def test_many_answers_are_learned_as_one():
    """Open classes: what is said once stands with what else is said once."""
    features, said, _ = make_boxes()
    rare = np.arange(SIZE) % 5 == 0
    many = np.where(rare, 10 + np.arange(SIZE), said)
    found = learn(features, many)
    assert found.columns.shape[1] >= 1
    assert np.isfinite(found.columns).all()


def test_the_row_itself_has_no_part_in_its_ridge():
    """Leverages give what fits without each row give (Allen 1974)."""
    features, said, _ = make_boxes(80)
    inputs, targets = features[:, :3], (said[:, None] == np.arange(3)).astype(float)
    ridge = learners._Ridge(inputs, said, 3, lambda rows: rows)
    design = np.hstack([inputs.astype(float), np.ones((80, 1))])
    best = np.inf
    for each in learners._RIDGES:
        penalty = each * 80 / 1000 + learners._LEAST_RIDGE
        alone = []
        for row in range(80):
            rest = np.arange(80) != row
            gram = design[rest].T @ design[rest] + penalty * np.eye(4)
            alone.append(design[row] @ np.linalg.solve(gram, design[rest].T @ targets[rest]))
        error = ((np.array(alone) - targets) ** 2).mean()
        if error < best:
            best, scores = error, np.array(alone)
    assert ridge.error == approx(best)
    assert ridge.held_out == approx(log_softmax(scores * ridge.factor, axis=1))
