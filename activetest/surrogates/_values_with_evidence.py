"""Values with all the evidence there is: `residual`, with a column for each kind and freer priors.

The mean of label minus prediction is linear in the model's outputs, the components of the features
and the evidence. A column of the evidence is a predicted label minus the model's prediction: its
coefficient is near 0 where the model alone is believed, near 1 where the column alone is, or an
even split. How large coefficients are is not fixed either: the posteriors of several priors are
mixed by their marginal likelihood, that of a normal linear model with an unknown variance (Raftery,
Madigan and Hoeting 1997).

The log-variance of the residual is linear in the same columns, which are bounded smoothly, so that
no tail explodes; it may also be largest in the middle of the predictions or at their ends, and may
grow with how far the evidence is from the prediction. The priors of its slopes are mixed by
Laplace's approximation. Where the squares of residuals scatter more than those of normal ones, they
count for less (quasi-likelihood, Wedderburn 1974).
"""

from itertools import product

import numpy as np

from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._evidence import Evidence
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE
from activetest.surrogates.residual import (
    GUESS_WEIGHT,
    Residual,
    design_columns,
    fit_log_variance,
    limit_variance,
    noise_columns,
)

# Prior standard deviations of the mean's coefficients, in units of the residual's, with the
# probability of each: of outputs and of components.
_OUTPUTS = ((0.3, 0.5), (1.0, 0.3), (4.0, 0.2))
_COMPONENTS = ((0.03, 0.3), (0.1, 0.4), (0.3, 0.3))
# Prior standard deviation of the evidence's coefficients, and the probabilities of the prior means:
# the model alone, an even split, and each column alone, together.
_EVIDENCE = 0.3
_ALONE, _SPLIT, _EACH = 0.4, 0.4, 0.2
# Labels from which on other priors than the narrowest one of the outputs are tried.
_FEWEST_LABELS = 3
# Prior standard deviations of the log-variance's slopes on the prediction and the rest, with the
# probability of each pair; of its square and of components they are half of that.
_VARIANCE = ((0.3, 0.1, 0.2), (1.0, 0.1, 0.3), (0.3, 0.5, 0.2), (1.0, 0.5, 0.3))
_HALF = 0.5
# Labels that the scatter of normal residuals' squares counts as.
_NORMAL_LABELS = 10.0
_PASSES = 3


def fit(training: TrainingSet, evidence: Evidence) -> Residual:
    """The posterior after M labels; deterministic."""
    errors = training.labels - training.rows.outputs.pred
    columns = evidence.values(training.rows)
    guess = RESIDUAL_VARIANCE_SHARE * training.scale**2
    variance = (GUESS_WEIGHT * guess + errors @ errors) / (GUESS_WEIGHT + len(errors))
    spread = float(np.sqrt(variance))
    design = np.hstack([design_columns(training.rows), columns])
    priors = _list_priors(training.rows, evidence.width, len(errors), variance)
    noise_design = noise_columns(training.rows, columns, spread)
    noise_widths = _list_noise_widths(training.rows, columns.shape[1])
    log_variance = np.append(np.log(variance), np.zeros(noise_design.shape[1] - 1))
    for _ in range(_PASSES):
        weights = np.exp(-limit_variance(noise_design, log_variance))
        mode, covariance = _mix_means(design, errors, weights, guess, priors)
        left = errors - design @ mode
        # The fitted mean explains part of the spread: add the posterior variance of the mean.
        squares = left**2 + contract("md,de,me->m", design, covariance, design)
        level = (GUESS_WEIGHT * guess + left @ left) / (GUESS_WEIGHT + len(left))
        log_variance = _mix_variances(
            noise_design, squares, log_variance, float(np.log(level)), noise_widths
        )
    return Residual(mode, covariance, log_variance, len(errors), evidence=evidence, spread=spread)


def _list_noise_widths(rows: Rows, evidence: int) -> list[tuple[Array, float]]:
    """(H - 1,) prior standard deviations of the log-variance's slopes, and their probabilities."""
    stated = int(rows.outputs.std is not None)
    components = rows.design.shape[1] - 1 - stated
    rest = np.repeat([_HALF, 1.0, _HALF, 1.0], [1, stated, components, evidence])
    return [(np.append(first, second * rest), share) for first, second, share in _VARIANCE]


