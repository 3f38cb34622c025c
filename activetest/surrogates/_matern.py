"""Gaussian processes with a Matern 3/2 kernel (Rasmussen and Williams 2006, chapters 2, 4 and 5).

Several functions at once share the kernel; each has observations and noise of its own. Draws are
functions, so that they agree on overlapping rows: pathwise conditioning of random Fourier features
(Wilson et al. 2020, eq. 8; Rahimi and Recht 2007).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from activetest.nouns.rows import Array

_ROOT3 = np.sqrt(3.0)
# Random Fourier features of a draw from the prior.
_FEATURES = 1_000
# Rows whose covariances with all observations are computed at once.
_BLOCK = 2_048


@dataclass(frozen=True)
class Kernel:
    """amplitude^2 (1 + r) exp(-r), with r = sqrt(3) distance / length."""

    amplitude: float
    length: float

    def __call__(self, distance: Array) -> Array:
        """Covariance of values at these distances."""
        ratio = (_ROOT3 / self.length) * distance
        return self.amplitude**2 * (1 + ratio) * np.exp(-ratio)


def distances(left: Array, right: Array) -> Array:
    """(R, M) Euclidean distances between (R, W) and (M, W)."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * (left @ right.T)
    # Only rounding can make it negative.
    return np.sqrt(np.maximum(squares, 0))


def fit_kernel(
    distance: Array, targets: Array, noise: Array | None, guess: Array, doubt: Array | float = 1.0
) -> Array:
    """The most probable amplitude, length and, if noise is None, deviation of the noise.

    distance (M, M), targets (M, C), noise (M, C) variances; guess (2,) or (3,) is the median of
    log-normal priors, which prevent extreme estimates from a handful of labels, and doubt the
    standard deviation of their logarithms.
    """
    center = np.log(guess)

    def objective(logs: Array) -> tuple[float, Array]:
        value, slope = log_evidence(distance, targets, noise, logs)
        shift = (logs - center) / doubt
        return float(0.5 * shift @ shift - value), shift / doubt - slope

    if not len(targets):
        return guess
    bounds = np.stack([center - 4 * doubt, center + 4 * doubt], axis=1)
    optimum = minimize(
        objective, center, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50}
    )
    return np.exp(optimum.x)


def log_evidence(
    distance: Array, targets: Array, noise: Array | None, logs: Array
) -> tuple[float, Array]:
    """Logarithm of the targets' density summed over functions, and its gradient in logs.

    logs: of amplitude, length and, if noise is None, the noise's deviation. Eq. 5.8 and 5.9.
    """
    amplitude, length = np.exp(logs[:2])
    covariance = Kernel(amplitude, length)(distance)
    ratio = (_ROOT3 / length) * distance
    stretched = amplitude**2 * ratio**2 * np.exp(-ratio)
    value, gradient = 0.0, np.zeros(len(logs))
    noise_is_fitted = noise is None
    for column in range(1 if noise_is_fitted else targets.shape[1]):
        columns = targets if noise_is_fitted else targets[:, column : column + 1]
        if noise is None:
            variances = np.full(len(targets), np.exp(2 * logs[2]))
        else:
            variances = noise[:, column]
        lower = np.linalg.cholesky(covariance + np.diag(variances))
        inverse = cho_solve((lower, True), np.eye(len(targets)))
        weights = inverse @ columns
        count = columns.shape[1]
        logdet = 2 * np.log(np.diag(lower)).sum() + len(targets) * np.log(2 * np.pi)
        value -= 0.5 * ((columns * weights).sum() + count * logdet)
        inner = weights @ weights.T - count * inverse
        gradient[0] += (inner * covariance).sum()
        gradient[1] += 0.5 * (inner * stretched).sum()
        if noise_is_fitted:
            gradient[2] += np.diag(inner) @ variances
    return float(value), gradient


