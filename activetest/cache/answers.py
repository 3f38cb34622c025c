"""Columns that learned the black box's own answers from the features and texts of other items.

No label and no training row is needed: where learners that saw only the model's answers to other
items would have answered otherwise, the model is wrong more often. Of features there are three
learners, which differ: extremely randomised trees, out of bag (Geurts, Ernst and Wehenkel 2006);
ridge regression of the classes on a Gaussian kernel at some centres, and on the features, both
without the row itself (leave-one-out by leverages: Allen 1974). That of texts is in cache.texts.
Each column is the logit of the model's answer.

What a column has in common with the model's own confidence is taken out of it: it would make a
surrogate falsely sure where the model is. A column that foretells answers no better than the shares
of classes is left out. Items with the same features are learned once, and judged without each
other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import log_softmax

from activetest.nouns.distances import square_distances
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.pool.ids import hash_rows

# Columns that are kept: each has slopes of its own to be found from labels.
_MOST_COLUMNS = 3
# Rows that are learned from, at most; and different ones, at least.
MOST_ROWS, FEWEST_ROWS = 20_000, 50
# Rows judged at a time.
_AT_ONCE = 1 << 12
# Answers that are learned each; all others are one.
MOST_CLASSES = 100
# Standard deviations beyond which a feature says no more.
_FARTHEST = 4.0
_TREES, _DEPTH, _LEAF = 100, 12, 2
# Trees that a row is judged by which nobody learned from: as many as did not draw a learned one.
_OUT_OF_BAG = 37
# Centres of the kernel at most; more columns than a quarter of the rows would give away the row.
_CENTRES, _ROWS_PER_COLUMN = 512, 4
# Widths of the kernel that are tried, in units of the inverse median of squared distances.
_SCALES = (0.3, 1.0, 3.0)
# Ridges that are tried, for a thousand rows; and what keeps the smallest from rounding.
_RIDGES, _LEAST_RIDGE = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), 1e-8
# No row decides more of its own prediction than this.
_MOST_LEVERAGE = 0.99
# Factors of scores that are tried: softmax of their products are probabilities.
_FACTORS = np.geomspace(0.5, 200, 40)
# A share of trees is at least this, and no logit farther from 0 than that.
_LEAST_SHARE, _MOST_LOGIT = 1e-3, 8.0
# Standard errors by which a column foretells answers better than the shares of classes.
_SURELY = 3.0
# Columns are multiples of this: another processor's last digits show in none of them.
GRID = 1 / 256


@dataclass(frozen=True)
class Answers:
    """Columns that foretell the answers of N items.

    columns  (N, K) float32, without what the confidence says; K may be 0
    hits     for each source, share of learned items whose answer its best learner foretells; 0
             where none does better than the shares of classes
    """

    columns: Array
    hits: tuple[float, ...] = ()


class Learner(Protocol):
    """Who foretells answers: (n, C) log-probabilities of the rows it learned from, held out."""

    held_out: Array

    def predict(self, inputs: Any) -> Array:
        """(R, C) log-probabilities of other rows (R, D)."""
        ...


class Source(Protocol):
    """What is known of the items beside the model's outputs.

    most_classes  answers that its learners tell apart, at most
    """

    most_classes: int

    def read(self, rows: Array) -> Any:
        """(R, D) inputs, dense or sparse, of the items at positions (R,)."""
        ...

    def hash(self, inputs: Any) -> Array:
        """(R,) uint64, the same for inputs that are the same."""
        ...

    def list_learners(self, inputs: Any, answers: Array, count: int) -> Iterator[Learner]:
        """Those that learn from inputs (n, D) and answers (n,) of so many kinds."""
        ...


@dataclass(frozen=True, eq=False)
class _Column:
    """(N,) logits by a learner of a source, its gain in log-probability of answers, its hits."""

    source: Source
    column: Array
    gain: float
    hits: float


def learn_answers(
    sources: Sequence[Source], codes: Array, confidence: Array | None, hashes: Array
) -> Answers:
    """The columns that are worth keeping: none where nothing foretells the model's answers.

    sources     what is known of the items
    codes       (N,) the model's answers
    confidence  (N,) logit of its confidence; None where it states none
    hashes      (N,) uint64 of the ids: they choose what is learned, whatever the order of rows
    """
    answers, order = _group_rare(codes), np.argsort(hashes, kind="stable")
    found = [each for source in sources for each in _learn_columns(source, answers, order)]
    best = sorted(found, key=lambda each: -each.gain)[:_MOST_COLUMNS]
    kept = [each.column for each in found if each in best]
    columns = np.stack(kept, axis=1) if kept else np.empty((len(codes), 0), np.float32)
    hits = [
        max([0.0, *(each.hits for each in found if each.source is source)]) for source in sources
    ]
    return Answers(_finish(columns, confidence) if kept else columns, tuple(hits))


def _learn_columns(source: Source, answers: Array, order: Array) -> list[_Column]:
    """Those of a source that foretell answers better than the shares of classes do.

    answers (N,) codes, the most frequent first; order (N,) of what is learned first.
    """
    answers, learned = np.minimum(answers, source.most_classes - 1), order[:MOST_ROWS]
    inputs, own, count = source.read(learned), answers[learned], int(answers.max()) + 1
    keys, first, place = np.unique(source.hash(inputs), return_index=True, return_inverse=True)
    if len(first) < FEWEST_ROWS or count < 2:
        return []
    # Rows of the same features stand for one; these are learned in the order of their hashes.
    rank = np.argsort(first, kind="stable")
    first, seat = first[rank], np.argsort(rank, kind="stable")
    place = seat[place]
    shares = np.bincount(own, minlength=count) / len(own)
    kept, found = [], []
    for learner in source.list_learners(inputs[first], own[first], count):
        held_out = learner.held_out[place]
        gain = _take_own(held_out, own) - np.log(np.maximum(shares, _LEAST_SHARE))[own]
        if gain.mean() > _SURELY * gain.std() / len(first) ** 0.5:
            hits = float((held_out.argmax(axis=1) == own).mean())
            column = np.empty(len(answers), np.float32)
            column[learned] = _find_logits(held_out, own)
            kept.append(learner)
            found.append(_Column(source, column, float(gain.mean()), hits))
    for start in range(len(learned), len(order) if kept else 0, _AT_ONCE):
        rows = order[start : start + _AT_ONCE]
        others = source.read(rows)
        hashed = source.hash(others)
        at = np.minimum(np.searchsorted(keys, hashed), len(keys) - 1)
        same = keys[at] == hashed
        for learner, each in zip(kept, found, strict=True):
            logs = learner.predict(others)
            logs[same] = learner.held_out[seat[at[same]]]
            each.column[rows] = _find_logits(logs, answers[rows])
    return found


class Features:
    """Standardised features, as far as each speaks.

    select  (R, D) float32 of the items at positions (R,)
    """

    most_classes = MOST_CLASSES

    def __init__(self, select: Callable[[Array], Array]) -> None:
        self._select = select

    def read(self, rows: Array) -> Array:
        """(R, D) float32."""
        return np.clip(self._select(rows), -_FARTHEST, _FARTHEST)

    def hash(self, inputs: Array) -> Array:
        """(R,) uint64; 0 and -0 are the same."""
        return hash_rows(np.zeros(len(inputs), np.uint64), list((inputs + np.float32(0)).T))

    def list_learners(self, inputs: Array, answers: Array, count: int) -> Iterator[Learner]:
        """Three, of the features that differ; none where none does."""
        varies = inputs.min(axis=0, initial=np.inf) < inputs.max(axis=0, initial=-np.inf)
        if not varies.any():
            return
        inputs = inputs[:, varies]
        yield _Chosen(_Trees(inputs, answers, count), varies)
        targets = (answers[:, None] == np.arange(count)).astype(float)
        yield _Chosen(_choose_kernel(inputs, answers, targets), varies)
        if inputs.shape[1] <= len(inputs) // _ROWS_PER_COLUMN:
            yield _Chosen(_Ridge(inputs, answers, targets, lambda rows: rows), varies)


class _Chosen:
    """A learner of some columns (D,) bool of the inputs."""

    def __init__(self, learner: Learner, columns: Array) -> None:
        self._learner, self._columns, self.held_out = learner, columns, learner.held_out

    def predict(self, inputs: Array) -> Array:
        """(R, C) log-probabilities of other rows."""
        return self._learner.predict(inputs[:, self._columns])


def _group_rare(codes: Array) -> Array:
    """(N,) codes of the answers that occur, the most frequent first; the rare ones are one."""
    _, code, count = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-count, kind="stable"), kind="stable")
    grouped: Array = np.minimum(rank, MOST_CLASSES - 1)[code]
    return grouped


class _Trees:
    """Extremely randomised trees; every learned row is judged by those that did not draw it."""

    def __init__(self, inputs: Array, answers: Array, count: int) -> None:
        # It takes a while to load, and only where columns are learned.
        from sklearn.ensemble import ExtraTreesClassifier

        self.count = count
        self.forest = ExtraTreesClassifier(
            _TREES,
            max_depth=_DEPTH,
            min_samples_leaf=_LEAF,
            bootstrap=True,
            oob_score=True,
            n_jobs=1,
            random_state=0,
        ).fit(inputs, answers)
        self.held_out = self._spread(self.forest.oob_decision_function_)

    def predict(self, inputs: Array) -> Array:
        """(R, C) log-probabilities of rows that it did not learn."""
        trees, inputs = self.forest.estimators_[:_OUT_OF_BAG], np.ascontiguousarray(inputs)
        return self._spread(sum(each.tree_.predict(inputs) for each in trees) / len(trees))

    def _spread(self, shares: Array) -> Array:
        """(R, C) log-probabilities from shares of the classes that it knows."""
        found = np.full((len(shares), self.count), np.log(_LEAST_SHARE))
        # A row that every tree drew has no shares.
        shares = np.nan_to_num(shares, nan=1 / shares.shape[1])
        found[:, self.forest.classes_] = np.log(np.maximum(shares, _LEAST_SHARE))
        return found


class _Ridge:
    """Ridge regression of the classes; every learned row is judged without itself.

    error  mean squared error of these predictions
    """

    def __init__(
        self, inputs: Array, answers: Array, targets: Array, expand: Callable[[Array], Array]
    ) -> None:
        self.expand = expand
        design = self._design(inputs)
        roots, turn = np.linalg.eigh(design.T @ design)
        turned = design @ turn
        towards, squares = turned.T @ targets, turned**2
        errors, scores, kept = [], [], []
        for ridge in _RIDGES:
            shrunk = 1 / (np.maximum(roots, 0) + ridge * len(design) / 1000 + _LEAST_RIDGE)
            leverage = np.minimum(squares @ shrunk, _MOST_LEVERAGE)[:, None]
            found = turned @ (shrunk[:, None] * towards)
            found = (found - leverage * targets) / (1 - leverage)
            errors.append(((found - targets) ** 2).mean())
            scores.append(found)
            kept.append(shrunk)
        best = find_nearly_largest(-np.array(errors))
        self.error, scores = errors[best], scores[best]
        self.weights = turn @ (kept[best][:, None] * towards)
        self.factor = find_factor(scores, answers)
        self.held_out = log_softmax(scores * self.factor, axis=1)

    def predict(self, inputs: Array) -> Array:
        """(R, C) log-probabilities of rows that it did not learn."""
        scores = self.expand(inputs).astype(float, copy=False) @ self.weights[:-1]
        return np.asarray(log_softmax((scores + self.weights[-1]) * self.factor, axis=1))

    def _design(self, inputs: Array) -> Array:
        return np.hstack([self.expand(inputs).astype(float), np.ones((len(inputs), 1))])


def _choose_kernel(inputs: Array, answers: Array, targets: Array) -> _Ridge:
    """The best width of a Gaussian kernel at rows that hashes chose."""
    # In double precision: see GRID.
    centres = inputs[: min(_CENTRES, len(inputs) // _ROWS_PER_COLUMN)].astype(float)
    apart = square_distances(centres, centres)[np.triu_indices(len(centres), 1)]
    usual = float(np.median(apart))

    def correlate(scale: float) -> Callable[[Array], Array]:
        shrink = -scale / usual
        def expand(rows: Array) -> Array:
            found = square_distances(rows.astype(float), centres)
            found *= shrink
            correlations: Array = np.exp(found, out=found)
            return correlations

        return expand

    found = [_Ridge(inputs, answers, targets, correlate(scale)) for scale in _SCALES]
    return found[find_nearly_largest(-np.array([each.error for each in found]))]


def find_factor(scores: Array, answers: Array) -> float:
    """The factor by which the softmax of scores (n, C) foretells the answers (n,) best."""
    fits = [_take_own(log_softmax(scores * each, axis=1), answers).mean() for each in _FACTORS]
    return float(_FACTORS[find_nearly_largest(np.array(fits))])


def _take_own(logs: Array, answers: Array) -> Array:
    """(R,) of (R, C) those of the answers."""
    own: Array = logs[np.arange(len(answers)), answers]
    return own


def _find_logits(logs: Array, answers: Array) -> Array:
    """(R,) logits of the answers."""
    own = np.minimum(_take_own(logs, answers), -1e-9)
    return np.clip(own - np.log(-np.expm1(own)), -_MOST_LOGIT, _MOST_LOGIT)


def _finish(columns: Array, confidence: Array | None) -> Array:
    """(N, K) float32 columns without what the confidence and its square foretell of them."""
    known = [np.ones(len(columns))]
    if confidence is not None:
        known += [confidence.astype(float), confidence.astype(float) ** 2]
    basis = np.column_stack(known)
    left = columns - basis @ np.linalg.lstsq(basis, columns.astype(float), rcond=None)[0]
    return (np.round(left / GRID) * GRID).astype(np.float32)
