"""Bayes-UCB: the group that could be worst, by the 97.5 % quantile of its posterior.

Kaufmann, Cappe and Garivier 2012; Active Bayesian Assessment (Ji 2021), supplement, as a baseline.
For identification only: rewards of the other questions are expectations already.
"""

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.groups.acquisition._rewards import sample_rewards, share_among_winners
from activetest.wings.groups.bandit import Bandit

CHOOSES_GROUPS = True

_QUANTILE = 0.975


def allocate(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) 1 for the option with the largest bound, or 1 / m for each of the m largest."""
    # In the interpolated form the quantile of values that are -inf would be NaN.
    bound = np.quantile(sample_rewards(bandit, samples, rng), _QUANTILE, axis=0, method="higher")
    return share_among_winners(bound, bandit.plays_per_sample)
