"""Bayesian logistic regression, averaged over priors of different widths."""

import numpy as np

from activetest.nouns.rows import Array

# Rows whose outer products are computed at a time: they stay in the processor's cache.
_BLOCK = 512
# With more columns than this, they do not, and a product of matrices for each prior is faster.
_WIDE = 64


def sigmoid(logits: Array) -> Array:
    """(...,) logistic function; where exp overflows the result is 0, as it should be."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


def average_posterior(
    design: Array, right: Array, mean: Array, deviations: Array
) -> tuple[Array, Array]:
    """(D,) mean and (D, D) covariance of the posterior, averaged over equally likely priors.

    The posterior is a mixture of Gaussians, weighted by Laplace's evidence (MacKay 1992; Tierney
    and Kadane 1986). Arguments as in fit_laplace.
    """
    modes, covariances, evidence = fit_laplace(design, right, mean, deviations)
    return average_gaussians(modes, covariances, evidence)


def average_gaussians(modes: Array, covariances: Array, evidence: Array) -> tuple[Array, Array]:
    """(D,) mean and (D, D) covariance of W Gaussians; evidence (W,) is the log of their weights."""
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    mean_mode = weights @ modes
    covariance = np.tensordot(weights, covariances, 1)
    return mean_mode, covariance + (modes - mean_mode).T @ (weights[:, None] * (modes - mean_mode))


def fit_laplace(
    design: Array, right: Array, mean: Array, deviations: Array
) -> tuple[Array, Array, Array]:
    """(W, D) modes and (W, D, D) inverse Hessians of log-posteriors, and (W,) log evidence.

    design (M, D), right (M,); mean (D,) of all priors or (W, D) of each, deviations (W, D) of each.
    Newton's method for all priors at once, with steps halved until the objective decreases, so that
    separable and heavy-tailed designs do not diverge.
    """
    precision = deviations**-2
    weights = np.broadcast_to(mean, deviations.shape).copy()

    def objective(weights: Array) -> Array:
        logits = weights @ design.T
        prior = 0.5 * (precision * (weights - mean) ** 2).sum(axis=1)
        return np.logaddexp(0, logits).sum(axis=1) - logits @ right + prior

    value = objective(weights)
    for _ in range(100):
        probs = sigmoid(weights @ design.T)
        gradient = (probs - right) @ design + precision * (weights - mean)
        hessian = _sum_outer_products(design, probs * (1 - probs))
        hessian += precision[:, :, None] * np.eye(deviations.shape[1])
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        decrement = (gradient * step).sum(axis=1)
        active = decrement >= 1e-10
        if not active.any():
            break
        step_size = np.where(active, 1.0, 0.0)
        while True:
            trial = objective(weights - step_size[:, None] * step)
            too_high = (trial > value - 0.25 * step_size * decrement) & (step_size > 1e-6)
            if not too_high.any():
                break
            step_size[too_high] /= 2
        weights, value = weights - step_size[:, None] * step, trial
    evidence = -value - 0.5 * np.linalg.slogdet(hessian)[1] - np.log(deviations).sum(axis=1)
    return weights, np.linalg.inv(hessian), evidence


def _sum_outer_products(design: Array, curvature: Array) -> Array:
    """(W, D, D) sums over rows of design (M, D) of curvature (W, M) times the outer product."""
    columns = design.shape[1]
    if columns > _WIDE:
        return np.stack([(design * each[:, None]).T @ design for each in curvature])
    total = np.zeros((len(curvature), columns**2))
    for start in range(0, len(design), _BLOCK):
        block = design[start : start + _BLOCK]
        outer = (block[:, :, None] * block[:, None, :]).reshape(len(block), -1)
        total += curvature[:, start : start + _BLOCK] @ outer
    return total.reshape(-1, columns, columns)
