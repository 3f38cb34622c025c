"""Active risk estimation: the optimal proposal of importance sampling with replacement.

Sawade 2010; Active Testing (Kossen 2021), appendix D. For a self-normalised estimate of the risk R
draws are best made in proportion to sqrt(E[(loss - R)^2]). Only `simulate` has it: a study draws
without replacement.
"""

import numpy as np

from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array

SIMULATION_ONLY = True
WITH_REPLACEMENT = True


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) root of the expected square of the linearised statistics: losses minus the risk."""
    del objectives
    mean, variance = moments(beliefs)
    values: Array = np.sqrt(np.maximum((mean**2 + variance).sum(axis=0), 0.0))
    return values
