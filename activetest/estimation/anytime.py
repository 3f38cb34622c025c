"""Anytime-valid intervals and gates: bets on every draw, valid at every look.

A ratio of two means, above / below, is t where the mean of above - t below is 0. A gate bets on
that mean; an interval holds every t that no bettor has refuted.

Whole stretches of values are refuted, not one value at a time. Every t has bettors of its own;
those of one piece of its range have the same stakes. The log capital of each is then a sum of
log(1 + stake gain) whose gains are linear in t: it is concave, and nowhere below its chord. So what
chords refute is refuted between their ends too, whether or not capital is monotone in t.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.bets import TestedMean, compute_increments
from activetest.estimation.certain import find_certainty, find_part, subtracts_models
from activetest.estimation.evidence import Evidence, Group
from activetest.intervals import betting
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import why_not_bettable
from activetest.nouns.estimate import Increments
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above
from activetest.nouns.rows import Array

# Values of a ratio at which ranges are computed; between them they are bounded by chords.
_GRID = 9
# Pieces between two values of the grid, and how often a piece is halved to find an end in it.
_PIECES, _HALVINGS = 16, 24


def compute_increments_at(
    evidence: Evidence, metric: Metric, group: Group, values: Sequence[float]
) -> list[Increments]:
    """For each value t, increments on a mean that is at least 0 where the metric is at least t.

    Where declined items count, those with every one of them at its least, and then those with every
    one at its most. Raises NotEstimable for a metric that is no ratio of means, or without bounds.
    """
    _refuse_unbettable(metric)
    above, below = np.array(metric.ratio)
    weights = above - np.asarray(values)[:, None] * below
    log, places = evidence.log, None
    if evidence.counts_declined:
        places = (
            np.flatnonzero(log.status == DECLINED),
            np.flatnonzero(log.supplied_status == DECLINED),
            np.repeat([0, 1], len(weights)),
        )
        evidence, weights = reopen_declined(evidence, LABELLED), np.tile(weights, (2, 1))
    tested = replace(_weigh_statistics(evidence, metric, group, weights), declined=places)
    return compute_increments(evidence, tested)


@dataclass(frozen=True)
class Bets:
    """The bets on a metric: about it being at least a threshold, and about its value.

    at         increments on a mean that is at least 0 where the metric is at least the threshold
    values     values at which the others bet: 0 alone where one bet serves every value
    increments of each of these
    most       the same with every declined item at its most, where these count: at its least in the
               others, which say then how small the metric could be, and these how large
    """

    at: Increments
    values: Array
    increments: list[Increments]
    most: "Bets | None" = None

    def until(self, draws: int) -> "Bets":
        """The bets on the first draws alone."""
        return Bets(
            self.at.until(draws),
            self.values,
            [each.until(draws) for each in self.increments],
            None if self.most is None else self.most.until(draws),
        )

    def interval(self, level: float, limits: tuple[float, float]) -> Quantity:
        """The confidence sequence, within what is known for certain of the metric."""
        low, high = limits
        if not is_above(high, low):
            return Quantity(None, low, high, level, "exact", variance=0.0)
        if self.most is not None:
            found, most = replace(self, most=None).interval(level, limits), self.most
            ends = found.find_ends()[1], most.interval(level, limits).find_ends()[1]
            return replace(found, upper=max(ends))
        if len(self.values) == 1:
            return betting.interval(self.increments[0], level, low=low, high=high)
        # The values of a ratio that no bettor has refuted, from increments at those of a grid.
        about = self.values, self.increments, np.log(2 / (1 - level))
        lower, upper = (find_first_unrefuted(*about, up=up) for up in (True, False))
        if lower is None or upper is None or lower > upper:
            lower, upper = self.values[0], self.values[-1]
        return Quantity(None, float(lower), float(upper), level, "betting")


def bet_on_metric(
    evidence: Evidence,
    metric: Metric,
    group: Group,
    limits: tuple[float, float],
    threshold: float,
) -> Bets:
    """The bets on a metric within limits, from one pass over the pool."""
    _refuse_unbettable(metric)
    if evidence.log.given is not None:
        raise NotEstimable(
            "labels that are corrected by several annotators' answers have none that is valid at "
            "every look",
            'use `interval="fixed"`',
        )
    low, high = limits
    assert metric.ratio is not None
    # Of a mean itself, one bet serves every value.
    ratio = evidence.log.declined and not evidence.counts_declined
    single = not is_above(high, low) or not (any(metric.ratio[1][1:]) or ratio)
    grid = np.zeros(1) if single else np.linspace(low, high, _GRID)
    found = compute_increments_at(evidence, metric, group, [threshold, *grid])
    size = 1 + len(grid)
    most = Bets(found[size], grid, found[size + 1 :]) if len(found) > size else None
    return Bets(found[0], grid, found[1:size], most)


def reopen_declined(evidence: Evidence, status: int) -> Evidence:
    """The evidence with declined items as pending, or as labelled with a label to be set."""
    log = evidence.log
    drawn, supplied = (
        np.where(each == DECLINED, status, each) for each in (log.status, log.supplied_status)
    )
    return replace(evidence, log=replace(log, status=drawn, supplied_status=supplied))


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
        apart=metric.statistics[0] if subtracts_models(evidence, metric) else None,
        # A label may be of a class that was never predicted, also where one class was.
        outcomes=max(evidence.classes, 2) if evidence.classes else 0,
        answerable=evidence.log.declined,
    )


def find_first_unrefuted(
    grid: Array, increments: list[Increments], limit: float, *, up: bool
) -> float | None:
    """The value up to which all are refuted; None if all of the grid are.

    grid (G,), and the increments at its values: large values are refuted last (up), or small ones.
    Values and offsets are linear between two of the grid, and bounds are minima and maxima of
    linear functions, which chords do not cut: ranges are at least as wide as they were. limit is
    the log capital that refutes. The end is rounded outward.
    """
    cells = list(zip(grid, grid[1:], increments, increments[1:], strict=False))
    shares = np.linspace(0, 1, _PIECES + 1)
    for low, high, *ends in cells if up else cells[::-1]:
        left, right = (np.array(astuple(end)) for end in ends)
        bets = _Side(left, right, up)
        pieces = np.stack([shares[:-1], shares[1:]], axis=1)
        for piece in pieces if up else pieces[::-1, ::-1]:
            found = bets.first(piece, limit)
            if found is not None:
                return float((1 - found) * low + found * high)
    return None


class _Side:
    """The bets of one side between two values; left and right (6, M) are the fields there."""

    def __init__(self, left: Array, right: Array, up: bool) -> None:
        self.left, self.right, self.up = left, right, up
        self.rounding = betting.rounding(Increments(*np.maximum(np.abs(left), np.abs(right))))

    def first(self, piece: Array, limit: float) -> float | None:
        """The first value that is not refuted, on the way from one end of a piece to the other."""
        rooms = [self._lines(share)[1] for share in piece]
        scale = betting.scale_bets(Increments(*self._at(piece.mean())))[:-1]
        room, stretches = np.maximum(*rooms), [tuple(piece)]
        smallest = 2.0**-_HALVINGS / _PIECES
        while stretches:
            start, stop = stretches.pop()
            if self._refuted(start, stop, room, scale, limit):
                continue
            if abs(stop - start) <= smallest:
                return start
            middle = (start + stop) / 2
            stretches += [(middle, stop), (start, middle)]
        return None

    def _refuted(self, start: float, stop: float, room: Array, scale: Array, limit: float) -> bool:
        """Whether every value of a stretch is certain to be refuted."""
        ends = [self._lines(share) for share in (start, stop)]
        if (np.maximum(ends[0][2], ends[1][2]) < -self.rounding).any():
            return True
        paths = [np.cumsum(betting.log_factors(gain, room, scale), axis=0) for gain, *_ in ends]
        return bool((betting.bound_log_capital_between(*paths) >= limit).any())

    def _lines(self, share: float) -> tuple[Array, Array, Array]:
        """(M,) gain and room of a unit bet, and how far the mean 0 is from being impossible."""
        value, low, high, offset, least, most = self._at(share)
        if self.up:
            return value + offset, -offset - low, -offset - least
        return -value - offset, high + offset, most + offset

    def _at(self, share: float) -> Array:
        return np.asarray((1 - share) * self.left + share * self.right)
