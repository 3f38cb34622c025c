"""Scores become recorded draws: successive sampling without replacement, by an exponential race.

Every row j holds a key -log(u_j) / s_j, with u_j hashed from seed, round and id (from repeat and
phase as well, where there are some), and s_j the row's weight. The n smallest keys, in order, are n
successive draws in which the probability q of the next is its weight over the weight of what is
left (Efraimidis and Spirakis 2006). So q is exact, and a draw does not depend on how the pool was
cut into chunks.
"""

from functools import partial
from operator import add

import numpy as np

from activetest.nouns.choices import FloorRule
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import FIRST
from activetest.pool.hashing import uniforms
from activetest.system.parallel import map_reduce

# Relative, in a power of e.
_ROUNDING = 1e-9
# Rows that are computed together: they stay in the processor's cache. Weights of a pool are here,
# and stay: another process would wait for them longer than it takes to compute with them.
_BLOCK = 2**16


def mix_scores(
    scores: Array,
    free: Array,
    floor: float,
    rates: Array | None = None,
    rule: str = FloorRule.MIX,
    shares: Array | None = None,
) -> tuple[Array, Array]:
    """(R,) q of the first draw, and (K,) the sum of squares of each kind of score.

    shares (K,) are those of the kinds in the blend, alike where there are none: then the sums are
    divided by what they are more than that, for blend_scores.
    scores (K, R), at least zero; free (R,) bool, and rows that are not free get zero; rates (R,)
    multiply what blend_scores gives, see find_rates; rule is how the floor is applied. Raises
    ValueError for scores that are negative or not finite.
    """
    blocks = _split(len(free))

    def square(block: slice) -> Array:
        here = _clear(scores[:, block], free[block])
        if not np.isfinite(here).all() or (here < 0).any():
            raise ValueError("scores must be finite and not negative")
        with np.errstate(over="ignore"):
            return np.square(here, dtype=float).sum(axis=1)

    totals: Array = map_reduce(blocks, square, np.add, here=True)
    if shares is not None:
        scored = shares * (totals > 0)
        more = scored * np.count_nonzero(scored) / scored.sum() if scored.any() else scored
        totals = np.divide(totals, more, out=np.zeros_like(totals), where=more > 0)
    clips, count = rule == FloorRule.CLIP, int(np.count_nonzero(free))
    weight = np.empty(len(free))

    def blend(block: slice) -> float:
        here, open_rows = _clear(scores[:, block], free[block]), free[block]
        with np.errstate(over="ignore", invalid="ignore"):
            found = blend_scores(here, open_rows, 0.0 if clips else floor, totals, count)
        if not np.isfinite(found).all():
            raise ValueError("squares of scores must be finite")
        weight[block] = found if rates is None or clips else found * rates[block]
        return float(weight[block].sum())

    total = map_reduce(blocks, blend, add, here=True)
    if clips:
        weight = clip_weights(weight, free, floor * find_mean_weight(weight, free, rates))
        weight = weight if rates is None else weight * rates
        total = weight.sum()
    weight /= total
    return weight, totals


def _split(rows: int) -> list[slice]:
    """Blocks of rows that are computed together; at least one."""
    return [slice(start, start + _BLOCK) for start in range(0, max(rows, 1), _BLOCK)]


def _clear(scores: Array, free: Array) -> Array:
    """(K, R) the scores of rows, zero where they are not free."""
    return np.where(free, scores, 0.0)


def find_mean_weight(weight: Array, free: Array, rates: Array | None = None) -> float:
    """The mean of the weights (R,) of free rows under their rates: what a random draw would have.

    A row whose weight is f times this mean is f times as likely as in a random draw.
    """
    if rates is None:
        return float(weight[free].mean())
    # Products of arrays may depend on the number of threads, sums do not.
    return float((weight * rates)[free].sum() / rates[free].sum())


def clip_weights(weight: Array, free: Array, level: float) -> Array:
    """(R,) the weights of free rows, none below the level; 0 for the others.

    Active Testing (Kossen 2021), appendix B.1: q is bounded from below at a share of the uniform
    probability; weights need no sum of one.
    """
    return np.where(free, np.maximum(weight, level), 0.0)


def sharpen_scores(scores: Array, peaks: Array, power: float) -> Array:
    """(K, R) scores over their peaks (K,) to a power; as they are for power 1, or without a peak.

    Over the peak, so that neither the unit of a loss nor a high power can leave the range of
    numbers.
    """
    if power == 1:
        return scores
    return (scores / np.where(peaks > 0, peaks, 1)[:, None].astype(float)) ** power


