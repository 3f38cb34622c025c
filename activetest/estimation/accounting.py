"""Do the probabilities of draws account for the pool that they are said to be of?"""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import is_above
from activetest.nouns.rows import Array
from activetest.rounds.fit import find_predicted_as
from activetest.rounds.weighted import find_counted

# Evidence from which on probabilities are in doubt, and from which on they are refuted.
_DOUBTED, _REFUTED = 20.0, 1000.0
# Few draws are short below this share by so many standard errors; fewer still tell nothing.
_SHORT, _ERRORS, FEWEST = 0.7, 5.0, 5
# Shares of the plain ratio in the mixtures that are bet on.
_MIXTURES = np.linspace(0, 1, 9)
# The largest bet is lost at a ratio so many times as far from 1 as the farthest before it, more
# often while draws are few, and at no ratio nearer than the least distance; parts of it are placed.
_FACTOR, _EARLY, _LEAST, _PARTS = 7.0, 10.0, 0.2, np.array([1.0, 0.5, 0.25])


@dataclass(frozen=True)
class Accounted:
    """The share of a pool that probabilities account for, and the evidence that it is not all.

    share     an estimate, which may be above 1 by chance
    evidence  an e-value: of logs whose probabilities account for all, 1 in k at most has k
    short     whether few draws seem to leave much out, which proves nothing
    """

    share: float
    evidence: float
    short: bool = False

    @property
    def doubted(self) -> bool:
        """Whether at most 1 in 20 logs of draws from the whole pool has as much, or it is short."""
        return self.short or not is_above(_DOUBTED, self.evidence)

    @property
    def refuted(self) -> bool:
        """Whether at most 1 in 1,000 has."""
        return not is_above(_REFUTED, self.evidence)

    def __str__(self) -> str:
        """The share, and whether it may be all."""
        found = f"{100 * self.share:.3g} % of the items that could be drawn"
        if self.doubted:
            return f"{found} (!): the others had no chance, or hardly any"
        return f"{found}: about 100 % where every item had a chance"


def measure_accounted(plain: Array, planned: Array) -> Accounted:
    """Bet that draws, one after another, left a part of the pool without a chance.

    plain    (D,) 1 / (q n): q is the probability of a draw among the n items that were left
    planned  (D,) g / q: g is the probability that another plan, made from the pool and earlier
             labels alone, would have given the item among these; where there is none, as plain

    Given what was known before a draw, the mean of 1 / (q n) is the share of the items with q > 0,
    and that of g / q is the sum of g over these: 1 if every item had a chance. So the capital of
    bets on less, the product of 1 + b (1 - x) with b fixed before the draw, is a martingale as
    long as it is not negative, and in the end at least k in at most 1 of k logs (Waudby-Smith and
    Ramdas 2024). Mixtures of both ratios have a mean of 1, too: the closer the plan is to that
    of the draws, the less some mixture varies, as with a control variate (Owen and Zhou 2000). The
    capital is divided evenly among mixtures and sizes of bets.

    Nothing bounds a ratio whose floor is not known. After t draws, bets are lost at one that is
    7 + 10 / t times as far from 1 as the farthest so far; at a farther one all is lost that was bet
    so much, and its debt is not paid. By this alone the evidence is more than an e-value: how often
    that refuses logs of our own is measured by tests/benchmarks/accounting.py.
    """
    mixed = _MIXTURES[:, None] * plain + (1 - _MIXTURES[:, None]) * planned
    farthest = np.maximum.accumulate(np.abs(mixed - 1), axis=1)
    losing = (_FACTOR + _EARLY / np.arange(1, len(plain) + 1)) * farthest
    bets = np.zeros_like(mixed)
    bets[:, 1:] = 1 / np.maximum(losing, _LEAST)[:, :-1]
    factors = np.maximum(1 + _PARTS[:, None, None] * bets * (1 - mixed), 0.0)
    capital = np.cumprod(factors, axis=2).mean(axis=(0, 1))
    steadiest = mixed[np.argmin(mixed.var(axis=1).round(9))] if len(plain) else np.ones(1)
    short = len(plain) >= FEWEST and is_above(
        _SHORT, plain.mean() + _ERRORS * plain.std() / len(plain) ** 0.5
    )
    evidence = float(capital[-1]) if len(capital) else 1.0
    return Accounted(float(steadiest.mean()), evidence, short)


def account_for_pool(log: Log, cache: PoolView) -> Accounted | None:
    """How far the probabilities of a study's rounds account for the items that each could draw.

    None without draws that have a probability. Rounds that chose between groups, or were for the
    items on which models differ, are left out: they leave items without a chance.
    """
    free, counted = np.ones(cache.size, bool), find_counted(cache)
    plain, ends = [], [0, *cache.part_ends]
    for each in log.history:
        free[log.supplied_rows[log.supplied_round <= each.number]] = False
        if each.allocation is None and not each.among and not each.deterministic:
            able = free & find_predicted_as(cache, each.drawn_from)
            if len(ends) > 2:
                # A part of the population is drawn from by itself.
                able[: ends[each.part - 1]] = able[ends[each.part] :] = False
            left = (able if counted is None else able & counted).sum()
            plain.append(1 / (each.q * (left - np.arange(len(each.q)))))
        free[each.rows] = False
    ratios = np.concatenate(plain) if plain else np.empty(0)
    return measure_accounted(ratios, ratios) if len(ratios) else None
