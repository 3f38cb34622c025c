"""Thompson sampling: an option is chosen as often as it is the best one, as far as is known.

Active Bayesian Assessment (Ji 2021), Algorithm 1. To identify the m worst groups every sample plays
its m best options: multiple plays (Komiyama, Honda and Nakagawa 2015).
"""

import numpy as np

from activetest.bandits.bandit import Bandit
from activetest.bandits.policies._chances import sampled, winners
from activetest.nouns.rows import Array

CHOOSES_GROUPS = True


def shares(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) share of posterior samples in which each option is played."""
    return winners(sampled(bandit, samples, rng), bandit.plays).mean(axis=0)
