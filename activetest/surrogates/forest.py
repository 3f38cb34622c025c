"""Random forest: 100 trees as members (Breiman 2001; the surrogate of Kossen et al. 2021).

Trees are grown by scikit-learn, and kept as plain arrays from which its trees are made again: no
pickle, and prediction as fast as its own. Of more than 20,000 training rows, evenly spaced ones are
learned from.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree

from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import Known
from activetest.surrogates._classes import Committee
from activetest.surrogates._gaussian import GUESS, GaussianCommittee
from activetest.surrogates._inputs import inputs, lesson

NEEDS_FEATURES = True

_TREES = 100
_MOST_ROWS = 20_000
# Labels that a leaf of values must hold, for its variance to mean something.
_LEAF = 3.0
# Pseudo-observations that hold a leaf's variance at that of all leaves, and that at the guess.
_VARIANCE_PRIOR = 2.0
# Rows that go through a tree at a time: they stay in the processor's cache.
_BLOCK = 4096


def fit(known: Known, *, rng: np.random.Generator) -> Committee | GaussianCommittee:
    """A forest of training rows and labels; of the black box's own words where there are none.

    Raises ChoiceError for training rows without features.
    """
    taught = lesson(known, rng=rng, most=_MOST_ROWS)
    total = taught.weights.sum()
    kind = RandomForestClassifier if known.classes else RandomForestRegressor
    # Rows of the sketch weigh little: a leaf needs as many of them as make one label.
    least = (1.0 if known.classes else _LEAF) / total
    grown = kind(
        _TREES,
        min_weight_fraction_leaf=min(least, 0.5),
        random_state=int(rng.integers(2**31)),
    ).fit(taught.inputs, taught.labels, taught.weights)
    trees = [each.tree_ for each in grown.estimators_]
    if known.classes:
        values = _class_probs(trees, grown.classes_, taught, known.classes)
        return Committee(ClassTrees(*_nodes(trees), values, taught.outputs))
    values = _means_and_variances(trees, total, GUESS * known.scale**2)
    return GaussianCommittee(ValueTrees(*_nodes(trees), values, taught.outputs))


@dataclass(frozen=True)
class Trees:
    """What both kinds share: the nodes of all trees in a row, and what their leaves say.

    width        number of inputs
    starts       (size + 1,) first node of each tree, and the end
    left, right  (nodes,) below it, counted from the tree's first node; -1 at leaves
    feature      (nodes,) input that is compared
    threshold    (nodes,) up to which it goes left
    values       (leaves, C) class probabilities, or (leaves, 2) mean and variance
    outputs      the black box's outputs are among the inputs
    """

    width: int
    starts: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array
    values: Array
    outputs: bool

    @property
    def size(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    def params(self) -> dict:
        """The fields, and which kind it is."""
        made = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**made, "classes": isinstance(self, ClassTrees)}

    @cached_property
    def _grown(self) -> list[tuple[Tree, Array]]:
        """Each tree, and (nodes, C) its values; those of inner nodes are never asked for."""
        leaves = self.left < 0
        table = np.zeros((len(leaves), self.values.shape[1]), np.float32)
        table[leaves] = self.values
        parts = [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]
        return [(self._tree(part), table[part]) for part in parts]

    def _tree(self, part: slice) -> Tree:
        """One of scikit-learn's trees, of these nodes; it finds leaves, its own values are 0."""
        nodes = np.zeros(part.stop - part.start, NODE_DTYPE)
        nodes["left_child"], nodes["right_child"] = self.left[part], self.right[part]
        nodes["feature"], nodes["threshold"] = self.feature[part], self.threshold[part]
        tree = Tree(self.width, np.ones(1, np.intp), 1)
        # The depth only describes a tree.
        state = {"max_depth": 0, "node_count": len(nodes), "nodes": nodes}
        tree.__setstate__(state | {"values": np.zeros((len(nodes), 1, 1))})
        return tree

    def _leaves(self, rows: Rows, which):
        """For blocks of rows: the slice, and an iterator over the (block, C) values of trees.

        Raises ValueError for rows of another width, past whose end trees would read.
        """
        columns = inputs(rows, outputs=self.outputs)
        if columns.shape[1] != self.width:
            raise ValueError(f"the forest knows {self.width} inputs, not {columns.shape[1]}")
        for start in range(0, len(columns), _BLOCK):
            block = columns[start : start + _BLOCK]
            values = (
                np.take(table, tree.apply(block), axis=0)
                for tree, table in (self._grown[number] for number in which)
            )
            yield slice(start, start + len(block)), values


