"""Forests that say what is to be expected of an item from its features, kept in few bytes.

100 trees, and of each row that they learned from what the trees say that did not draw it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.surrogates._evidence_growing import Grown, Source, grow
from activetest.surrogates._trees import Trees

_TREES = 100
# Rows of values that a leaf holds at least.
_LEAF = 5


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
    grown = grow(Source(inputs, labels, True, 1), _TREES, rng)
    leaf, shares = _share_out(grown, labels, classes)
    held_out, unseen = np.zeros((len(labels), classes)), grown.drawn == 0
    for out, leaves in zip(unseen, grown.reached, strict=True):
        held_out[out] += shares[leaf[leaves[out]]]
    trees = unseen.sum(axis=0)
    held_out[trees == 0] = np.bincount(labels, minlength=classes) / len(labels)
    held_out /= np.maximum(trees, 1)[:, None]
    return ClassForest(*_list_nodes(grown, inputs), leaf, shares), held_out


def grow_values(
    inputs: Array, labels: Array, rng: np.random.Generator
) -> tuple[ValueForest, Array]:
    """A forest of M rows, and (M,) what it says of each by the trees that did not draw it.

    inputs (M, W) float32, labels (M,) values, which are taken as exactly as inputs: between two
    splits that are as good, the last digits of doubles would decide. A row that every tree drew has
    the mean of all.
    """
    labels = labels.astype(np.float32).astype(float)
    center = labels.mean()
    grown = grow(Source(inputs, labels - center, False, _LEAF), _TREES, rng)
    means = center + grown.sum_leaves(labels - center) / grown.sum_leaves(np.ones(len(labels)))
    unseen = grown.drawn == 0
    trees = unseen.sum(axis=0)
    held_out = (unseen * means[grown.reached]).sum(axis=0) / np.maximum(trees, 1)
    held_out[trees == 0] = center
    return ValueForest(*_list_nodes(grown, inputs), means.astype(np.float32)), held_out


def _share_out(grown: Grown, labels: Array, classes: int) -> tuple[Array, Array]:
    """(leaves,) int32 rows of a table, and the table (U, C) float32: shares of classes in leaves.

    Nearly all leaves are of one class; the table has each class once.
    """
    seen, codes = np.unique(labels, return_inverse=True)
    sums = np.stack([grown.sum_leaves(codes == code) for code in range(len(seen))], axis=1)
    sums /= sums.sum(axis=1, keepdims=True)
    leaf = sums.argmax(axis=1)
    mixed = np.flatnonzero(sums.max(axis=1) < 1)
    leaf[mixed] = len(seen) + np.arange(len(mixed))
    shares = np.zeros((len(seen) + len(mixed), classes), np.float32)
    shares[:, seen] = np.concatenate([np.eye(len(seen)), sums[mixed]])
    return leaf.astype(np.int32), shares


def list_params(forest: ClassForest | ValueForest) -> dict[str, Any]:
    """The fields of a forest, without the left children: each is the node after its parent."""
    names = [field.name for field in fields(forest) if field.name != "left"]
    return {name: getattr(forest, name) for name in names}


def restore_forest(params: Mapping[str, Any]) -> ClassForest | ValueForest:
    """The forest that list_params described. Raises ValueError for what it cannot have been."""
    starts, right = np.asarray(params["starts"], np.int64), np.asarray(params["right"], np.int32)
    if starts.ndim != 1 or (np.diff(starts) < 0).any() or starts[-1:] != [len(right)]:
        raise ValueError("the nodes of a forest have different lengths")
    nodes = (
        int(params["width"]),
        starts,
        _find_left(starts, right),
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


def _list_nodes(grown: Grown, inputs: Array) -> tuple[int, Array, Array, Array, Array, Array]:
    """The fields of Trees; inputs (M, W)."""
    left = _find_left(grown.starts, grown.right)
    return inputs.shape[1], grown.starts, left, grown.right, grown.feature, grown.threshold


def _find_left(starts: Array, right: Array) -> Array:
    """(nodes,) int32 the left child: the node after its parent, counted from the first one."""
    place = np.arange(len(right)) - np.repeat(starts[:-1], np.diff(starts))
    return np.where(right < 0, -1, place + 1).astype(np.int32)
