"""Ranks of groups: draws of their values, and how often each is the worst or among the worst."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.groups.arms import Arms, sample_values

# Numbers that are ranked at a time, and that are drawn in all: cells times outcomes times draws.
_BLOCK, _MOST = 2**20, 2**23
_FEWEST = 1_000
# Smaller than the difference of any two values, larger than rounding errors.
_TIE = 1e-12


@dataclass(frozen=True)
class Ranks:
    """Ranks of A arms over posterior draws; rank 1 is the worst.

    worst, best         (A,) probability of being the worst, the best
    among_worst         (A,) probability of being among the m worst
    lower, upper        (A,) ends of the equal-tailed interval of the rank
    answer_probability  probability that no other arm is worse than any of the first m
    """

    worst: Array
    best: Array
    among_worst: Array
    lower: Array
    upper: Array
    answer_probability: float


def draw_values(arms: Arms, count: int, rng: np.random.Generator) -> Array:
    """(S, A) draws of the arms' values from the posterior of the finite pool.

    `count` draws, or fewer if those take more than 8 million random numbers, but at least 1,000.
    """
    count = max(min(count, _MOST // arms.prior.size), min(count, _FEWEST))
    return sample_values(arms, count, rng)


def rank_arms(
    values: Array, order: Array, worse_sign: int, worst: int, level: float, rng: np.random.Generator
) -> Ranks:
    """Ranks of columns of draws (S, A), which are listed in this order.

    order        (A,) the columns; the first `worst` of them are the answer
    worse_sign   1 if larger values are worse, -1 if smaller ones are

    Ties are broken at random, except in answer_probability: a tie does not contradict the answer.
    """
    count, arms = len(values), len(order)
    counts = np.zeros(arms * arms, np.int64)
    holds, block = 0, max(_BLOCK // arms, 1)
    for start in range(0, count, block):
        badness = -worse_sign * values[start : start + block, order]
        tolerance = _TIE * max(np.abs(badness).max(), 1)
        best_other = badness[:, worst:].min(axis=1, initial=np.inf)
        holds += int((best_other >= badness[:, :worst].max(axis=1) - tolerance).sum())
        badness += tolerance * rng.random(badness.shape)
        ascending = np.argsort(badness, axis=1)
        rank = np.empty_like(ascending)
        np.put_along_axis(rank, ascending, np.arange(arms)[None], axis=1)
        counts += np.bincount((rank + arms * np.arange(arms)).ravel(), minlength=arms * arms)
    share = counts.reshape(arms, arms) / count
    below = np.cumsum(share, axis=1)
    tail = (1 - level) / 2
    # Rounding must not turn certainty into a little less.
    lower, upper = ((below < end - 1e-9).sum(axis=1) + 1 for end in (tail, 1 - tail))
    return Ranks(
        worst=share[:, 0],
        best=share[:, -1],
        among_worst=np.minimum(below[:, min(worst, arms) - 1], 1.0),
        lower=np.minimum(lower, arms),
        upper=np.minimum(upper, arms),
        answer_probability=holds / count,
    )