@dataclass(frozen=True)
class ClassTrees(Trees):
    """Trees that give every class a probability."""

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over all trees."""
        mean = np.zeros((len(rows.index), self.values.shape[1]), np.float32)
        for part, values in self._leaves(rows, range(self.size)):
            for each in values:
                mean[part] += each
        mean /= self.size
        return mean

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) what these trees say."""
        made = np.empty((len(which), len(rows.index), self.values.shape[1]), np.float32)
        for part, values in self._leaves(rows, which):
            for place, each in enumerate(values):
                made[place, part] = each
        return made


@dataclass(frozen=True)
class ValueTrees(Trees):
    """Trees that predict a value, or what the black box's prediction misses."""

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean over trees; variance within leaves and between trees."""
        mean, variance = np.zeros((2, len(rows.index)))
        for part, values in self._leaves(rows, range(self.size)):
            means, variances = np.stack(list(values)).astype(float).transpose(2, 0, 1)
            mean[part] = means.mean(axis=0)
            variance[part] = variances.mean(axis=0) + means.var(axis=0)
        return (mean + rows.outputs.pred if self.outputs else mean), variance

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) mean and variance in the leaf of each of these trees."""
        made = np.empty((2, len(which), len(rows.index)))
        for part, values in self._leaves(rows, which):
            for place, each in enumerate(values):
                made[:, place, part] = each.T
        means, variances = made
        return (means + rows.outputs.pred if self.outputs else means), variances


def restore(params: dict) -> Committee | GaussianCommittee:
    """The surrogate that params() described."""
    kinds = {"starts": np.int64, "threshold": float, "values": np.float32}
    arrays = ("starts", "left", "right", "feature", "threshold", "values")
    made = {name: np.asarray(params[name], kinds.get(name, np.int32)) for name in arrays}
    made |= {"width": int(params["width"]), "outputs": bool(params["outputs"])}
    if params["classes"]:
        return Committee(ClassTrees(**made))
    return GaussianCommittee(ValueTrees(**made))


def _nodes(trees: list[Tree]) -> tuple[int, Array, Array, Array, Array, Array]:
    """The first six fields of Trees."""
    whole = (
        np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int32)
        for name in ("children_left", "children_right", "feature")
    )
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    threshold = np.concatenate([tree.threshold for tree in trees])
    return int(trees[0].n_features), starts, *whole, threshold


def _class_probs(trees: list[Tree], codes: Array, taught, classes: int) -> Array:
    """(leaves, C) probabilities of leaves, as if one tree more knew just how frequent classes are.

    So that none is impossible because 100 trees did not see it.
    """
    frequent = np.bincount(taught.labels, taught.weights, minlength=classes) + 1 / classes
    frequent /= frequent.sum()
    probs = []
    for tree in trees:
        seen = np.zeros((np.count_nonzero(tree.children_left < 0), classes))
        seen[:, codes] = tree.value[tree.children_left < 0, 0]
        probs.append(seen / seen.sum(axis=1, keepdims=True))
    return ((_TREES * np.concatenate(probs) + frequent) / (_TREES + 1)).astype(np.float32)


def _means_and_variances(trees: list[Tree], total: float, guess: float) -> Array:
    """(leaves, 2) mean and variance of labels of that total weight, guess being the prior variance.

    The variance is shrunk to that of all leaves; the mean it is taken about costs a label's worth.
    """
    leaves = [
        np.stack([tree.value[:, 0, 0], tree.impurity, tree.weighted_n_node_samples / root])[
            :, tree.children_left < 0
        ]
        for tree in trees
        for root in [tree.weighted_n_node_samples[0] / total]
    ]
    means, spreads, counts = np.concatenate(leaves, axis=1)
    spare = np.maximum(counts - 1, 0)
    prior = _VARIANCE_PRIOR * len(trees)
    pooled = (prior * guess + counts @ spreads) / (prior + spare.sum())
    variances = (_VARIANCE_PRIOR * pooled + counts * spreads) / (_VARIANCE_PRIOR + spare)
    return np.stack([means, variances], axis=1).astype(np.float32)
