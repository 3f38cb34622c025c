"""From samples to estimates and intervals.

`report` and `simulate` both call these; there is no other way to a number. An estimator makes means
of statistics; a metric makes one number of them, with the variance of its linear part (the delta
method); an interval is built around that number.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.delta_method import divide_by_answered, linearise_metric
from activetest.estimation.samples import Evidence
from activetest.item_statistics.metric import Metric, take_mean
from activetest.nouns.estimate import Estimate, Interval, Sample
from activetest.nouns.log import PENDING
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce
from activetest.rounds.fit import find_free_items, make_generator

# Members of the surrogate behind a posterior interval, and rows of the pool they are asked about.
_MEMBERS, _MEMBER_ROWS = 200, 5_000


@dataclass(frozen=True)
class Imputation:
    """What the surrogate that knows every label thinks of all items without one.

    mean         (T,) sums of expectations
    posterior    (K, T) members' sums, with labels drawn
    count        number of such items
    statistics   (T,) names
    """

    mean: Array
    posterior: Array
    count: int
    statistics: tuple[str, ...]


@dataclass(frozen=True)
class Value:
    """A metric's value, and what its interval is made of.

    metric     what it is a value of
    value      the metric's own value
    linear      the estimate (d = 1) that intervals are made for
    outer      monotone map from there to the metric: its smooth map where that is of one mean,
               else nothing is left to do
    bounds     range of the linear estimate
    means      the estimate (d,) of the means behind it
    foreseen   what the surrogate of the last draw expected of the metric; NaN where it said nothing
    """

    metric: Metric
    value: float
    estimate: Estimate
    transform: Callable[[Array], Array]
    bounds: tuple[float, float]
    means: Estimate
    predicted: float

    @property
    def several(self) -> bool:
        """Whether the metric is a function of several means."""
        return len(self.metric.statistics) > 1

    @property
    def slope(self) -> float:
        """Derivative of the metric by its linear estimate."""
        if self.transform is take_mean:
            return 1.0
        return float(self.metric.gradient(np.clip(self.estimate.mean, *self.estimate.limits))[0])


def impute_unknown(evidence: Evidence, cache, *, seed: int) -> Imputation:
    """Ask the surrogate about the rest of the pool.

    The mean is summed over every row; how far members differ from it is measured on at most 10,000
    rows, spread evenly over the unknown ones, and scaled up.
    """
    log, statistics, surrogate = evidence.log, evidence.statistics, evidence.surrogate
    free = find_free_items(log, cache.size)
    free[log.rows[log.status == PENDING]] = True
    free[log.supplied_rows[log.supplied_status == PENDING]] = True
    rest = np.flatnonzero(free)

    def on_piece(piece):
        here = free[slice(*piece)]
        mean = surrogate.expected(cache.rows(*piece), statistics)
        return mean[:, here].sum(axis=1, dtype=float)

    mean = map_reduce(cache.chunks(), on_piece, np.add)
    rng = make_generator(seed, len(log.history) + 1, "posterior")
    members = surrogate.draw_members(_MEMBERS, rng)
    posterior = np.tile(mean, (len(members), 1))
    some = rest[:: max(1, len(rest) // _MEMBER_ROWS)]
    if len(some):
        sums, variances = surrogate.totals(cache.take(some), members, statistics)
        scale = len(rest) / len(some)
        posterior += (sums - sums.mean(axis=0)) * scale
        posterior += np.sqrt(np.maximum(variances, 0) * scale) * rng.standard_normal(
            posterior.shape
        )
    return Imputation(mean, posterior, len(rest), tuple(each.name for each in statistics))


def add_imputation(sample: Sample, metric: Metric, imputation: Imputation) -> Sample:
    """The sample of the whole pool, with the surrogate's view of the rest."""
    columns = [imputation.statistics.index(each.name) for each in metric.statistics]
    # Items whose label is not known are taken to be answerable.
    answerable = [float(imputation.count)] * (sample.stats.shape[1] - len(columns))
    constant = np.tile(answerable, (len(imputation.posterior), 1))
    return replace(
        sample,
        surrogate=np.concatenate([imputation.mean[columns], answerable]),
        posterior=np.hstack([imputation.posterior[:, columns], constant]),
    )


def estimate_metric(sample: Sample, metric: Metric, estimator: str) -> Value:
    """The metric's value by the named estimator, over the items that can be answered.

    Raises NotEstimable, with the reason, where there is none.
    """
    return evaluate_metric(catalog.load("estimators", estimator).estimate(sample), sample, metric)


