"""Rewards and winners, which all acquisitions between groups compute."""

import numpy as np

from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array
from activetest.wings.groups.arms import sample_posterior
from activetest.wings.groups.bandit import Bandit


def sample_rewards(bandit: Bandit, samples: int, rng: np.random.Generator) -> Array:
    """(S, ..., K) rewards of the options in `samples` posterior samples."""
    posterior = sample_posterior(bandit.arms, samples, rng)
    return np.concatenate([bandit.rewards(theta, rng) for theta in posterior])


def share_among_winners(rewards: Array, plays: int) -> Array:
    """(..., K) 1 / m for each of the m options with the largest rewards, m = plays at most.

    Options whose rewards (..., K) tie for the last places, but for rounding, share them.
    """
    plays = min(plays, rewards.shape[-1])
    last = np.partition(rewards, -plays, axis=-1)[..., [-plays]]
    possible = rewards > -np.inf
    margin = MARGIN * np.abs(rewards).max(axis=-1, keepdims=True, initial=0, where=possible)
    better, tied = rewards > last + margin, (rewards >= last - margin) & possible
    tied &= ~better
    places = np.minimum(plays, possible.sum(axis=-1, keepdims=True))
    open_places = places - better.sum(axis=-1, keepdims=True)
    wins = better + tied * (open_places / np.maximum(tied.sum(axis=-1, keepdims=True), 1))
    return wins / np.maximum(places, 1)
