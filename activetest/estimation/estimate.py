"""From samples to estimates and intervals.

`report` and `simulate` both call these; there is no other way to a number. An estimator makes means
of statistics; a metric makes one number of them, with the variance of its linear part (the delta
method); an interval is built around that number.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtri

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.averages import list_classes, widen_average
from activetest.estimation.delta_method import (
    average_passes,
    divide_by_answered,
    linearise_metric,
)
from activetest.estimation.value import FEWEST_PASSES, Value, WorstCase
from activetest.item_statistics.compared import subtracts_mistakes
from activetest.item_statistics.metric import Metric, take_mean
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above
from activetest.nouns.rows import Array

# Of a tail that shows itself by fewer degrees of freedom of the variance than these, a limit takes
# so many times, for each deviation, what the farthest draw added to be hidden. Of squares it takes
# more, up to twice as many degrees.
_FEW_DEGREES, _FARTHEST, _FARTHEST_SQUARE = 10.0, 4.5, 2.5
# The method of an interval whose only doubt is about missing answers.
WORST_CASE = "worst-case"


def estimate_metric(sample: Sample, metric: Metric, estimator: str) -> Value:
    """The metric's value by the named estimator, over the items that can be answered.

    Raises NotEstimable, with the reason, where there is none.
    """
    name, options = catalog.split_options("estimators", estimator)
    method = catalog.load("estimators", name).estimate
    means = sample.compute_once(("means", estimator), lambda: method(sample, **options))
    return evaluate_metric(means, sample, metric)


def evaluate_metric(means: Estimate, sample: Sample, metric: Metric) -> Value:
    """The metric's value at estimated means (d,) of its statistics.

    A metric of one mean keeps that mean, and its interval goes through the metric's map; one of
    several is linearised where they are. Means over answerable items are ratios, linearised too.
    An average over draws is that of the metric's own values. Raises NotEstimable where the metric
    is undefined or no answerable item is in sight.
    """
    if means.ignores_labels:
        sample = replace(sample, possible=None)
    single = len(metric.statistics) == 1
    mapped = divide_by_answered(metric, take_mean if single else metric.smooth, sample)

    def linearise() -> Estimate:
        return linearise_metric(means, sample, mapped, metric.bounds)

    if means.averaged:
        estimate = average_passes(means, mapped, metric.bounds)
    elif single:
        # Of one mean itself, whichever metric is a map of it.
        estimate = means.compute_once("linear", linearise)
    else:
        estimate = linearise()
    possible = sample.possible or (metric.lower, metric.upper)
    if sample.possible and not is_above(possible[1], possible[0]):
        # No missing label can change it any more.
        fixed = np.array([possible[0]])
        draws = None if estimate.draws is None else fixed[None]
        none = np.zeros((1, 1))
        estimate = replace(estimate, mean=fixed, variance=none, draws=draws, exact=True)
    if estimate.averaged and estimate.draws is not None:
        # One by one, also where the metric is a map of one mean.
        number = float(np.clip(metric.transform(estimate.draws), *possible).mean())
    else:
        number = _limit(float(metric.transform(estimate.limited_mean)), *possible)
    own = metric.interval
    if own and means.draws is None and catalog.fact("intervals", own, "REMOVES_BIAS"):
        # The bias of such a sum by estimation errors alone is subtracted.
        number = catalog.load("intervals", own).remove_bias(means) * _gap_scale(metric, means)
    if not np.isfinite(number):
        raise NotEstimable(
            metric.undefined or "it is not defined for these labels", "`study.next(10)`"
        )
    return Value(metric, number, estimate, means, sample)


def build_interval(
    value: Value, level: float, *, group: bool = False, decides: bool = False
) -> Quantity:
    """A value with its interval, and the variance of its linear estimate.

    Of one mean, it is built for the mean over what was open before the first draw, and then for
    all. Where answers are missing, it is the hull of the intervals that the worst labels would
    give; and where items were declined, of those of all items with these at their least and their
    most, so that it holds over all items. decides is for an end of which much depends, as on that
    of a gate: see korn_graubard.
    """
    if (worst := value.declined or value.worst) is not None:
        return _build_hull(value, worst, level, group=group, decides=decides)
    estimate, own = value.estimate, value.metric.interval
    if estimate.draws is not None and own is not None and not estimate.exact:
        # A posterior adds as much to the truth as to such sums.
        raise NotEstimable("no valid posterior interval for this metric", "read doubly-robust")
    if estimate.averaged and estimate.draws is not None and len(estimate.draws) < FEWEST_PASSES:
        raise NotEstimable(
            "no spread: the surrogate has a single pass in which the metric exists",
            '`study.change(surrogate="mc-dropout")`',
        )
    name, scale = _choose_method(value, group=group), 1.0
    build = catalog.load("intervals", name).interval
    if estimate.draws is not None:
        found = build(estimate, level)
    elif own is not None:
        found = _widen_gaps(value, build(value.means, level), level, decides=decides)
        scale = _gap_scale(value.metric, value.means)
    else:
        build = partial(build, decides=decides)
        if name == "group-beta" and value.is_share:
            build = partial(build, counted=True)
        found = estimate.compute_once(
            ("interval", name, level, decides),
            lambda: include_known(build(restrict_to_open(estimate), level), estimate),
        )
        if value.metric.averaged is not None and found.method != "exact":
            classes = list_classes(value.metric, value.means, value.sample)
            found = widen_average(found, classes, build)
        found = _widen_tails(value, _widen_curve(value, found), level)
    ends = [_limit(scale * end, *value.metric.bounds) for end in found.find_ends()]
    ends = [float(value.metric.transform(np.array([end]))) for end in ends]
    # The linear form of a curve knows no bounds.
    lower, upper = np.sort([_limit(end, *value.possible) for end in ends]).tolist()
    return replace(found, estimate=float(value.value), lower=lower, upper=upper)


def _choose_method(value: Value, *, group: bool) -> str:
    """The name of the method that makes the interval of a value."""
    bounded = bool(np.isfinite(value.metric.bounds).all())
    if value.estimate.draws is not None:
        return "credible"
    if value.metric.interval is not None:
        return value.metric.interval
    if group:
        return "group-beta" if bounded else "group-t"
    if subtracts_mistakes(value.metric):
        return "paired-shares"
    if value.several and bounded:
        return "delta-beta"
    return "korn-graubard" if value.is_share else "gamma"


def restrict_to_open(estimate: Estimate) -> Estimate:
    """The same estimate (d = 1), of the mean over what was open: known + share x that mean."""
    known, share = estimate.known, estimate.open_share
    if (known, share) == (0.0, 1.0):
        return estimate
    return replace(
        estimate,
        mean=(estimate.mean - known) / share,
        variance=estimate.variance / share**2,
        terms=(estimate.terms - known) / share,
        limits=(estimate.limits - known) / share,
        model_variance=estimate.model_variance / share**2,
        known=0.0,
        open_share=1.0,
    )


def include_known(found: Quantity, estimate: Estimate) -> Quantity:
    """The whole mean with its interval, from the mean over what was open with its own."""
    known, share = estimate.known, estimate.open_share
    if (known, share) == (0.0, 1.0):
        return found
    lower, upper = found.find_ends()
    return replace(
        found,
        estimate=float(estimate.limited_mean[0]),
        lower=known + share * lower,
        upper=known + share * upper,
        variance=found.variance * share**2,
    )


def _limit(number: float, lower: float, upper: float) -> float:
    """The number within limits, or NaN: as numpy's clip, which takes longer for one number."""
    return min(max(number, lower), upper)


