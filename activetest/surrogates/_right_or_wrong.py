"""Is the model right? One Bayesian logistic regression that weighs all the evidence.

Its columns are those of agreement, and a logit of being right from each kind of evidence. Their
value before any label is a matter of several priors (Prior), in each of which every width is
tried; all are weighted by Laplace's evidence (MacKay 1992). From a few labels on, a part of the
belief is a Gaussian process beside the columns, on the components of the features: where it
predicts the labels better than the columns alone, its share grows by the Bayes factor (Rasmussen
and Williams 2006, sections 3.4 and 5.4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from activetest.nouns.distances import square_distances
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.surrogates._evidence import OTHERS, TRAINING
from activetest.surrogates._logistic import average_gaussians, find_modes, fit_laplace, sigmoid
from activetest.surrogates._thinning import evenly_spaced

# Prior standard deviations that are averaged: of the confidence's slope and the intercept, and of
# the features (mean 0), in half decades from almost fixed to almost free.
CALIBRATION = (0.1, 0.3, 1.0, 3.0)
FEATURES = (0.03, 0.1, 0.3, 1.0)
# Deviation of a predicted class (mean 0), in units of the first.
CLASS = 0.5
# Of what a learner of the model's answers says: mean, deviation and mass of its slope. Most say
# nothing that the confidence does not; where one says something, what it foretells is right.
ANSWERS = ((0.0, 0.01, 0.7), (0.2, 0.1, 0.15), (0.4, 0.4, 0.1), (0.8, 0.8, 0.05))
# Mean slope of a further model's vote, and of all votes together at most; deviation and mass. Where
# the model states its confidence, votes say nothing more in half of the cases.
VOTE, ALL_VOTES = 0.5, 2.0
VOTES = ((1.0, 0.1, 1 / 3), (1.0, 0.5, 1 / 3), (1.0, 2.0, 1 / 3))
BESIDE_CONFIDENCE = ((0.0, 0.03, 1.0), *VOTES)
# The model's own word, as a column.
CONFIDENCE = "confidence"

# From this number of labels on there is a kernel, of this prior variance.
_FEWEST, _VARIANCE = 10, 16.0
# Its share before any label, and the share below which it is not worth its time.
_SHARE, _LEAST_SHARE = 0.5, 0.01
# Length scales that are tried, in units of the median distance of labelled items over sqrt 2.
_LENGTHS = (0.5, 1.0)
# Labelled items whose neighbourhoods it knows: evenly spaced ones where there are more.
_LANDMARKS = 256
# Rows whose correlations with landmarks are computed at a time.
_BLOCK = 4096
# Keeps the kernel's matrix invertible where items are the same.
_JITTER = 1e-6


class Prior(NamedTuple):
    """Value of columns before any label.

    slopes   {column: mean of its slope}; 0 for the others
    mass     how likely it is
    """

    slopes: Mapping[str, float]
    mass: float


class Layout(NamedTuple):
    """Columns of a design, in their order.

    effects     number of predicted classes that have a column each, the intercept after them
    stated      whether there is the confidence, next
    components  of the features
    evidence    names of the kinds of evidence
    answers     number of columns of what learners of the model's answers say, before the components
    votes       number of columns of the last kind of evidence, where that is votes
    """

    effects: int
    stated: bool
    components: int
    evidence: tuple[str, ...]
    answers: int = 0
    votes: int = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the kinds of evidence that have one column."""
        return self.evidence[: len(self.evidence) - bool(self.votes)]

    @property
    def size(self) -> int:
        """The number of columns."""
        heads = self.effects + 1 + self.stated
        return heads + self.answers + self.components + len(self.kinds) + self.votes

    def find(self, name: str) -> int:
        """The place of the confidence or of a kind of evidence."""
        if name == CONFIDENCE:
            return self.effects + 1
        return self.size - self.votes - len(self.kinds) + self.kinds.index(name)