@dataclass(frozen=True)
class Paths:
    """C conditioned functions and E draws of each, which can be evaluated anywhere.

    seen         (M, W) inputs of the observations
    kernel       shared by all functions
    weights      (M, C) coefficients of the covariances with the observations in the mean
    half         (M, M) inverse of the Cholesky factor, for the variance; None if not needed
    frequencies  (W, F) of the random features
    phases       (F,) of the random features
    drawn        (F + M, E, C) coefficients of features and covariances in each draw
    """

    seen: Array
    kernel: Kernel
    weights: Array
    half: Array | None
    frequencies: Array
    phases: Array
    drawn: Array

    def params(self) -> dict[str, Any]:
        """The fields."""
        kernel = {"amplitude": self.kernel.amplitude, "length": self.kernel.length}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return {**arrays, **kernel} | ({} if self.half is None else {"half": self.half})

    def moments(self, columns: Array) -> tuple[Array, Array | None]:
        """(R, C) mean and, if half is given, (R,) variance of the functions; eq. 2.25, 2.26."""
        mean = np.empty((len(columns), self.weights.shape[1]))
        variance = np.empty(len(columns))
        for rows_slice in _split_rows(len(columns)):
            covariance = self.kernel(distances(columns[rows_slice].astype(float), self.seen))
            mean[rows_slice] = covariance @ self.weights
            if self.half is not None:
                explained = ((covariance @ self.half.T) ** 2).sum(axis=1)
                variance[rows_slice] = np.maximum(self.kernel.amplitude**2 - explained, 0)
        return mean, None if self.half is None else variance

    def draws(self, columns: Array, which: Array) -> Iterator[tuple[slice, Array]]:
        """For blocks of rows: the slice, and (K, block, C) values of these draws."""
        weights = self.drawn[:, which]
        flat = np.ascontiguousarray(weights.reshape(len(weights), -1), np.float32)
        for rows_slice in _split_rows(len(columns)):
            block = columns[rows_slice]
            covariance = self.kernel(distances(block, self.seen)).astype(np.float32)
            features = _random_features(block, self.frequencies, self.phases, self.kernel.amplitude)
            values = np.hstack([features, covariance]) @ flat
            yield rows_slice, np.moveaxis(values.reshape(len(block), *weights.shape[1:]), 0, 1)


_ARRAYS = ("seen", "weights", "frequencies", "phases", "drawn")


def restore_paths(params: dict[str, Any]) -> Paths:
    """The paths that params() describes."""
    arrays = {name: np.asarray(params[name], np.float32) for name in _ARRAYS}
    arrays["weights"] = np.asarray(params["weights"], float)
    half = np.asarray(params["half"], float) if "half" in params else None
    kernel = Kernel(float(params["amplitude"]), float(params["length"]))
    return Paths(kernel=kernel, half=half, **arrays)


def condition_paths(
    inputs: Array,
    targets: Array,
    noise: Array,
    kernel: Kernel,
    members: int,
    rng: np.random.Generator,
    *,
    doubt: bool,
) -> Paths:
    """The posterior after (M, C) targets with (M, C) variances of noise, at (M, W) inputs.

    With doubt, half is kept, from which the variance of the first function follows.
    """
    size, count = targets.shape
    covariance = kernel(distances(inputs.astype(float), inputs.astype(float)))
    # The spectrum of Matern 3/2 is a Student's t with 3 degrees of freedom.
    scales = np.sqrt(3 / rng.chisquare(3, size=_FEATURES))
    frequencies = rng.normal(size=(inputs.shape[1], _FEATURES)) * scales / kernel.length
    phases = rng.uniform(0, 2 * np.pi, size=_FEATURES)
    frequencies = frequencies.astype(np.float32, order="C")
    phases = phases.astype(np.float32)
    features = _random_features(inputs, frequencies, phases, kernel.amplitude).astype(float)
    prior = rng.normal(size=(_FEATURES, members, count))
    weights = np.empty((size, count))
    corrections = np.empty((size, members, count))
    half = None
    for column in range(count):
        variances = noise[:, column]
        lower = np.linalg.cholesky(covariance + np.diag(variances))
        weights[:, column] = cho_solve((lower, True), targets[:, column])
        # Observations of a draw from the prior, which Matheron's rule corrects.
        errors = np.sqrt(variances)[:, None] * rng.normal(size=(size, members))
        simulated = features @ prior[:, :, column] + errors
        corrections[:, :, column] = cho_solve(
            (lower, True), targets[:, column : column + 1] - simulated
        )
        if doubt and column == 0:
            half = np.ascontiguousarray(solve_triangular(lower, np.eye(size), lower=True))
    drawn = np.concatenate([prior, corrections]).astype(np.float32, order="C")
    return Paths(
        inputs.astype(np.float32, order="C"), kernel, weights, half, frequencies, phases, drawn
    )


def _random_features(columns: Array, frequencies: Array, phases: Array, amplitude: float) -> Array:
    """(R, F) float32 random features, whose inner products have the kernel as expectation."""
    features = columns.astype(np.float32) @ frequencies
    features += phases
    np.cos(features, out=features)
    features *= np.float32(amplitude * np.sqrt(2 / len(phases)))
    return features


def _split_rows(size: int) -> Iterator[slice]:
    """Slices of consecutive blocks of rows."""
    return (slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK))
