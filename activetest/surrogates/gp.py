"""Gaussian process with a Matern 3/2 kernel, learned noise and length scale (Kossen et al. 2021).

Values: regression of the label, or of label minus prediction where there are no training rows.
Classes: the Dirichlet transformation of Milios et al. 2018, one regression for each class, in
closed form for any number of classes; where there are no training rows, their prior mean is the
black box's log-probability. At most 1,500 rows are learned from, evenly spaced training rows first
to go, and the kernel is learned on 300 of them.
"""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._box import log_probs, sharpness, softmax
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GUESS, GaussianEnsemble
from activetest.surrogates._inputs import TrainingData, inputs, training_data
from activetest.surrogates._matern import Kernel, Paths, conditioned, distances, learned, restored
from activetest.surrogates._thinning import spaced

NEEDS_FEATURES = True

_MOST_ROWS, _KERNEL_ROWS = 1_500, 300
_MEMBERS = 64
# Milios et al.'s alpha_epsilon: what every class has before any label; the labels pick one.
_CONCENTRATIONS = (0.1, 0.01, 0.001)
# Pseudo-observations behind the first guess of the residual's size.
_SCALE_PRIOR = 2.0
# Priors of the regression: medians of the kernel's amplitude, of its length over the median
# distance, of the noise's deviation, and how far their logarithms may be off. What a prediction
# misses is noise for a good half; labels may have none, and then a few of them say nearly all.
_RESIDUALS = (np.sqrt(0.5), 1.0, np.sqrt(0.5)), np.array([1.0, 1.0, 1.0])
_LABELS = (1.0, 2.0, 0.3), np.array([1.0, 1.0, 2.0])


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The posterior after the labels and the training rows.

    Raises ChoiceError for training rows without features.
    """
    taught, start = _task(training, rng)
    if training.classes:
        return Ensemble(_classes(taught, start, training.classes, rng))
    return GaussianEnsemble(_values(taught, training, rng))


@dataclass(frozen=True)
class ClassPaths:
    """Draws of the C latent functions, whose softmax is a Dirichlet's draw.

    center      (C,) added to the functions
    sharpness   of the black box, which multiplies its log-probabilities
    outputs     those are added as well
    """

    paths: Paths
    center: Array
    sharpness: float
    outputs: bool
    size: int = _MEMBERS

    def params(self) -> dict:
        """The fields, those of the paths among them."""
        own = ("center", "sharpness", "outputs")
        return {**self.paths.params(), **{name: getattr(self, name) for name in own}}

    def probs(self, rows: Rows) -> Array:
        """(R, C) at the mean of the functions.

        The mean of their probabilities is worse: doubt about many classes at once looks like error.
        """
        mean, _ = self.paths.moments(inputs(rows, outputs=self.outputs))
        return softmax(mean + self._start(rows))

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) what these members say."""
        made = np.empty((len(which), len(rows.index), len(self.center)), np.float32)
        start = self._start(rows)
        for part, values in self.paths.draws(inputs(rows, outputs=self.outputs), which):
            made[:, part] = softmax(values + start[part])
        return made

    def _start(self, rows: Rows) -> Array:
        """(R, C) what is added to the functions."""
        if not self.outputs:
            return np.broadcast_to(self.center, (len(rows.index), len(self.center)))
        return self.center + self.sharpness * log_probs(rows, len(self.center))


@dataclass(frozen=True)
class ValuePaths:
    """The posterior of one function of the inputs, in units of scale.

    center, scale   label = center + scale (function + noise)
    noise           variance of the noise, in those units
    outputs         it is what the black box's prediction misses
    """

    paths: Paths
    center: float
    scale: float
    noise: float
    outputs: bool
    size: int = _MEMBERS

    def params(self) -> dict:
        """The fields, those of the paths among them."""
        own = ("center", "scale", "noise", "outputs")
        return {**self.paths.params(), **{name: getattr(self, name) for name in own}}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance of the label."""
        mean, variance = self.paths.moments(inputs(rows, outputs=self.outputs))
        return self._start(rows) + self.scale * mean[:, 0], self.scale**2 * (variance + self.noise)

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) values of these draws of the function, and the (K, 1) variance of the noise."""
        made = np.empty((len(which), len(rows.index)))
        for part, values in self.paths.draws(inputs(rows, outputs=self.outputs), which):
            made[:, part] = values[..., 0]
        noise = np.full((len(which), 1), self.scale**2 * self.noise)
        return self._start(rows) + self.scale * made, noise

    def _start(self, rows: Rows) -> Array | float:
        return self.center + rows.outputs.pred if self.outputs else self.center


def restore(params: dict) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    paths, outputs = restored(params), bool(params["outputs"])
    if "noise" not in params:
        center = np.asarray(params["center"], float)
        return Ensemble(ClassPaths(paths, center, float(params["sharpness"]), outputs))
    own = (float(params[name]) for name in ("center", "scale", "noise"))
    return GaussianEnsemble(ValuePaths(paths, *own, outputs))


