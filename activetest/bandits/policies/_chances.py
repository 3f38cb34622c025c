"""What acquisitions that choose between groups share."""

import numpy as np

from activetest.bandits.arms import beliefs
from activetest.bandits.bandit import Bandit
from activetest.nouns.rows import Array


def sampled(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(S, ..., K) rewards of the options in so many posterior samples."""
    pieces = beliefs(bandit.arms, samples, rng)
    return np.concatenate([bandit.rewards(theta, rng) for theta in pieces])


def winners(rewards: Array, plays: int) -> Array:
    """(..., K) 1 / m for each of the m options with the largest rewards, of those there are.

    Options whose rewards (..., K) tie for the last places share them.
    """
    plays = min(plays, rewards.shape[-1])
    last = np.partition(rewards, -plays, axis=-1)[..., [-plays]]
    possible = rewards > -np.inf
    better, level = rewards > last, (rewards == last) & possible
    places = np.minimum(plays, possible.sum(axis=-1, keepdims=True))
    open_ones = places - better.sum(axis=-1, keepdims=True)
    won = better + level * (open_ones / np.maximum(level.sum(axis=-1, keepdims=True), 1))
    return won / np.maximum(places, 1)
