"""Optimal for the doubly robust estimate: where the surrogate's own prediction may be off.

The conditional variance of a step is smallest for q proportional to sqrt(E[(h - g)^2 | x]), where h
is the statistic and g its prediction (Sawade 2010 for importance sampling; Zrnic and Candes 2024
for predictions as control variates). With 0/1 loss this is sqrt(p (1 - p)), p the surrogate's
probability of an error.
"""

import numpy as np

from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) root of the sum of the linearised statistics' variances under the surrogate."""
    del objectives
    _, variance = moments(beliefs)
    values: Array = np.sqrt(np.maximum(variance.sum(axis=0), 0.0))
    return values
