"""Labels until an answer held, over the studies of a strategy. Axes: R runs, T looks."""

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.simulated_answer import Wait


def find_first_for_good(holds: Array) -> Array:
    """(R,) looks before the one from which on something holds (R, T); T where it does not."""
    backwards = holds[:, ::-1]
    count = holds.shape[1]
    held = np.where(backwards.all(axis=1), count, backwards.argmin(axis=1))
    found: Array = count - held
    return found


def find_first(holds: Array) -> Array:
    """(R,) looks before the first one at which something holds (R, T); T where it never does."""
    return np.where(holds.any(axis=1), holds.argmax(axis=1), holds.shape[1])


def measure_wait(budgets: Array, looks: Array) -> Wait:
    """Labels until something held, from the look (R,) at which it did; T where it never did."""
    held = looks < len(budgets)
    labels = budgets[np.minimum(looks, len(budgets) - 1)].astype(float)
    middle = np.sort(np.where(held, labels, np.inf))[(len(labels) - 1) // 2]
    return Wait(
        share=float(held.mean()),
        labels=float(labels.mean()),
        standard_error=float(labels.std(ddof=1) / np.sqrt(len(labels))),
        median=float(middle) if np.isfinite(middle) else None,
    )