def _widen_curve(value: Value, found: Quantity) -> Quantity:
    """The interval of an area under a curve, on the nearer side at least half as wide as in all.

    Such an area is no sum of what labels add to it: as its linear form is the curve of the labels
    at hand, it is less skewed than their pulls are, and may be so to the other side.
    """
    linear = np.isinf(value.metric.bounds).all() and np.isfinite(value.possible).all()
    if not linear or found.method == "exact":
        return found
    lower, upper = found.find_ends()
    centre, half = float(value.estimate.limited_mean[0]), (upper - lower) / 2
    return replace(found, lower=min(lower, centre - half), upper=max(upper, centre + half))


def lacks_bounds(value: Value) -> bool:
    """Whether nothing says how large the number can be.

    Labels of a few classes leave a loss between bounds that its statistic does not know.
    """
    excess = value.estimate.excess
    bounded = np.isfinite([value.metric.bounds, value.possible]).all(axis=1).any()
    return not (bounded or (excess is not None and excess.bounded))


def _widen_tails(value: Value, found: Quantity, level: float) -> Quantity:
    """The interval of a number without bounds, made to hold where values may be farther off.

    The share of the pool that is farther than the farthest of n draws is about 1 / n, and of a tail
    whose variance hardly exists it adds several times what that draw did. Such a tail shows itself
    by a variance with few degrees of freedom: with many, next to nothing is added. The distances
    add up as squares.
    """
    estimate = value.estimate
    if not lacks_bounds(value) or found.method == "exact" or not len(estimate.terms):
        return found
    centre, (lower, upper) = float(estimate.limited_mean[0]), found.find_ends()
    few = _FEW_DEGREES / estimate.spread_freedom
    hidden = _FARTHEST * min(few, 1.0)
    if any(each.power > 1 for each in value.metric.statistics):
        hidden += _FARTHEST_SQUARE * min(max(2 * few - 1, 0.0), 1.0)
    times = -hidden * ndtri((1 - level) / 2)
    below, above = (
        float(np.hypot(distance, times * each))
        for distance, each in zip(
            (centre - lower, upper - centre),
            value.of_pool.estimate.farthest,
            strict=True,
        )
    )
    return replace(found, lower=centre - below, upper=centre + above)


