"""Level and slope of guesses of values from the other labels of the same round, in closed form.

Of a round with frozen scores, an item may be guessed from any function of the first n - 1 other
items of its n draws: see rounds.crossing. So a drawn item's guess is calibrated by all labels but
its own, and that of an item that was not drawn by all labels but the last. The order of the draws
is averaged out: the estimate is the conditional expectation given the set of items drawn. All that
enters is what it was when the round began, because probabilities of later draws would say where an
item came.
"""

import numpy as np

from activetest.estimators._scores import add_moments, solve_scale
from activetest.nouns.estimate import Sample
from activetest.nouns.rows import Array

# Points of the integral over when a race ended, the logarithms of times that are looked at, and the
# logarithm of what is negligible.
_POINTS, _REACH, _NEGLIGIBLE = 400, (-40.0, 40.0), 40.0


def find_own_guesses(sample: Sample, center: Array, free: Array) -> tuple[Array, Array, Array]:
    """(M, d) guesses for one unit of weight, (M, d) sums over all left, and where these hold.

    center (M, d) means of the expectations over what was left, free (M, d) whether a statistic's
    guesses are. They hold at draws of rounds that calibrate themselves.
    """
    shape = sample.stats.shape
    guess, rest, holds = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
    if sample.own is None or not (sample.own >= 0).any():
        return guess, rest, holds
    imputed, mass = sample.per_unit(sample.imputed), sample.drawn_mass[:, None]
    first = np.where(sample.own >= 0, sample.own, np.arange(len(sample.q)))
    chance = sample.q.copy()
    blocks = _find_blocks(sample.own)
    for block in blocks:
        chance[block] = find_first_chances(sample.q[block])
    left = np.maximum(sample.left, 1e-300)[first]
    weight = mass * (sample.inside / (left * chance))[:, None]
    deviation = imputed - center[first]
    residual = sample.per_unit(sample.stats) - imputed
    learned = np.zeros(len(chance)) if sample.learned is None else sample.learned
    for block in blocks:
        here = slice(0, block.stop)
        shift, slope = _leave_one_out(
            weight[here], residual[here], deviation[here], learned[here], block.start
        )
        own = imputed[block] + shift + (slope - 1) * deviation[block]
        last = block.stop - 1
        count = sample.left[last] - sample.drawn_mass[last]
        undrawn = np.zeros(shape[1])
        if sample.left[last] > 0 and count > 1e-9 * sample.left[last]:
            total = sample.imputed_sum[last] - sample.imputed[last]
            odds = find_odds_of_last(chance[block])
            undrawn = total + (odds @ shift) * count
            undrawn += (odds @ (slope - 1)) * (total - count * center[block.start])
        parts = own * mass[block]
        guess[block] = own
        rest[block] = undrawn + np.cumsum(parts[::-1], axis=0)[::-1]
        holds[block] = free[block.start]
    return guess, rest, holds


def find_first_chances(q: Array) -> Array:
    """(n,) chance of each item of a round at its first draw, from those (n,) at its own.

    Chances change by removal alone: that at a draw is the first one over what is left of their sum.
    """
    chance, left = np.empty(len(q)), 1.0
    for place, each in enumerate(q):
        chance[place] = each * left
        left = max(left - chance[place], 0.0)
    return chance


def find_odds_of_last(chance: Array) -> Array:
    """(n,) probability that each item of a round was its last draw, given which were drawn.

    chance (n,) at the first draw. In a race an item comes after an exponential time of that rate:
    the last one has come at time t, the others before it, and nothing else has. This is integrated
    over t by the trapezoidal rule in log t, which is as exact as rounding here.
    """
    rest = max(1 - float(chance.sum()), 0.0)

    def find_logs(logs: Array) -> tuple[Array, Array]:
        times = np.exp(logs)[:, None]
        with np.errstate(over="ignore", divide="ignore"):
            hazards = chance / np.expm1(chance * times)
            come = np.log(-np.expm1(-chance * times)).sum(axis=1)
            return hazards, logs + come - rest * times[:, 0] + np.log(hazards.sum(axis=1))

    coarse = np.linspace(_REACH[0], _REACH[1], _POINTS)
    _, heights = find_logs(coarse)
    kept = np.flatnonzero(heights > heights.max() - _NEGLIGIBLE)
    ends = coarse[[max(kept[0] - 1, 0), min(kept[-1] + 1, _POINTS - 1)]]
    hazards, heights = find_logs(np.linspace(ends[0], ends[1], _POINTS))
    with np.errstate(invalid="ignore"):
        shares = hazards / hazards.sum(axis=1, keepdims=True)
    mass = np.where(np.isfinite(heights), np.exp(heights - heights.max()), 0.0)
    odds: Array = mass @ np.where(np.isfinite(shares), shares, 0.0)
    odds /= odds.sum()
    return odds


def _find_blocks(own: Array) -> list[slice]:
    """The draws of each round that calibrates itself."""
    starts, counts = np.unique(own[own >= 0], return_counts=True)
    return [slice(a, a + b) for a, b in zip(starts.tolist(), counts.tolist(), strict=True)]


def _leave_one_out(
    weight: Array, residual: Array, deviation: Array, learned: Array, start: int
) -> tuple[Array, Array]:
    """(n, d) shift and slope for each draw from `start` on, from all draws but itself."""

    def add(values: Array, share: Array) -> Array:
        scaled = share * values / share[-1]
        others: Array = scaled.sum(axis=0) - scaled[start:]
        return others

    count, moments = add_moments(weight, residual, deviation, learned[:, None], add)
    squares = add((weight * deviation) ** 2, np.ones_like(weight))
    # Weights that hardly differ say little of the level: it is that of the residuals.
    share = np.ones_like(weight)
    level = add(weight * residual, share) / np.maximum(add(weight, share), 1e-300)
    yy, y1, y2, x11, x12, x22 = moments
    moments = (
        np.maximum(yy - 2 * level * y1 + level**2 * x11, 0.0),
        y1 - level * x11,
        y2 - level * x12,
        *(x11, x12, x22),
    )
    scale = squares / max(len(weight) - 1, 1)
    shift, slope = solve_scale(count, moments, scale, own=True)
    return level + shift, slope