def _list_priors(
    rows: Rows, evidence: int, labels: int, variance: float
) -> list[tuple[Array, Array, float]]:
    """(D,) prior means and variances of the mean's coefficients, and their probabilities.

    Variances are in units of the residual's variance; evidence is how many columns it has.
    """
    head = 2 + (rows.outputs.std is not None)
    components = 1 + rows.design.shape[1] - head
    outputs = _OUTPUTS if labels >= _FEWEST_LABELS else _OUTPUTS[:1]
    splits = [(np.zeros(evidence), 1.0)]
    if evidence:
        even = np.full(evidence, 1 / (evidence + 1))
        splits = [(np.zeros(evidence), _ALONE), (even, _SPLIT)]
        splits += [(each, _EACH / evidence) for each in np.eye(evidence)]
    found = []
    for (output, first), (component, second), (split, third) in product(
        outputs, _COMPONENTS if components else ((1.0, 1.0),), splits
    ):
        sizes = [output**2, component**2, _EVIDENCE**2 / variance]
        variances = np.repeat(sizes, [head, components, evidence])
        means = np.append(np.zeros(head + components), split)
        found.append((means, variances, first * second * third))
    return found


def _mix_means(
    design: Array,
    errors: Array,
    weights: Array,
    guess: float,
    priors: list[tuple[Array, Array, float]],
) -> tuple[Array, Array]:
    """(D,) mean and (D, D) covariance of the mean's coefficients over all priors.

    design (M, D), errors (M,), weights (M,) in proportion to one over the variance; guess is the
    residual's variance before any label.
    """
    weighted = design.T * weights
    gram = weighted @ design
    logs, modes, covariances = [], [], []
    for means, variances, share in priors:
        apart = errors - design @ means
        precision = gram + np.diag(1 / variances)
        inverse = np.linalg.inv(precision)
        pull = weighted @ apart
        step = inverse @ pull
        squares = max(apart @ (weights * apart) - pull @ step, 0.0)
        scale = (GUESS_WEIGHT * guess + squares) / (GUESS_WEIGHT + len(errors))
        determinant = np.linalg.slogdet(precision)[1] + np.log(variances).sum()
        freedom = GUESS_WEIGHT + len(errors)
        logs.append(np.log(share) - 0.5 * determinant - 0.5 * freedom * np.log(scale))
        modes.append(means + step)
        covariances.append(inverse * scale)
    shares = _normalise(logs)
    apart = np.array(modes) - (mode := shares @ np.array(modes))
    covariance = contract("k,kde->de", shares, np.array(covariances))
    return mode, covariance + (apart.T * shares) @ apart


def _mix_variances(
    design: Array,
    squares: Array,
    first: Array,
    level: float,
    priors: list[tuple[Array, float]],
) -> Array:
    """(H,) coefficients of log E[square], over all priors of its slopes.

    design (M, H), squares (M,), first (H,) coefficients; level is the prior mean of the intercept.
    """
    trust = _find_trust(squares * np.exp(-(design @ first)))
    logs, found = [], []
    for widths, share in priors:
        precision = np.append(GUESS_WEIGHT / 2, widths**-2)
        center = np.append(level, np.zeros(len(widths)))
        weights, value = fit_log_variance(design, squares, first, center, precision, trust)
        curvature = 0.5 * trust * design.T @ design + np.diag(precision)
        volume = np.log(precision).sum() - np.linalg.slogdet(curvature)[1]
        logs.append(np.log(share) - value + 0.5 * volume)
        found.append(weights)
    mixed: Array = _normalise(logs) @ np.array(found)
    return mixed


def _find_trust(ratios: Array) -> float:
    """Weight of a square (M,) over its expectation: 1 of normal residuals, less of others."""
    if not len(ratios):
        return 1.0
    apart = ratios / max(ratios.mean(), 1e-300) - 1
    scatter = float(2 * _NORMAL_LABELS + apart @ apart) / (_NORMAL_LABELS + len(ratios))
    return 2 / max(scatter, 2.0)


def _normalise(logs: list[float]) -> Array:
    shares = np.exp(np.array(logs) - max(logs))
    normalised: Array = shares / shares.sum()
    return normalised
