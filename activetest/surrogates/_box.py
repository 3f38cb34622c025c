"""Where a surrogate starts from when nobody hands it training rows: what the black box says."""

import numpy as np
from scipy.optimize import minimize_scalar

from activetest.nouns.rows import Array, Rows

# Probabilities below this are what single precision and a softmax make of "never".
_LEAST = 1e-4
# Hard labels are as likely right as wrong before anything is known of them.
_RIGHT = 0.5
# Prior standard deviation of the logarithm of the sharpness.
_SHARPNESS = 0.5


def log_probs(rows: Rows, classes: int) -> Array:
    """(R, C) logarithm of the black box's probabilities, floored at 1e-4."""
    if rows.outputs.probs is not None:
        return np.log(np.maximum(rows.outputs.probs, _LEAST))
    others = (1 - _RIGHT) / max(classes - 1, 1)
    made = np.full((len(rows.outputs.pred), classes), np.log(others), np.float32)
    np.put_along_axis(made, rows.outputs.pred[:, None], np.float32(np.log(_RIGHT)), axis=1)
    return made


def sharpness(logits: Array, labels: Array) -> float:
    """What (M, C) logits are best multiplied by, given (M,) labels; 1 without labels.

    One over the temperature of Guo et al. 2017, with a log-normal prior around 1.
    """
    rows = np.arange(len(labels))

    def loss(log):
        scaled = np.exp(log) * logits
        return (log_sums(scaled) - scaled[rows, labels]).sum() + 0.5 * (log / _SHARPNESS) ** 2

    if not len(labels):
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-2, 2), method="bounded").x))


def softmax(logits: Array, axis: int = -1) -> Array:
    """Probabilities of the classes along that axis, written over the logits."""
    logits -= logits.max(axis=axis, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=axis, keepdims=True)
    return logits


def log_sums(logits: Array) -> Array:
    """(M,) logarithm of the sum of exponentials of (M, C): log-probabilities are logits less it."""
    top = logits.max(axis=1)
    return top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