@dataclass(frozen=True)
class Kernel:
    """A Gaussian process beside the columns, by its weights at landmarks.

    share       (0, 1) of the belief
    length      length scale
    landmarks   (m, k) float32 inputs
    weights     (m,) of the kernel at landmarks
    mode        (D,) coefficients of the columns beside it
    inputs      (m, D) float32 columns at landmarks
    curvature   (m,) what labels at landmarks tell: of all labels, where there are more
    deviations  (D,) prior standard deviations of the columns
    """

    share: float
    length: float
    landmarks: Array
    weights: Array
    mode: Array
    inputs: Array
    curvature: Array
    deviations: Array

    def check(self) -> None:
        """Raises ValueError for what is no kernel: a study may have been written by anybody."""
        size, columns = len(self.landmarks), len(self.mode)
        shapes = {
            "weights": (size,),
            "mode": (columns,),
            "inputs": (size, columns),
            "curvature": (size,),
            "deviations": (columns,),
        }
        if self.landmarks.ndim != 2 or any(
            getattr(self, name).shape != shape for name, shape in shapes.items()
        ):
            raise ValueError("the parts of a kernel do not fit together")
        if not all(np.isfinite(getattr(self, name)).all() for name in _ARRAYS):
            raise ValueError("a kernel has what is no number")
        if (self.curvature < 0).any() or (self.deviations <= 0).any():
            raise ValueError("a kernel has a variance below zero")
        if not (0 < self.share <= 1 and 0 < self.length < np.inf):
            raise ValueError("a kernel has no share or no length")

    def params(self) -> dict[str, Any]:
        """The fields, under names that begin with `kernel.`."""
        return {f"kernel.{name}": getattr(self, name) for name in ("share", "length", *_ARRAYS)}

    def heights(self, inputs: Array, weights: Array) -> Array:
        """(R,) or (R, K) of the process at inputs (R, k), for weights (m,) or (m, K)."""
        inputs, weights = inputs.astype(np.float32), weights.astype(np.float32)
        heights = np.empty((len(inputs), *weights.shape[1:]), np.float32)
        for start in range(0, len(inputs), _BLOCK):
            part = slice(start, start + _BLOCK)
            heights[part] = _correlate(inputs[part], self.landmarks, self.length) @ weights
        heights *= np.float32(_VARIANCE)
        return heights

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """(K, D) coefficients of the columns and (K, m) weights, from the posterior."""
        root = _find_root(self.landmarks.astype(float), self.length)
        design = np.hstack([self.inputs.astype(float), root])
        precision = np.append(self.deviations**-2.0, np.ones(len(root)))
        hessian = (design * self.curvature[:, None]).T @ design + np.diag(precision)
        # Draws have the inverse of the Hessian as covariance.
        noise = rng.standard_normal((count, len(precision)))
        moved = np.linalg.solve(np.linalg.cholesky(hessian).T, noise.T).T
        columns, heights = np.split(moved, [len(self.mode)], axis=1)
        spread = np.linalg.solve(root.T, heights.T).T
        return self.mode + columns, self.weights + spread


_ARRAYS = ("landmarks", "weights", "mode", "inputs", "curvature", "deviations")
_SINGLE = ("landmarks", "inputs")


def restore_kernel(params: Mapping[str, Any]) -> Kernel | None:
    """The kernel that params() described, among other parameters; None where there is none.

    Raises ValueError for what it cannot have been.
    """
    if "kernel.share" not in params:
        return None
    arrays = {
        name: np.asarray(params[f"kernel.{name}"], np.float32 if name in _SINGLE else float)
        for name in _ARRAYS
    }
    kernel = Kernel(float(params["kernel.share"]), float(params["kernel.length"]), **arrays)
    kernel.check()
    return kernel


@dataclass(frozen=True)
class Fitted:
    """The posterior: (D,) mode and (D, D) covariance, averaged over priors, and the kernel."""

    mode: Array
    covariance: Array
    kernel: Kernel | None = None


def fit_right_or_wrong(
    design: Array, right: Array, layout: Layout, intercepts: Array, inputs: Array | None
) -> Fitted:
    """The posterior after M labels.

    design (M, D) by the layout, right (M,) 1 where the model was; intercepts (effects + 1,) prior
    means where nothing says how likely the model is right; inputs (M, k) of the kernel, None for
    none.
    """
    means, deviations, log_mass = list_priors(layout, intercepts)
    modes, covariances, evidence = fit_laplace(
        design, right, means, deviations, effects=layout.effects
    )
    evidence = evidence + log_mass
    mode, covariance = average_gaussians(modes, covariances, evidence)
    kernel = None
    if inputs is not None and len(right) >= _FEWEST:
        best = int(find_nearly_largest(evidence))
        prior = means[best], deviations[best], evidence[best] - log_mass[best]
        kernel = _fit_kernel(design, right, inputs, *prior)
    return Fitted(mode, covariance, kernel)


def list_priors(layout: Layout, intercepts: Array) -> tuple[Array, Array, Array]:
    """(W, D) means and deviations of all priors, and (W,) logarithms of how likely they are."""
    means, deviations, log_mass, unknown = _list_priors(layout)
    means = means.copy()
    means[unknown, : layout.effects + 1] = intercepts
    return means, deviations, log_mass


