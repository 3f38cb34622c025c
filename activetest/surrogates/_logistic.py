"""Bayesian logistic regression when how far to trust the prior is itself unknown."""

import numpy as np

from activetest.nouns.rows import Array

# Rows whose outer products are held at a time: they stay in the processor's cache.
_BLOCK = 512


def sigmoid(logits: Array) -> Array:
    """(...,) logistic function; overflow in exp means 0, and that is right."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


def averaged(design: Array, right: Array, mean: Array, deviations: Array) -> tuple[Array, Array]:
    """(D,) mean and (D, D) covariance of the posterior over all priors, each as likely as another.

    Of a mixture of Gaussians, weighted by Laplace's evidence (MacKay 1992; Tierney and Kadane
    1986). Arguments as in laplace, which fits them.
    """
    modes, covariances, evidence = laplace(design, right, mean, deviations)
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    middle = weights @ modes
    covariance = np.tensordot(weights, covariances, 1)
    return middle, covariance + (modes - middle).T @ (weights[:, None] * (modes - middle))


def laplace(
    design: Array, right: Array, mean: Array, deviations: Array
) -> tuple[Array, Array, Array]:
    """(W, D) modes and (W, D, D) inverse Hessians of log-posteriors, and (W,) log evidence.

    design (M, D), right (M,); mean (D,) of all priors, deviations (W, D), one line for each. By
    Newton's method, side by side. Halving steps until the objective falls is what keeps separable
    and heavy-tailed designs from diverging.
    """
    precision = deviations**-2
    weights = np.tile(mean, (len(deviations), 1))

    def objective(weights):
        logits = weights @ design.T
        prior = 0.5 * (precision * (weights - mean) ** 2).sum(axis=1)
        return np.logaddexp(0, logits).sum(axis=1) - logits @ right + prior

    value = objective(weights)
    for _ in range(100):
        probs = sigmoid(weights @ design.T)
        gradient = (probs - right) @ design + precision * (weights - mean)
        hessian = _curvature(design, probs * (1 - probs))
        hessian += precision[:, :, None] * np.eye(len(mean))
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        decrement = (gradient * step).sum(axis=1)
        moving = decrement >= 1e-10
        if not moving.any():
            break
        size = np.where(moving, 1.0, 0.0)
        while True:
            moved = objective(weights - size[:, None] * step)
            high = (moved > value - 0.25 * size * decrement) & (size > 1e-6)
            if not high.any():
                break
            size[high] /= 2
        weights, value = weights - size[:, None] * step, moved
    evidence = -value - 0.5 * np.linalg.slogdet(hessian)[1] - np.log(deviations).sum(axis=1)
    return weights, np.linalg.inv(hessian), evidence


def _curvature(design: Array, bends: Array) -> Array:
    """(W, D, D) sums over rows of design (M, D) of bend times outer product, bends (W, M)."""
    size = design.shape[1]
    total = np.zeros((len(bends), size**2))
    for start in range(0, len(design), _BLOCK):
        block = design[start : start + _BLOCK]
        outer = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        total += bends[:, start : start + _BLOCK] @ outer
    return total.reshape(-1, size, size)
