"""Gaussian process with a Matern 3/2 kernel, learned noise and length scale (Kossen et al. 2021).

Values: regression of the label or, without training rows, of label minus prediction. Classes: the
Dirichlet transformation of Milios et al. 2018, one regression for each class, in closed form for
any number of classes; without training rows, their prior mean is the black box's log-probability.
At most 1,500 rows are used, for which training rows are thinned first, and 300 for the kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._black_box import fit_sharpness, log_probs, softmax
from activetest.surrogates._classes import Ensemble, unpack_positions
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE, GaussianEnsemble
from activetest.surrogates._inputs import input_columns
from activetest.surrogates._matern import (
    Kernel,
    Paths,
    condition_paths,
    distances,
    fit_kernel,
    restore_paths,
)
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._thinning import evenly_spaced
from activetest.surrogates._training_data import TrainingData, prepare_training_data

NEEDS_FEATURES = True
AUGMENTS = True

_MOST_ROWS, _KERNEL_ROWS = 1_500, 300
_MEMBERS = 64
# Candidates for alpha_epsilon of Milios et al., the concentration of a class without labels.
_CONCENTRATIONS = (0.1, 0.01, 0.001)
# Pseudo-observations of the prior variance of the residual.
_SCALE_PRIOR = 2.0
# Priors of the regression: medians of the kernel's amplitude, of its length over the median
# distance and of the noise's deviation, and standard deviations of their logarithms. Residuals of a
# prediction are noise for a good half; labels may be free of noise.
_RESIDUALS = (np.sqrt(0.5), 1.0, np.sqrt(0.5)), np.array([1.0, 1.0, 1.0])
_LABELS = (1.0, 2.0, 0.3), np.array([1.0, 1.0, 2.0])


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The posterior after the labels and the training rows.

    Raises ChoiceError for training rows without features.
    """
    data, start = _prepare_data(training, rng)
    if not data.outputs and not len(data.labels):
        return prior_belief(training, data.augmented, _MEMBERS)
    if training.classes:
        return Ensemble(_fit_classes(data, start, training.classes, rng), data.augmented)
    return GaussianEnsemble(_fit_values(data, training, rng))


@dataclass(frozen=True)
class ClassPaths:
    """Draws of the C latent functions, whose softmax is a Dirichlet's draw.

    center      (C,) added to the functions
    sharpness   of the black box, which multiplies its log-probabilities
    outputs     whether those are added as well
    """

    paths: Paths
    center: Array
    sharpness: float
    outputs: bool
    size: int = _MEMBERS

    def params(self) -> dict[str, Any]:
        """The fields, those of the paths among them."""
        own = ("center", "sharpness", "outputs")
        return {**self.paths.params(), **{name: getattr(self, name) for name in own}}

    def probs(self, rows: Rows) -> Array:
        """(R, C) at the mean of the functions.

        The mean of the probabilities is worse: uncertainty about many classes looks like error.
        """
        mean, _ = self.paths.moments(input_columns(rows, outputs=self.outputs))
        return softmax(mean + self._start(rows))

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) probabilities of these members."""
        probs = np.empty((len(which), len(rows.index), len(self.center)), np.float32)
        start = self._start(rows)
        for rows_slice, values in self.paths.draws(
            input_columns(rows, outputs=self.outputs), which
        ):
            probs[:, rows_slice] = softmax(values + start[rows_slice])
        return probs

    def _start(self, rows: Rows) -> Array:
        """(R, C) offset of the functions."""
        if not self.outputs:
            return np.broadcast_to(self.center, (len(rows.index), len(self.center)))
        return self.center + self.sharpness * log_probs(rows, len(self.center))


@dataclass(frozen=True)
class ValuePaths:
    """The posterior of one function of the inputs, in units of scale.

    center, scale   label = center + scale (function + noise)
    noise           variance of the noise, in those units
    outputs         whether the function is label minus prediction
    """

    paths: Paths
    center: float
    scale: float
    noise: float
    outputs: bool
    size: int = _MEMBERS

    def params(self) -> dict[str, Any]:
        """The fields, those of the paths among them."""
        own = ("center", "scale", "noise", "outputs")
        return {**self.paths.params(), **{name: getattr(self, name) for name in own}}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the label."""
        mean, variance = self.paths.moments(input_columns(rows, outputs=self.outputs))
        if variance is None:
            raise ValueError("these paths were made without their variance")
        return self._start(rows) + self.scale * mean[:, 0], self.scale**2 * (variance + self.noise)

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) values of these draws of the function, and the (K, 1) variance of the noise."""
        draws = np.empty((len(which), len(rows.index)))
        for rows_slice, values in self.paths.draws(
            input_columns(rows, outputs=self.outputs), which
        ):
            draws[:, rows_slice] = values[..., 0]
        noise = np.full((len(which), 1), self.scale**2 * self.noise)
        return self._start(rows) + self.scale * draws, noise

    def _start(self, rows: Rows) -> Array | float:
        return self.center + rows.outputs.pred if self.outputs else self.center


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if has_no_labels(params):
        return restore_nothing(params)
    paths, outputs = restore_paths(params), bool(params["outputs"])
    if "noise" not in params:
        centers = np.asarray(params["center"], float)
        members = ClassPaths(paths, centers, float(params["sharpness"]), outputs)
        return Ensemble(members, unpack_positions(params))
    center, scale, noise = (float(params[name]) for name in ("center", "scale", "noise"))
    return GaussianEnsemble(ValuePaths(paths, center, scale, noise, outputs))


def _prepare_data(
    training: TrainingSet, rng: np.random.Generator
) -> tuple[TrainingData, Array | None]:
    """Rows to learn from, and the black box's (M, C) logits; None without them."""
    # Every class has its own matrix to factorise.
    most = int(_MOST_ROWS * min(1, 10 / max(training.classes, 1)) ** (1 / 3))
    if not training.uses_outputs:
        return prepare_training_data(training, rng=rng, most=most), None
    # The prior is the black box itself, so that no background sample is needed.
    usable = np.flatnonzero(training.usable)
    kept = usable[evenly_spaced(len(usable), most)]
    rows, labels = training.rows[kept], training.labels[kept]
    labels = labels.astype(int) if training.classes else labels - rows.outputs.pred
    data = TrainingData(input_columns(rows, outputs=True), labels, np.ones(len(labels)), True)
    return data, log_probs(rows, training.classes) if training.classes else None


