"""Top-two Thompson sampling: half of the time, the best option that is not the best one.

Russo 2016; Active Bayesian Assessment (Ji 2021), Algorithm 2. With probability 1 - beta the winner
of a posterior sample is played, else samples are drawn until another one wins.
"""

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.groups.acquisition._rewards import sample_rewards, share_among_winners
from activetest.wings.groups.bandit import Bandit

CHOOSES_GROUPS = True

_BETA = 0.5


def allocate(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(..., K) probability of each option.

    An option that wins a share w of the samples is played with probability
    (1 - beta) w + beta (its share as a challenger).
    """
    rewards = sample_rewards(bandit, samples, rng)
    wins = share_among_winners(rewards, 1).mean(axis=0)
    # Where one option wins every sample, the second best of each tells who may win another.
    runner_up = share_among_winners(np.where(wins == 1, -np.inf, rewards), 1).mean(axis=0)
    challenge = np.where(
        (wins == 1).any(axis=-1, keepdims=True), runner_up, challenger_probabilities(wins)
    )
    probs = (1 - _BETA) * wins + _BETA * challenge
    # Less than one only where no other option has room.
    return probs / np.maximum(probs.sum(axis=-1, keepdims=True), 1 - _BETA)


def challenger_probabilities(wins: Array) -> Array:
    """(..., K) how often each option wins after another one did, from shares of wins (..., K).

    Drawing again until another option wins comes to sum_{i != j} w_i w_j / (1 - w_i) for option j.
    """
    odds = np.divide(wins, 1 - wins, out=np.zeros(wins.shape), where=wins < 1)
    return wins * (odds.sum(axis=-1, keepdims=True) - odds)
