"""Bayesian linear models: multinomial logistic regression, ridge regression of values.

Logistic: posterior mode and Laplace approximation (Spiegelhalter and Lauritzen 1990; MacKay 1992).
With more than 1,000 coefficients the approximation is block-diagonal, one block for each class.
Ridge: conjugate normal-inverse-gamma, exact (Bishop 2006, section 3.3). In both the width of the
prior is chosen from a few by the evidence, and members are draws from the posterior. With training
rows they predict labels from features; without, they correct the black box's outputs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._black_box import fit_sharpness, log_probs, log_sum_exp, softmax
from activetest.surrogates._classes import Ensemble, unpack_positions
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE, GaussianEnsemble
from activetest.surrogates._inputs import input_columns
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._training_data import prepare_training_data

NEEDS_FEATURES = True
AUGMENTS = True

# Prior standard deviations of the contribution of all inputs to a logit or, for values, to the
# prediction in units of the noise: the evidence selects one.
_WIDTHS = (0.3, 1.0, 3.0, 10.0)
# Those of the intercepts: small with the black box's probabilities, large without.
_INTERCEPT_OF_BOX, _INTERCEPT = 0.5, 3.0
# Most rows for the evidence, and most rows for the fit.
_FEW_ROWS, _MOST_ROWS = 2_000, 20_000
# With more coefficients than this, every class has its own covariance matrix.
_MOST_TOGETHER = 1_000
# Half of the members are the mirror images of the others, so that their mean is the mode.
_MEMBERS = 50
# Steps of the search for a mode, at most.
_STEPS = 300
# Evidences that differ by no more are equal.
_EVIDENCE_ERROR = 1e-6
# Pseudo-observations of the prior noise.
_NOISE_PRIOR = 4.0


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The posterior after M labels and the training rows.

    Raises ChoiceError for training rows without features.
    """
    design, labels, offset, augmented = _prepare_data(training, rng)
    outputs = training.uses_outputs
    if not outputs and not len(labels):
        return prior_belief(training, augmented, _MEMBERS)
    if not training.classes:
        return GaussianEnsemble(_fit_ridge(design, labels, training, rng))
    subset = slice(None, None, -(-len(labels) // _FEW_ROWS) or 1)
    offset = np.broadcast_to(offset, (len(labels), training.classes))
    sharpness = fit_sharpness(offset, labels) if outputs else 1.0
    offset = sharpness * offset
    evidences: list[float] = []
    mode = None
    for width in _WIDTHS:
        precision = _prior_precision(design.shape[1], width, outputs)
        mode = find_mode(design[subset], labels[subset], offset[subset], precision, mode)
        evidences.append(
            _log_evidence(design[subset], labels[subset], offset[subset], precision, mode)
        )
    # The narrowest if several are equal, as they are without labels.
    best = _WIDTHS[int(find_nearly_largest(np.array(evidences), error=_EVIDENCE_ERROR))]
    precision = _prior_precision(design.shape[1], best, outputs)
    mode = find_mode(design, labels, offset, precision, mode)
    deviations = _draw_deviations(
        design, _class_probs(design, offset, mode), precision, _MEMBERS // 2, rng
    )
    members = np.concatenate([mode + deviations, mode - deviations]).astype(np.float32, order="C")
    return Ensemble(Logistic(members, sharpness, outputs), augmented)


@dataclass(frozen=True)
class Logistic:
    """Draws of the coefficients.

    weights     (E, D, C) of the members, the intercept first
    sharpness   of the black box, which multiplies its log-probabilities
    outputs     whether they correct those
    """

    weights: Array
    sharpness: float
    outputs: bool

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.weights)

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {**vars(self), "classes": True}

    def probs(self, rows: Rows) -> Array:
        """(R, C) at the posterior mode, which is the mean of the members' coefficients.

        The mean of the probabilities is worse: uncertainty about many classes looks like error.
        """
        return next(self._predict(rows, self.weights.mean(axis=0)[None]))

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) probabilities of these members."""
        return np.stack(list(self._predict(rows, self.weights[which])))

    def _predict(self, rows: Rows, weights: Array) -> Iterator[Array]:
        """(R, C) probabilities under each of the (D, C) coefficients in turn."""
        design, offset = _design_columns(rows, self.outputs), np.zeros((), np.float32)
        if self.outputs:
            offset = np.float32(self.sharpness) * log_probs(rows, weights.shape[2])
        return (softmax(design @ each + offset) for each in weights)


@dataclass(frozen=True)
class Ridge:
    """The normal-inverse-gamma posterior of D coefficients and the noise, and draws from it.

    mode         (D,) of the coefficients, the intercept first
    factor       (D, D) half of their covariance, in units of the noise's variance: S = A A'
    shape, rate  of the noise's inverse gamma
    weights      (E, D) coefficients of the members
    noise        (E, 1) variance of the noise of the members
    center       added to every prediction
    outputs      whether they predict label minus prediction
    """

    mode: Array
    factor: Array
    shape: float
    rate: float
    weights: Array
    noise: Array
    center: float
    outputs: bool

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.weights)

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {**vars(self), "classes": False}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the predictive Student's t."""
        design, offset = self._design_and_offset(rows)
        uncertainty = ((design @ self.factor) ** 2).sum(axis=1)
        return offset + design @ self.mode, (1 + uncertainty) * self.rate / (self.shape - 1)

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) predictions of these members, (K, 1) their noise."""
        design, offset = self._design_and_offset(rows)
        return offset + self.weights[which] @ design.T, self.noise[which]

    def _design_and_offset(self, rows: Rows) -> tuple[Array, Array | float]:
        design = _design_columns(rows, self.outputs).astype(float)
        return design, self.center + rows.outputs.pred if self.outputs else self.center


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if has_no_labels(params):
        return restore_nothing(params)
    outputs = bool(params["outputs"])
    if params["classes"]:
        weights = np.asarray(params["weights"], np.float32)
        members = Logistic(weights, float(params["sharpness"]), outputs)
        return Ensemble(members, unpack_positions(params))
    names = ("mode", "factor", "weights", "noise")
    arrays = {name: np.asarray(params[name], float) for name in names}
    shape, rate, center = (float(params[name]) for name in ("shape", "rate", "center"))
    ridge = Ridge(**arrays, shape=shape, rate=rate, center=center, outputs=outputs)
    return GaussianEnsemble(ridge)


def _prepare_data(
    training: TrainingSet, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array | None]:
    """(M, D) design, (M,) labels, (M, C) or () offset of the predictions; the augmented items."""
    if training.uses_outputs:
        # The prior is the black box itself, so that no background sample is needed.
        rows, labels = training.rows[training.usable], training.labels[training.usable]
        offset = log_probs(rows, training.classes) if training.classes else rows.outputs.pred
        design = _design_columns(rows, True).astype(float)
        return design, labels.astype(int) if training.classes else labels - offset, offset, None
    data = prepare_training_data(training, rng=rng, most=_MOST_ROWS)
    design = _add_intercept(data.inputs).astype(float)
    return design, data.labels, np.zeros(()), data.augmented


def _design_columns(rows: Rows, outputs: bool) -> Array:
    return _add_intercept(input_columns(rows, outputs=outputs))


def _add_intercept(columns: Array) -> Array:
    return np.hstack([np.ones((len(columns), 1), np.float32), columns])


def _prior_precision(columns: int, width: float, outputs: bool) -> Array:
    """(D,) prior precision of the intercept and of coefficients that share the width."""
    precision = np.full(columns, (columns - 1) / width**2)
    precision[0] = (_INTERCEPT_OF_BOX if outputs else _INTERCEPT) ** -2
    return precision


def _class_probs(design: Array, offset: Array, weights: Array) -> Array:
    """(M, C) probabilities of the classes."""
    return softmax(design @ weights + offset)


def find_mode(
    design: Array,
    labels: Array,
    offset: Array,
    precision: Array,
    guess: Array | None,
) -> Array:
    """(D, C) coefficients with the largest posterior density, by L-BFGS.

    design (M, D), labels (M,), offset (M, C) of the logits, precision (D,) of the prior; the
    objective is convex, so that the guess only affects speed.
    """
    # Takes a while to load, and whoever only predicts does without.
    from scipy.optimize import minimize

    shape = (design.shape[1], offset.shape[1])
    rows = np.arange(len(labels))

    def objective(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape)
        logits = design @ weights + offset
        log_norm = log_sum_exp(logits)
        slope = np.exp(logits - log_norm[:, None])
        slope[rows, labels] -= 1
        prior_slope = precision[:, None] * weights
        value = (log_norm - logits[rows, labels]).sum() + 0.5 * (prior_slope * weights).sum()
        return value, (design.T @ slope + prior_slope).ravel()

    initial = np.zeros(shape) if guess is None else guess
    optimum = minimize(
        objective, initial.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
    )
    return optimum.x.reshape(shape)


def _log_evidence(
    design: Array, labels: Array, offset: Array, precision: Array, mode: Array
) -> float:
    """Laplace's logarithm of the labels' probability under this prior, up to a constant."""
    probs = _class_probs(design, offset, mode)
    log_density = np.log(probs[np.arange(len(labels)), labels]).sum() if len(labels) else 0.0
    log_density -= 0.5 * (precision[:, None] * mode**2).sum()
    prior_norm = 0.5 * mode.shape[1] * np.log(precision).sum()
    blocks = _compute_hessians(design, probs, precision)
    return log_density + prior_norm - 0.5 * sum(np.linalg.slogdet(block)[1] for block in blocks)


def _compute_hessians(design: Array, probs: Array, precision: Array) -> Iterator[Array]:
    """Curvature at the mode: (CD, CD) of all coefficients, class by class, or (D, D) of each class.

    Böhning (1992): the sum over rows of (diag(p) - p p') times the outer product of the row.
    """
    classes, columns = probs.shape[1], design.shape[1]
    prior = np.diag(precision)
    if classes * columns > _MOST_TOGETHER:
        for class_prob in probs.T:
            yield (design.T * (class_prob * (1 - class_prob))) @ design + prior
        return
    full = np.zeros((classes, columns, classes, columns))
    for row_class in range(classes):
        for column_class in range(row_class + 1):
            weight = probs[:, row_class] * ((row_class == column_class) - probs[:, column_class])
            block = (design.T * weight) @ design + (row_class == column_class) * prior
            full[row_class, :, column_class], full[column_class, :, row_class] = block, block
    yield full.reshape(classes * columns, classes * columns)


def _draw_deviations(
    design: Array, probs: Array, precision: Array, count: int, rng: np.random.Generator
) -> Array:
    """(count, D, C) draws from Laplace's Gaussian, minus its mean."""
    blocks = []
    for hessian in _compute_hessians(design, probs, precision):
        upper = np.linalg.cholesky(hessian).T
        noise = rng.normal(size=(len(hessian), count))
        blocks.append(np.linalg.solve(upper, noise).reshape(-1, design.shape[1], count))
    return np.moveaxis(np.concatenate(blocks), 2, 0).swapaxes(1, 2)


def _fit_ridge(
    design: Array, labels: Array, training: TrainingSet, rng: np.random.Generator
) -> Ridge:
    """The posterior of the coefficients, given the width of prior with the largest evidence."""
    outputs = training.uses_outputs
    center = 0.0 if outputs else float(labels.mean())
    prior_noise = RESIDUAL_VARIANCE_SHARE * (
        training.scale**2 if outputs else float(labels.var()) or 1.0
    )
    labels = labels - center
    shape = 0.5 * (_NOISE_PRIOR + len(labels))
    candidates = []
    for width in _WIDTHS:
        precision = _prior_precision(design.shape[1], width, outputs)
        posterior = design.T @ design + np.diag(precision)
        mode = np.linalg.solve(posterior, design.T @ labels)
        rate = 0.5 * (_NOISE_PRIOR - 2) * prior_noise + 0.5 * (labels @ (labels - design @ mode))
        evidence = 0.5 * (np.log(precision).sum() - np.linalg.slogdet(posterior)[1])
        candidates.append((evidence - shape * np.log(rate), mode, posterior, rate))
    evidences = np.array([each[0] for each in candidates])
    best = int(find_nearly_largest(evidences, error=_EVIDENCE_ERROR))
    _, mode, posterior, rate = candidates[best]
    factor = np.linalg.inv(np.linalg.cholesky(posterior)).T.copy()
    noise = rate / rng.gamma(shape, size=(_MEMBERS, 1))
    deviations = np.sqrt(noise) * (rng.normal(size=(_MEMBERS, len(mode))) @ factor.T)
    return Ridge(mode, factor, shape, float(rate), mode + deviations, noise, center, outputs)
