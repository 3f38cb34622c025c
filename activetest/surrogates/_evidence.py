"""Evidence besides labels: what training rows and other models say of a prediction.

Each kind is a column: of classes the logit that the model's prediction is right, of values the
predicted label minus the model's prediction.

- TRAINING: what learners of training rows say, learned once with the pool: see cache.trained.
- OTHERS: the mean of what other models say.
- VOTES: whether each further model of the study predicts the same, a column for each; of values
  how much more it predicts.

Rounds of versions before 0.9 have columns of forests that they learned again as labels came in, of
training rows and, as SELF, of the model's own predictions: see _evidence_past.
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
from activetest.surrogates._evidence_past import Learned, read_inputs, restore_learned
from activetest.system.parallel import map_reduce

SELF, TRAINING, OTHERS = "predictions", "training rows", "other models"
VOTES = "votes"
# Model learned besides, for the column of training rows.
LINEAR = "training rows, linear"

# Numbers of labels from which on forests were learned again.
_STAGES = (0, 20, 40, 80, 160)
# Pseudo-count of a forest's share, and how certain a column can be.
_TREES, _SPARE = 100, 0.5
_LEAST_LEARNED, _LEAST_OTHERS = 0.005, 0.01
# Of what is stored, in front of every parameter.
_PREFIX = f"{KEPT}evidence."
_VERSION = 1


@dataclass(frozen=True)
class Evidence:
    """Knowledge about items besides labels and the model's outputs: a column for each name.

    names    of SELF, TRAINING, OTHERS and VOTES those that there are, in this order
    labels   number of labels that were known
    classes  number of classes; 0 for values
    rows     number of training rows
    others   number of other models
    votes    number of further models of the study

    Of rounds of versions before 0.9:

    learned  {name: what was learned}
    axes     (D, W) float32, from features to the inputs of forests; None where these are the same
    linear   share of LINEAR in the column of training rows
    columns  (N, learned names) float32, of all items of the pool that it is attached to
    """

    names: tuple[str, ...]
    labels: int
    classes: int
    rows: int = 0
    others: int = 0
    votes: int = 0
    learned: Mapping[str, Learned] = field(default_factory=dict)
    axes: Array | None = None
    linear: float = 0.0
    columns: Array | None = field(default=None, compare=False, repr=False)

    def describe(self) -> tuple[str, ...]:
        """Sources besides the model's outputs, for the report."""
        counts = {
            SELF: (self._count_features(), "feature"),
            TRAINING: (self.rows, "training row"),
            OTHERS: (self.others, "other model"),
            VOTES: (self.votes, "further model"),
        }
        found = [counts[name] for name in self.names]
        return tuple(f"{count:,} {words}{'s' * (count != 1)}" for count, words in found)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.names) + max(self.votes - 1, 0)

    def _count_features(self) -> int:
        """The number of features that forests learn from, or their components."""
        if self.axes is not None:
            return len(self.axes)
        return int(self.learned[SELF].model.width) if SELF in self.learned else 0

    def values(self, rows: Rows) -> Array:
        """(R, width) logits that the prediction is right, or predicted labels minus predictions.

        Raises ValueError for rows without what they say.
        """
        found = []
        if self.learned:
            found.append(self._judge(rows) if self.columns is None else self.columns[rows.index])
        elif TRAINING in self.names:
            if rows.trained is None or not rows.trained.shape[1]:
                raise ValueError("the rows have nothing from training rows")
            found.append(rows.trained)
        if OTHERS in self.names:
            found.append(_judge_by_others(rows, self.classes)[:, None])
        if VOTES in self.names:
            if rows.votes is None or rows.votes.shape[1] < self.votes:
                raise ValueError("the rows lack votes of further models")
            found.append(rows.votes[:, : self.votes])
        return np.hstack(found or [np.empty((len(rows.index), 0))]).astype(float)

    def attach(self, pool: PoolView) -> "Evidence":
        """The same for this pool, whose items may have moved since it was learned.

        Every item goes through the forests once: what they say is kept with the pool.
        """
        if not self.learned:
            return self
        learned = {name: each.find_items(pool) for name, each in self.learned.items()}
        here = replace(self, learned=learned, columns=None)

        def judge_all() -> dict[str, Array]:
            title = "judging items by their features"
            found = map_reduce(
                pool.chunks(), lambda piece: [here._judge(pool.rows(*piece))], add, title=title
            )
            return {"columns": np.concatenate(found)}

        stage = int(np.searchsorted(_STAGES, self.labels, side="right"))
        stored = pool.compute_stored(f"evidence-{stage}", self._compute_digest(), judge_all)
        return replace(here, columns=stored["columns"])

    def _judge(self, rows: Rows) -> Array:
        """(R, learned names) float32 columns of what was learned."""
        inputs = read_inputs(rows, self.axes)
        found = {
            name: _scale_judgement(each.judge(rows, inputs), rows, self.classes)
            for name, each in self.learned.items()
        }
        if LINEAR in found:
            found[TRAINING] += self.linear * (found.pop(LINEAR) - found[TRAINING])
        return np.stack(list(found.values()), axis=1).astype(np.float32)

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
            "rows": self.rows,
            "others": self.others,
            "linear": self.linear,
        }
        if self.votes:
            stored["votes"] = self.votes
        if self.axes is not None:
            stored["axes"] = self.axes
        for name, each in self.learned.items():
            stored |= {f"{name}.{key}": value for key, value in each.params().items()}
        return {f"{_PREFIX}{key}": value for key, value in stored.items()}


