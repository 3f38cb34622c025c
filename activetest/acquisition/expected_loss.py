"""Expected loss: where the model is likely to be wrong.

Active Testing (Kossen 2021), eq. (6)-(8), (12), (14).
"""

import numpy as np

from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.rows import Array


def score(beliefs: Beliefs, rng=None) -> Array:
    """(R,) size of the loss that the surrogate expects, summed over target statistics."""
    del rng
    mean, _ = moments(beliefs)
    return np.abs(mean).sum(axis=0)