def _widen_gaps(value: Value, found: Quantity, level: float, *, decides: bool) -> Quantity:
    """The interval of a sum of gaps, made to hold where one kind of label was hardly met yet.

    Every further label of the rarer kind may be in a bin where it adds to the gap: the sum can be
    above its estimate by as much as their share can be.
    """
    method = _load_gaps(value.metric)
    if found.method == "exact" or method is None:
        return found
    happened = len(value.metric.statistics) // 2

    def add_up(mean: Array) -> Array:
        return np.asarray(mean[..., :happened].sum(axis=-1))

    overall = divide_by_answered(replace(value.metric, ratio=None), add_up, value.sample)
    share = linearise_metric(value.means, value.sample, overall, (0.0, 1.0))
    own = catalog.load("intervals", "korn-graubard").interval(share, level, decides=decides)
    centre = float(share.limited_mean[0])
    room = centre - own.find_ends()[0] if is_above(centre, 0.5) else own.find_ends()[1] - centre
    estimated = method.remove_bias(value.means)
    return replace(found, upper=max(found.find_ends()[1], estimated + room))


def _build_hull(
    value: Value, worst: WorstCase, level: float, *, group: bool, decides: bool
) -> Quantity:
    """A value with the hull of its interval without these worst cases and those of them.

    Its variance is what an interval as wide would come from without missing answers. Declined items
    leave it as it is: random labels would meet them as well.
    """
    declined = worst is value.declined
    plain = replace(value, declined=None, worst=value.worst if declined else None)
    own = build_interval(plain, level, group=group, decides=decides)
    if declined and not worst.bounded:
        return own
    ends, cases = value.find_ends(worst), filter(None, (worst.low, worst.high))
    found = [own, *(build_interval(each, level, group=group, decides=decides) for each in cases)]
    lower, upper = _join_ends(found, ends)
    if own.method == "exact":
        # A metric may be certain over the items that can be answered, and not over all.
        doubtful = [each for each in found if each.method not in ("exact", WORST_CASE)]
        method = "exact" if lower == upper else WORST_CASE
        of = doubtful[0] if doubtful else replace(own, method=method)
        return replace(of, estimate=own.estimate, lower=lower, upper=upper)
    width = own.find_ends()[1] - own.find_ends()[0]
    share = (upper - lower) / width if width > 0 else 1.0
    variance = own.variance if declined else own.variance * share**2
    return replace(own, lower=lower, upper=upper, variance=variance)


def _join_ends(intervals: Sequence[Quantity], ends: Sequence[float]) -> tuple[float, float]:
    """The ends of the hull of intervals, and of one with these ends."""
    lowers, uppers = zip(*(each.find_ends() for each in intervals), strict=True)
    return min(ends[0], *lowers), max(ends[1], *uppers)


def _load_gaps(metric: Metric) -> Any:
    """The method of a metric in proportion to a sum of absolute gaps; None for all others."""
    name = metric.interval
    if name is None or not catalog.fact("intervals", name, "OF_GAPS"):
        return None
    return catalog.load("intervals", name)


def _gap_scale(metric: Metric, means: Estimate) -> float:
    """The metric over the sum of absolute gaps that it is in proportion to."""
    if _load_gaps(metric) is None:
        return 1.0
    mean = means.mean[: len(metric.statistics)]
    happened, claimed = np.split(mean, 2)
    total = np.abs(happened - claimed).sum()
    return float(metric.smooth(mean) / total) if total > 0 else 1.0


