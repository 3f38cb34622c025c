"""The black box's own probabilities, from which surrogates start without training rows."""

import numpy as np

from activetest.nouns.rows import Array, Rows

# Smaller probabilities are rounding errors of a softmax in single precision.
_SMALLEST_PROB = 1e-4
# Probability that a hard label is right, before any label is known.
_PROB_RIGHT = 0.5
# Prior standard deviation of the logarithm of the sharpness.
_LOG_SHARPNESS_SD = 0.5


def log_probs(rows: Rows, classes: int) -> Array:
    """(R, C) logarithm of the black box's probabilities, floored at 1e-4."""
    if rows.outputs.probs is not None:
        return np.log(np.maximum(rows.outputs.probs, _SMALLEST_PROB))
    others = (1 - _PROB_RIGHT) / max(classes - 1, 1)
    logs = np.full((len(rows.outputs.pred), classes), np.log(others), np.float32)
    np.put_along_axis(logs, rows.outputs.pred[:, None], np.float32(np.log(_PROB_RIGHT)), axis=1)
    return logs


def fit_sharpness(logits: Array, labels: Array) -> float:
    """The best factor of (M, C) logits, given (M,) labels; 1 without labels.

    The inverse of the temperature of Guo et al. 2017, with a log-normal prior around 1.
    """
    # Takes a while to load, and whoever only predicts does without.
    from scipy.optimize import minimize_scalar

    rows = np.arange(len(labels))

    def loss(log_sharpness: float) -> float:
        scaled = np.exp(log_sharpness) * logits
        return (log_sum_exp(scaled) - scaled[rows, labels]).sum() + 0.5 * (
            log_sharpness / _LOG_SHARPNESS_SD
        ) ** 2

    if not len(labels):
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-2, 2), method="bounded").x))


def softmax(logits: Array, axis: int = -1) -> Array:
    """Probabilities of the classes along an axis; overwrites the logits."""
    logits -= logits.max(axis=axis, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=axis, keepdims=True)
    return logits


def log_sum_exp(logits: Array) -> Array:
    """(M,) logarithm of the sum of exponentials of (M, C) logits."""
    top = logits.max(axis=1)
    return top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