def blend_scores(scores: Array, free: Array, floor: float, totals: Array, count: int) -> Array:
    """(R,) weights of rows, from the totals (K,) of scores and the count of free rows in the pool.

    All kinds of scores are scaled to a mean square of one, and the mean of their squares is blended
    with one: sqrt((1 - floor^2) score^2 + floor^2). Where a score is the root of an expected
    square, as the optimal one is, this is the best one when, with probability floor^2, the beliefs
    about a row are uninformative and it is like any other of the pool. In the first draw no row
    is less likely than floor / count, for no mean exceeds its root mean square. Where no score is
    above zero every free row is as likely as another.
    """
    scored = totals > 0
    if not scored.any():
        return free.astype(float)
    kinds = np.flatnonzero(scored)
    if len(kinds) == 1:
        squares = np.square(scores[kinds[0]], dtype=float) * (count / totals[kinds[0]])
    else:
        squares = np.square(scores.T[..., scored], dtype=float) @ (count / totals[scored])
        squares /= len(kinds)
    return np.where(free, np.sqrt((1 - floor**2) * squares + floor**2), 0.0)


def draw_by_race(
    hashes: Array,
    weight: Array,
    count: int,
    *,
    seed: int,
    stream: int,
    repeats: Array | None = None,
    phase: int = FIRST,
) -> Array:
    """(count,) rows in the order drawn: those with the smallest keys.

    hashes (R,) of the rows' ids, weight (R,); repeats and phase as in pool.hashing.uniforms. Rows
    of weight zero never win: where fewer than count have any, all of those are drawn.
    """
    count = min(count, int(np.count_nonzero(weight)))
    if not count:
        return np.empty(0, np.int64)
    # About count keys are below count over the sum of all weights: seldom fewer than count below
    # this, and then the others need no order. Nor do those whose keys would be above it with the
    # largest weight, which needs no logarithm of theirs.
    limit = (count + 6 * np.sqrt(count) + 6) / weight.sum()
    least = np.exp(-limit * weight.max(initial=0.0)) * (1 - _ROUNDING)

    def find_keys(block: slice, least: float = least) -> list[tuple[Array, Array]]:
        """Rows of a block whose numbers are above the least one, and their keys."""
        several = None if repeats is None else repeats[block]
        numbers = uniforms(hashes[block], seed, stream, repeats=several, phase=phase)
        rows = np.flatnonzero(numbers > least)
        with np.errstate(divide="ignore"):
            return [(block.start + rows, -np.log(numbers[rows]) / weight[block][rows])]

    blocks = _split(len(weight))
    rows, keys = map(
        np.concatenate, zip(*map_reduce(blocks, find_keys, add, here=True), strict=True)
    )
    winners = np.flatnonzero(keys < limit)
    if len(winners) < count:
        found = map_reduce(blocks, partial(find_keys, least=0.0), add, here=True)
        rows, keys = map(np.concatenate, zip(*found, strict=True))
        winners = np.argpartition(keys, count - 1)[:count] if count < len(keys) else rows
    return rows[winners[np.argsort(keys[winners], kind="stable")][:count]]


def take_top(
    hashes: Array,
    weight: Array,
    count: int,
    *,
    seed: int,
    stream: int,
    repeats: Array | None = None,
    phase: int = FIRST,
) -> Array:
    """(count,) rows with the largest weights, in that order; equal ones as a race would put them.

    Arguments as of draw_by_race. Rows of weight zero are never taken. Weights that differ by
    rounding alone are equal.
    """
    ties = uniforms(hashes, seed, stream, repeats=repeats, phase=phase)
    order = np.lexsort((ties, -level_ties(weight)))
    return order[: min(count, np.count_nonzero(weight))]


def draw_probabilities(weight: Array, drawn: Array) -> Array:
    """(n,) probability of each of the drawn rows (n,), given those before it.

    It is the row's weight over what is left of weight (R,) when it is drawn.
    """
    taken, places = weight[drawn], np.sort(drawn)

    def sum_rest(block: slice) -> float:
        rest = weight[block].copy()
        first, last = np.searchsorted(places, [block.start, block.stop])
        rest[places[first:last] - block.start] = 0
        return float(rest.sum())

    rest = map_reduce(_split(len(weight)), sum_rest, add, here=True)
    # Summed from the back: a difference of sums would lose rows that are much smaller than others.
    left = rest + np.cumsum(taken[::-1])[::-1]
    return np.asarray(taken / left)
