"""Anytime-valid intervals and gates: bets on every draw, valid at every look.

A ratio of two means, above / below, is t where the mean of above - t below is 0. A gate bets on
that mean; an interval holds every t that no bettor has refuted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.bets import TestedMean, compute_increments
from activetest.estimation.certain import find_certainty, find_part
from activetest.estimation.inversion import find_first_unrefuted
from activetest.estimation.samples import Evidence, Group
from activetest.intervals import betting
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import why_not_bettable
from activetest.nouns.estimate import Increments, Interval
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import is_above
from activetest.nouns.rows import Array

# Values of a ratio at which ranges are computed; between them they are bounded by chords.
_GRID = 9


def compute_increments_at(
    evidence: Evidence,
    cache: PoolView,
    metric: Metric,
    group: Group,
    values: Sequence[float],
    *,
    seed: int,
) -> list[Increments]:
    """For each value t, increments on a mean that is at least 0 where the metric is at least t.

    Raises NotEstimable for a metric that is no ratio of means, or without bounds.
    """
    _refuse_unbettable(metric)
    above, below = np.array(metric.ratio)
    weights = above - np.asarray(values)[:, None] * below
    tested = _weigh_statistics(evidence, metric, group, weights)
    return compute_increments(evidence.log, cache, tested, used=evidence.used, seed=seed)


def confidence_sequence(
    evidence: Evidence,
    cache: PoolView,
    metric: Metric,
    group: Group,
    level: float,
    limits: tuple[float, float],
    *,
    seed: int,
) -> Interval:
    """The interval that holds at every look; limits are what is known for certain of the metric.

    Raises NotEstimable as compute_increments_at does.
    """
    if not is_above(limits[1], limits[0]):
        return Interval(limits[0], limits[1], level, "exact", 0.0)
    bets = bet_on_metric(evidence, cache, metric, group, limits, limits[0], seed=seed)
    return bets.interval(level, limits)


@dataclass(frozen=True)
class Bets:
    """The bets on a metric: about it being at least a threshold, and about its value.

    at         increments on a mean that is at least 0 where the metric is at least the threshold
    values     values at which the others bet: 0 alone where one bet serves every value
    increments of each of these
    """

    at: Increments
    values: Array
    increments: list[Increments]

    def until(self, draws: int) -> "Bets":
        """The bets on the first draws alone."""
        return Bets(
            self.at.until(draws), self.values, [each.until(draws) for each in self.increments]
        )

    def interval(self, level: float, limits: tuple[float, float]) -> Interval:
        """The confidence sequence, within what is known for certain of the metric."""
        low, high = limits
        if not is_above(high, low):
            return Interval(low, high, level, "exact", 0.0)
        if len(self.values) == 1:
            return betting.interval(self.increments[0], level, low=low, high=high)
        return _invert_bets(self.values, self.increments, level)


def bet_on_metric(
    evidence: Evidence,
    cache: PoolView,
    metric: Metric,
    group: Group,
    limits: tuple[float, float],
    threshold: float,
    *,
    seed: int,
) -> Bets:
    """The bets on a metric within limits, from one pass over the pool."""
    _refuse_unbettable(metric)
    low, high = limits
    assert metric.ratio is not None
    # Of a mean itself, one bet serves every value.
    single = not is_above(high, low) or not (any(metric.ratio[1][1:]) or evidence.log.declined)
    grid = np.zeros(1) if single else np.linspace(low, high, _GRID)
    at, *increments = compute_increments_at(
        evidence, cache, metric, group, [threshold, *grid], seed=seed
    )
    return Bets(at, grid, increments)


def _invert_bets(grid: Array, increments: list[Increments], level: float) -> Interval:
    """The values of a ratio that no bettor has refuted, from increments at those of a grid."""
    limit = np.log(2 / (1 - level))
    lower, upper = (find_first_unrefuted(grid, increments, limit, up=up) for up in (True, False))
    if lower is None or upper is None or lower > upper:
        lower, upper = grid[0], grid[-1]
    return Interval(float(lower), float(upper), level, "betting", np.nan)


def _refuse_unbettable(metric: Metric) -> None:
    if reason := why_not_bettable(metric):
        if metric.ratio is None:
            reason = 'none is valid at every look; `interval="fixed"` gives one for one look'
        else:
            reason += "; `bound` sets one"
        raise NotEstimable(reason, hint='use `interval="fixed"`')


def _weigh_statistics(
    evidence: Evidence, metric: Metric, group: Group, weights: Array
) -> TestedMean:
    """The (S, 1 + d) weighted sums of 1 and the metric's statistics; nothing for declined items."""
    columns = [-1, *evidence.find_columns(metric)]
    part, certain = find_part(evidence, metric, group), find_certainty(evidence, metric)
    return TestedMean(
        group,
        metric.statistics,
        weights,
        weights @ evidence.stats[:, columns].T * part.drawn,
        weights @ evidence.supplied_stats[:, columns].T * part.supplied,
        None if certain is None else certain.relevant,
        weights @ np.array([group.size - part.count, *part.certain[: len(metric.statistics)]]),
    )