def estimate_difference(
    first: Value, second: Value, level: float, *, decides: bool = False
) -> Quantity:
    """The metric in first group minus that in another, from first log, and its joint interval.

    Where answers are missing, or items were declined, the interval is the hull of those of worst
    cases. decides is for ends that have to hold alone.
    """
    if any(value.worst or value.declined for value in (first, second)):
        return _difference_at_worst(first, second, level, decides=decides)
    apart, joint = combine_difference(first, second)
    found = catalog.load("intervals", "group-t").interval(joint, level)
    return widen_difference(found, apart, first, second, decides=decides)


def widen_difference(
    found: Quantity, apart: float, first: Value, second: Value, *, decides: bool
) -> Quantity:
    """The interval of a difference, at least as wide as the intervals of the two values make it.

    The distances from the values to their limits add up as squares, each on the side that counts
    (Zou and Donner 2008): what too few labels of one value leave possible, its difference has.
    """
    found = replace(found, estimate=float(apart))
    if found.method == "exact":
        return found
    (least, most), (other_least, other_most) = (
        build_interval(value, found.level, group=True, decides=decides).find_ends()
        for value in (first, second)
    )
    below = np.hypot(first.value - least, other_most - second.value)
    above = np.hypot(most - first.value, second.value - other_least)
    lower, upper = _join_ends([found], (apart - below, apart + above))
    span = first.metric.upper - first.metric.lower
    return replace(found, lower=float(max(lower, -span)), upper=float(min(upper, span)))


def combine_difference(first: Value, second: Value) -> tuple[float, Estimate]:
    """The metric in first group minus that in another, from first log, and its joint estimate.

    No item is in both: what the surrogate expects of the variances adds up, and what the draws show
    is the variance of the difference of their terms. Degrees of freedom are those of the group with
    fewer labels.
    """
    # Where everything is known, terms still differ, and mean nothing.
    slopes = tuple(0.0 if value.estimate.exact else value.slope for value in (first, second))
    apart = first.value - second.value
    terms = slopes[0] * first.estimate.terms - slopes[1] * second.estimate.terms
    residuals = first.estimate.weights[:, None] * (terms - first.estimate.weights @ terms)
    shrink = 1 - (first.estimate.weights**2).sum()
    expected = sum(
        slope**2 * value.estimate.model_variance
        for slope, value in zip(slopes, (first, second), strict=True)
    )
    # Groups share annotators, whose errors move both values the same way: never more than this.
    doubt = sum(
        slope**2 * value.estimate.doubt
        for slope, value in zip(slopes, (first, second), strict=True)
    )
    exact = first.estimate.exact and second.estimate.exact
    open_ = [value for value in (first, second) if not value.estimate.exact] or [first]
    fewer = min(open_, key=lambda value: np.count_nonzero(value.estimate.inside))
    joint = replace(
        first.estimate,
        mean=np.array([apart]),
        variance=doubt + (residuals.T @ residuals / shrink if shrink > 0 else np.zeros((1, 1))),
        terms=terms,
        limits=np.array([[-1.0], [1.0]]) * (first.metric.upper - first.metric.lower),
        inside=fewer.estimate.inside,
        model_variance=0.0 if exact else float(expected),
        uniform_count=np.inf,
        unmet=0.0,
        sides=None,
        excess=None,
        shape=None,
        exact=exact,
    )
    return apart, joint


def _difference_at_worst(first: Value, second: Value, level: float, *, decides: bool) -> Quantity:
    """The difference where answers are missing, or items declined, in one of two groups or both.

    No item is in both, so that one group can be at its lowest while the other is at its highest.
    """
    plain = first.plain, second.plain
    own = estimate_difference(*plain, level, decides=decides)
    cases = [
        value.declined if value.declined and value.declined.bounded else value.worst
        for value in (first, second)
    ]
    lows, highs = (
        [
            (getattr(case, side, None) or getattr(case, other, None) or without).plain
            for case, without in zip(cases, plain, strict=True)
        ]
        for side, other in (("low", "high"), ("high", "low"))
    )
    # A metric may fall where its mean rises.
    pairs = product((lows[0], highs[0]), (lows[1], highs[1]))
    found = [estimate_difference(*pair, level, decides=decides) for pair in pairs]
    lower, upper = _join_ends(found, own.find_ends())
    return replace(own, lower=lower, upper=upper)
