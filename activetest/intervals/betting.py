"""Betting: an interval that holds however often one looks, and verdicts that do.

Waudby-Smith and Ramdas 2024, section 4; Shekhar, Xu, Lipton, Liang and Ramdas 2023 for weighted
draws without replacement. Somebody who bets at fair odds that the mean is above (below) theta gets
rich only if it is: whoever believes in theta sees this capital exceed 1/a with probability at most
a, ever (Ville 1939).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from activetest.nouns.estimate import Increments
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above, is_below
from activetest.nouns.rows import Array

# Stakes in units of 1 / (standard deviation of a draw), and the share of the capital behind each.
# sqrt(2 log(40) / n) is best when one looks after n draws: here about 30, 120, 440 and 3000.
_STAKES, _SHARES = np.array([0.5, 0.25, 0.13, 0.05]), np.array([0.2, 0.35, 0.35, 0.1])
# The largest share of the capital that one draw can lose.
_MOST_LOST = 0.95
# Cost of not knowing the best stake, in log capital.
_MIXTURE = 0.7
# Imaginary draws, made before the first, that were as far apart as the statistic allows.
_PSEUDO_DRAWS = 2.0
# Below this, what is left of a pool counts as no less.
_SMALLEST_SHARE = 1e-6
_ROUNDING = 1e-12
_STEPS = 50


def interval(increments: Increments, level: float, *, low: float, high: float) -> Quantity:
    """The means that no bettor has refuted, after any of the M draws: it never widens.

    low, high   range of the mean that what is known now leaves possible; finite

    A mean is refuted once the capital against it, half of it bet on larger and half on smaller
    means, has reached 1 / (1 - level) on either half: (K+ + K-) / 2 >= 1 / (1 - level) in the
    papers' words, as good as. Capital falls (rises) as theta grows, so each end is found by
    bisection, and rounded outward. Where nothing is left, which has probability 1 - level at
    most, the draws contradict themselves and only what is certain remains.
    """
    if not np.isfinite([low, high]).all():
        raise ValueError("betting needs a bounded mean")
    if not is_above(high, low):
        return Quantity(None, low, high, level, "exact", variance=0.0)
    limit = np.log(2 / (1 - level))
    slack = rounding(increments)
    floor = max(low, (increments.offset + increments.least).max(initial=low) - slack)
    ceiling = min(high, (increments.offset + increments.most).min(initial=high) + slack)
    lower = _bisect_end(
        lambda theta: _largest_log_capital(increments, theta, up=True) >= limit, floor, ceiling
    )
    upper = _bisect_end(
        lambda theta: _largest_log_capital(increments, theta, up=False) >= limit, ceiling, floor
    )
    if lower is None or upper is None or lower > upper:
        lower, upper = sorted((floor, ceiling))
    return Quantity(None, float(lower), float(upper), level, "betting")


def log_e_values(increments: Increments, theta: float) -> tuple[Array, Array]:
    """(M,) log capital against "the mean is at most theta", and against "at least theta".

    Each is a test martingale's logarithm under its hypothesis: by chance it ever reaches log(1/a)
    with probability a at most. Infinite from the draw on that made the hypothesis impossible.
    """
    above = _log_capital_against(increments, theta, up=True)
    return above, _log_capital_against(increments, theta, up=False)


def log_capital(increments: Increments, theta: float, *, up: bool) -> Array:
    """(M, stakes) log capital of the bettors on a mean above theta (up), or below it."""
    mean = theta - increments.offset
    gain, room = increments.value - mean, mean - increments.low if up else increments.high - mean
    factors = log_factors(gain if up else -gain, room, scale_bets(increments)[:-1])
    return np.cumsum(factors, axis=0)


def combine_log_capital(capital: Array) -> Array:
    """(...) log capital of all bettors, from that of each (..., stakes)."""
    values: Array = np.logaddexp.reduce(capital + np.log(_SHARES), axis=-1)
    return values


def bound_log_capital_between(left: Array, right: Array) -> Array:
    """(...) what the log capital of all is at least, everywhere between two values of the mean.

    left, right   (..., stakes) log capital of each at these values, and concave between them

    It is at least that of the chords, which is convex, and so above its tangents at both ends.
    """
    ends, slope = (combine_log_capital(left), combine_log_capital(right)), right - left
    turns = [
        (np.exp(each + np.log(_SHARES) - all_[..., None]) * slope).sum(axis=-1)
        for each, all_ in zip((left, right), ends, strict=True)
    ]
    result: Array = np.maximum(ends[0] + np.minimum(turns[0], 0), ends[1] - np.maximum(turns[1], 0))
    return result


def log_factors(gain: Array, room: Array, scale: Array) -> Array:
    """(..., stakes) log of what capital is multiplied by.

    gain     what a unit bet wins, at least -room
    room     the most it can lose: the stake shrinks until _MOST_LOST is at risk
    scale    what stakes are divided by, from earlier draws only: see scale_bets

    1 + stake * gain falls where theta grows, for gain falls and room grows with it.
    """
    rich = np.where(room > 0, room, np.inf)
    most = np.where(room > 0, _MOST_LOST / rich, np.inf)
    stake = np.minimum(_STAKES / scale[..., None], most[..., None])
    # Only rounding can lose more than the room.
    values: Array = np.log1p(stake * np.maximum(gain, -np.maximum(room, 0))[..., None])
    return values


def scale_bets(increments: Increments) -> Array:
    """(M + 1,) what stakes are divided by at each draw, and at the next: known before that draw.

    The best stake is in proportion to gap / variance. Draws from what is left of a finite pool
    vary in proportion to how much that is: so a deviation, estimated from earlier draws as that of
    the first one, is multiplied by the square of the share that is left.
    """
    terms, extent = increments.offset + increments.value, increments.most - increments.least
    first = extent[0] if len(extent) else 0.0
    left = extent / first if first > 0 else np.ones(len(extent))
    left = np.clip(left, _SMALLEST_SHARE, 1.0)
    # The more is known, the better a term says where the mean is.
    weight = left**-2
    residual = (terms - np.cumsum(weight * terms) / np.cumsum(weight)) ** 2 * weight
    sums = _PSEUDO_DRAWS * (first / 2) ** 2 + np.concatenate([[0.0], np.cumsum(residual)])
    count = _PSEUDO_DRAWS + np.arange(len(terms) + 1)
    deviation = np.sqrt(np.maximum(sums / count, np.finfo(float).tiny))
    values: Array = deviation * np.append(left, left[-1:] if len(left) else 1.0) ** 2
    return values


def expected_width(
    guess: Array, variance: Array, ends: Array, probs: Array, *, draws: int, level: float
) -> float:
    """Width of the interval to be expected after so many draws, if the surrogate is right.

    guess, variance   (R,) mean and variance of the statistic under the surrogate
    ends              (2, R) smallest and largest value it can take
    probs             (R,) probabilities of the next draw, summing to one

    For comparing ways to draw before drawing: capital grows by stake gap - stake^2 variance / 2
    per draw, and the best stake within reach of the range finds the smallest gap.
    """
    mean, odds = guess.mean(), 1 / (len(guess) * probs)
    spread = float((variance * odds).mean())
    lowest, highest = ((ends[0] - guess) * odds).min(), ((ends[1] - guess) * odds).max()
    bar = np.log(2 / (1 - level)) + _MIXTURE
    width = 0.0
    for room, most in ((-lowest, mean - ends[0].mean()), (highest, ends[1].mean() - mean)):
        stake = min(np.sqrt(2 * bar / draws / max(spread, 1e-300)), _MOST_LOST / max(room, 1e-300))
        width += min(bar / (draws * stake) + stake * spread / 2, most)
    return float(width)


def rounding(increments: Increments) -> float:
    """Largest rounding of the numbers that theta is compared with."""
    sizes = np.abs([increments.offset, increments.least, increments.most])
    return _ROUNDING * float(sizes.max(initial=0.0))


@dataclass(frozen=True)
class Verdict:
    """How a gate stands.

    word             "pass", "fail" or "undecided"
    draws            draws until it was decided; None while it is not
    e_pass, e_fail   largest capital so far against the metric being too bad, and good enough
    """

    word: str
    draws: int | None
    e_pass: float
    e_fail: float


def decide_verdict(
    increments: Increments,
    threshold: float,
    *,
    at_least: bool,
    alpha: float,
    gates: int = 1,
    low: float = -np.inf,
    high: float = np.inf,
    highest: Increments | None = None,
) -> Verdict:
    """Whether the mean is at least (at most) the threshold: the first crossing decides.

    It passes once the capital against the opposite, the threshold itself included, reaches
    1 / alpha: a mean that is no better than the threshold ever passes with probability at most
    alpha. It fails once the capital against the claim reaches gates / alpha: of several gates, all
    have to pass, so passing needs no correction, and failing does. Should both happen at one draw,
    it fails. low and high are what is known for certain now; they decide where draws did not.
    highest are increments on a mean that is no smaller, where the two hold the mean between them.
    """
    above, below = log_e_values(increments, threshold)
    if highest is not None:
        _, below = log_e_values(highest, threshold)
    good, bad = (above, below) if at_least else (below, above)
    passed, failed = (
        _find_crossing(good, np.log(1 / alpha)),
        _find_crossing(bad, np.log(gates / alpha)),
    )
    most = (_largest_capital(good), _largest_capital(bad))
    if min(passed, failed) < len(good):
        word = "pass" if passed < failed else "fail"
        return Verdict(word, int(min(passed, failed)) + 1, *most)
    certain = decide_by_range(threshold, low, high, at_least=at_least)
    if certain == "pass":
        return Verdict(certain, len(good), np.exp(_LARGEST), most[1])
    if certain == "fail":
        return Verdict(certain, len(good), most[0], np.exp(_LARGEST))
    return Verdict("undecided", None, *most)


def decide_by_range(threshold: float, low: float, high: float, *, at_least: bool) -> str | None:
    """The verdict that is certain for a mean between low and high; None where none is."""
    if not (is_below(low, threshold) if at_least else is_above(high, threshold)):
        return "pass"
    return "fail" if (is_below(high, threshold) if at_least else is_above(low, threshold)) else None


# exp of more is no number.
_LARGEST = 700.0


def _log_capital_against(increments: Increments, theta: float, *, up: bool) -> Array:
    """(M,) log capital of all bettors on one side."""
    path = combine_log_capital(log_capital(increments, theta, up=up))
    gap = theta - increments.offset - (increments.least if up else increments.most)
    impossible = (gap if up else -gap) < -rounding(increments)
    return np.where(np.logical_or.accumulate(impossible), np.inf, path)


def _largest_log_capital(increments: Increments, theta: float, *, up: bool) -> float:
    """The largest log capital so far of all bettors on one side."""
    return float(_log_capital_against(increments, theta, up=up).max(initial=0.0))


def _largest_capital(path: Array) -> float:
    """Largest capital on a path of logarithms, at most 1e304."""
    return float(np.exp(min(path.max(initial=0.0), _LARGEST)))


def _find_crossing(path: Array, limit: float) -> int:
    """Position of the first value that reaches the limit; the length where none does."""
    reached = path >= limit
    return int(np.argmax(reached)) if reached.any() else len(path)


def _bisect_end(refuted: Callable[[float], bool], outer: float, inner: float) -> float | None:
    """The last refuted value on the way from outer, refuted first, to inner; None if all are."""
    if not refuted(outer):
        return outer
    if refuted(inner):
        return None
    for _ in range(_STEPS):
        middle = (outer + inner) / 2
        if not min(outer, inner) < middle < max(outer, inner):
            break
        if refuted(middle):
            outer = middle
        else:
            inner = middle
    return outer
