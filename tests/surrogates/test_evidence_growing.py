"""Forests that grow level by level, beside what they must be and beside scikit-learn's."""

import numpy as np
import pytest
from pytest import approx
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from activetest.surrogates._evidence_forest import grow_classes, grow_values
from activetest.surrogates._evidence_growing import Source, grow

# More trees than grow at once.
TREES = 60


def draw(size: int = 400, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Five inputs, classes 0, 1 and 3 by the first two, and values by a wave of the third."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(size, 5)).astype(np.float32)
    codes = (inputs[:, 0] > 0).astype(int) + 2 * (inputs[:, 0] + inputs[:, 1] > 1)
    values = np.sin(2 * inputs[:, 2]) + inputs[:, 3] + rng.normal(scale=0.2, size=size)
    return inputs, codes, 100 + values


def walk(grown, inputs: np.ndarray, tree: int, row: int) -> int:
    """The leaf that a row reaches, step by step."""
    start, node = grown.starts[tree], 0
    while (right := grown.right[start + node]) >= 0:
        beyond = inputs[row, grown.feature[start + node]] > grown.threshold[start + node]
        node = right if beyond else node + 1
    return int(np.count_nonzero(grown.right[: start + node] < 0))


@pytest.mark.parametrize("classes", [True, False])
def test_rows_reach_the_leaves_that_they_are_said_to_reach(classes):
    inputs, codes, values = draw(80)
    labels = codes if classes else values
    grown = grow(Source(inputs, labels, classes, 2), TREES, np.random.default_rng(0))
    for tree in (0, 1, 49, 50, TREES - 1):
        found = [walk(grown, inputs, tree, row) for row in range(80)]
        assert found == grown.reached[tree].tolist()
    assert (grown.drawn.sum(axis=1) == 80).all()
    assert (grown.drawn[0] != grown.drawn[50]).any()


def test_leaves_are_of_one_class_and_have_the_rows_that_were_asked_for():
    inputs, codes, values = draw()
    rng = np.random.default_rng(0)
    pure = grow(Source(inputs, codes, True, 1), TREES, rng)
    sums = np.stack([pure.sum_leaves(codes == code) for code in range(4)])
    assert np.median((sums > 0).sum(axis=0)) == 1
    # A node whose random splits all fail stays a leaf.
    assert ((sums > 0).sum(axis=0) == 1).mean() > 0.95
    large = grow(Source(inputs, values, False, 5), TREES, rng)
    sizes = large.sum_leaves(np.ones(400))
    assert sizes.sum() == 400 * TREES
    assert sizes.min() == 5
    assert sizes.max() < 40


def test_rows_that_are_the_same_share_a_leaf():
    inputs, codes = np.ones((40, 3), np.float32), np.arange(40) % 2
    grown = grow(Source(inputs, codes, True, 1), 5, np.random.default_rng(0))
    assert grown.starts.tolist() == [0, 1, 2, 3, 4, 5]
    forest, held_out = grow_classes(inputs, codes, 3, np.random.default_rng(0))
    assert forest.class_probs(inputs, codes) == approx(0.5, abs=0.05)
    assert held_out[:, 2].max() == 0


@pytest.mark.parametrize("size", [1, 2, 7])
def test_few_rows_are_enough(size):
    inputs, codes, values = draw(size)
    rng = np.random.default_rng(0)
    forest, held_out = grow_classes(inputs, codes, 4, rng)
    forest.check()
    assert held_out.sum(axis=1) == approx(np.ones(size))
    forest, held_out = grow_values(inputs, values, rng)
    forest.check()
    assert np.isfinite(held_out).all()
    assert forest.predict(inputs) == approx(values.mean() * np.ones(size), rel=0.05)


def test_a_row_is_judged_by_the_trees_that_did_not_draw_it():
    inputs, codes, values = draw(60)
    held_out = grow_classes(inputs, codes, 4, np.random.default_rng(3))[1]
    grown = grow(Source(inputs, codes, True, 1), 100, np.random.default_rng(3))
    for row in range(0, 60, 7):
        said = []
        for tree in np.flatnonzero(grown.drawn[:, row] == 0):
            inside = (grown.reached[tree] == grown.reached[tree, row]) * grown.drawn[tree]
            said.append(np.bincount(codes, inside, minlength=4) / inside.sum())
        assert held_out[row] == approx(np.mean(said, axis=0), abs=1e-6)
    means, center = grow_values(inputs, values, np.random.default_rng(3))[1], values.mean()
    grown = grow(Source(inputs, values - center, False, 5), 100, np.random.default_rng(3))
    for row in range(0, 60, 7):
        said = []
        for tree in np.flatnonzero(grown.drawn[:, row] == 0):
            inside = (grown.reached[tree] == grown.reached[tree, row]) * grown.drawn[tree]
            said.append(inside @ values / inside.sum())
        assert means[row] == approx(np.mean(said), rel=1e-6)


def test_forests_are_as_good_as_scikit_learns():
    inputs, codes, values = draw(600)
    more, truth, wanted = draw(600, seed=2)
    forest, held_out = grow_classes(inputs, codes, 4, np.random.default_rng(0))
    other = RandomForestClassifier(100, oob_score=True, random_state=0).fit(inputs, codes)
    probs = np.zeros((600, 4))
    probs[:, other.classes_] = other.predict_proba(more)
    own = forest.class_probs(more, truth).mean()
    assert own > probs[np.arange(600), truth].mean() - 0.02
    assert held_out[np.arange(600), codes].mean() == approx(own, abs=0.03)
    forest, held_out = grow_values(inputs, values, np.random.default_rng(0))
    other = RandomForestRegressor(100, min_samples_leaf=5, max_features=1 / 3, random_state=0)
    by_other = np.mean((other.fit(inputs, values).predict(more) - wanted) ** 2)
    own = np.mean((forest.predict(more) - wanted) ** 2)
    assert own < by_other
    assert np.mean((held_out - values) ** 2) == approx(own, rel=0.3)


def test_inputs_may_be_of_any_size():
    """Splits go by the order of the rows alone."""
    inputs, codes, _ = draw()
    huge = np.sinh(8 * inputs)
    plain, other = (
        grow(Source(each, codes, True, 1), 5, np.random.default_rng(0)) for each in (inputs, huge)
    )
    assert (plain.reached == other.reached).all()
