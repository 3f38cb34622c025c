"""Learning what label to expect from features, and what was learned."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._evidence_forest import (
    ClassForest,
    ValueForest,
    grow_classes,
    grow_values,
    list_params,
    restore_forest,
)
from activetest.surrogates._evidence_regression import (
    ClassRegression,
    choose_share,
    choose_width,
    fit_regression,
    hold_out,
)
from activetest.surrogates._thinning import evenly_spaced, thin_training_rows

# Rows that are learned from.
_MOST_ROWS = 3_000
# With more features than this, models learn from so many of their principal components.
_MOST_FEATURES, _COMPONENTS = 200, 20
# Training rows from which on there is a regression.
_FEWEST_ROWS = 30
# Pseudo-count of all classes alike in what a forest says.
_SPARE = 1.0

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
        return stored | list_params(self.model)


def restore_learned(params: Mapping[str, Any], classes: int) -> Learned:
    """What params() described. Raises ValueError for what it cannot have given."""
    model: _Model
    if "weights" in params:
        weights, width = np.asarray(params["weights"], np.float32), float(params["width"])
        model = ClassRegression(weights, width)
        model.check()
        found = weights.shape[1]
    else:
        model = restore_forest(params)
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


class _Source(NamedTuple):
    """M rows to learn from.

    inputs  (M, W) float32
    labels  (M,) class codes or values
    codes   (M,) the class whose probability is of interest; of values, anything
    items   (M,) pool positions; -1 for training rows
    """

    inputs: Array
    labels: Array
    codes: Array
    items: Array

    def take_own(self, probs: Array) -> Array:
        """(M,) of probabilities (M, C) that of the class of interest."""
        found: Array = probs[np.arange(len(self.codes)), self.codes]
        return found


def learn(
    training: TrainingSet, axes: Array | None, *, of_self: bool, rng: np.random.Generator
) -> Learned:
    """A forest of the model's own predictions (of_self) or of training rows, and of known labels.

    axes (D, W) as of find_axes. Raises ValueError for features without a background sample.
    """
    source = _collect_rows(training, axes, of_self=of_self)
    if not training.classes:
        return _keep(
            source, *grow_values(source.inputs, source.labels.astype(float), rng), training
        )
    forest, probs = grow_classes(source.inputs, source.labels, training.classes, rng)
    return _keep(source, forest, source.take_own(probs), training)


def learn_twice(
    training: TrainingSet,
    axes: Array | None,
    *,
    width: float | None,
    share: float | None,
    rng: np.random.Generator,
) -> tuple[Learned, Learned, float]:
    """A forest and a regression of training rows and known labels, and the share of the latter.

    The width of the regression's prior, and the share of its logit in the mean of both, are chosen
    by training rows alone unless they are given: by predictions of rows that were not learned.
    """
    source, classes = _collect_rows(training, axes, of_self=False), training.classes
    inputs, labels, foreign = source.inputs, source.labels, source.items < 0
    forest, by_forest = grow_classes(inputs, labels, classes, rng)
    if width is None:
        width = choose_width(inputs[foreign], labels[foreign], classes, rng)
    regression = fit_regression(inputs, labels, classes, width)
    by_regression = hold_out(regression, inputs, labels, classes, rng)
    if share is None:
        smoothed = (forest.size * by_forest + _SPARE / classes) / (forest.size + _SPARE)
        share = choose_share(smoothed[foreign], by_regression[foreign], labels[foreign])
    return (
        _keep(source, forest, source.take_own(by_forest), training),
        _keep(source, regression, source.take_own(by_regression), training),
        share,
    )


def _keep(source: _Source, model: _Model, held_out: Array, training: TrainingSet) -> Learned:
    """What was learned, with the items that it was learned from; held_out (M,) of all rows."""
    inside = np.flatnonzero(source.items >= 0)
    inside = inside[np.argsort(source.items[inside], kind="stable")]
    items = source.items[inside]
    ids = None if training.pool is None else training.pool.hashes[items]
    return Learned(model, items, held_out[inside].astype(np.float32), ids)


def can_regress(training: TrainingSet) -> bool:
    """Whether training rows of classes are enough for a regression."""
    if training.train is None or not training.classes:
        return False
    labels = training.train.labels
    return len(labels) >= _FEWEST_ROWS and len(np.unique(labels)) > 1


def find_axes(training: TrainingSet) -> Array | None:
    """(D, W) the principal components of the background sample; None for few features."""
    features = _require_background(training).features
    if features is None or features.shape[1] <= _MOST_FEATURES:
        return None
    _, vectors = np.linalg.eigh((features.T @ features).astype(float))
    return np.ascontiguousarray(vectors[:, : -_COMPONENTS - 1 : -1], np.float32)


def read_inputs(rows: Rows, axes: Array | None) -> Array:
    """(R, W) float32 inputs of models. Raises ValueError for rows without the features."""
    if rows.features is None:
        raise ValueError("the rows have no features")
    return _project(rows.features, axes)


def _project(features: Array, axes: Array | None) -> Array:
    return np.ascontiguousarray(features if axes is None else features @ axes, np.float32)


def _require_background(training: TrainingSet) -> Rows:
    """Evenly spaced rows of the pool. Raises ValueError without any."""
    if training.background is None:
        raise ValueError("evidence from features needs a background sample")
    return training.background


def _collect_rows(training: TrainingSet, axes: Array | None, *, of_self: bool) -> _Source:
    """Rows of the pool with the model's predictions, or training rows; then labelled items."""
    usable = training.labels >= 0 if training.classes else np.ones(len(training.labels), bool)
    known, labels = training.rows[usable], training.labels[usable]
    if of_self or training.train is None:
        sample = _require_background(training)
        sample = sample[~np.isin(sample.index, known.index)]
        first, kept = thin_training_rows(
            np.arange(len(sample.index)), np.arange(len(labels)), _MOST_ROWS
        )
        sample, known, labels = sample[first], known[kept], labels[kept]
        inputs, values, items = read_inputs(sample, axes), sample.outputs.pred, sample.index
    else:
        chosen = evenly_spaced(len(training.train.labels), _MOST_ROWS)
        inputs, values = (
            _project(training.train.features[chosen], axes),
            training.train.labels[chosen],
        )
        items = np.full(len(chosen), -1)
    kind = np.intp if training.classes else float
    return _Source(
        np.concatenate([inputs, read_inputs(known, axes)]),
        np.concatenate([values, labels]).astype(kind),
        np.concatenate([values, known.outputs.pred]).astype(kind),
        np.concatenate([items, known.index]),
    )
