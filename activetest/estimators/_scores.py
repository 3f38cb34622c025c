"""How far guesses of values are off, in level and slope, from the draws that they met so far.

A judge may score on another scale than people do, so that its scores, or a surrogate's guesses
before it has learned, are off by far. Prediction-powered inference (Angelopoulos, Duchi and Zrnic
2023, "PPI++") fits the slope to all labels afterwards; here it is fitted before each draw, to the
earlier ones. A step of the estimate is, for one item left, level + w (h - guess), w the draw's
weight, and its variance is that of the residuals of a regression of w (h - g) on w - 1 and w times
g less its mean, with an intercept. Several priors of its two coefficients are mixed by their
marginal likelihood: one that hardly leaves the guess, and two that are free.
"""

from collections.abc import Callable

import numpy as np

from activetest.nouns.rows import Array, sum_before

# Draws that agreed with the guess before the first, for each prior, and its probability.
_PRIORS = ((100.0, 0.6), (3.0, 0.2), (0.5, 0.2))
# Draws that the spread of the residuals without a correction counts as, against chance fits.
_SPREAD_DRAWS = 2.0
# Draws of a surrogate with n labels count (n + 5)^2: what it has learned since, they do not show.
_START, _POWER = 5.0, 2.0
# Slopes from earlier draws are at most 1, or 2 once the free priors are this probable; those of a
# round that calibrates itself are as steep as the round says.
_LIKELY, _STEEPEST, _VERY_STEEP = 0.8, 2.0, 10.0


def learn_scale(
    weight: Array, residual: Array, deviation: Array, learned: Array
) -> tuple[Array, Array]:
    """(M, d) shift of the level and slope of the guess before each draw, from the draws before it.

    weight     (M, 1) of each draw, 1 for a uniform one
    residual   (M, d) statistic less guess of the drawn items
    deviation  (M, d) guess less its mean over what was left
    learned    (M, 1) labels that the guess had learned from
    """
    moments = add_moments(
        weight,
        residual,
        deviation,
        learned,
        lambda values, share: sum_before(share * values) / share,
    )
    squares = sum_before((weight * deviation) ** 2)
    return solve_scale(*moments, squares / np.maximum(np.arange(len(weight)), 1)[:, None])


def solve_scale(
    count: Array, regression: tuple[Array, ...], scale: Array, *, own: bool = False
) -> tuple[Array, Array]:
    """(M, d) shift of the level and slope of guesses, from moments as add_moments gives them.

    scale (M, d) is the mean square of a draw's weight times its deviation. own is for a round that
    calibrates itself.
    """
    yy, y1, y2, x11, x12, x22 = regression
    scale = np.where(scale > 0, scale, 1.0)
    freedom = np.where(count > 1, count - 1 + _SPREAD_DRAWS, 0.0)
    logs, shifts, changes = [], [], []
    for draws, prior in _PRIORS:
        first, second = x11 + draws, x22 + draws * scale
        determinant = first * second - x12**2
        shift = (second * y1 - x12 * y2) / determinant
        change = (first * y2 - x12 * y1) / determinant
        rest = yy - shift * y1 - change * y2 + _SPREAD_DRAWS * yy / np.maximum(count, 1e-12)
        rest = np.maximum(rest, 1e-12 * yy)
        likelihood = 0.5 * np.log(draws**2 * scale / determinant)
        likelihood -= 0.5 * freedom * np.log(np.maximum(rest, 1e-300))
        logs.append(np.log(prior) + likelihood)
        shifts.append(shift)
        changes.append(change)
    odds = np.exp(np.array(logs) - np.max(logs, axis=0))
    odds /= odds.sum(axis=0)
    slope = 1 + (odds * changes).sum(axis=0)
    steepest = _VERY_STEEP if own else np.where(1 - odds[0] > _LIKELY, _STEEPEST, 1.0)
    return (odds * shifts).sum(axis=0), np.clip(slope, 0.0, steepest)


def add_moments(
    weight: Array,
    residual: Array,
    deviation: Array,
    learned: Array,
    add: Callable[[Array, Array], Array],
) -> tuple[Array, tuple[Array, ...]]:
    """How many draws count for each draw, and sums of squares and products around their means.

    Those of y = w residual, x1 = w - 1 and x2 = w deviation: yy, y1, y2, 11, 12, 22. Arguments as
    in learn_scale; add(values, share) gives the sums over the draws that count for each draw, of
    values times the share (M, 1) of a draw over that of the draw that asks.
    """
    share = (learned + _START) ** _POWER
    columns = [weight * residual, weight - 1 + 0 * residual, weight * deviation]
    count = add(np.ones_like(residual), share)
    means = [add(each, share) / np.maximum(count, 1e-12) for each in columns]
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    sums = tuple(
        add(columns[a] * columns[b], share) - count * means[a] * means[b] for a, b in pairs
    )
    # Rounding leaves less than nothing where all are alike.
    squares = {place for place, (a, b) in enumerate(pairs) if a == b}
    return count, tuple(
        np.maximum(each, 0.0) if place in squares else each for place, each in enumerate(sums)
    )
