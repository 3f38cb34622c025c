"""Plans: how many more labels an interval or a gate will probably need."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri, stdtrit

from activetest.intervals import betting
from activetest.nouns.estimate import Estimate, Increments
from activetest.nouns.rounding import MARGIN, ceil_count
from activetest.nouns.rows import Array

# Simulated futures of a gate, draws at a time, and the most draws of one.
_FUTURES, _BLOCK, _HORIZON = 200, 50, 10_000
# Standard deviation of the logarithm by which squares of later terms differ from earlier ones.
_CHANGE = 0.15


def plan_half_width(
    estimate: Estimate,
    *,
    half_width: float,
    goal: float,
    size: int,
    level: float,
    quantile: float = 0.5,
) -> int:
    """Labels still to buy until the half-width of a fixed interval has fallen to `goal`.

    estimate     one mean (d = 1) and its M terms; its interval now has this half-width
    size         items of the pool
    quantile     part of the futures that need no more

    Later terms spread as the latest half of them did, less what is then known: in proportion to
    what is left of the pool; of a quantile, as `spread_later` says. The variance is that of their
    LURE-weighted mean, times Student's t; the share by which the interval is wider than that falls
    with the root of the labels. Where all terms agree, widths fall in proportion to labels, as
    without a hit. Raises ValueError for a width that is not above zero.
    """
    if not goal > 0:
        raise ValueError("a half-width is above zero")
    used = len(estimate.terms)
    if half_width <= goal or estimate.exact or used >= size:
        return 0
    spread = measure_spread(estimate, size)
    if not spread.any():
        return min(ceil_count(used * (half_width / goal - 1)), size - used)
    latest = spread_later(spread, quantile)
    limit, enough = used, np.empty(0, int)
    # When everything is drawn the width is zero, and small enough.
    while not len(enough):
        limit = min(2 * limit, size)
        widths = _follow_half_width(spread, latest, half_width, limit, size, level)
        enough = np.flatnonzero(widths[used:] <= goal * (1 + MARGIN))
    return int(enough[0]) + 1


def expect_half_widths(
    estimate: Estimate,
    counts: Sequence[int],
    *,
    half_width: float,
    size: int,
    level: float,
    quantile: float = 0.5,
) -> Array:
    """(K,) half-widths after so many draws (K,) in all, as plan_half_width expects them."""
    used, places = len(estimate.terms), np.minimum(np.asarray(counts, int), size)
    spread = measure_spread(estimate, size)
    if estimate.exact or used >= size:
        return np.zeros(len(places))
    if not spread.any():
        return np.asarray(half_width * used / np.maximum(places, used) * (places < size))
    latest = spread_later(spread, quantile)
    limit = max(int(places.max(initial=used)), used)
    widths = _follow_half_width(spread, latest, half_width, limit, size, level)
    return np.asarray(widths[np.maximum(places, used) - 1])


def measure_spread(estimate: Estimate, size: int) -> Array:
    """(M,) squared distances of the terms from their mean, as they were before the first draw."""
    terms, mean = estimate.terms[:, 0], estimate.mean[0]
    apart = terms - mean
    if len(apart):
        apart[np.abs(apart) <= MARGIN * np.abs(terms).max()] = 0.0
    return np.asarray((apart * size / (size - np.arange(len(terms), dtype=float))) ** 2)


def spread_later(spread: Array, quantile: float) -> float:
    """The mean square of later terms, at a quantile of what may be; spread (M,) is that so far.

    It is that of the latest half in the median. A mean of squares is known like a variance with f
    degrees of freedom, f = 2 (sum s)^2 / sum s^2 (Satterthwaite 1946), and what the surrogate
    learns, or the labels of rare kinds, changes it by a standard deviation of _CHANGE: its
    logarithm is taken for normal.
    """
    late = spread[len(spread) // 2 :]
    if not late.any():
        late = spread
    freedom = 2 * late.sum() ** 2 / (late**2).sum()
    deviation = (2 / freedom + _CHANGE**2) ** 0.5
    return float(late.mean() * np.exp(ndtri(quantile) * deviation))


def _follow_half_width(
    spread: Array, latest: float, half_width: float, limit: int, size: int, level: float
) -> Array:
    """(L,) half-widths after each of `limit` draws, if later ones spread like the latest."""
    used = len(spread)
    excess = half_width / _half_width(spread, size, level)[-1] - 1
    widths = _half_width(np.append(spread, np.full(limit - used, latest)), size, level)
    return np.asarray(widths * (1 + excess * np.sqrt(used / np.arange(1, limit + 1))))


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
