"""Forests that say what is to be expected of an item from its features, kept in few bytes.

100 trees grown by scikit-learn (Breiman 2001), and of each row that they learned from what the
trees say that did not draw it.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.surrogates._trees import Trees, list_nodes

_TREES = 100
# Rows of values that a leaf holds at least, and the share of inputs that a split compares.
_LEAF = 5
_SHARE = 1 / 3


@dataclass(frozen=True)
class ClassForest(Trees):
    """Trees whose leaves are shares of classes.

    leaf    (leaves,) the row of the table that each leaf has
    shares  (U, C) different shares of the classes
    """

    leaf: Array
    shares: Array

    def check(self) -> None:
        """Raises ValueError for nodes that are no trees, or leaves that say nothing."""
        super().check()
        table = self.shares.shape
        if (
            self.leaf.shape != (self.leaves,)
            or len(table) != 2
            or not np.isfinite(self.shares).all()
        ):
            raise ValueError("leaves of a forest have no shares of classes")
        if self.leaf.min() < 0 or self.leaf.max() >= table[0]:
            raise ValueError("a leaf of a forest has shares that there are not")

    def class_probs(self, columns: Array, codes: Array) -> Array:
        """(R,) mean over trees of the share of one class a row: codes (R,), columns (R, W)."""
        mean = np.zeros(len(columns))
        for part, walked in self.walk(columns, np.arange(self.size)):
            block_codes = codes[part]
            for leaves in walked:
                mean[part] += self.shares[self.leaf.take(leaves), block_codes]
        return mean / self.size


@dataclass(frozen=True)
class ValueForest(Trees):
    """Trees whose leaves are mean values.

    means  (leaves,) float32
    """

    means: Array

    def check(self) -> None:
        """Raises ValueError for nodes that are no trees, or leaves that say nothing."""
        super().check()
        if self.means.shape != (self.leaves,) or not np.isfinite(self.means).all():
            raise ValueError("leaves of a forest have no mean values")

    def predict(self, columns: Array) -> Array:
        """(R,) mean over trees, of columns (R, W)."""
        mean = np.zeros(len(columns))
        for part, walked in self.walk(columns, np.arange(self.size)):
            for leaves in walked:
                mean[part] += self.means.take(leaves)
        return mean / self.size


def grow_classes(
    inputs: Array, labels: Array, classes: int, rng: np.random.Generator
) -> tuple[ClassForest, Array]:
    """A forest of M rows, and (M, C) what it says of each by the trees that did not draw it.

    inputs (M, W) float32, labels (M,) codes. A row that every tree drew has the shares of all.
    """
    # Takes a second to load, and whoever only predicts does without.
    from sklearn.ensemble import RandomForestClassifier

    grower = RandomForestClassifier(_TREES, oob_score=True, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # Of rows that every tree drew.
        warnings.simplefilter("ignore")
        grown = grower.fit(inputs, labels)
    trees = [each.tree_ for each in grown.estimators_]
    found = np.concatenate([tree.value[tree.children_left < 0, 0] for tree in trees])
    shares = np.zeros((len(found), classes))
    shares[:, grown.classes_] = found / found.sum(axis=1, keepdims=True)
    table, leaf = np.unique(shares.astype(np.float32), axis=0, return_inverse=True)
    held_out = np.zeros((len(labels), classes))
    held_out[:, grown.classes_] = np.nan_to_num(grown.oob_decision_function_)
    everywhere = held_out.sum(axis=1) == 0
    held_out[everywhere] = np.bincount(labels, minlength=classes) / len(labels)
    return ClassForest(*_shrink(trees), leaf.ravel().astype(np.int32), table), held_out


def grow_values(
    inputs: Array, labels: Array, rng: np.random.Generator
) -> tuple[ValueForest, Array]:
    """A forest of M rows, and (M,) what it says of each by the trees that did not draw it.

    inputs (M, W) float32, labels (M,) values. A row that every tree drew has the mean of all.
    """
    from sklearn.ensemble import RandomForestRegressor

    grower = RandomForestRegressor(
        _TREES,
        min_samples_leaf=_LEAF,
        max_features=_SHARE,
        oob_score=True,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown = grower.fit(inputs, labels)
    trees = [each.tree_ for each in grown.estimators_]
    means = np.concatenate([tree.value[tree.children_left < 0, 0, 0] for tree in trees])
    held_out = np.nan_to_num(grown.oob_prediction_)
    held_out[grown.oob_prediction_ == 0] = labels.mean()
    return ValueForest(*_shrink(trees), means.astype(np.float32)), held_out


def list_params(forest: ClassForest | ValueForest) -> dict[str, Any]:
    """The fields of a forest, without the left children: each is the node after its parent."""
    names = [field.name for field in fields(forest) if field.name != "left"]
    return {name: getattr(forest, name) for name in names}


def restore_forest(params: Mapping[str, Any]) -> ClassForest | ValueForest:
    """The forest that list_params described. Raises ValueError for what it cannot have been."""
    starts, right = np.asarray(params["starts"], np.int64), np.asarray(params["right"], np.int32)
    if starts.ndim != 1 or (np.diff(starts) < 0).any() or starts[-1:] != [len(right)]:
        raise ValueError("the nodes of a forest have different lengths")
    place = np.arange(len(right)) - np.repeat(starts[:-1], np.diff(starts))
    left = np.where(right < 0, -1, place + 1).astype(np.int32)
    nodes = (
        int(params["width"]),
        starts,
        left,
        right,
        np.asarray(params["feature"], np.int32),
        np.asarray(params["threshold"], np.float32),
    )
    forest: ClassForest | ValueForest
    if "means" in params:
        forest = ValueForest(*nodes, np.asarray(params["means"], np.float32))
    else:
        leaf, shares = (
            np.asarray(params["leaf"], np.int32),
            np.asarray(params["shares"], np.float32),
        )
        forest = ClassForest(*nodes, leaf, shares)
    forest.check()
    return forest


def _shrink(trees: list) -> tuple[int, Array, Array, Array, Array, Array]:
    """The fields of Trees with thresholds of half the size.

    Inputs are float32: one is at most a threshold just when it is at most the largest float32 that
    is, so thresholds are rounded down.
    """
    width, starts, left, right, feature, threshold = list_nodes(trees)
    rounded = threshold.astype(np.float32)
    rounded = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    return width, starts, left, right, feature, rounded
