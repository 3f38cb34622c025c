"""Bayesian linear models: multinomial logistic regression, ridge regression of values.

Logistic: posterior mode and Laplace approximation (Spiegelhalter and Lauritzen 1990; MacKay 1992).
With more than 1,000 coefficients the approximation is block-diagonal, one block for each class.
Ridge: conjugate normal-inverse-gamma, exact (Bishop 2006, section 3.3). In both the width of the
prior is the one of a few with the largest evidence, and members are draws from the posterior. With
training rows they predict labels from features; without, they correct what the black box says.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._box import log_probs, log_sums, sharpness, softmax
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GUESS, GaussianEnsemble
from activetest.surrogates._inputs import inputs, training_data

NEEDS_FEATURES = True

# Prior standard deviations, of what all inputs together add to a logit or, for values, to the
# prediction in units of the noise: the evidence picks one.
_WIDTHS = (0.3, 1.0, 3.0, 10.0)
# And of the intercepts: the black box is not far off, but of classes alone nothing is known.
_INTERCEPT_OF_BOX, _INTERCEPT = 0.5, 3.0
# Rows that the evidence is computed on, and rows that are learned from.
_FEW_ROWS, _MOST_ROWS = 2_000, 20_000
# With more coefficients than this, classes have covariances of their own.
_MOST_TOGETHER = 1_000
# Half as many draws again are their mirror images: together their mean is the mode.
_MEMBERS = 50
# Pseudo-observations behind the first guess of the noise.
_NOISE_PRIOR = 4.0


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The posterior after M labels and the training rows.

    Raises ChoiceError for training rows without features.
    """
    design, labels, start = _task(training, rng)
    outputs = training.train is None
    if not training.classes:
        return GaussianEnsemble(_ridge(design, labels, training, rng))
    few = slice(None, None, -(-len(labels) // _FEW_ROWS) or 1)
    start = np.broadcast_to(start, (len(labels), training.classes))
    sharp = sharpness(start, labels) if outputs else 1.0
    start = sharp * start
    evidences, mode = [], None
    for width in _WIDTHS:
        precision = _precision(design.shape[1], width, outputs)
        mode = _mode(design[few], labels[few], start[few], precision, mode)
        evidences.append(_evidence(design[few], labels[few], start[few], precision, mode))
    # Of equal ones, as they are without labels, the narrowest.
    best = _WIDTHS[int(np.argmax(np.round(evidences, 6)))]
    precision = _precision(design.shape[1], best, outputs)
    mode = _mode(design, labels, start, precision, mode)
    moved = _deviations(design, _probs(design, start, mode), precision, _MEMBERS // 2, rng)
    members = np.concatenate([mode + moved, mode - moved]).astype(np.float32, order="C")
    return Ensemble(Logistic(members, sharp, outputs))


@dataclass(frozen=True)
class Logistic:
    """Draws of the coefficients.

    weights     (E, D, C) of the members, the intercept first
    sharpness   of the black box, which multiplies its log-probabilities
    outputs     they correct those
    """

    weights: Array
    sharpness: float
    outputs: bool

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.weights)

    def params(self) -> dict:
        """The fields."""
        return {**vars(self), "classes": True}

    def probs(self, rows: Rows) -> Array:
        """(R, C) at the posterior mode, which is the mean of the members' coefficients.

        The mean of their probabilities is worse: doubt about many classes at once looks like error.
        """
        return next(self._each(rows, self.weights.mean(axis=0)[None]))

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) what these members say."""
        return np.stack(list(self._each(rows, self.weights[which])))

    def _each(self, rows: Rows, weights: Array):
        """(R, C) under one (D, C) after the other."""
        design, start = _design(rows, self.outputs), np.float32(0)
        if self.outputs:
            start = np.float32(self.sharpness) * log_probs(rows, weights.shape[2])
        return (softmax(design @ each + start) for each in weights)


@dataclass(frozen=True)
class Ridge:
    """The normal-inverse-gamma posterior of D coefficients and the noise, and draws from it.

    mode         (D,) of the coefficients, the intercept first
    factor       (D, D) half of their covariance, in units of the noise's variance: S = A A'
    shape, rate  of the noise's inverse gamma
    weights      (E, D) coefficients of the members
    noise        (E, 1) variance of the noise of the members
    center       added to every prediction
    outputs      they predict what the black box's prediction misses
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

    def params(self) -> dict:
        """The fields."""
        return {**vars(self), "classes": False}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the predictive Student's t."""
        design, start = self._seen(rows)
        doubt = ((design @ self.factor) ** 2).sum(axis=1)
        return start + design @ self.mode, (1 + doubt) * self.rate / (self.shape - 1)

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) predictions of these members, (K, 1) their noise."""
        design, start = self._seen(rows)
        return start + self.weights[which] @ design.T, self.noise[which]

    def _seen(self, rows: Rows) -> tuple[Array, Array | float]:
        design = _design(rows, self.outputs).astype(float)
        return design, self.center + rows.outputs.pred if self.outputs else self.center


def restore(params: dict) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    outputs = bool(params["outputs"])
    if params["classes"]:
        weights = np.asarray(params["weights"], np.float32)
        return Ensemble(Logistic(weights, float(params["sharpness"]), outputs))
    arrays = ("mode", "factor", "weights", "noise")
    numbers = ("shape", "rate", "center")
    made = {name: np.asarray(params[name], float) for name in arrays}
    made |= {name: float(params[name]) for name in numbers}
    return GaussianEnsemble(Ridge(**made, outputs=outputs))


def _task(training: TrainingSet, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """(M, D) design, (M,) labels and (M, C) or () what is added to the predictions."""
    keep = training.labels >= 0 if training.classes else np.ones(len(training.labels), bool)
    if training.train is None:
        # The prior is the black box itself, so there is no need to imitate it on a sketch.
        rows, labels = training.rows[keep], training.labels[keep]
        start = log_probs(rows, training.classes) if training.classes else rows.outputs.pred
        design = _design(rows, True).astype(float)
        return design, labels.astype(int) if training.classes else labels - start, start
    taught = training_data(training, rng=rng, most=_MOST_ROWS)
    return _intercept(taught.inputs).astype(float), taught.labels, np.zeros(())


def _design(rows: Rows, outputs: bool) -> Array:
    return _intercept(inputs(rows, outputs=outputs))


def _intercept(columns: Array) -> Array:
    return np.hstack([np.ones((len(columns), 1), np.float32), columns])


def _precision(columns: int, width: float, outputs: bool) -> Array:
    """(D,) prior precision of coefficients: the intercept's own, the others share the width."""
    made = np.full(columns, (columns - 1) / width**2)
    made[0] = (_INTERCEPT_OF_BOX if outputs else _INTERCEPT) ** -2
    return made


