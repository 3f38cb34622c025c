"""Thompson sampling: an option is chosen with its posterior probability of being the best.

Active Bayesian Assessment (Ji 2021), Algorithm 1. To identify the m worst groups every sample plays
its m best options: multiple plays (Komiyama, Honda and Nakagawa 2015).
"""

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.groups.acquisition._rewards import sample_rewards, share_among_winners
from activetest.wings.groups.bandit import Bandit

CHOOSES_GROUPS = True


def allocate(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) share of posterior samples in which each option is played."""
    return share_among_winners(sample_rewards(bandit, samples, rng), bandit.plays_per_sample).mean(
        axis=0
    )
