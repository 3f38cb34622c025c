"""Bayesian logistic regression, averaged over priors of different widths.

Axes: S sets of labels that are fitted side by side, W priors, M labels, D columns.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from activetest.nouns.rows import Array

# Products of two columns that are kept for all rows; with more, each prior has a product of
# matrices of its own.
_PRODUCTS = 1 << 21
# Columns of a matrix that is inverted; Cholesky's factors of a larger one take a fifth of the time.
_INVERTED = 64
# A Newton step from where the objective is this close to its least value, and what remains after it
# is rounding once two more steps with the same Hessian have been made: no result shows where the
# steps began, or when they ended.
_CLOSE, _MORE = 1e-8, 2
# Newton steps at most, the share of a slope that may be left with the other sign, what is rounding
# in it, and the shortest step.
_STEPS, _OVERSHOOT, _ROUNDING, _SHORTEST = 100, 0.5, 1e-18, 1e-6


def sigmoid(logits: Array) -> Array:
    """(...,) logistic function; where exp overflows the result is 0, as it should be."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


def average_gaussians(modes: Array, covariances: Array, evidence: Array) -> tuple[Array, Array]:
    """(..., D) mean and (..., D, D) covariance of W Gaussians: of a posterior over several priors.

    It is a mixture of Gaussians, weighted by Laplace's evidence (MacKay 1992; Tierney and Kadane
    1986).

    modes (..., W, D), covariances (..., W, D, D), evidence (..., W) the log of their weights.
    """
    weights = np.exp(evidence - evidence.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mean = (weights[..., None, :] @ modes)[..., 0, :]
    flat = covariances.reshape(*evidence.shape, -1)
    covariance = (weights[..., None, :] @ flat).reshape(*mean.shape, mean.shape[-1])
    apart = modes - mean[..., None, :]
    return mean, covariance + apart.swapaxes(-1, -2) @ (weights[..., None] * apart)


def fit_laplace(
    design: Array, right: Array, mean: Array, deviations: Array, *, effects: int = 0
) -> tuple[Array, Array, Array]:
    """(..., W, D) modes and (..., W, D, D) inverse Hessians of log-posteriors, (..., W) evidence.

    design (..., M, D) and right (..., M) of one set of labels, or of S; mean (D,) of all priors or
    (W, D) of each, deviations (W, D) of each. The first columns, as many as there are effects, are
    1 for some rows and 0 for the others, at most one of them for each row, and a column of ones
    follows them.

    Newton's method for all priors and sets at once, with steps halved until they do not lead far
    uphill again, so that separable and heavy-tailed designs do not diverge.
    """
    sets = (design[None], right[None]) if design.ndim == 2 else (design, right)
    modes, hessian, evidence = _find_modes(*sets, mean, deviations, effects)
    found = modes, hessian.invert(), evidence
    return tuple(each[0] for each in found) if design.ndim == 2 else found


def find_modes(design: Array, right: Array, mean: Array, deviations: Array) -> tuple[Array, Array]:
    """(W, D) modes of log-posteriors and (W,) evidence, for one set of labels: as fit_laplace."""
    modes, _, evidence = _find_modes(design[None], right[None], mean, deviations, 0)
    return modes[0], evidence[0]


def _find_modes(
    design: Array, right: Array, mean: Array, deviations: Array, effects: int
) -> tuple[Array, "_Hessian", Array]:
    """(S, W, D) modes, the Hessians there, and (S, W) evidence."""
    data = _Data(design, right[:, None] @ design, effects)
    precision = deviations**-2.0
    mean = np.broadcast_to(mean, deviations.shape)
    weights = np.repeat(mean[None], len(design), axis=0)
    # Priors that are not there yet, and where they are: where all begin alike, one stands for all.
    left, prior = np.arange(len(deviations)), (mean, precision)
    place = weights[:, :1] if (mean == mean[0]).all() else weights
    probs, gradient = data.look(place, *prior)
    for _ in range(_STEPS):
        hessian = data.find_hessian(probs, prior[1])
        step = hessian.solve(gradient)
        far = ((gradient * step).sum(axis=-1) >= _CLOSE).any(axis=0)
        for more in range(2 if far.all() else 1 + _MORE):
            step = hessian.solve(gradient) if more else step
            place, probs, gradient = _go(data, place, step, gradient, prior)
        weights[:, left] = place
        if not far.any():
            break
        left, prior = left[far], (prior[0][far], prior[1][far])
        place, probs, gradient = place[:, far], probs[:, far], gradient[:, far]
    logits = weights @ data.columns
    probs = sigmoid(logits)
    hessian = data.find_hessian(probs, precision)
    value = np.logaddexp(0, logits).sum(axis=-1) - (logits @ right[..., None])[..., 0]
    value += 0.5 * (precision * (weights - mean) ** 2).sum(axis=-1)
    evidence = -value - 0.5 * hessian.log_determinant - np.log(deviations).sum(axis=-1)
    return weights, hessian, evidence


def _go(
    data: "_Data", place: Array, step: Array, gradient: Array, prior: tuple[Array, Array]
) -> tuple[Array, Array, Array]:
    """Where a step (S, W, D) against the gradient leads, with probabilities and gradient there.

    It is halved while the objective, which is convex, is steeper uphill at its end than it was half
    as much downhill at its beginning.
    """
    slope = (gradient * step).sum(axis=-1)
    size = np.ones(slope.shape)
    while True:
        there = place - size[..., None] * step
        probs, following = data.look(there, *prior)
        uphill = -(following * step).sum(axis=-1)
        too_far = (uphill > _OVERSHOOT * slope + _ROUNDING) & (size > _SHORTEST)
        if not too_far.any():
            return there, probs, following
        size[too_far] /= 2


class _Hessian(NamedTuple):
    """Hessians (..., D, D) in blocks: of E effects, which is diagonal, and of P other columns.

    effects  (..., E) the diagonal
    ratio    (..., E, P) what lies between both over it
    rest     (..., P, P) what is left of the others' block once the effects are eliminated
    inverse  (..., P, P) of the rest; None where it is large
    factors  Cholesky's factors of the rest instead, one for each
    """

    effects: Array
    ratio: Array
    rest: Array
    inverse: Array | None
    factors: Sequence[tuple[Array, bool]]

    def solve(self, gradient: Array) -> Array:
        """(..., D) the inverse times the gradient (..., D)."""
        count = self.effects.shape[-1]
        first, last = gradient[..., :count], gradient[..., count:]
        last = last - (first[..., None, :] @ self.ratio)[..., 0, :]
        if self.inverse is None:
            from scipy.linalg import cho_solve

            rows = zip(self.factors, last.reshape(-1, last.shape[-1]), strict=True)
            last = np.reshape([cho_solve(factor, row) for factor, row in rows], last.shape)
        else:
            last = (self.inverse @ last[..., None])[..., 0]
        first = first / self.effects - (self.ratio @ last[..., None])[..., 0]
        return np.concatenate([first, last], axis=-1)

    @property
    def log_determinant(self) -> Array:
        """(...,) logarithm of the determinant."""
        logs: Array = np.log(self.effects).sum(axis=-1) + np.linalg.slogdet(self.rest)[1]
        return logs

    def invert(self) -> Array:
        """(..., D, D) the inverse."""
        count, size = self.ratio.shape[-2:]
        inverse = np.empty((*self.effects.shape[:-1], count + size, count + size))
        rest = np.linalg.inv(self.rest) if self.inverse is None else self.inverse
        between = self.ratio @ rest
        inverse[..., count:, count:] = rest
        inverse[..., :count, count:] = -between
        inverse[..., count:, :count] = -between.swapaxes(-1, -2)
        inverse[..., :count, :count] = between @ self.ratio.swapaxes(-1, -2)
        diagonal = np.arange(count)
        inverse[..., diagonal, diagonal] += 1 / self.effects
        return inverse


class _Data:
    """Labels that are fitted: design (S, M, D), sums (S, 1, D) of the rows that were right."""

    def __init__(self, design: Array, right: Array, effects: int) -> None:
        self.design, self.right, self.effects = design, right, effects
        self.columns = np.ascontiguousarray(design.swapaxes(1, 2))
        self.others = design[..., effects:]
        self.products: Array | None = None
        sets, rows, size = design.shape
        if design.size * self.others.shape[-1] <= _PRODUCTS * sets:
            pairs = design[..., None] * self.others[..., None, :]
            self.products = pairs.reshape(sets, rows, size * self.others.shape[-1])

    def look(self, weights: Array, mean: Array, precision: Array) -> tuple[Array, Array]:
        """(S, W, M) probabilities of being right at weights (S, W, D), and (S, W, D) gradient."""
        probs = weights @ self.columns
        np.negative(probs, out=probs)
        with np.errstate(over="ignore"):
            np.exp(probs, out=probs)
        probs += 1
        np.divide(1, probs, out=probs)
        gradient = probs @ self.design
        gradient -= self.right
        return probs, gradient + precision * (weights - mean)

    def find_hessian(self, probs: Array, precision: Array) -> _Hessian:
        """The Hessians at probabilities (S, W, M); of all priors where these are alike to them."""
        curvature, count = probs * (1 - probs), self.effects
        size = self.others.shape[-1]
        if self.products is None:
            priors = curvature.swapaxes(0, 1)
            parts = [(self.columns * prior[:, None]) @ self.others for prior in priors]
            each = np.stack(parts, axis=1)
        else:
            each = (curvature @ self.products).reshape(*probs.shape[:2], count + size, size)
        between, block = each[..., :count, :], each[..., count:, :]
        # The first of the others is a column of ones.
        effects = between[..., 0] + precision[:, :count]
        ratio = between / effects[..., None]
        rest = block - ratio.swapaxes(-1, -2) @ between
        diagonal = np.arange(size)
        rest[..., diagonal, diagonal] += precision[:, count:]
        if size <= _INVERTED:
            return _Hessian(effects, ratio, rest, np.linalg.inv(rest), ())
        from scipy.linalg import cho_factor

        factors = [cho_factor(each, lower=True) for each in rest.reshape(-1, size, size)]
        return _Hessian(effects, ratio, rest, None, factors)