def _fit_values(data: TrainingData, training: TrainingSet, rng: np.random.Generator) -> ValuePaths:
    """Regression of labels, or of label minus prediction, whose prior mean is zero."""
    labels = data.labels
    center = 0.0 if data.outputs else float(labels.mean())
    prior_variance = (
        training.scale**2 * RESIDUAL_VARIANCE_SHARE if data.outputs else float(labels.var()) or 1.0
    )
    squares = ((labels - center) ** 2).sum()
    scale = np.sqrt((_SCALE_PRIOR * prior_variance + squares) / (_SCALE_PRIOR + len(labels)))
    targets = ((labels - center) / scale)[:, None]
    separation, chosen = _kernel_rows(data)
    medians, doubt = _RESIDUALS if data.outputs else _LABELS
    guess = np.array(medians) * [1, _median_distance(separation), 1]
    amplitude, length, deviation = fit_kernel(separation, targets[chosen], None, guess, doubt)
    noise = np.full(targets.shape, deviation**2)
    kernel = Kernel(float(amplitude), float(length))
    paths = condition_paths(data.inputs, targets, noise, kernel, _MEMBERS, rng, doubt=True)
    return ValuePaths(paths, center, float(scale), float(deviation**2), data.outputs)


def _fit_classes(
    data: TrainingData, start: Array | None, classes: int, rng: np.random.Generator
) -> ClassPaths:
    """One regression for each class, with the concentration that predicts left-out rows best."""
    separation, chosen = _kernel_rows(data)
    sharpness = 1.0 if start is None else fit_sharpness(start, data.labels)
    candidates = []
    for concentration in _CONCENTRATIONS:
        targets, noise = transform_labels(data.labels, classes, concentration)
        # Without the black box, the prior probability of a class is its frequency.
        center = np.zeros(classes) if data.outputs else targets.mean(axis=0)
        prior_mean = center if start is None else center + sharpness * start
        targets = targets - prior_mean
        guess = np.array([1.0, _median_distance(separation)])
        kernel = Kernel(*map(float, fit_kernel(separation, targets[chosen], noise[chosen], guess)))
        left_out = _predict_left_out(kernel(separation), targets[chosen], noise[chosen])
        left_out = softmax(left_out + np.broadcast_to(prior_mean, targets.shape)[chosen])
        score = np.log(left_out[np.arange(len(left_out)), data.labels[chosen]]).sum()
        candidates.append((score, targets, noise, center, kernel))
    best = int(find_nearly_largest(np.array([each[0] for each in candidates])))
    _, targets, noise, center, kernel = candidates[best]
    paths = condition_paths(data.inputs, targets, noise, kernel, _MEMBERS, rng, doubt=False)
    return ClassPaths(paths, center, sharpness, data.outputs)


def transform_labels(labels: Array, classes: int, concentration: float) -> tuple[Array, Array]:
    """(M, C) targets and variances of their noise: the logarithm of gamma variables.

    Milios et al. 2018, eq. 5: gamma(alpha, 1) has the first two moments of a log-normal.
    """
    alpha = concentration + (labels[:, None] == np.arange(classes))
    noise = np.log1p(1 / alpha)
    return np.log(alpha) - noise / 2, noise


def _predict_left_out(covariance: Array, targets: Array, noise: Array) -> Array:
    """(M, C) prediction of each target from all others; Rasmussen and Williams, eq. 5.12."""
    predictions = np.empty(targets.shape)
    for column in range(targets.shape[1]):
        inverse = np.linalg.inv(covariance + np.diag(noise[:, column]))
        predictions[:, column] = targets[:, column] - inverse @ targets[:, column] / np.diag(
            inverse
        )
    return predictions


def _kernel_rows(data: TrainingData) -> tuple[Array, Array]:
    """Distances between the rows on which the kernel is fitted, and their positions."""
    chosen = evenly_spaced(len(data.labels), _KERNEL_ROWS)
    rows = data.inputs[chosen].astype(float)
    return distances(rows, rows), chosen


def _median_distance(separation: Array) -> float:
    """The median distance between two rows; 1 with fewer than two rows."""
    pairs = separation[np.triu_indices(len(separation), 1)]
    return float(np.median(pairs)) or 1.0 if len(pairs) else 1.0