def find_evidence(training: TrainingSet) -> Evidence:
    """The evidence that there is."""
    rows, external, votes = training.rows, training.rows.external, training.rows.votes
    there = {
        TRAINING: rows.trained is not None and rows.trained.shape[1] > 0,
        OTHERS: external is not None,
        VOTES: votes is not None and votes.shape[1] > 0,
    }
    return Evidence(
        tuple(name for name, exists in there.items() if exists),
        len(training.labels),
        training.classes,
        0 if training.train is None else len(training.train.labels),
        0 if external is None else external.shape[1],
        0 if votes is None else votes.shape[1],
    )


def restore_evidence(params: Mapping[str, Any]) -> Evidence:
    """The evidence that params() described, among other parameters; see Evidence.attach.

    Raises ValueError, or LookupError or TypeError, for what params() cannot have given.
    """
    stored = _take_named(params, _PREFIX)
    if stored["version"] != _VERSION:
        raise ValueError(f"evidence is of version {stored['version']!r}, not {_VERSION}")
    names = tuple(map(str, stored["names"]))
    if names != tuple(name for name in (SELF, TRAINING, OTHERS, VOTES) if name in names):
        raise ValueError("evidence is of unknown kinds, or in another order")
    classes, axes = int(stored["classes"]), stored.get("axes")
    learned = {
        name: restore_learned(_take_named(stored, f"{name}."), classes)
        for name in (*names, LINEAR)
        if f"{name}.items" in stored
    }
    if axes is not None:
        axes = np.asarray(axes, np.float32)
        if axes.ndim != 2 or not np.isfinite(axes).all():
            raise ValueError("the components of features are not numbers")
    labels, rows, others = (int(stored[name]) for name in ("labels", "rows", "others"))
    votes, linear = int(stored.get("votes", 0)), float(stored["linear"])
    if votes < 0 or (votes > 0) != (VOTES in names):
        raise ValueError("there are votes of no model")
    if not 0 <= linear <= 1 or (LINEAR in learned and TRAINING not in learned):
        raise ValueError("a regression has no share in what training rows say")
    if SELF in names and SELF not in learned:
        raise ValueError("nothing was learned of the model's own predictions")
    return Evidence(names, labels, classes, rows, others, votes, learned, axes, linear)


def _take_named(params: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The parameters whose names begin so, without that beginning."""
    return {
        name.removeprefix(prefix): value
        for name, value in params.items()
        if name.startswith(prefix)
    }


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
