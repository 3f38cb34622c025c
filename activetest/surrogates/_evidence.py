"""Evidence besides labels: what features, training rows and other models say of a prediction.

Each kind is a column: of classes the logit that the model's prediction is right, of values the
predicted label minus the model's prediction.

- SELF: a forest learns the model's own predictions from the features of at most 3,000 evenly spaced
  items, with known labels in place of predictions. Where it would have predicted otherwise, the
  model is more often wrong.
- TRAINING: a forest of training rows and known labels.
- OTHERS: the mean of what other models say.

What is learned is learned again as labels come in, at 20, 40, 80 and 160 of them, and kept in
between. An item that it was learned from is judged by the trees that did not draw it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from operator import add
from typing import Any

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import KEPT
from activetest.nouns.training import TrainingSet
from activetest.parallel import map_reduce
from activetest.surrogates._evidence_forest import (
    ClassForest,
    ValueForest,
    grow_classes,
    grow_values,
    list_params,
    restore_forest,
)
from activetest.surrogates._thinning import evenly_spaced, thin_training_rows

SELF, TRAINING, OTHERS = "predictions", "training rows", "other models"

# Numbers of labels from which on what is learned is learned again.
_STAGES = (0, 20, 40, 80, 160)
# Rows that are learned from.
_MOST_ROWS = 3_000
# With more features than this, forests learn from so many of their principal components.
_MOST_FEATURES, _COMPONENTS = 200, 20
# Pseudo-count of a forest's share, and how certain a column can be.
_TREES, _SPARE = 100, 0.5
_LEAST_LEARNED, _LEAST_OTHERS = 0.005, 0.01
# Of what is stored, in front of every parameter.
_PREFIX = f"{KEPT}evidence."
_VERSION = 1


@dataclass(frozen=True)
class Learned:
    """A forest and what it learned of the pool.

    forest     says what label to expect
    items      (K,) positions of the items that it learned from, in order
    held_out   (K,) what the trees that did not draw them say: probability of the predicted class,
               or value
    ids        (K,) uint64 hashes of their ids; None where no pool was known
    """

    forest: ClassForest | ValueForest
    items: Array
    held_out: Array
    ids: Array | None = None

    def judge(self, rows: Rows, columns: Array) -> Array:
        """(R,) probability of the predicted class, or value; inputs columns (R, W)."""
        if isinstance(self.forest, ClassForest):
            found = self.forest.class_probs(columns, rows.outputs.pred)
        else:
            found = self.forest.predict(columns)
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


@dataclass(frozen=True)
class Evidence:
    """What is known of items besides labels and the model's outputs: a column for each name.

    names    of SELF, TRAINING and OTHERS those that there are, in this order
    labels   number of labels that were known when it was learned
    classes  number of classes; 0 for values
    learned  {name: what was learned}
    axes     (D, W) float32, from features to the inputs of forests; None where these are the same
    columns  (N, learned) float32, of all items of the pool that it is attached to
    """

    names: tuple[str, ...]
    labels: int
    classes: int
    learned: Mapping[str, Learned] = field(default_factory=dict)
    axes: Array | None = None
    columns: Array | None = field(default=None, compare=False, repr=False)

    def values(self, rows: Rows) -> Array:
        """(R, names) logits that the prediction is right, or predicted labels minus predictions."""
        found = [self._judge(rows) if self.columns is None else self.columns[rows.index]]
        if OTHERS in self.names:
            found.append(_judge_by_others(rows, self.classes)[:, None])
        return np.hstack(found).astype(float)

    def at_labels(self, training: TrainingSet) -> Array:
        """(M, names) the same for the labelled rows, by trees that did not learn from them."""
        return self.values(training.rows)

    def attach(self, pool: PoolView) -> "Evidence":
        """The same for this pool, whose items may have moved since it was learned.

        Every item goes through the forests once: what they say is kept with the pool.
        """
        if not self.learned:
            return self
        learned = {name: each.find_items(pool) for name, each in self.learned.items()}
        here = replace(self, learned=learned, columns=None)
        stored = pool.compute_stored(
            f"evidence-{_find_stage(self.labels)}",
            self._compute_digest(),
            lambda: {"columns": here._judge_all(pool)},
        )
        return replace(here, columns=stored["columns"])

    def _judge_all(self, pool: PoolView) -> Array:
        """(N, learned) float32 columns of all items."""

        def judge_piece(piece: tuple[int, int]) -> list[Array]:
            return [self._judge(pool.rows(*piece))]

        found = map_reduce(pool.chunks(), judge_piece, add, title="judging items by their features")
        return np.concatenate(found)

    def _judge(self, rows: Rows) -> Array:
        """(R, learned) float32 columns of what was learned."""
        columns = np.empty((len(rows.index), len(self.learned)), np.float32)
        if self.learned:
            inputs = _read_inputs(rows, self.axes)
            for place, each in enumerate(self.learned.values()):
                found = each.judge(rows, inputs)
                columns[:, place] = _scale_judgement(found, rows, self.classes)
        return columns

    def _compute_digest(self) -> str:
        """Hexadecimal: of what was learned."""
        digest = blake2b(digest_size=16)
        for name, value in self.params().items():
            content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            digest.update(f"{name} {len(content)} ".encode() + content)
        return digest.hexdigest()

    def params(self) -> dict[str, Any]:
        """Arrays and what JSON can hold, under names of its own."""
        stored: dict[str, Any] = {
            "version": _VERSION,
            "names": list(self.names),
            "labels": self.labels,
            "classes": self.classes,
        }
        if self.axes is not None:
            stored["axes"] = self.axes
        for name, each in self.learned.items():
            stored |= {f"{name}.{key}": value for key, value in list_params(each.forest).items()}
            stored |= {f"{name}.items": each.items, f"{name}.held_out": each.held_out}
            if each.ids is not None:
                stored[f"{name}.ids"] = each.ids
        return {f"{_PREFIX}{key}": value for key, value in stored.items()}


def learn_evidence(
    training: TrainingSet, *, earlier: Evidence | None, rng: np.random.Generator
) -> Evidence:
    """The evidence that there is, learned again where the labels have passed a stage.

    earlier  of the last round, kept in between; None for the first

    Raises ValueError for features without a background sample.
    """
    names = _list_names(training)
    forests = [name for name in names if name != OTHERS]
    count = len(training.labels)
    if not forests:
        return Evidence(names, count, training.classes)
    if (
        earlier is not None
        and list(earlier.learned) == forests
        and earlier.classes == training.classes
        and _find_stage(earlier.labels) == _find_stage(count)
    ):
        return replace(earlier, names=names)
    axes = _find_axes(training)
    learned = {name: _learn(name, training, axes, rng) for name in forests}
    found = Evidence(names, count, training.classes, learned, axes)
    return found if training.pool is None else found.attach(training.pool)


def restore_evidence(params: Mapping[str, Any]) -> Evidence:
    """The evidence that params() described, among other parameters; see Evidence.attach."""
    stored = {
        key.removeprefix(_PREFIX): value for key, value in params.items() if key.startswith(_PREFIX)
    }
    names = tuple(map(str, stored["names"]))
    learned = {}
    for name in names:
        if name == OTHERS:
            continue
        own = {
            key.removeprefix(f"{name}."): value
            for key, value in stored.items()
            if key.startswith(f"{name}.")
        }
        ids = own.get("ids")
        learned[name] = Learned(
            restore_forest(own),
            np.asarray(own["items"], np.int64),
            np.asarray(own["held_out"], np.float32),
            None if ids is None else np.asarray(ids, np.uint64),
        )
    axes = stored.get("axes")
    return Evidence(
        names,
        int(stored["labels"]),
        int(stored["classes"]),
        learned,
        None if axes is None else np.asarray(axes, np.float32),
    )


def _list_names(training: TrainingSet) -> tuple[str, ...]:
    """The columns that there are."""
    features = training.rows.features
    there = features is not None and features.shape[1] > 0
    found = {
        SELF: there,
        TRAINING: there and training.train is not None,
        OTHERS: training.rows.external is not None,
    }
    return tuple(name for name, exists in found.items() if exists)


def _find_stage(labels: int) -> int:
    return int(np.searchsorted(_STAGES, labels, side="right"))


def _require_background(training: TrainingSet) -> Rows:
    """Evenly spaced rows of the pool. Raises ValueError without any."""
    if training.background is None:
        raise ValueError("evidence from features needs a background sample")
    return training.background


def _find_axes(training: TrainingSet) -> Array | None:
    """(D, W) the principal components of the background sample; None for few features."""
    features = _require_background(training).features
    if features is None or features.shape[1] <= _MOST_FEATURES:
        return None
    _, vectors = np.linalg.eigh((features.T @ features).astype(float))
    return np.ascontiguousarray(vectors[:, : -_COMPONENTS - 1 : -1], np.float32)


def _read_inputs(rows: Rows, axes: Array | None) -> Array:
    """(R, W) float32 inputs of forests. Raises ValueError for rows without features."""
    if rows.features is None:
        raise ValueError("the rows have no features")
    return _project(rows.features, axes)


def _project(features: Array, axes: Array | None) -> Array:
    return np.ascontiguousarray(features if axes is None else features @ axes, np.float32)


def _learn(
    name: str, training: TrainingSet, axes: Array | None, rng: np.random.Generator
) -> Learned:
    """What one kind learns: from the model's predictions or training rows, and from labels."""
    usable = training.labels >= 0 if training.classes else np.ones(len(training.labels), bool)
    rows, labels = training.rows[usable], training.labels[usable]
    if name == SELF:
        sample = _require_background(training)
        sample = sample[~np.isin(sample.index, rows.index)]
        places, kept = thin_training_rows(
            np.arange(len(sample.index)), np.arange(len(labels)), _MOST_ROWS
        )
        first = sample[places]
        items, first_labels = first.index, first.outputs.pred
        first_pred, first_inputs = first.outputs.pred, _read_inputs(first, axes)
        rows, labels = rows[kept], labels[kept]
    elif training.train is not None:
        chosen = evenly_spaced(len(training.train.labels), _MOST_ROWS)
        first_labels = first_pred = training.train.labels[chosen]
        first_inputs = _project(training.train.features[chosen], axes)
        items = np.full(len(chosen), -1)
    inputs = np.concatenate([first_inputs, _read_inputs(rows, axes)])
    known = np.concatenate([first_labels, labels])
    forest: ClassForest | ValueForest
    if training.classes:
        forest, shares = grow_classes(inputs, known.astype(np.intp), training.classes, rng)
        predicted = np.concatenate([first_pred, rows.outputs.pred]).astype(np.intp)
        held_out = shares[np.arange(len(predicted)), predicted]
    else:
        forest, held_out = grow_values(inputs, known.astype(float), rng)
    items = np.concatenate([items, rows.index])
    inside = np.flatnonzero(items >= 0)
    inside = inside[np.argsort(items[inside], kind="stable")]
    ids = None if training.pool is None else training.pool.hashes[items[inside]]
    return Learned(forest, items[inside], held_out[inside].astype(np.float32), ids)


def _judge_by_others(rows: Rows, classes: int) -> Array:
    """(R,) column of other models: their mean probability of the prediction, or their mean value.

    Raises ValueError for rows without what they say.
    """
    if rows.external is None:
        raise ValueError("the rows have no predictions of other models")
    if not classes:
        return rows.external.mean(axis=1, dtype=float) - rows.outputs.pred
    index = np.arange(len(rows.index))
    probs = rows.external[index, :, rows.outputs.pred].mean(axis=1, dtype=float)
    return _to_logit(probs, _LEAST_OTHERS)


def _scale_judgement(found: Array, rows: Rows, classes: int) -> Array:
    """(R,) column of what a forest says: share of the predicted class, or value."""
    if not classes:
        return found - rows.outputs.pred
    return _to_logit((_TREES * found + _SPARE) / (_TREES + 2 * _SPARE), _LEAST_LEARNED)


def _to_logit(probs: Array, least: float) -> Array:
    """(R,) logits of probabilities that are cut off at least and 1 - least."""
    probs = np.clip(probs, least, 1 - least)
    return np.log(probs / (1 - probs))
