"""Expected loss: where the model is likely to be wrong.

Active Testing (Kossen 2021), eq. (6)-(8), (12), (14).
"""

import numpy as np

from activetest.item_statistics.expectation import moments
from activetest.nouns.evidence import Array, Beliefs


def score(beliefs: Beliefs, rng=None) -> Array:
    """(R,) size of the loss that the surrogate expects, summed over target statistics."""
    del rng
    mean, _ = moments(beliefs)
    return np.abs(mean).sum(axis=0)
