"""Expected loss: where the model is likely to be wrong.

Active Testing (Kossen 2021), eq. (6)-(8), (12), (14).
"""

import numpy as np

from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) size of the loss that the surrogate expects, summed over the linearised statistics."""
    del objectives
    mean, _ = moments(beliefs)
    values: Array = np.abs(mean).sum(axis=0)
    return values
