"""A forest learns, remembers itself as plain arrays, and rules nothing out."""

import io
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pytest import approx
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _trees, forest, gp, linear

LABEL = (statistic("label:0"),)


def fitted(training: TrainingSet, seed: int = 3):
    return forest.fit(training, rng=np.random.default_rng(seed))


def stored(params: dict) -> dict:
    """The state after its arrays went through a file without pickle."""
    arrays = {name: each for name, each in params.items() if isinstance(each, np.ndarray)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return params | dict(np.load(file, allow_pickle=False))


def of_scikit_learn(pool):
    """The forest that scikit-learn grows of the pool's training rows, as fitted() has it do."""
    size = len(pool.train.labels)
    kind, least = (RandomForestClassifier, 1) if pool.classes else (RandomForestRegressor, 3)
    seed = int(np.random.default_rng(3).integers(2**31))
    grown = kind(100, min_weight_fraction_leaf=least / size, random_state=seed)
    labels = pool.train.labels
    # Values are learned as exactly as features are.
    labels = labels if pool.classes else labels.astype(np.float32).astype(float)
    return grown.fit(pool.train.features, labels, np.ones(size))


def restored(made):
    """The members of a surrogate that was stored and restored."""
    return forest.restore(stored(made.params())).members


def smoothed(probs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probabilities of three classes as they are where a 101st tree knows how frequent they are."""
    return (100 * probs + (np.bincount(labels) + 1 / 3) / (len(labels) + 1)) / 101


def put_between_floats(features: np.ndarray) -> None:
    """Features become neighbouring float32 numbers, so that thresholds between are none of them."""
    steps = np.digitize(features, np.linspace(-1.5, 1.5, 7))
    features[:] = 1000 + steps * np.spacing(np.float32(1000))


@pytest.mark.parametrize("close", [False, True])
def test_restored_probabilities_are_scikit_learns_but_for_the_smoothing(class_pool, close):
    """Tree by tree, to the last bit that is stored."""
    pool = class_pool()
    if close:
        put_between_floats(pool.rows.features)
        put_between_floats(pool.train.features)
    members, grown = restored(fitted(pool.training(0, train=True))), of_scikit_learn(pool)
    trees = np.stack([tree.predict_proba(pool.rows.features) for tree in grown.estimators_])
    exact = smoothed(trees, pool.train.labels).astype(np.float32)
    np.testing.assert_array_max_ulp(members.draws(pool.rows, np.arange(100)), exact, maxulp=1)
    exact = smoothed(grown.predict_proba(pool.rows.features), pool.train.labels)
    assert members.probs(pool.rows) == approx(exact, abs=1e-6)


@pytest.mark.parametrize("close", [False, True])
def test_restored_values_are_scikit_learns(value_pool, close):
    """Tree by tree, to the last bit that is stored."""
    pool = value_pool()
    if close:
        put_between_floats(pool.rows.features)
        put_between_floats(pool.train.features)
    members, grown = restored(fitted(pool.training(0, train=True))), of_scikit_learn(pool)
    trees = np.stack([tree.predict(pool.rows.features) for tree in grown.estimators_])
    means, _ = members.draws(pool.rows, np.arange(100))
    np.testing.assert_array_equal(means, trees.astype(np.float32))
    mean, _ = members.moments(pool.rows)
    assert mean == approx(grown.predict(pool.rows.features), rel=1e-6, abs=1e-6)


def test_stored_parameters_stay_readable(class_pool):
    """Two trees as studies have kept them from the first: one asks twice, one not at all."""
    params = {
        "width": 2,
        "starts": np.array([0, 5, 6]),
        "left": np.array([1, -1, 3, -1, -1, -1], np.int32),
        "right": np.array([2, -1, 4, -1, -1, -1], np.int32),
        "feature": np.array([0, -2, 1, -2, -2, -2], np.int32),
        "threshold": np.array([0.5, -2, -1.0, -2, -2, -2]),
        "values": np.array([[1, 0], [0, 1], [0.5, 0.5], [0.25, 0.75]], np.float32),
        "outputs": False,
        "classes": True,
    }
    features = np.array([[0.5, 9], [0.6, -1], [0.6, 0]], np.float32)
    rows = replace(class_pool().rows[np.arange(3)], features=features)
    members = forest.restore(params).members
    first, second = members.draws(rows, np.arange(2))
    np.testing.assert_array_equal(first, params["values"][[0, 1, 2]])
    np.testing.assert_array_equal(second, params["values"][[3, 3, 3]])
    np.testing.assert_array_equal(members.probs(rows), (first + second) / 2)
    again = forest.restore(params).params()
    assert again.keys() == params.keys()
    for name, value in params.items():
        np.testing.assert_array_equal(again[name], value)


@pytest.mark.parametrize("kind", ["class_pool", "value_pool"])
def test_restored_trees_are_walked_without_scikit_learn(request, tmp_path, kind):
    pool = request.getfixturevalue(kind)()
    made = fitted(pool.training(40, train=True))
    ask = "probs" if pool.classes else "moments"
    asked = tmp_path / "asked.pickle"
    asked.write_bytes(pickle.dumps((made.params(), pool.rows)))
    code = f"""
import pickle, sys
import numpy as np
from activetest.surrogates import forest
with open(sys.argv[1], "rb") as file:
    params, rows = pickle.load(file)
np.save(sys.argv[2], forest.restore(params).members.{ask}(rows))
assert "sklearn" not in sys.modules
"""
    answers = tmp_path / "answers.npy"
    done = subprocess.run(
        [sys.executable, "-c", code, asked, answers],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(answers), getattr(made.members, ask)(pool.rows))


@pytest.mark.parametrize("module", [forest, gp, linear])
@pytest.mark.parametrize("kind", ["class_pool", "value_pool"])
def test_rows_with_other_features_than_it_knows_are_refused(request, module, kind):
    """Trees would take one row's inputs for another's."""
    pool = request.getfixturevalue(kind)()
    members = module.fit(pool.training(40), rng=np.random.default_rng(0)).members
    narrow = replace(pool.rows, features=pool.rows.features[:, :1])
    with pytest.raises(ValueError):
        members.probs(narrow) if pool.classes else members.moments(narrow)
    with pytest.raises(ValueError):
        members.draws(narrow, np.arange(2))


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_the_classes(class_pool, train):
    pool = class_pool()
    right = [
        (
            fitted(pool.training(count, train=train)).members.probs(pool.rows).argmax(1)
            == pool.labels
        )[300:].mean()
        for count in (0, 300)
    ]
    assert right[1] > 0.75
    if not train:
        assert right[0] < right[1]


def test_without_labels_it_is_about_the_black_box(class_pool):
    pool = class_pool()
    probs = fitted(pool.training(0)).members.probs(pool.rows)
    box = pool.rows.outputs.probs
    assert np.abs(probs - box).mean() < 0.12
    assert np.corrcoef(probs.max(axis=1), box.max(axis=1))[0, 1] > 0.7


def test_no_class_is_impossible_even_where_it_was_never_seen(class_pool):
    pool = class_pool()
    training = pool.training(30, train=True)
    training.labels[:] = 0
    training.train.labels[:] = np.minimum(training.train.labels, 1)
    probs = fitted(training).members.probs(pool.rows)
    assert (probs > 0).all()
    assert probs.sum(axis=1) == approx(np.ones(len(probs)), rel=1e-5)


def test_beliefs_are_the_mean_of_the_trees(class_pool):
    pool = class_pool()
    members = fitted(pool.training(50)).members
    draws = members.draws(pool.rows, np.arange(members.size))
    assert draws.shape == (100, 600, 3)
    assert members.probs(pool.rows) == approx(draws.mean(axis=0), abs=1e-6)


@pytest.mark.parametrize("train", [True, False])
def test_it_predicts_identically_after_a_round_trip(class_pool, value_pool, train):
    for pool in (class_pool(), value_pool()):
        made = fitted(pool.training(40, train=train))
        again = forest.restore(stored(made.params()))
        asked = (statistic("zero_one"),) if pool.classes else LABEL
        one, two = (each.beliefs(pool.rows, asked) for each in (made, again))
        np.testing.assert_array_equal(one.probs, two.probs)
        np.testing.assert_array_equal(one.outcome_values, two.outcome_values)


def test_the_same_generator_grows_the_same_trees(value_pool):
    pool = value_pool()
    one, two, other = (
        fitted(pool.training(40), seed).members.moments(pool.rows) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_rows_in_pieces_are_believed_like_rows_in_one(class_pool, monkeypatch):
    pool = class_pool()
    made = fitted(pool.training(40)).members
    whole = made.probs(pool.rows)
    monkeypatch.setattr(_trees, "_BLOCK", 7)
    monkeypatch.setattr(_trees, "_TOGETHER", 3)
    np.testing.assert_array_equal(made.probs(pool.rows), whole)


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_values_and_how_far_they_scatter(value_pool, train):
    """Nine of ten unseen labels lie within two believed deviations, and half of them in less."""
    pool = value_pool(600)
    mean, variance = fitted(pool.training(300, train=train)).members.moments(pool.rows)
    error = (pool.labels - mean)[300:]
    assert (error**2).mean() < 0.5 * ((pool.labels - pool.rows.outputs.pred)[300:] ** 2).mean()
    ratio = np.abs(error) / np.sqrt(variance[300:])
    assert (ratio < 2).mean() > 0.88
    assert 0.3 < np.median(ratio) < 1.0


def test_without_labels_values_are_the_black_boxs(value_pool):
    pool = value_pool()
    mean, variance = fitted(pool.training(0)).members.moments(pool.rows)
    assert np.abs(mean - pool.rows.outputs.pred).mean() < 0.3
    assert (variance > 0).all()


def test_moments_are_those_of_the_mixture_of_trees(value_pool):
    pool = value_pool()
    members = fitted(pool.training(60, train=True)).members
    means, variances = members.draws(pool.rows, np.arange(members.size))
    mean, variance = members.moments(pool.rows)
    assert mean == approx(means.mean(axis=0))
    square = (variances + means**2).mean(axis=0) - means.mean(axis=0) ** 2
    assert variance == approx(square, rel=1e-6)
    assert moments(fitted(pool.training(60, train=True)).beliefs(pool.rows, LABEL))[0][0] == approx(
        mean
    )
