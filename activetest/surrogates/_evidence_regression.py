"""Multinomial regression of training rows: beside a forest, what lines and planes tell."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.surrogates._black_box import log_sum_exp, softmax

# Prior standard deviations of the contribution of all inputs to a logit, of which one is chosen,
# and that of the intercepts.
_WIDTHS = (1.0, 3.0, 10.0)
_INTERCEPT = 3.0
_FOLDS = 3
# Of the search for the coefficients.
_STEPS = 50
# Shares of a regression beside a forest, and how much sharper than their mean, that are tried.
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHARPNESS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
# The least probability of what happened.
_LEAST = 1e-4


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
        probs = self.predict(columns)
        return probs[np.arange(len(codes)), codes]

    def predict(self, columns: Array) -> Array:
        """(R, C) probabilities of the classes."""
        return softmax((_add_intercept(columns) @ self.weights).astype(float))

    def check(self) -> None:
        """Raises ValueError for what are no coefficients."""
        if self.weights.ndim != 2 or not np.isfinite(self.weights).all():
            raise ValueError("coefficients of a regression are not numbers")


def fit_regression(
    inputs: Array, labels: Array, classes: int, width: float, guess: Array | None = None
) -> ClassRegression:
    """The regression of M rows: inputs (M, W), labels (M,) codes. guess only affects speed.

    Steps by the bound of the curvature that holds everywhere (Boehning 1992), accelerated, with a
    fresh start where they lead uphill (O'Donoghue and Candes 2015).
    """
    design = _add_intercept(inputs).astype(float)
    precision = np.full((design.shape[1], 1), (design.shape[1] - 1) / width**2)
    precision[0] = _INTERCEPT**-2
    bound = np.linalg.inv(0.5 * design.T @ design + np.diag(precision[:, 0]))
    rows = np.arange(len(labels))
    weights = np.zeros((design.shape[1], classes)) if guess is None else guess.astype(float)
    ahead, pace = weights, 1.0
    for _ in range(_STEPS):
        slope = softmax(design @ ahead)
        slope[rows, labels] -= 1
        gradient = design.T @ slope + precision * ahead
        found = ahead - bound @ gradient
        moved = found - weights
        if (gradient * moved).sum() > 0:
            pace = 1.0
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, weights, pace = found + (pace - 1) / faster * moved, found, faster
    return ClassRegression(weights.astype(np.float32), width)


def choose_width(inputs: Array, labels: Array, classes: int, rng: np.random.Generator) -> float:
    """The width of the prior with the smallest log-loss of rows that were left out: a third."""
    left = rng.permutation(len(labels)) % _FOLDS == 0
    losses, guess = [], None
    for width in _WIDTHS:
        model = fit_regression(inputs[~left], labels[~left], classes, width, guess)
        guess = model.weights
        probs = model.predict(inputs[left])[np.arange(int(left.sum())), labels[left]]
        losses.append(-np.log(np.maximum(probs, _LEAST)).mean())
    return _WIDTHS[int(find_nearly_largest(-np.array(losses)))]


def hold_out(
    model: ClassRegression, inputs: Array, labels: Array, classes: int, rng: np.random.Generator
) -> Array:
    """(M, C) probabilities of each row by a regression of the same width that did not learn it."""
    fold, probs = rng.permutation(len(labels)) % _FOLDS, np.empty((len(labels), classes))
    for number in range(_FOLDS):
        left = fold == number
        other = fit_regression(inputs[~left], labels[~left], classes, model.width, model.weights)
        probs[left] = other.predict(inputs[left])
    return probs


def choose_share(by_forest: Array, by_regression: Array, labels: Array) -> float:
    """The share of a regression's logits in a mean that predicts (M,) labels best.

    Both (M, C) probabilities of rows that were not learned. Means are compared once they are as
    sharp as fits: where a column is weighed by its evidence, what is too cautious throughout loses
    nothing.
    """
    logs = [np.log(np.maximum(each, _LEAST)) for each in (by_forest, by_regression)]
    rows, losses = np.arange(len(labels)), []
    for share in _SHARES:
        mean = (1 - share) * logs[0] + share * logs[1]
        sharpened = [sharpness * mean for sharpness in _SHARPNESS]
        losses.append(min((log_sum_exp(each) - each[rows, labels]).mean() for each in sharpened))
    return _SHARES[int(find_nearly_largest(-np.array(losses)))]


def _add_intercept(columns: Array) -> Array:
    return np.hstack([np.ones((len(columns), 1), np.float32), columns])
