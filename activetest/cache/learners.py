"""Simple learners of classes or values, which judge every row that they learned without itself.

Of features there are three, which differ: extremely randomised trees, out of bag (Geurts, Ernst and
Wehenkel 2006); ridge regression on a Gaussian kernel at some centres, and on the features, both
without the row itself (leave-one-out by leverages: Allen 1974). For texts, see cache.texts.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from scipy.special import log_softmax

from activetest.nouns.distances import square_distances
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.pool.ids import hash_rows

# Classes that are learned each; all others are one.
MOST_CLASSES = 100
# Rows that are learned from, at most; and different ones, at least.
MOST_ROWS, FEWEST_ROWS = 20_000, 50
# Rows worked on at once.
AT_ONCE = 1 << 12
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
# Ridges that are tried where every row is a centre.
_KERNEL_RIDGES = (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
# No row decides more of its own prediction than this.
_MOST_LEVERAGE = 0.99
# Factors of scores that are tried: softmax of their products are probabilities.
_FACTORS = np.geomspace(0.5, 200, 40)
# Standard errors by which what is foretold is better than shares or a mean are.
_SURELY = 3.0
# A share of trees is at least this.
LEAST_SHARE = 1e-3
# Columns are multiples of this: another processor's last digits show in none of them.
GRID = 1 / 256


class Learner(Protocol):
    """Who foretells classes, or values.

    held_out  (n, C) log-probabilities of the rows it learned from, or their (n, 1) values, each
              from the others
    """

    held_out: Array

    def predict(self, inputs: Any) -> Array:
        """(R, C) log-probabilities, or (R, 1) values, of other rows (R, D)."""
        ...


class Source(Protocol):
    """Knowledge about rows besides their labels.

    most_classes  classes that its learners tell apart, at most
    """

    most_classes: int

    def read(self, rows: Array) -> Any:
        """(R, D) inputs, dense or sparse, of the rows at positions (R,)."""
        ...

    def hash(self, inputs: Any) -> Array:
        """(R,) uint64, the same for inputs that are the same."""
        ...

    def list_learners(self, inputs: Any, labels: Array, count: int) -> Iterator[Learner]:
        """Those that learn from inputs (n, D) and labels (n,): so many classes, or 0 for values."""
        ...


class Features:
    """Standardised features, as far as each speaks.

    select  (R, D) float32 of the rows at positions (R,)
    exact   where no more rows differ, all of them are centres of the kernel
    """

    most_classes = MOST_CLASSES

    def __init__(self, select: Callable[[Array], Array], exact: int = 0) -> None:
        self._select, self._exact = select, exact

    def read(self, rows: Array) -> Array:
        """(R, D) float32."""
        return np.clip(self._select(rows), -_FARTHEST, _FARTHEST)

    def hash(self, inputs: Array) -> Array:
        """(R,) uint64; 0 and -0 are the same."""
        return hash_rows(np.zeros(len(inputs), np.uint64), list((inputs + np.float32(0)).T))

    def list_learners(self, inputs: Array, labels: Array, count: int) -> Iterator[Learner]:
        """Three, of the features that differ; none where none does."""
        varies = inputs.min(axis=0, initial=np.inf) < inputs.max(axis=0, initial=-np.inf)
        if not varies.any():
            return
        inputs = inputs[:, varies]
        yield _Chosen(_Trees(inputs, labels, count), varies)
        if len(inputs) <= self._exact:
            yield _Chosen(_KernelRidge(inputs, labels, count), varies)
        else:
            yield _Chosen(_choose_kernel(inputs, labels, count), varies)
        if inputs.shape[1] <= len(inputs) // _ROWS_PER_COLUMN:
            yield _Chosen(_Ridge(inputs, labels, count, lambda rows: rows), varies)


class _Chosen:
    """A learner of some columns (D,) bool of the inputs."""

    def __init__(self, learner: Learner, columns: Array) -> None:
        self._learner, self._columns, self.held_out = learner, columns, learner.held_out

    def predict(self, inputs: Array) -> Array:
        """As the learner does, of other rows."""
        return self._learner.predict(inputs[:, self._columns])


class _Trees:
    """Extremely randomised trees; every learned row is judged by those that did not draw it."""

    def __init__(self, inputs: Array, labels: Array, count: int) -> None:
        # It takes a while to load, and only where columns are learned.
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        self.count = count
        self.forest = (ExtraTreesClassifier if count else ExtraTreesRegressor)(
            _TREES,
            max_depth=_DEPTH,
            min_samples_leaf=_LEAF,
            bootstrap=True,
            oob_score=True,
            n_jobs=1,
            random_state=0,
        ).fit(inputs, labels)
        if count:
            found = self.forest.oob_decision_function_
            # A row that every tree drew has no shares.
            found = np.nan_to_num(found, nan=1 / found.shape[1])
        else:
            found = self.forest.oob_prediction_[:, None]
        self.held_out = self._spread(found)

    def predict(self, inputs: Array) -> Array:
        """Of rows that it did not learn."""
        trees, inputs = self.forest.estimators_[:_OUT_OF_BAG], np.ascontiguousarray(inputs)
        return self._spread(sum(each.tree_.predict(inputs) for each in trees) / len(trees))

    def _spread(self, found: Array) -> Array:
        """(R, C) log-probabilities from shares of the classes that it knows; values as they are."""
        if not self.count:
            return found
        spread = np.full((len(found), self.count), np.log(LEAST_SHARE))
        spread[:, self.forest.classes_] = np.log(np.maximum(found, LEAST_SHARE))
        return spread


class _Ridge:
    """Ridge regression of the classes or of values; a learned row is judged without itself.

    error  mean squared error of these predictions
    """

    def __init__(
        self, inputs: Array, labels: Array, count: int, expand: Callable[[Array], Array]
    ) -> None:
        self.expand, self.count = expand, count
        targets, self.centre = _list_targets(labels, count)
        expanded = expand(inputs)
        turned = np.ones((len(inputs), expanded.shape[1] + 1))
        turned[:, :-1] = expanded
        del expanded
        roots, turn = np.linalg.eigh(turned.T @ turned)
        for rows in _split_rows(len(turned)):
            turned[rows] = turned[rows] @ turn
        towards = turned.T @ targets
        penalties = np.array(_RIDGES)[:, None] * len(turned) / 1000 + _LEAST_RIDGE
        kept = 1 / (np.maximum(roots, 0) + penalties)
        errors, scores = [], []
        for shrunk in kept:
            found = np.empty(targets.shape)
            for rows in _split_rows(len(turned)):
                part = turned[rows]
                leverage = np.minimum(part**2 @ shrunk, _MOST_LEVERAGE)[:, None]
                alone = part @ (shrunk[:, None] * towards) - leverage * targets[rows]
                found[rows] = alone / (1 - leverage)
            errors.append(((found - targets) ** 2).mean())
            scores.append(found)
        best = find_nearly_largest(-np.array(errors))
        self.error = errors[best]
        self.weights = turn @ (kept[best][:, None] * towards)
        self.factor = find_factor(scores[best], labels) if count else 1.0
        self.held_out = self._read(scores[best])

    def predict(self, inputs: Array) -> Array:
        """Of rows that it did not learn."""
        scores = self.expand(inputs).astype(float, copy=False) @ self.weights[:-1]
        return self._read(scores + self.weights[-1])

    def _read(self, scores: Array) -> Array:
        return _read_scores(scores, self.centre, self.factor, self.count)


class _KernelRidge:
    """Ridge regression in the space of a Gaussian kernel: every row is a centre.

    A learned row is judged without itself, by the inverse of the kernel's matrix (Rasmussen and
    Williams 2006, section 5.4.2).
    """

    def __init__(self, inputs: Array, labels: Array, count: int) -> None:
        self.count, self.rows = count, inputs.astype(float)
        targets, self.centre = _list_targets(labels, count)
        squares = square_distances(self.rows, self.rows)
        usual = _find_usual(squares)
        errors, found = [], []
        for scale in _SCALES:
            shrink = -scale / usual
            roots, turn = np.linalg.eigh(np.exp(shrink * squares))
            for ridge in _KERNEL_RIDGES:
                kept = 1 / (np.maximum(roots, 0) + ridge)
                weights = turn @ (kept[:, None] * (turn.T @ targets))
                apart = weights / (turn**2 @ kept)[:, None]
                errors.append((apart**2).mean())
                found.append((shrink, weights, targets - apart))
        self.shrink, self.weights, scores = found[find_nearly_largest(-np.array(errors))]
        self.factor = find_factor(scores, labels) if count else 1.0
        self.held_out = self._read(scores)

    def predict(self, inputs: Array) -> Array:
        """Of rows that it did not learn."""
        correlations = square_distances(inputs.astype(float), self.rows)
        correlations *= self.shrink
        return self._read(np.exp(correlations, out=correlations) @ self.weights)

    def _read(self, scores: Array) -> Array:
        return _read_scores(scores, self.centre, self.factor, self.count)


def _split_rows(count: int) -> Iterator[slice]:
    """Parts of so many rows that are worked on at once."""
    return (slice(start, start + AT_ONCE) for start in range(0, count, AT_ONCE))


def _list_targets(labels: Array, count: int) -> tuple[Array, float]:
    """(n, C) 1 for the class of each row, or (n, 1) values about their mean; and that mean."""
    if count:
        return (labels[:, None] == np.arange(count)).astype(float), 0.0
    centre = float(labels.mean())
    return (labels - centre)[:, None], centre


def _read_scores(scores: Array, centre: float, factor: float, count: int) -> Array:
    """(R, C) log-probabilities of scores, or (R, 1) values."""
    return np.asarray(log_softmax(scores * factor, axis=1)) if count else scores + centre


def _find_usual(squares: Array) -> float:
    """The median of the squared distances (m, m) of different rows."""
    # Where most rows are the same, no width is the usual one.
    return float(np.median(squares[np.triu_indices(len(squares), 1)])) or 1.0


def _choose_kernel(inputs: Array, labels: Array, count: int) -> _Ridge:
    """The best width of a Gaussian kernel at the first rows."""
    # In double precision: see GRID.
    centres = inputs[: min(_CENTRES, len(inputs) // _ROWS_PER_COLUMN)].astype(float)
    usual = _find_usual(square_distances(centres, centres))

    def correlate(scale: float) -> Callable[[Array], Array]:
        shrink = -scale / usual

        def expand(rows: Array) -> Array:
            found = square_distances(rows.astype(float), centres)
            found *= shrink
            correlations: Array = np.exp(found, out=found)
            return correlations

        return expand

    found = [_Ridge(inputs, labels, count, correlate(scale)) for scale in _SCALES]
    return found[find_nearly_largest(-np.array([each.error for each in found]))]


def find_factor(scores: Array, labels: Array) -> float:
    """The factor by which the softmax of scores (n, C) foretells the labels (n,) best."""
    fits = [take_own(log_softmax(scores * each, axis=1), labels).mean() for each in _FACTORS]
    return float(_FACTORS[find_nearly_largest(np.array(fits))])


def rank_classes(codes: Array, most: int) -> tuple[Array, Array]:
    """The classes that occur, the most frequent first, and (n,) the rank of each of codes (n,).

    From the last of `most` ranks on, the rare ones are one.
    """
    seen, place, often = np.unique(codes, return_inverse=True, return_counts=True)
    order = np.argsort(-often, kind="stable")
    rank = np.argsort(order, kind="stable")
    return seen[order], np.minimum(rank, most - 1)[place]


def measure_gain(logs: Array, labels: Array) -> Array:
    """(n,) by how much log-probabilities (n, C) of the labels (n,) are above their shares.

    They may sum to more than 1.
    """
    shares = np.bincount(labels, minlength=logs.shape[1]) / len(labels)
    gain: Array = take_own(log_softmax(logs, axis=1), labels) - np.log(shares[labels])
    return gain


def measure_hits(logs: Array, labels: Array, classes: int, most: int) -> float:
    """Share of rows whose label (n,) is the likeliest one, by log-probabilities (n, C).

    Of more classes than `most` the last is what the rare ones are together: nobody foretells it.
    """
    merged = logs.shape[1] - 1 if classes > most else logs.shape[1]
    return float(((logs.argmax(axis=1) == labels) & (labels < merged)).mean())


def is_sure(gain: Array, different: int) -> bool:
    """Whether gains (n,), of which so many rows are different ones, are surely above 0."""
    return bool(gain.mean() > _SURELY * gain.std() / different**0.5)


def take_own(logs: Array, labels: Array) -> Array:
    """(R,) of (R, C) those of the labels."""
    own: Array = logs[np.arange(len(labels)), labels]
    return own
