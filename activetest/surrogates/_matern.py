"""Gaussian processes with a Matern 3/2 kernel (Rasmussen and Williams 2006, chapters 2, 4 and 5).

Several functions at once share the kernel; each has observations and noise of its own. Draws are
functions, so that they agree on overlapping rows: pathwise conditioning of random Fourier features
(Wilson et al. 2020, eq. 8; Rahimi and Recht 2007).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from activetest.nouns.rows import Array

_ROOT3 = np.sqrt(3.0)
# Random features of a draw from the prior.
_FEATURES = 1_000
# Rows whose covariances with all observations are computed at once.
_BLOCK = 2_048


@dataclass(frozen=True)
class Kernel:
    """amplitude^2 (1 + r) exp(-r), with r = sqrt(3) distance / length."""

    amplitude: float
    length: float

    def __call__(self, distance: Array) -> Array:
        """Covariance of values that far apart."""
        ratio = (_ROOT3 / self.length) * distance
        return self.amplitude**2 * (1 + ratio) * np.exp(-ratio)


def distances(one: Array, other: Array) -> Array:
    """(R, M) Euclidean distances between (R, W) and (M, W)."""
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * (one @ other.T)
    # Only rounding can make it negative.
    return np.sqrt(np.maximum(squares, 0))


def learned(
    distance: Array, targets: Array, noise: Array | None, guess: Array, doubt: Array | float = 1.0
) -> Array:
    """Amplitude, length and, where noise is None, the noise's deviation: the most probable ones.

    distance (M, M), targets (M, C), noise (M, C) variances; guess (2,) or (3,) is the median of
    log-normal priors, which keep a handful of labels from being explained by nonsense, and doubt
    the standard deviation of their logarithms.
    """
    center = np.log(guess)

    def objective(logs):
        value, slope = evidence(distance, targets, noise, logs)
        gap = (logs - center) / doubt
        return 0.5 * gap @ gap - value, gap / doubt - slope

    if not len(targets):
        return guess
    bounds = np.stack([center - 4 * doubt, center + 4 * doubt], axis=1)
    found = minimize(
        objective, center, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50}
    )
    return np.exp(found.x)


def evidence(
    distance: Array, targets: Array, noise: Array | None, logs: Array
) -> tuple[float, Array]:
    """Logarithm of the targets' density summed over functions, and its gradient in logs.

    logs: of amplitude, length and, where noise is None, the noise's deviation. Eq. 5.8 and 5.9.
    """
    amplitude, length = np.exp(logs[:2])
    covariance = Kernel(amplitude, length)(distance)
    ratio = (_ROOT3 / length) * distance
    stretched = amplitude**2 * ratio**2 * np.exp(-ratio)
    value, gradient = 0.0, np.zeros(len(logs))
    shared = noise is None
    for column in range(1 if shared else targets.shape[1]):
        these = targets if shared else targets[:, column : column + 1]
        spread = np.full(len(targets), np.exp(2 * logs[2])) if shared else noise[:, column]
        lower = np.linalg.cholesky(covariance + np.diag(spread))
        inverse = cho_solve((lower, True), np.eye(len(targets)))
        weights = inverse @ these
        count = these.shape[1]
        logdet = 2 * np.log(np.diag(lower)).sum() + len(targets) * np.log(2 * np.pi)
        value -= 0.5 * ((these * weights).sum() + count * logdet)
        inner = weights @ weights.T - count * inverse
        gradient[0] += (inner * covariance).sum()
        gradient[1] += 0.5 * (inner * stretched).sum()
        if shared:
            gradient[2] += np.diag(inner) @ spread
    return float(value), gradient


@dataclass(frozen=True)
class Paths:
    """C conditioned functions and E draws of each: enough to evaluate them anywhere.

    seen         (M, W) inputs of the observations
    kernel       of every function
    weights      (M, C) of the covariances with the observations in the mean
    half         (M, M) inverse of the Cholesky factor, for the variance; None where not wanted
    frequencies  (W, F) of the random features, and
    phases       (F,) their phases
    drawn        (F + M, E, C) weights of features and covariances in each draw
    """

    seen: Array
    kernel: Kernel
    weights: Array
    half: Array | None
    frequencies: Array
    phases: Array
    drawn: Array

    def params(self) -> dict:
        """The fields."""
        kernel = {"amplitude": self.kernel.amplitude, "length": self.kernel.length}
        made = {name: getattr(self, name) for name in _ARRAYS}
        return {**made, **kernel} | ({} if self.half is None else {"half": self.half})

    def moments(self, columns: Array) -> tuple[Array, Array | None]:
        """(R, C) mean and, where half is there, (R,) variance of the functions; eq. 2.25, 2.26."""
        mean = np.empty((len(columns), self.weights.shape[1]))
        variance = None if self.half is None else np.empty(len(columns))
        for part in _blocks(len(columns)):
            covariance = self.kernel(distances(columns[part].astype(float), self.seen))
            mean[part] = covariance @ self.weights
            if self.half is not None:
                explained = ((covariance @ self.half.T) ** 2).sum(axis=1)
                variance[part] = np.maximum(self.kernel.amplitude**2 - explained, 0)
        return mean, variance

    def draws(self, columns: Array, which: Array):
        """For blocks of rows: the slice, and (K, block, C) values of these draws."""
        wanted = self.drawn[:, which]
        flat = np.ascontiguousarray(wanted.reshape(len(wanted), -1), np.float32)
        for part in _blocks(len(columns)):
            block = columns[part]
            covariance = self.kernel(distances(block, self.seen)).astype(np.float32)
            waves = _waves(block, self.frequencies, self.phases, self.kernel.amplitude)
            values = np.hstack([waves, covariance]) @ flat
            yield part, np.moveaxis(values.reshape(len(block), *wanted.shape[1:]), 0, 1)


_ARRAYS = ("seen", "weights", "frequencies", "phases", "drawn")


def restored(params: dict) -> Paths:
    """The paths that params() described."""
    made = {name: np.asarray(params[name], np.float32) for name in _ARRAYS}
    made["weights"] = np.asarray(params["weights"], float)
    half = np.asarray(params["half"], float) if "half" in params else None
    kernel = Kernel(float(params["amplitude"]), float(params["length"]))
    return Paths(kernel=kernel, half=half, **made)


def conditioned(
    seen: Array,
    targets: Array,
    noise: Array,
    kernel: Kernel,
    members: int,
    rng: np.random.Generator,
    *,
    doubt: bool,
) -> Paths:
    """The posterior after (M, C) targets with (M, C) variances of noise, at (M, W) inputs.

    With doubt, the variance of the first function can be asked for; all others then share it.
    """
    size, count = targets.shape
    covariance = kernel(distances(seen.astype(float), seen.astype(float)))
    # The spectrum of Matern 3/2 is a Student's t with 3 degrees of freedom.
    heavy = np.sqrt(3 / rng.chisquare(3, size=_FEATURES))
    frequencies = rng.normal(size=(seen.shape[1], _FEATURES)) * heavy / kernel.length
    phases = rng.uniform(0, 2 * np.pi, size=_FEATURES)
    frequencies = frequencies.astype(np.float32, order="C")
    phases = phases.astype(np.float32)
    waves = _waves(seen, frequencies, phases, kernel.amplitude).astype(float)
    prior = rng.normal(size=(_FEATURES, members, count))
    weights = np.empty((size, count))
    moved = np.empty((size, members, count))
    half = None
    for column in range(count):
        spread = noise[:, column]
        lower = np.linalg.cholesky(covariance + np.diag(spread))
        weights[:, column] = cho_solve((lower, True), targets[:, column])
        # What a draw from the prior would have been seen as: Matheron's rule corrects it.
        errors = np.sqrt(spread)[:, None] * rng.normal(size=(size, members))
        said = waves @ prior[:, :, column] + errors
        moved[:, :, column] = cho_solve((lower, True), targets[:, column : column + 1] - said)
        if doubt and column == 0:
            half = np.ascontiguousarray(solve_triangular(lower, np.eye(size), lower=True))
    drawn = np.concatenate([prior, moved]).astype(np.float32, order="C")
    return Paths(
        seen.astype(np.float32, order="C"), kernel, weights, half, frequencies, phases, drawn
    )


def _waves(columns: Array, frequencies: Array, phases: Array, amplitude: float) -> Array:
    """(R, F) float32 random features, whose products are the kernel on average."""
    made = columns.astype(np.float32) @ frequencies
    made += phases
    np.cos(made, out=made)
    made *= np.float32(amplitude * np.sqrt(2 / len(phases)))
    return made


def _blocks(size: int):
    return (slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK))