def _task(training: TrainingSet, rng: np.random.Generator) -> tuple[TrainingData, Array | None]:
    """What to learn from, and the (M, C) logits that the black box begins with, if it does."""
    keep = training.labels >= 0 if training.classes else np.ones(len(training.labels), bool)
    observed = np.count_nonzero(keep)
    # Every class has a matrix of its own to factorise.
    most = int(_MOST_ROWS * min(1, 10 / max(training.classes, 1)) ** (1 / 3))
    if training.train is not None:
        return training_data(training, rng=rng, most=most), None
    # The prior is the black box itself, so there is no need to imitate it on a sketch.
    kept = np.flatnonzero(keep)[spaced(observed, most)]
    rows, labels = training.rows[kept], training.labels[kept]
    labels = labels.astype(int) if training.classes else labels - rows.outputs.pred
    taught = TrainingData(inputs(rows, outputs=True), labels, np.ones(len(labels)), True)
    return taught, log_probs(rows, training.classes) if training.classes else None


def _values(taught: TrainingData, training: TrainingSet, rng: np.random.Generator) -> ValuePaths:
    """Regression of labels, or of what predictions miss: then zero is where it begins."""
    labels = taught.labels
    center = 0.0 if taught.outputs else float(labels.mean())
    guess = training.scale**2 * GUESS if taught.outputs else float(labels.var()) or 1.0
    squares = ((labels - center) ** 2).sum()
    scale = np.sqrt((_SCALE_PRIOR * guess + squares) / (_SCALE_PRIOR + len(labels)))
    targets = ((labels - center) / scale)[:, None]
    apart, some = _some(taught)
    medians, doubt = _RESIDUALS if taught.outputs else _LABELS
    begin = np.array(medians) * [1, _far(apart), 1]
    amplitude, length, deviation = learned(apart, targets[some], None, begin, doubt)
    noise = np.full(targets.shape, deviation**2)
    kernel = Kernel(float(amplitude), float(length))
    paths = conditioned(taught.inputs, targets, noise, kernel, _MEMBERS, rng, doubt=True)
    return ValuePaths(paths, center, float(scale), float(deviation**2), taught.outputs)


def _classes(
    taught: TrainingData, start: Array | None, classes: int, rng: np.random.Generator
) -> ClassPaths:
    """One regression for each class, with the concentration that predicts rows left out best."""
    apart, some = _some(taught)
    sharp = 1.0 if start is None else sharpness(start, taught.labels)
    found = []
    for concentration in _CONCENTRATIONS:
        targets, noise = transformed(taught.labels, classes, concentration)
        # Without the black box, a class is first as likely as it is frequent.
        center = np.zeros(classes) if taught.outputs else targets.mean(axis=0)
        begun = center if start is None else center + sharp * start
        targets = targets - begun
        begin = np.array([1.0, _far(apart)])
        kernel = Kernel(*map(float, learned(apart, targets[some], noise[some], begin)))
        left = _left_out(kernel(apart), targets[some], noise[some])
        left = softmax(left + np.broadcast_to(begun, targets.shape)[some])
        score = np.log(left[np.arange(len(left)), taught.labels[some]]).sum()
        found.append((score, targets, noise, center, kernel))
    _, targets, noise, center, kernel = max(found, key=lambda one: one[0])
    paths = conditioned(taught.inputs, targets, noise, kernel, _MEMBERS, rng, doubt=False)
    return ClassPaths(paths, center, sharp, taught.outputs)


def transformed(labels: Array, classes: int, concentration: float) -> tuple[Array, Array]:
    """(M, C) targets and variances of their noise: the logarithm of gamma variables.

    Milios et al. 2018, eq. 5: gamma(alpha, 1) has the first two moments of a log-normal.
    """
    alpha = concentration + (labels[:, None] == np.arange(classes))
    noise = np.log1p(1 / alpha)
    return np.log(alpha) - noise / 2, noise


def _left_out(covariance: Array, targets: Array, noise: Array) -> Array:
    """(M, C) what all others predict of each target; Rasmussen and Williams, eq. 5.12."""
    made = np.empty(targets.shape)
    for column in range(targets.shape[1]):
        inverse = np.linalg.inv(covariance + np.diag(noise[:, column]))
        made[:, column] = targets[:, column] - inverse @ targets[:, column] / np.diag(inverse)
    return made


def _some(taught: TrainingData) -> tuple[Array, Array]:
    """Distances between the rows that the kernel is learned on, and their positions."""
    some = spaced(len(taught.labels), _KERNEL_ROWS)
    rows = taught.inputs[some].astype(float)
    return distances(rows, rows), some


def _far(apart: Array) -> float:
    """The median distance between two rows; 1 where there are no two."""
    pairs = apart[np.triu_indices(len(apart), 1)]
    return float(np.median(pairs)) or 1.0 if len(pairs) else 1.0
