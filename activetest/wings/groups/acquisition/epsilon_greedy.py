"""Epsilon-greedy: the option that looks best now, and any option one time in ten.

Active Bayesian Assessment (Ji 2021), supplement, as a baseline.
"""

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.groups.acquisition._rewards import share_among_winners
from activetest.wings.groups.bandit import Bandit

CHOOSES_GROUPS = True

_EPSILON = 0.1


def allocate(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) probability of each option; rewards are those of the posterior mean."""
    del samples
    possible = bandit.unlabelled > 0
    uniform = possible / np.maximum(possible.sum(axis=-1, keepdims=True), 1)
    return (1 - _EPSILON) * share_among_winners(
        bandit.expected_rewards(rng), bandit.plays_per_sample
    ) + _EPSILON * uniform
