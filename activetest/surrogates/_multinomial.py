"""Multinomial logistic regression: the coefficients with the largest posterior density."""

import numpy as np

from activetest.nouns.rows import Array
from activetest.surrogates._black_box import log_sum_exp


def find_mode(
    design: Array,
    labels: Array,
    offset: Array,
    precision: Array,
    guess: Array | None,
    *,
    steps: int = 300,
) -> Array:
    """(D, C) coefficients with the largest posterior density, by L-BFGS.

    design (M, D), labels (M,), offset (M, C) of the logits, precision (D,) of the prior; the
    objective is convex, so that the guess only affects speed. At most `steps` of the search.
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
        objective, initial.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}
    )
    return optimum.x.reshape(shape)
