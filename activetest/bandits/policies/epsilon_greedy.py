"""Epsilon-greedy: the option that looks best now, and any option one time in ten.

Active Bayesian Assessment (Ji 2021), supplement, as a baseline.
"""

import numpy as np

from activetest.bandits.bandit import Bandit
from activetest.bandits.policies._chances import winners
from activetest.nouns.rows import Array

CHOOSES_GROUPS = True

_EPSILON = 0.1


def shares(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) probability of each option; rewards are those of the posterior mean."""
    del samples
    possible = bandit.room > 0
    even = possible / np.maximum(possible.sum(axis=-1, keepdims=True), 1)
    return (1 - _EPSILON) * winners(bandit.greedy(rng), bandit.plays) + _EPSILON * even