@lru_cache(maxsize=8)
def _list_priors(layout: Layout) -> tuple[Array, Array, Array, Array]:
    """The same without intercepts, and (W,) of which priors nothing says how likely it is right."""
    start = layout.effects + 1 + layout.stated
    stop, first_vote = start + layout.answers + layout.components, layout.size - layout.votes
    means, deviations, masses, unknown = [], [], [], []
    learners = np.array(list(product(ANSWERS, repeat=layout.answers)))
    learners = learners.reshape(len(ANSWERS) ** layout.answers, layout.answers, 3)
    components = FEATURES if layout.components else (1.0,)
    votes = (BESIDE_CONFIDENCE if layout.stated else VOTES) if layout.votes else ((0.0, 1.0, 1.0),)
    agreeing = min(VOTE, ALL_VOTES / max(layout.votes, 1))
    for width, other, learner, (share, vote, trust) in product(
        CALIBRATION, components, learners, votes
    ):
        for prior in _list_slopes(layout):
            mean, deviation = np.zeros(layout.size), np.full(layout.size, width)
            deviation[: layout.effects] *= CLASS
            deviation[start:stop] = other
            place = slice(start, start + layout.answers)
            mean[place], deviation[place] = learner[:, 0], learner[:, 1]
            mean[first_vote:], deviation[first_vote:] = agreeing * share, vote
            for name, slope in prior.slopes.items():
                mean[layout.find(name)] = slope
            unknown.append(not prior.slopes)
            means.append(mean)
            deviations.append(deviation)
            masses.append(prior.mass * learner[:, 2].prod() * trust)
    return np.array(means), np.array(deviations), np.log(masses), np.array(unknown)


def _list_slopes(layout: Layout) -> Iterator[Prior]:
    """The priors of one width.

    Evidence learned from true labels is as good as the model's own word, or all count alike, or one
    counts alone.
    """
    learned = [name for name in (TRAINING, OTHERS) if name in layout.evidence]
    stated = [CONFIDENCE] if layout.stated else []
    alike = _count_alike([*stated, *learned])
    if stated and learned:
        yield Prior(_count_alike(stated), 0.4)
        yield Prior(alike, 0.4)
        for name in learned:
            yield Prior(_count_alike([name]), 0.2 / len(learned))
    else:
        yield Prior(alike, 1.0)


def _count_alike(names: Sequence[str]) -> dict[str, float]:
    return {name: 1 / len(names) for name in names}


class _Fit(NamedTuple):
    """Log evidence, length scale, root of the kernel's matrix (m, m) and (D + m,) mode."""

    evidence: float
    length: float
    root: Array
    mode: Array


def _fit_kernel(
    design: Array, right: Array, inputs: Array, mean: Array, deviations: Array, alone: float
) -> Kernel | None:
    """The better of the kernels; None where all inputs are the same, or where it adds nothing.

    mean, deviations (D,) of the best prior of the columns, alone its log evidence without a kernel.
    """
    inputs = inputs.astype(float)
    places = evenly_spaced(len(inputs), _LANDMARKS)
    landmarks = inputs[places]
    squares = square_distances(landmarks, landmarks)
    # The median distance of two of them.
    usual = float(np.sqrt(np.median(squares[np.triu_indices(len(landmarks), 1)])))
    if not usual > 0:
        return None
    size, columns = len(landmarks), len(mean)
    priors = np.append(mean, np.zeros(size)), np.append(deviations, np.ones(size))[None]
    found = []
    for length in usual / np.sqrt(2) * np.array(_LENGTHS):
        # Weights of the kernel are root'^-1 times coefficients of unit variance.
        root = _find_root(landmarks, length)
        spread = _VARIANCE * np.linalg.solve(root, _correlate(landmarks, inputs, length)).T
        modes, evidence = find_modes(np.hstack([design, spread]), right, *priors)
        found.append(_Fit(float(evidence[0]), float(length), root, modes[0]))
    together = np.logaddexp.reduce([each.evidence for each in found]) - np.log(len(found))
    best = found[int(find_nearly_largest(np.array([each.evidence for each in found])))]
    mode, coefficients = best.mode[:columns], best.mode[columns:]
    share = float(sigmoid(together - alone + np.log(_SHARE / (1 - _SHARE))))
    if share < _LEAST_SHARE:
        return None
    probs = sigmoid(design[places] @ mode + best.root @ coefficients)
    return Kernel(
        share=share,
        length=best.length,
        landmarks=landmarks.astype(np.float32),
        weights=np.linalg.solve(best.root.T, coefficients),
        mode=mode,
        inputs=design[places].astype(np.float32),
        curvature=probs * (1 - probs) * len(inputs) / size,
        deviations=deviations,
    )


def _find_root(landmarks: Array, length: float) -> Array:
    """(m, m) lower triangular: the kernel's matrix of landmarks is it times its transpose."""
    matrix = _correlate(landmarks, landmarks, length)
    return np.linalg.cholesky(_VARIANCE * (matrix + _JITTER * np.eye(len(landmarks))))


def _correlate(left: Array, right: Array, length: float) -> Array:
    """(R, m) correlations of the process: exp(-d^2 / (2 length^2)), as precise as its inputs."""
    squares = square_distances(left, right)
    squares *= -0.5 / length**2
    correlations: Array = np.exp(squares, out=squares)
    return correlations
