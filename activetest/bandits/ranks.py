"""How groups rank: draws of their values, and how often each is the worst or among the worst."""

from dataclasses import dataclass

import numpy as np

from activetest.bandits.arms import Arms, samples
from activetest.nouns.rows import Array

# Numbers that are ranked at a time, and drawn altogether: cells times outcomes times draws.
_BLOCK, _MOST = 2**20, 2**23
_FEWEST = 1_000
# Less than any two different values are apart, more than rounding makes of equal ones.
_TIE = 1e-12


@dataclass(frozen=True)
class Ranks:
    """Of A arms, over posterior draws; rank 1 is the worst.

    worst, best, among   (A,) probability of being the worst, the best, among the m worst
    lower, upper         (A,) ends of the equal-tailed interval of the rank
    named                probability that no other arm is worse than any of the first m
    """

    worst: Array
    best: Array
    among: Array
    lower: Array
    upper: Array
    named: float


def draws(arms: Arms, count: int, rng: np.random.Generator) -> Array:
    """(S, A) draws of the arms' values from the posterior of the finite pool.

    `count` of them, or as many as 8 million random numbers make, but at least 1,000.
    """
    count = max(min(count, _MOST // arms.prior.size), min(count, _FEWEST))
    return samples(arms, count, rng)


def ranks(
    values: Array, order: Array, worse: int, worst: int, level: float, rng: np.random.Generator
) -> Ranks:
    """How some columns of draws (S, A) rank among each other, in this order.

    order   (A,) the columns, the first `worst` of which are named as the worst
    worse   1 where larger values are worse, -1 where smaller ones are

    Equal values are told apart at random, but for what is named: a tie does not speak against it.
    """
    count, arms = len(values), len(order)
    counts = np.zeros(arms * arms, np.int64)
    named, block = 0, max(_BLOCK // arms, 1)
    for start in range(0, count, block):
        part = -worse * values[start : start + block, order]
        tie = _TIE * max(np.abs(part).max(), 1)
        others = part[:, worst:].min(axis=1, initial=np.inf)
        named += int((others >= part[:, :worst].max(axis=1) - tie).sum())
        part += tie * rng.random(part.shape)
        sorted_by = np.argsort(part, axis=1)
        place = np.empty_like(sorted_by)
        np.put_along_axis(place, sorted_by, np.arange(arms)[None], axis=1)
        counts += np.bincount((place + arms * np.arange(arms)).ravel(), minlength=arms * arms)
    share = counts.reshape(arms, arms) / count
    below = np.cumsum(share, axis=1)
    tail = (1 - level) / 2
    # Rounding must not make certainty a little less than certain.
    lower, upper = ((below < end - 1e-9).sum(axis=1) + 1 for end in (tail, 1 - tail))
    return Ranks(
        worst=share[:, 0],
        best=share[:, -1],
        among=np.minimum(below[:, min(worst, arms) - 1], 1.0),
        lower=np.minimum(lower, arms),
        upper=np.minimum(upper, arms),
        named=named / count,
    )
