"""Learning from labels which of two models is right on the items on which they differ.

Two surrogates know their own models alone, and may believe in both answers at once. Where a and b
are their probabilities that the first and the second model are right, and c what is left for
neither, the three are taken to be in proportion to a exp(s), b exp(-s) and c exp(r). The shifts s
and r follow from the labels of items on which the models differ, with a standard normal prior each:
a multinomial logistic regression with a known part (MAP, by Newton's method).
"""

import numpy as np

from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array

# Probabilities are at least this, and steps of Newton's method at most so many.
_LEAST, _STEPS = 0.01, 50
# Added by s and r to the three logits: first, second, neither.
_DESIGN = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
FIRST, SECOND, NEITHER = 0, 1, 2


def write_logits(first: Array, second: Array, *, several: bool) -> Array:
    """(R, 3) logits of first, second and neither right, from both probabilities (R,).

    several  whether labels may be of a third class; else one of both is right
    """
    left = np.maximum(1 - first - second, _LEAST) if several else np.zeros(len(first))
    parts = np.stack([np.maximum(first, _LEAST), np.maximum(second, _LEAST), left], axis=1)
    with np.errstate(divide="ignore"):
        return np.log(parts)


def find_probs(logits: Array, shifts: Array) -> Array:
    """(R, 3) probabilities at shifts (2,)."""
    moved = logits + _DESIGN @ shifts
    weights = np.exp(moved - moved.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def fit_shifts(logits: Array, outcome: Array) -> Array:
    """(2,) the shifts after M items with these logits (M, 3), of which outcome (M,) came true."""
    # An outcome that cannot be, as neither of two classes, says nothing.
    possible = np.isfinite(logits[np.arange(len(outcome)), outcome])
    logits, outcome = logits[possible], outcome[possible]
    shifts = np.zeros(2)
    seen = _DESIGN[outcome].sum(axis=0)
    value = _measure(logits, outcome, shifts)
    for _ in range(_STEPS):
        probs = find_probs(logits, shifts)
        mean = probs @ _DESIGN
        gradient = mean.sum(axis=0) - seen + shifts
        square = contract("mk,ki,kj->ij", probs, _DESIGN, _DESIGN)
        step = np.linalg.solve(square - mean.T @ mean + np.eye(2), gradient)
        size = 1.0
        while (trial := _measure(logits, outcome, shifts - size * step)) > value and size > 1e-6:
            size /= 2
        shifts, before, value = shifts - size * step, value, trial
        if before - value < 1e-12:
            break
    return shifts


def _measure(logits: Array, outcome: Array, shifts: Array) -> float:
    """The negative log posterior of the shifts."""
    probs = find_probs(logits, shifts)[np.arange(len(outcome)), outcome]
    return float(0.5 * shifts @ shifts - np.log(probs).sum())
