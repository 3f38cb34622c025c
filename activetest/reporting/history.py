"""How the headline came about: its estimate after each round, beside what random labels give."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from activetest.errors import NotEstimable
from activetest.estimation.anytime import Bets
from activetest.estimation.random_draws import RandomDraws, expect_random_draws
from activetest.estimation.samples import find_metric_steps
from activetest.estimation.value import Value
from activetest.estimation.view import ANYTIME, FIXED, View
from activetest.item_statistics.metric import Metric
from activetest.nouns.log import PENDING, Log
from activetest.nouns.quantity import Quantity, Saving, SavingKind, write_level
from activetest.nouns.report import EstimateRow
from activetest.nouns.report_details import MOST_POINTS, HistoryPoint
from activetest.nouns.rows import Array
from activetest.reporting.rows import (
    estimate_row,
    find_variance_of_items,
    is_reliable,
    measure_saving,
)
from activetest.system.progress import step

_SHARE = "korn-graubard"
# Points of a curve's metric, each of which takes passes over the pool.
_MOST_OF_CURVES = 8


@dataclass(frozen=True)
class RandomBand:
    """The interval that labels of random items would have, around the present estimate.

    value   the present one
    single  variance of one random draw
    draws   random draws from the pool
    more    variance that the pool's own sampling adds, where values are of a population
    share   whether it is one mean of a statistic that is 0 or 1
    level   of the interval
    """

    value: Value
    single: float
    draws: RandomDraws
    more: float
    share: bool
    level: float

    def find_ends(self, labels: int) -> tuple[float | None, float | None]:
        """The ends with so many labels: of the plain mean of labels of items drawn uniformly.

        Of a share Wilson's limits (1927) at the number of draws with replacement that would leave
        the same variance, else Student's. The variance over the items is as it is estimated now.
        """
        if labels < 1 + (not self.share) or labels > self.draws.size:
            return None, None
        metric = self.value.metric
        variance = self.draws.leave_variance(self.single, labels) + self.more
        mean = float(np.clip(self.value.estimate.mean[0], *self.value.metric.bounds))
        if self.share:
            reach = -float(ndtri((1 - self.level) / 2))
            lower, upper = _find_wilson_limits(mean, variance, reach)
        else:
            reach = -float(stdtrit(labels - 1, (1 - self.level) / 2))
            lower, upper = mean - reach * variance**0.5, mean + reach * variance**0.5
        ends = np.clip([lower, upper], *self.value.metric.bounds)
        ends = np.array([float(self.value.metric.transform(np.array([end]))) for end in ends])
        lower, upper = np.sort(np.clip(ends, metric.lower, metric.upper)).tolist()
        return lower, upper

    def describe(self) -> str:
        """The meaning of the band, in a sentence."""
        return (
            "The band is the interval that as many labels of items drawn uniformly at random, and "
            "their plain mean, would have around the present estimate, with the variance that is "
            f"estimated now ({write_level(self.level)}, at one look)."
        )


def trace_history(
    view: View, metric: Metric, latest: EstimateRow, kind: str
) -> tuple[tuple[HistoryPoint, ...], RandomBand | None]:
    """The metric after each round with answers, and the band of random labels; see HistoryPoint.

    latest  the row of the whole pool now, by an estimator that uses draws; kind is of its interval

    At most MOST_POINTS rounds, fewer for areas under curves, evenly spaced, the last always, whose
    point is that row. A point rests on the draws and labels of rounds up to its own, on the labels
    that this round knew of items that were not drawn, and on a surrogate that knew no more. So it
    is what a report said then, up to labels that were corrected since. Over several parts the last
    round alone has a point: the population was another one before they came.
    """
    numbers = _choose_rounds(view.log, _MOST_OF_CURVES if metric.refine else MOST_POINTS)
    if view.parts:
        numbers = numbers[-1:]
    if not numbers:
        return (), None
    band = find_random_band(view, metric, latest.estimator)
    running = _Running.start(view, metric) if kind == ANYTIME and len(numbers) > 1 else None
    points = []
    with step("estimating past rounds", len(numbers) - 1) as estimating:
        for number in numbers[:-1]:
            then = view.at_end_of(number, [metric])
            if kind == ANYTIME:
                row = _estimate_running(then, metric, latest, running)
            else:
                level = view.choices.level
                row = estimate_row(then, metric, latest.estimator, level=level, kind=FIXED)
            points.append(_place(row, then, number, band))
            estimating.advance()
    points.append(_place(latest, view, numbers[-1], band))
    return tuple(points), band


def find_random_band(view: View, metric: Metric, estimator: str) -> RandomBand | None:
    """The band of random labels; None where too little is known of the variance over the items."""
    level = view.choices.level
    try:
        value = view.value(metric, estimator)
        interval = view.interval(value, level)
    except NotEstimable:
        return None
    draws = expect_random_draws(view.cache, view.evidence.groups[0])
    reliable = is_reliable(value, interval.method)
    saving = measure_saving(value, interval, draws, Saving(), reliable=reliable)
    if saving.kind != SavingKind.ABOUT:
        return None
    more = value.sampled.variance if value.sampled else 0.0
    single = find_variance_of_items(value, interval)
    return RandomBand(value, single, draws, more, interval.method == _SHARE, level)


def _find_wilson_limits(share: float, variance: float, reach: float) -> tuple[float, float]:
    """The shares that are `reach` standard deviations from this one, which has a variance."""
    if not 0 < share < 1 or variance <= 0:
        return share, share
    size = share * (1 - share) / variance
    below = 1 + reach**2 / size
    center = (share + reach**2 / (2 * size)) / below
    half = reach * (variance + reach**2 / (4 * size**2)) ** 0.5 / below
    return center - half, center + half


def _choose_rounds(log: Log, most: int) -> list[int]:
    """Numbers of rounds with an answer: at most so many, evenly spaced, the last always."""
    numbers = np.unique(log.round[log.status != PENDING])
    places = np.linspace(0, len(numbers) - 1, min(len(numbers), most))
    return [int(number) for number in numbers[np.unique(np.rint(places).astype(int))]]


def _place(row: EstimateRow, view: View, number: int, band: RandomBand | None) -> HistoryPoint:
    """The point of a round, from its row and what was known then."""
    labels = view.evidence.count_known(view.evidence.groups[0])
    ends = (None, None) if band is None else band.find_ends(labels)
    return HistoryPoint(number, labels, row.estimate, row.lower, row.upper, *ends)


@dataclass(frozen=True)
class _Running:
    """The bets of an anytime-valid interval, from one pass over the pool for all rounds.

    bets    on all draws
    places  (M,) of their draws in the log
    """

    bets: Bets
    places: Array

    @staticmethod
    def start(view: View, metric: Metric) -> "_Running | None":
        """The bets now; None where the metric has no anytime-valid test."""
        whole, limits = view.evidence.groups[0], (metric.lower, metric.upper)
        try:
            bets, _ = view.bet_on_metric(metric, whole, metric.lower, limits)
        except NotEstimable:
            return None
        return _Running(bets, find_metric_steps(view.evidence, metric))

    def interval(self, then: View, metric: Metric, level: float) -> Quantity:
        """The interval as it was then: from bets on the draws until then."""
        draws = int(np.searchsorted(self.places, then.evidence.used))
        limits = then.possible_range(metric, then.evidence.groups[0])
        return self.bets.until(draws).interval(level, limits)


def _estimate_running(
    then: View, metric: Metric, latest: EstimateRow, running: _Running | None
) -> EstimateRow:
    """The row of a round with its anytime-valid interval, as the present one is built."""
    level = then.choices.level
    nothing = Quantity(None, None, None, level, "none")
    row = replace(latest, quantity=nothing)
    try:
        value = then.value(metric, latest.estimator, kind=ANYTIME)
    except NotEstimable:
        return row
    if running is None:
        return replace(row, quantity=replace(nothing, estimate=value.value))
    found = running.interval(then, metric, level)
    return replace(row, quantity=replace(found, estimate=value.value))