def _probs(design: Array, start: Array, weights: Array) -> Array:
    """(M, C) probabilities of the classes."""
    return softmax(design @ weights + start)


def _mode(
    design: Array, labels: Array, start: Array, precision: Array, guess: Array | None
) -> Array:
    """(D, C) coefficients with the largest posterior density, by L-BFGS.

    design (M, D), labels (M,), start (M, C) of the logits, precision (D,) of the prior; the
    objective is convex, so the guess matters to speed alone.
    """
    shape = (design.shape[1], start.shape[1])
    rows = np.arange(len(labels))

    def objective(flat):
        weights = flat.reshape(shape)
        logits = design @ weights + start
        norm = log_sums(logits)
        slope = np.exp(logits - norm[:, None])
        slope[rows, labels] -= 1
        pulled = precision[:, None] * weights
        value = (norm - logits[rows, labels]).sum() + 0.5 * (pulled * weights).sum()
        return value, (design.T @ slope + pulled).ravel()

    first = np.zeros(shape) if guess is None else guess
    found = minimize(
        objective, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 300}
    )
    return found.x.reshape(shape)


def _evidence(design: Array, labels: Array, start: Array, precision: Array, mode: Array) -> float:
    """Laplace's logarithm of the labels' probability under this prior, up to a constant."""
    probs = _probs(design, start, mode)
    fit = np.log(probs[np.arange(len(labels)), labels]).sum() if len(labels) else 0.0
    fit -= 0.5 * (precision[:, None] * mode**2).sum()
    width = 0.5 * mode.shape[1] * np.log(precision).sum()
    blocks = _hessians(design, probs, precision)
    return fit + width - 0.5 * sum(np.linalg.slogdet(block)[1] for block in blocks)


def _hessians(design: Array, probs: Array, precision: Array):
    """Curvature at the mode: (CD, CD) of all coefficients, class by class, or (D, D) of each class.

    Böhning (1992): the sum over rows of (diag(p) - p p') times the outer product of the row.
    """
    classes, columns = probs.shape[1], design.shape[1]
    prior = np.diag(precision)
    if classes * columns > _MOST_TOGETHER:
        for share in probs.T:
            yield (design.T * (share * (1 - share))) @ design + prior
        return
    whole = np.zeros((classes, columns, classes, columns))
    for one in range(classes):
        for other in range(one + 1):
            weight = probs[:, one] * ((one == other) - probs[:, other])
            block = (design.T * weight) @ design + (one == other) * prior
            whole[one, :, other], whole[other, :, one] = block, block
    yield whole.reshape(classes * columns, classes * columns)


def _deviations(
    design: Array, probs: Array, precision: Array, count: int, rng: np.random.Generator
) -> Array:
    """(count, D, C) draws from Laplace's Gaussian, less its mean."""
    made = []
    for hessian in _hessians(design, probs, precision):
        upper = np.linalg.cholesky(hessian).T
        noise = rng.normal(size=(len(hessian), count))
        made.append(np.linalg.solve(upper, noise).reshape(-1, design.shape[1], count))
    return np.moveaxis(np.concatenate(made), 2, 0).swapaxes(1, 2)


def _ridge(design: Array, labels: Array, training: TrainingSet, rng: np.random.Generator) -> Ridge:
    """The posterior of the coefficients, given the width of prior with the largest evidence."""
    outputs = training.train is None
    center = 0.0 if outputs else float(labels.mean())
    guess = GUESS * (training.scale**2 if outputs else float(labels.var()) or 1.0)
    labels = labels - center
    shape = 0.5 * (_NOISE_PRIOR + len(labels))
    found = []
    for width in _WIDTHS:
        precision = _precision(design.shape[1], width, outputs)
        posterior = design.T @ design + np.diag(precision)
        mode = np.linalg.solve(posterior, design.T @ labels)
        rate = 0.5 * (_NOISE_PRIOR - 2) * guess + 0.5 * (labels @ (labels - design @ mode))
        evidence = 0.5 * (np.log(precision).sum() - np.linalg.slogdet(posterior)[1])
        found.append((evidence - shape * np.log(rate), mode, posterior, rate))
    _, mode, posterior, rate = max(found, key=lambda one: round(one[0], 6))
    factor = np.linalg.inv(np.linalg.cholesky(posterior)).T.copy()
    noise = rate / rng.gamma(shape, size=(_MEMBERS, 1))
    moved = np.sqrt(noise) * (rng.normal(size=(_MEMBERS, len(mode))) @ factor.T)
    return Ridge(mode, factor, shape, float(rate), mode + moved, noise, center, outputs)
