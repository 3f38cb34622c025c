"""Anytime-valid intervals and gates: bets on every draw, whenever one looks.

A ratio of two means, above / below, is t where the mean of above - t below is 0. A gate bets on
that mean; an interval holds every t that no bettor has refuted.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.evidence import Array
from activetest.evidence_numbers import Interval, Wagers
from activetest.intervals import betting
from activetest.metrics._metric import Metric
from activetest.rounds_wagers import Stake, wagers
from activetest.samples import Evidence, Group
from activetest.specs import obstacle

# Values of a ratio at which ranges are computed; between them they are bounded by chords.
_GRID, _STEPS = 9, 30


def balance(
    evidence: Evidence, cache, metric: Metric, group: Group, values: Sequence[float], *, seed: int
) -> list[Wagers]:
    """For each value t, wagers on a mean that is at least 0 where the metric is at least t.

    Raises NotEstimable for a metric that is no ratio of means, or without bounds.
    """
    _refuse(metric)
    above, below = np.array(metric.ratio)
    weights = above - np.asarray(values)[:, None] * below
    stake = _stake(evidence, metric, group, weights)
    return wagers(evidence.log, cache, stake, used=evidence.used, seed=seed)


def sequence(
    evidence: Evidence, cache, metric: Metric, group: Group, level: float, limits, *, seed: int
) -> Interval:
    """The interval that holds at every look; limits are what is known for certain of the metric.

    Raises NotEstimable as balance does.
    """
    if limits[0] == limits[1]:
        return Interval(*limits, level, "exact", 0.0)
    return judged(evidence, cache, metric, group, level, limits, limits[0], seed=seed)[1]


def judged(
    evidence: Evidence, cache, metric: Metric, group: Group, level, limits, threshold, *, seed: int
) -> tuple[Wagers, Interval]:
    """The wagers of balance at a threshold and the interval of sequence, from one pass."""
    _refuse(metric)
    low, high = limits
    # Of a mean itself, one bet serves every value.
    single = low == high or not (any(metric.ratio[1][1:]) or evidence.log.declined)
    grid = np.zeros(1) if single else np.linspace(low, high, _GRID)
    at, *made = balance(evidence, cache, metric, group, [threshold, *grid], seed=seed)
    if low == high:
        return at, Interval(low, high, level, "exact", 0.0)
    if single:
        return at, betting.interval(made[0], level, low=low, high=high)
    return at, _inverted(grid, made, level)


def _inverted(grid: Array, made: list[Wagers], level: float) -> Interval:
    """The values of a ratio that no bettor has refuted, from wagers at those of a grid."""
    limit = np.log(2 / (1 - level))

    def refuted(value: float, side: int) -> bool:
        return betting.e_values(_between(grid, made, value), 0.0)[side].max(initial=0.0) >= limit

    lower = _end(lambda value: refuted(value, 0), grid)
    upper = _end(lambda value: refuted(value, 1), grid[::-1])
    if lower is None or upper is None or lower > upper:
        lower, upper = grid[0], grid[-1]
    return Interval(float(lower), float(upper), level, "betting", np.nan)


def _refuse(metric: Metric) -> None:
    if reason := obstacle(metric):
        raise NotEstimable(f"no anytime-valid interval: {reason}", hint="use --interval fixed")


def _stake(evidence: Evidence, metric: Metric, group: Group, weights: Array) -> Stake:
    """The (S, 1 + d) weighted sums of 1 and the metric's statistics; nothing for declined items."""
    names = [each.name for each in evidence.statistics]
    columns = [-1, *(names.index(each.name) for each in metric.statistics)]
    return Stake(
        group,
        metric.statistics,
        weights,
        weights @ evidence.stats[:, columns].T * group.holds(evidence.drawn.codes),
        weights @ evidence.brought_stats[:, columns].T * group.holds(evidence.brought.codes),
    )


def _between(grid: Array, made: list[Wagers], value: float) -> Wagers:
    """The wagers at a value between two of the grid.

    Values and offsets are linear in it. Bounds are minima and maxima of linear functions, which
    chords do not cut: the range is at least as wide as it was.
    """
    place = int(np.clip(np.searchsorted(grid, value) - 1, 0, len(grid) - 2))
    share = (value - grid[place]) / (grid[place + 1] - grid[place])
    one, two = made[place], made[place + 1]
    names = ("value", "low", "high", "offset", "least", "most")
    return replace(
        one,
        **{name: (1 - share) * getattr(one, name) + share * getattr(two, name) for name in names},
    )


def _end(refuted, grid: Array) -> float | None:
    """The first value that is not refuted, going along the grid; rounded towards its beginning."""
    open_ = next((place for place, value in enumerate(grid) if not refuted(value)), None)
    if open_ is None or open_ == 0:
        return None if open_ is None else float(grid[0])
    out, inside = grid[open_ - 1], grid[open_]
    for _ in range(_STEPS):
        middle = (out + inside) / 2
        out, inside = (middle, inside) if refuted(middle) else (out, middle)
    return out