def evaluate_metric(means: Estimate, sample: Sample, metric: Metric) -> Value:
    """What the metric makes of estimated means (d,) of its statistics.

    A metric of one mean keeps that mean, and its interval goes through the metric's map; one of
    several is linearised where they are. Means over answerable items are ratios, linearised too.
    Raises NotEstimable where the metric is undefined or no answerable item is in sight.
    """
    single = len(metric.statistics) == 1
    smooth = take_mean if single else metric.smooth
    bounds = (
        (metric.statistics[0].lower, metric.statistics[0].upper)
        if single
        else (metric.lower, metric.upper)
    )
    estimate = linearise_metric(means, sample, divide_by_answered(metric, smooth, sample), bounds)
    transform = metric.smooth if single else take_mean
    number = float(
        np.clip(transform(np.clip(estimate.mean, *estimate.limits)), metric.lower, metric.upper)
    )
    own = metric.interval
    if own and means.draws is None and catalog.fact("intervals", own, "REMOVES_BIAS"):
        # What estimation errors alone add to such a sum is subtracted.
        number = catalog.load("intervals", own).remove_bias(means) * _gap_scale(metric, means)
    if not np.isfinite(number):
        raise NotEstimable(metric.undefined or "it is not defined for these labels", "activetest next --n 10")
    return Value(
        metric, number, estimate, transform, bounds, means, _predict_metric(sample, metric)
    )


def build_interval(made: Value, level: float, *, group: bool = False) -> Interval:
    """The interval of a value, with the variance of its linear estimate."""
    estimate = made.estimate
    low, high = made.bounds
    if estimate.draws is not None and made.metric.interval is not None and not estimate.exact:
        # What a posterior adds to such sums it adds to the truth as well.
        raise NotEstimable("no valid posterior interval for this metric", "read doubly-robust")
    if estimate.draws is not None:
        name, about = "credible", estimate
    elif made.metric.interval is not None:
        name, about = made.metric.interval, made.means
    elif group:
        name, about = "group-beta" if np.isfinite([low, high]).all() else "group-t", estimate
    elif made.several and np.isfinite([low, high]).all():
        name, about = "delta-beta", estimate
    elif (low, high) == (0.0, 1.0):
        name, about = "korn-graubard", estimate
    elif low == 0 and not made.several:
        name, about = "gamma", estimate
    else:
        name, about = "shrunk-t", estimate
    found = catalog.load("intervals", name).interval(about, level)
    scale = _gap_scale(made.metric, made.means) if about is made.means else 1.0
    ends = np.clip([scale * found.lower, scale * found.upper], low, high)
    ends = np.array([made.transform(np.array([end])) for end in ends])
    # The linear form of a curve knows no bounds.
    lower, upper = np.sort(np.clip(ends, made.metric.lower, made.metric.upper)).tolist()
    return replace(found, lower=lower, upper=upper)


def _gap_scale(metric: Metric, means: Estimate) -> float:
    """The metric over the sum of absolute gaps that it is in proportion to."""
    if not (metric.interval and catalog.fact("intervals", metric.interval, "OF_GAPS")):
        return 1.0
    mean = means.mean[: len(metric.statistics)]
    happened, claimed = np.split(mean, 2)
    total = np.abs(happened - claimed).sum()
    return float(metric.smooth(mean) / total) if total > 0 else 1.0


def _predict_metric(sample: Sample, metric: Metric) -> float:
    if not len(sample.left) or (sample.unknown and not sample.left[-1]):
        return np.nan
    means = (sample.known_sum[-1] + sample.imputed_sum[-1]) / sample.size
    return float(metric.smooth(means[: len(metric.statistics)]))


def estimate_difference(one: Value, two: Value, level: float) -> tuple[float, Interval]:
    """The metric in one group minus that in another, from one log, and its joint interval.

    No item is in both: what the surrogate expects of the variances adds up, and what the draws show
    is the variance of the difference of their terms. Degrees of freedom are those of the group with
    fewer labels.
    """
    # Where everything is known, terms still differ, and mean nothing.
    slopes = tuple(0.0 if value.estimate.exact else value.slope for value in (one, two))
    apart = one.value - two.value
    terms = slopes[0] * one.estimate.terms - slopes[1] * two.estimate.terms
    residuals = one.estimate.weights[:, None] * (terms - one.estimate.weights @ terms)
    shrink = 1 - (one.estimate.weights**2).sum()
    expected = sum(
        slope**2 * value.estimate.model_variance
        for slope, value in zip(slopes, (one, two), strict=True)
    )
    exact = one.estimate.exact and two.estimate.exact
    open_ = [value for value in (one, two) if not value.estimate.exact] or [one]
    fewer = min(open_, key=lambda value: np.count_nonzero(value.estimate.inside))
    joint = replace(
        one.estimate,
        mean=np.array([apart]),
        variance=residuals.T @ residuals / shrink if shrink > 0 else np.zeros((1, 1)),
        terms=terms,
        limits=np.array([[-1.0], [1.0]]) * (one.metric.upper - one.metric.lower),
        inside=fewer.estimate.inside,
        model_variance=0.0 if exact else float(expected),
        exact=exact,
    )
    return apart, catalog.load("intervals", "group-t").interval(joint, level)
