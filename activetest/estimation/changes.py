"""Whether a metric is the same in every part of a population: a test that holds at every look.

If the metric is m in every part, somebody who bets that it is above m in the earlier parts and
below m in the later ones, or the other way round, has a test martingale: parts are drawn from
independently (Ville 1939; Waudby-Smith and Ramdas 2024, section 4). So has the average of such
bettors over all parts with which a change can begin. The smallest capital over all m is no larger
than that at the true one: it exceeds 1 / a with probability a at most, however often one looks
(Podkopaev and Ramdas 2022 find shifts by confidence sequences, which share the error between parts;
one product needs no share).
"""

from collections.abc import Sequence

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.view import View
from activetest.intervals.betting import (
    combine_log_capital,
    log_factors,
    rounding,
    scale_bets,
)
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import Increments
from activetest.nouns.rows import Array

# Cells of values of the metric: in each of them bets are bounded by those at its ends.
_CELLS = 200
# Values whose capital is computed together.
_AT_ONCE = 20


def measure_constancy(parts: Sequence[View], metric: Metric) -> float:
    """The e-value against a metric that is the same in all parts; below 1 nothing speaks.

    parts  in the order in which they came; two at least

    Raises NotEstimable for a metric that is no bounded mean.
    """
    if metric.refine or len(metric.statistics) > 1 or any(each.log.declined for each in parts):
        raise NotEstimable(
            f"{metric.title} is no mean over all items of a part, and bets on a change are on such",
            '`study.report(by="part", metrics="error")`',
        )
    found = [_find_increments(each, metric) for each in parts]
    return bound_capital(found, metric.lower, metric.upper)


def bound_capital(increments: Sequence[Increments], low: float, high: float) -> float:
    """The smallest capital of the bettors on a change, over values of the metric in a range.

    Capital on larger means falls with the value, and that on smaller ones rises: in a cell of
    values both are at least what they are at the end where they are smaller.
    """
    grid = np.linspace(low, high, _CELLS + 1)
    above, below = (
        np.stack([_list_capital(each, grid, up=up) for each in increments]) for up in (True, False)
    )
    # (P, cells, stakes), each bounded in its cell.
    above, below = above[:, 1:], below[:, :-1]
    splits = len(increments) - 1
    bettors = []
    for first, second in ((above, below), (below, above)):
        before, after = np.cumsum(first, axis=0), np.cumsum(second[::-1], axis=0)[::-1]
        bettors.append(combine_log_capital(before[:-1] + after[1:]))
    capital = np.logaddexp.reduce(np.concatenate(bettors), axis=0) - np.log(2 * splits)
    return float(np.exp(min(float(capital.min()), 700.0)))


def _list_capital(increments: Increments, grid: Array, *, up: bool) -> Array:
    """(G, stakes) log capital now of each bettor on a mean above the values (up), or below them."""
    scale, found = scale_bets(increments)[:-1], []
    bounds = increments.offset + (increments.least if up else increments.most)
    slack = rounding(increments)
    for start in range(0, len(grid), _AT_ONCE):
        values = grid[start : start + _AT_ONCE, None]
        mean = values - increments.offset
        gain = increments.value - mean
        room = mean - increments.low if up else increments.high - mean
        capital = log_factors(gain if up else -gain, room, scale).sum(axis=1)
        # A mean that no label can make refutes itself: nothing is lost by that.
        gap = values - bounds if up else bounds - values
        impossible = np.any(gap < -slack, axis=1, keepdims=True)
        found.append(np.where(impossible, np.maximum(capital, 0.0), capital))
    return np.concatenate(found)


def _find_increments(view: View, metric: Metric) -> Increments:
    """The increments of bets on the metric in one part."""
    whole = view.evidence.groups[0]
    bets, _ = view.bet_on_metric(metric, whole, metric.lower, (metric.lower, metric.upper))
    return bets.increments[0]
