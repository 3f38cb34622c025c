"""A forest learns, remembers itself as plain arrays, and rules nothing out."""

import io
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from sklearn.ensemble import RandomForestClassifier

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.surrogates import forest, gp, linear

LABEL = (statistic("label:0"),)


def fitted(known, seed: int = 3):
    return forest.fit(known, rng=np.random.default_rng(seed))


def stored(params: dict) -> dict:
    """What comes back when arrays went through a file without pickle."""
    arrays = {name: each for name, each in params.items() if isinstance(each, np.ndarray)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return params | dict(np.load(file, allow_pickle=False))


def test_with_training_rows_it_is_scikit_learns_forest_but_for_the_smoothing(class_pool):
    """(100 times its probabilities + the classes' frequencies) / 101."""
    pool = class_pool()
    made = fitted(pool.known(0, train=True))
    seed = int(np.random.default_rng(3).integers(2**31))
    twin = RandomForestClassifier(100, min_weight_fraction_leaf=1 / 300, random_state=seed)
    twin.fit(pool.train.features, pool.train.labels, np.ones(300))
    frequent = (np.bincount(pool.train.labels) + 1 / 3) / 301
    exact = (100 * twin.predict_proba(pool.rows.features) + frequent) / 101
    assert made.voters.probs(pool.rows) == approx(exact, abs=1e-6)


@pytest.mark.parametrize("module", [forest, gp, linear])
@pytest.mark.parametrize("kind", ["class_pool", "value_pool"])
def test_rows_with_other_features_than_it_knows_are_refused(request, module, kind):
    """scikit-learn's own trees would read whatever lies behind them."""
    pool = request.getfixturevalue(kind)()
    voters = module.fit(pool.known(40), rng=np.random.default_rng(0)).voters
    narrow = replace(pool.rows, features=pool.rows.features[:, :1])
    with pytest.raises(ValueError):
        voters.probs(narrow) if pool.classes else voters.moments(narrow)
    with pytest.raises(ValueError):
        voters.draws(narrow, np.arange(2))


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_the_classes(class_pool, train):
    pool = class_pool()
    right = [
        (fitted(pool.known(count, train=train)).voters.probs(pool.rows).argmax(1) == pool.labels)[
            300:
        ].mean()
        for count in (0, 300)
    ]
    assert right[1] > 0.75
    if not train:
        assert right[0] < right[1]


def test_without_labels_it_is_about_the_black_box(class_pool):
    pool = class_pool()
    probs = fitted(pool.known(0)).voters.probs(pool.rows)
    box = pool.rows.outputs.probs
    assert np.abs(probs - box).mean() < 0.12
    assert np.corrcoef(probs.max(axis=1), box.max(axis=1))[0, 1] > 0.7


def test_no_class_is_impossible_even_where_it_was_never_seen(class_pool):
    pool = class_pool()
    known = pool.known(30, train=True)
    known.labels[:] = 0
    known.train.labels[:] = np.minimum(known.train.labels, 1)
    probs = fitted(known).voters.probs(pool.rows)
    assert (probs > 0).all()
    assert probs.sum(axis=1) == approx(np.ones(len(probs)), rel=1e-5)


def test_beliefs_are_the_mean_of_the_trees(class_pool):
    pool = class_pool()
    voters = fitted(pool.known(50)).voters
    draws = voters.draws(pool.rows, np.arange(voters.size))
    assert draws.shape == (100, 600, 3)
    assert voters.probs(pool.rows) == approx(draws.mean(axis=0), abs=1e-6)


@pytest.mark.parametrize("train", [True, False])
def test_it_predicts_identically_after_a_round_trip(class_pool, value_pool, train):
    for pool in (class_pool(), value_pool()):
        made = fitted(pool.known(40, train=train))
        again = forest.restore(stored(made.params()))
        asked = (statistic("zero_one"),) if pool.classes else LABEL
        one, two = (each.beliefs(pool.rows, asked) for each in (made, again))
        np.testing.assert_array_equal(one.probs, two.probs)
        np.testing.assert_array_equal(one.stakes, two.stakes)


def test_the_same_generator_grows_the_same_trees(value_pool):
    pool = value_pool()
    one, two, other = (fitted(pool.known(40), seed).voters.moments(pool.rows) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_rows_in_pieces_are_believed_like_rows_in_one(class_pool, monkeypatch):
    pool = class_pool()
    made = fitted(pool.known(40)).voters
    whole = made.probs(pool.rows)
    monkeypatch.setattr(forest, "_BLOCK", 7)
    np.testing.assert_array_equal(made.probs(pool.rows), whole)


@pytest.mark.parametrize("train", [True, False])
def test_it_learns_values_and_how_far_they_scatter(value_pool, train):
    """Nine of ten unseen labels lie within two believed deviations, and half of them in less."""
    pool = value_pool(600)
    mean, variance = fitted(pool.known(300, train=train)).voters.moments(pool.rows)
    error = (pool.labels - mean)[300:]
    assert (error**2).mean() < 0.5 * ((pool.labels - pool.rows.outputs.pred)[300:] ** 2).mean()
    ratio = np.abs(error) / np.sqrt(variance[300:])
    assert (ratio < 2).mean() > 0.88
    assert 0.3 < np.median(ratio) < 1.0


def test_without_labels_values_are_the_black_boxs(value_pool):
    pool = value_pool()
    mean, variance = fitted(pool.known(0)).voters.moments(pool.rows)
    assert np.abs(mean - pool.rows.outputs.pred).mean() < 0.3
    assert (variance > 0).all()


def test_moments_are_those_of_the_mixture_of_trees(value_pool):
    pool = value_pool()
    voters = fitted(pool.known(60, train=True)).voters
    means, variances = voters.draws(pool.rows, np.arange(voters.size))
    mean, variance = voters.moments(pool.rows)
    assert mean == approx(means.mean(axis=0))
    square = (variances + means**2).mean(axis=0) - means.mean(axis=0) ** 2
    assert variance == approx(square, rel=1e-6)
    assert moments(fitted(pool.known(60, train=True)).beliefs(pool.rows, LABEL))[0][0] == approx(
        mean
    )
