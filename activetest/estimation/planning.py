"""Plans: how many more labels an interval or a gate will probably need."""

import numpy as np
from scipy.special import stdtrit

from activetest.intervals import betting
from activetest.nouns.estimate import Estimate, Increments
from activetest.nouns.rounding import MARGIN, ceil_count
from activetest.nouns.rows import Array

# Simulated futures of a gate, draws at a time, and the most draws of one.
_FUTURES, _BLOCK, _HORIZON = 200, 50, 10_000


def plan_half_width(
    estimate: Estimate, *, half_width: float, goal: float, size: int, level: float
) -> int:
    """Labels still to buy until the half-width of a fixed interval has fallen to `goal`.

    estimate     one mean (d = 1) and its M terms; its interval now has this half-width
    size         items of the pool

    Later terms spread as the latest half of them did, less what is then known: in proportion to
    what is left of the pool. The variance is that of their LURE-weighted mean, times Student's t;
    the share by which the interval is wider than that falls with the root of the labels. Where all
    terms agree, widths fall in proportion to labels, as without a hit. Raises ValueError for a
    width that is not above zero.
    """
    if not goal > 0:
        raise ValueError("a half-width is above zero")
    terms, mean = estimate.terms[:, 0], estimate.mean[0]
    used = len(terms)
    if half_width <= goal or estimate.exact or used >= size:
        return 0
    left = size - np.arange(used, dtype=float)
    apart = terms - mean
    apart[np.abs(apart) <= MARGIN * np.abs(terms).max()] = 0.0
    spread = (apart * size / left) ** 2
    if not spread.any():
        return min(ceil_count(used * (half_width / goal - 1)), size - used)
    latest = spread[used // 2 :].mean() or spread.mean()
    excess = half_width / _half_width(spread, size, level)[-1] - 1
    limit, enough = used, np.empty(0, int)
    # When everything is drawn the width is zero, and small enough.
    while not len(enough):
        limit = min(2 * limit, size)
        widths = _half_width(np.append(spread, np.full(limit - used, latest)), size, level)
        widths *= 1 + excess * np.sqrt(used / np.arange(1, limit + 1))
        enough = np.flatnonzero(widths[used:] <= goal * (1 + MARGIN))
    return int(enough[0]) + 1


def _half_width(spread: Array, size: int, level: float) -> Array:
    """(M,) Student's half-width after each of M draws whose terms spread so much at the start."""
    left = size - np.arange(len(spread), dtype=float)
    # Where everything is drawn there is no doubt: its weight outgrows all others.
    weights = 1 / (left * np.maximum(left - 1, 1e-150))
    total, squares = np.cumsum(weights), np.cumsum(weights**2)
    rest = np.maximum(1 - squares / total**2, 1e-300)
    variance = np.cumsum((weights * left / size) ** 2 * spread) / total**2 / rest
    freedom = np.maximum(total**2 / squares - 1, 1.0)
    width = -stdtrit(freedom, (1 - level) / 2) * np.sqrt(variance)
    return np.where(left > 1, width, 0.0)


def plan_gate(
    increments: Increments,
    threshold: float,
    *,
    estimate: float,
    at_least: bool,
    alpha: float,
    gates: int,
    remaining: int,
    rng: np.random.Generator,
) -> int | None:
    """Draws after which an undecided gate is decided in half of the futures; None: too many to say.

    Every future goes on from today's capital with draws like the latest half of those seen, moved
    so that their mean is the estimate. An estimate at the threshold decides nothing: then, and
    where 10,000 draws do not, all that remain would be needed, or None where they are more.
    """
    used = len(increments.value)
    if used < 2:
        return None
    limits = np.log([1 / alpha, gates / alpha])[:: 1 if at_least else -1]
    late = slice(used // 2, used)
    moved = estimate - (increments.offset + increments.value)[late].mean()
    mean = (threshold - increments.offset)[late] - moved
    gain = increments.value[late] - mean
    rooms = (mean - increments.low[late], increments.high[late] - mean)
    scale = betting.scale_bets(increments)[-1:]
    capital = [
        np.tile(betting.log_capital(increments, threshold, up=up)[-1], (_FUTURES, 1))
        for up in (True, False)
    ]
    horizon, decided = min(remaining, _HORIZON), np.zeros(_FUTURES, bool)
    for start in range(0, horizon, _BLOCK):
        pick = rng.integers(len(gain), size=(_FUTURES, min(_BLOCK, horizon - start)))
        reached = np.zeros(pick.shape, bool)
        for side, sign in enumerate((1, -1)):
            factors = betting.log_factors(sign * gain[pick], rooms[side][pick], scale)
            paths = capital[side][:, None] + np.cumsum(factors, axis=1)
            capital[side] = paths[:, -1]
            reached |= betting.combine_log_capital(paths) >= limits[side]
        reached = np.logical_or.accumulate(reached, axis=1) | decided[:, None]
        half = np.flatnonzero(reached.mean(axis=0) >= 0.5)
        if len(half):
            return start + int(half[0]) + 1
        decided = reached[:, -1]
    return remaining if remaining <= _HORIZON else None
