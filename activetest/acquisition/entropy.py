"""Entropy: where the surrogate is least sure of the outcome.

Active Testing (Kossen 2021), section 5.2, has it as the naive baseline, with the model itself as
surrogate. It knows nothing of the loss.
"""

import numpy as np
from scipy.special import entr

from activetest.nouns.beliefs import Beliefs
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array

TASK = "classification"


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) entropy in nats of the outcomes the surrogate knows: classes, or right and wrong."""
    del objectives
    # Only rounding can make a probability negative.
    values: Array = entr(np.maximum(beliefs.probs, 0)).sum(axis=1)
    return values
