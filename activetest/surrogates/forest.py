"""Random forest: 100 trees as members (Breiman 2001; the surrogate of Kossen et al. 2021).

Trees are grown by scikit-learn and kept as plain arrays, through which rows walk without it: no
pickle, and predictions that do not change with its version. Of more than 20,000 training rows,
evenly spaced ones are learned from.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble, unpack_positions
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE, GaussianEnsemble
from activetest.surrogates._inputs import input_columns
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._training_data import TrainingData, prepare_training_data
from activetest.surrogates._trees import Trees, list_nodes

NEEDS_FEATURES = True
AUGMENTS = True

_TREES = 100
_MOST_ROWS = 20_000
# Labels that a leaf of values must hold, for its variance to mean something.
_LEAF = 3.0
# Pseudo-observations that hold a leaf's variance at that of all leaves, and that at the guess.
_VARIANCE_PRIOR = 2.0


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """A forest of training rows and labels; of the black box's own words where there are none.

    Raises ChoiceError for training rows without features.
    """
    # Takes a second to load, and whoever only predicts does without.
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    data = prepare_training_data(training, rng=rng, most=_MOST_ROWS)
    if not len(data.labels):
        return prior_belief(training, data.augmented, _TREES)
    total = data.weights.sum()
    kind = RandomForestClassifier if training.classes else RandomForestRegressor
    # Background rows weigh little: a leaf needs as many of them as make one label.
    least = (1.0 if training.classes else _LEAF) / total
    grown = kind(
        _TREES,
        min_weight_fraction_leaf=min(least, 0.5),
        random_state=int(rng.integers(2**31)),
    ).fit(data.inputs, data.labels, data.weights)
    trees = [each.tree_ for each in grown.estimators_]
    if training.classes:
        values = _class_probs(trees, grown.classes_, data, training.classes)
        return Ensemble(ClassTrees(*list_nodes(trees), values, data.outputs), data.augmented)
    values = _means_and_variances(trees, total, RESIDUAL_VARIANCE_SHARE * training.scale**2)
    return GaussianEnsemble(ValueTrees(*list_nodes(trees), values, data.outputs))


@dataclass(frozen=True)
class LabelTrees(Trees):
    """Common part of both kinds: trees, and what their leaves say.

    values       (leaves, C) class probabilities, or (leaves, 2) mean and variance
    outputs      the black box's outputs are among the inputs
    """

    values: Array
    outputs: bool

    def check(self) -> None:
        """Raises ValueError for nodes that are no trees, or leaves that say nothing."""
        super().check()
        if self.values.ndim != 2 or len(self.values) != self.leaves:
            raise ValueError("leaves of a forest have no values")

    def params(self) -> dict:
        """The fields, and which kind it is."""
        stored = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**stored, "classes": isinstance(self, ClassTrees)}

    def _leaves(self, rows: Rows, which: Array) -> Iterator[tuple[slice, Iterator[Array]]]:
        """For blocks of rows: the slice, and an iterator over the (block, C) values of trees.

        Raises ValueError for rows of another width, see Trees.walk.
        """
        columns = input_columns(rows, outputs=self.outputs)
        for part, walked in self.walk(columns, which):
            yield part, (np.take(self.values, leaves, axis=0) for leaves in walked)


@dataclass(frozen=True)
class ClassTrees(LabelTrees):
    """Trees that give every class a probability."""

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over all trees."""
        mean = np.zeros((len(rows.index), self.values.shape[1]), np.float32)
        for part, values in self._leaves(rows, np.arange(self.size)):
            for each in values:
                mean[part] += each
        mean /= self.size
        return mean

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) what these trees say."""
        draws = np.empty((len(which), len(rows.index), self.values.shape[1]), np.float32)
        for part, values in self._leaves(rows, which):
            for place, each in enumerate(values):
                draws[place, part] = each
        return draws


@dataclass(frozen=True)
class ValueTrees(LabelTrees):
    """Trees that predict a value, or what the black box's prediction misses."""

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean over trees; variance within leaves and between trees."""
        mean, variance = np.zeros((2, len(rows.index)))
        for part, values in self._leaves(rows, np.arange(self.size)):
            means, variances = np.stack(list(values)).astype(float).transpose(2, 0, 1)
            mean[part] = means.mean(axis=0)
            variance[part] = variances.mean(axis=0) + means.var(axis=0)
        return (mean + rows.outputs.pred if self.outputs else mean), variance

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) mean and variance in the leaf of each of these trees."""
        draws = np.empty((2, len(which), len(rows.index)))
        for part, values in self._leaves(rows, which):
            for place, each in enumerate(values):
                draws[:, place, part] = each.T
        means, variances = draws
        return (means + rows.outputs.pred if self.outputs else means), variances


def restore(params: dict) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described. Raises ValueError for nodes that are no trees."""
    if has_no_labels(params):
        return restore_nothing(params)
    kinds = {"starts": np.int64, "threshold": float, "values": np.float32}
    names = ("starts", "left", "right", "feature", "threshold", "values")
    arrays = {name: np.asarray(params[name], kinds.get(name, np.int32)) for name in names}
    kind = ClassTrees if params["classes"] else ValueTrees
    trees = kind(width=int(params["width"]), outputs=bool(params["outputs"]), **arrays)
    trees.check()
    if isinstance(trees, ClassTrees):
        return Ensemble(trees, unpack_positions(params))
    return GaussianEnsemble(trees)


def _class_probs(trees: list, codes: Array, data: TrainingData, classes: int) -> Array:
    """(leaves, C) probabilities of leaves, as if one tree more knew just how frequent classes are.

    So that none is impossible because 100 trees did not see it.
    """
    frequent = np.bincount(data.labels, data.weights, minlength=classes) + 1 / classes
    frequent /= frequent.sum()
    probs = []
    for tree in trees:
        seen = np.zeros((np.count_nonzero(tree.children_left < 0), classes))
        seen[:, codes] = tree.value[tree.children_left < 0, 0]
        probs.append(seen / seen.sum(axis=1, keepdims=True))
    return ((_TREES * np.concatenate(probs) + frequent) / (_TREES + 1)).astype(np.float32)


def _means_and_variances(trees: list, total: float, guess: float) -> Array:
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
