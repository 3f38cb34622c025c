"""BALD: where the members of a surrogate disagree, whatever the loss.

Mutual information of the outcome and the member (Houlsby 2011), as in the Active Surrogate
Estimators paper (Kossen 2022), eq. (5): the entropy of the mean over members of pi_e, minus the
mean over members of the entropy of pi_e.
"""

import numpy as np
from scipy.special import xlogy

from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array

NEEDS_MEMBERS = True


def score(beliefs: Beliefs, rng: np.random.Generator | None = None) -> Array:
    """(R,) mutual information in nats; the members are beliefs.draws (K, R, C)."""
    del rng
    values: Array = disagreement(beliefs.known_draws).sum(axis=1)
    return values


def disagreement(draws: Array) -> Array:
    """(R, C) each outcome's part: mean of p log p over members (K, R, C), minus that of the mean.

    At least zero, for p log p is convex. Where p is 0, p log p is 0.
    """
    mean = draws.mean(axis=0)
    # Only rounding can make it negative.
    values: Array = np.maximum(xlogy(draws, draws).mean(axis=0) - xlogy(mean, mean), 0)
    return values
