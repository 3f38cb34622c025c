"""Evidence as versions before 0.9 learned it, so that their rounds can still be predicted.

They grew forests of features that say which label to expect, and kept them with every round: of the
model's own predictions, and of training rows and known labels, there beside a regression. An item
that a model learned from is judged by what the model said of it held out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.surrogates._black_box import softmax
from activetest.surrogates._trees import Trees


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


@dataclass(frozen=True)
class ClassRegression:
    """Coefficients of a multinomial regression.

    weights  (W + 1, C) float32, the intercept first
    width    prior standard deviation that they have
    """

    weights: Array
    width: float

    def class_probs(self, columns: Array, codes: Array) -> Array:
        """(R,) probability of one class a row: codes (R,), columns (R, W)."""
        design = np.hstack([np.ones((len(columns), 1), np.float32), columns])
        probs = softmax((design @ self.weights).astype(float))
        return probs[np.arange(len(codes)), codes]

    def check(self) -> None:
        """Raises ValueError for what are no coefficients."""
        if self.weights.ndim != 2 or not np.isfinite(self.weights).all():
            raise ValueError("coefficients of a regression are not numbers")


_Model = ClassForest | ValueForest | ClassRegression


@dataclass(frozen=True)
class Learned:
    """A model of labels, and which items of the pool it learned from.

    model      says what label to expect
    items      (K,) positions of these items, in order
    held_out   (K,) float32, what the model says of them where it does not learn from them:
               probability of the predicted class, or value
    ids        (K,) uint64 hashes of their ids; None where no pool was known
    """

    model: _Model
    items: Array
    held_out: Array
    ids: Array | None = None

    def judge(self, rows: Rows, inputs: Array) -> Array:
        """(R,) probability of the predicted class, or value; inputs (R, W) as of read_inputs."""
        if isinstance(self.model, ValueForest):
            found = self.model.predict(inputs)
        else:
            found = self.model.class_probs(inputs, rows.outputs.pred)
        if len(self.items):
            place = np.minimum(np.searchsorted(self.items, rows.index), len(self.items) - 1)
            learned = self.items[place] == rows.index
            found[learned] = self.held_out[place[learned]]
        return found

    def find_items(self, pool: PoolView) -> "Learned":
        """The same, with the positions that its items have in this pool."""
        if self.ids is None:
            return self
        order = pool.compute_once("order of hashes", lambda: np.argsort(pool.hashes))
        place = np.searchsorted(pool.hashes, self.ids, sorter=order)
        place = order[np.minimum(place, pool.size - 1)]
        there = np.flatnonzero(pool.hashes[place] == self.ids)
        kept = there[np.argsort(place[there], kind="stable")]
        return replace(self, items=place[kept], held_out=self.held_out[kept], ids=self.ids[kept])

    def params(self) -> dict[str, Any]:
        """Arrays and what JSON can hold."""
        stored: dict[str, Any] = {"items": self.items, "held_out": self.held_out}
        if self.ids is not None:
            stored["ids"] = self.ids
        if isinstance(self.model, ClassRegression):
            return stored | vars(self.model)
        # Each left child is the node after its parent.
        names = [field.name for field in fields(self.model) if field.name != "left"]
        return stored | {name: getattr(self.model, name) for name in names}


def restore_learned(params: Mapping[str, Any], classes: int) -> Learned:
    """The model that params() described. Raises ValueError for what it cannot have given."""
    model: _Model
    if "weights" in params:
        weights, width = np.asarray(params["weights"], np.float32), float(params["width"])
        model = ClassRegression(weights, width)
        model.check()
        found = weights.shape[1]
    else:
        model = _restore_forest(params)
        found = model.shares.shape[1] if isinstance(model, ClassForest) else 0
    if found != classes:
        raise ValueError(f"a model of {found} classes, where there are {classes}")
    items, held_out = np.asarray(params["items"], np.int64), np.asarray(params["held_out"])
    ids = np.asarray(params["ids"], np.uint64) if "ids" in params else None
    if items.ndim != 1 or (np.diff(items) <= 0).any() or not np.isfinite(held_out).all():
        raise ValueError("items that were learned are not in order")
    if held_out.shape != items.shape or (ids is not None and ids.shape != items.shape):
        raise ValueError("items that were learned have no ids or predictions")
    return Learned(model, items, held_out.astype(np.float32, copy=False), ids)


def read_inputs(rows: Rows, axes: Array | None) -> Array:
    """(R, W) float32 inputs of models. Raises ValueError for rows without the features."""
    if rows.features is None:
        raise ValueError("the rows have no features")
    inputs = rows.features if axes is None else rows.features @ axes
    return np.ascontiguousarray(inputs, np.float32)


def _restore_forest(params: Mapping[str, Any]) -> ClassForest | ValueForest:
    """The forest that Learned.params described. Raises ValueError for what it cannot have been."""
    starts, right = np.asarray(params["starts"], np.int64), np.asarray(params["right"], np.int32)
    if starts.ndim != 1 or (np.diff(starts) < 0).any() or starts[-1:] != [len(right)]:
        raise ValueError("the nodes of a forest have different lengths")
    # The left child is the node after its parent, counted from the first one of the tree.
    place = np.arange(len(right)) - np.repeat(starts[:-1], np.diff(starts))
    nodes = (
        int(params["width"]),
        starts,
        np.where(right < 0, -1, place + 1).astype(np.int32),
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
