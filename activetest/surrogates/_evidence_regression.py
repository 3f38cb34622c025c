"""Multinomial regression of training rows, where it predicts classes better than a forest."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array
from activetest.surrogates._black_box import fit_sharpness, log_sum_exp, softmax
from activetest.surrogates._multinomial import find_mode

# Prior standard deviations of the contribution of all inputs to a logit, of which one is chosen,
# and that of the intercepts.
_WIDTHS = (1.0, 3.0, 10.0)
_INTERCEPT = 3.0
_FOLDS = 3
# Of the search for the coefficients.
_STEPS = 50
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
    """The regression of M rows: inputs (M, W), labels (M,) codes. guess only affects speed."""
    design = _add_intercept(inputs).astype(float)
    precision = np.full(design.shape[1], (design.shape[1] - 1) / width**2)
    precision[0] = _INTERCEPT**-2
    offset = np.zeros((len(labels), classes))
    weights = find_mode(design, labels, offset, precision, guess, steps=_STEPS)
    return ClassRegression(weights.astype(np.float32), width)


def choose_width(
    inputs: Array, labels: Array, classes: int, rng: np.random.Generator
) -> tuple[float, Array]:
    """The width of the prior with the smallest cross-validated log-loss.

    And (M, C) what regressions of that width say of the rows that they did not learn.
    """
    fold = rng.permutation(len(labels)) % _FOLDS
    probs = np.empty((len(_WIDTHS), len(labels), classes))
    for number in range(_FOLDS):
        inside, guess = fold != number, None
        for place, width in enumerate(_WIDTHS):
            model = fit_regression(inputs[inside], labels[inside], classes, width, guess)
            guess = model.weights
            probs[place, ~inside] = model.predict(inputs[~inside])
    losses = [_average_loss(np.log(np.maximum(each, _LEAST)), labels) for each in probs]
    best = int(np.argmin(losses))
    return _WIDTHS[best], probs[best]


def hold_out(
    model: ClassRegression,
    inputs: Array,
    labels: Array,
    classes: int,
    which: Array,
    rng: np.random.Generator,
) -> Array:
    """(M, C) probabilities; those of rows `which` (M,) bool by models that did not learn them."""
    probs = model.predict(inputs)
    fold = np.full(len(labels), -1)
    fold[which] = rng.permutation(int(which.sum())) % _FOLDS
    for number in range(min(_FOLDS, int(which.sum()))):
        left = fold == number
        other = fit_regression(inputs[~left], labels[~left], classes, model.width, model.weights)
        probs[left] = other.predict(inputs[left])
    return probs


def compute_loss(probs: Array, labels: Array) -> float:
    """Mean log-loss of labels (M,) under probabilities (M, C) that are made as sharp as fits.

    Where a column is weighed by its evidence, what is too cautious throughout loses nothing.
    """
    logs = np.log(np.maximum(probs, _LEAST))
    return _average_loss(fit_sharpness(logs, labels) * logs, labels)


def _average_loss(logits: Array, labels: Array) -> float:
    return float((log_sum_exp(logits) - logits[np.arange(len(labels)), labels]).mean())


def _add_intercept(columns: Array) -> Array:
    return np.hstack([np.ones((len(columns), 1), np.float32), columns])
