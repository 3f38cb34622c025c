"""XWED, expected weighted disagreement: where members disagree about outcomes that cost much.

Active Surrogate Estimators (Kossen 2022), eq. (6) and appendix D.2: BALD with every outcome y
weighted by its loss L(y), -sum_y L pi log pi + mean over members of sum_y L pi_e log pi_e. With
unit losses it is BALD.
"""

import numpy as np

from activetest.acquisition.bald import disagreement
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array

NEEDS_MEMBERS = True


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) weighted disagreement, an outcome weighted by the size of its linearised statistics."""
    del objectives
    weights = np.abs(beliefs.outcome_values).sum(axis=0)
    values: Array = (weights * disagreement(beliefs.known_draws)).sum(axis=1)
    return values
