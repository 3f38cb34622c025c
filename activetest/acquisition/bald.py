"""BALD: where the members of a surrogate disagree, whatever the loss.

Mutual information of the outcome and the member (Houlsby 2011), as in the Active Surrogate
Estimators paper (Kossen 2022), eq. (5): the entropy of the mean over members of pi_e, minus the
mean over members of the entropy of pi_e.
"""

import numpy as np
from scipy.special import xlogy

from activetest.nouns.beliefs import Beliefs
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array

NEEDS_MEMBERS = True

# What rounding leaves of no disagreement, in nats.
_ROUNDING = 1e-14


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) mutual information in nats; the members are beliefs.draws (K, R, C)."""
    del objectives
    values: Array = disagreement(beliefs.known_draws).sum(axis=1)
    return values


def disagreement(draws: Array) -> Array:
    """(R, C) each outcome's part: mean of p log p over members (K, R, C), minus that of the mean.

    At least zero, for p log p is convex, and exactly zero where all members agree. Where p is 0,
    p log p is 0.
    """
    draws = draws.astype(float, copy=False)
    mean = draws.mean(axis=0)
    values: Array = xlogy(draws, draws).mean(axis=0) - xlogy(mean, mean)
    return np.where(values > _ROUNDING, values, 0.0)
