"""From samples to estimates and intervals.

`report` and `simulate` both call these; there is no other way to a number.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.evidence import PENDING, Array, Choices, Estimate, Interval, Log, Sample
from activetest.expectation import moments
from activetest.metrics._losses import bounds
from activetest.metrics._metric import Metric
from activetest.passes import map_reduce
from activetest.rounds import generator, learn, unseen

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


def impute(log: Log, cache, choices: Choices, *, seed: int) -> Imputation:
    """Ask the surrogate about the rest of the pool.

    The mean is summed over every row; how far members differ from it is measured on at most 10,000
    rows, spread evenly over the unknown ones, and scaled up.
    """
    number = len(log.history) + 1
    surrogate = learn(log, cache, choices, rng=generator(seed, number, "fit"))
    free = unseen(log, cache.size)
    free[log.rows[log.status == PENDING]] = True
    free[log.brought_rows[log.brought_status == PENDING]] = True
    rest = np.flatnonzero(free)

    def on_piece(piece):
        here = free[slice(*piece)]
        mean, _ = moments(surrogate.beliefs(cache.rows(*piece)))
        return mean[:, here].sum(axis=1, dtype=float)

    mean = map_reduce(cache.chunks(), on_piece, np.add)
    rng = generator(seed, number, "posterior")
    members = surrogate.members(_MEMBERS, rng)
    posterior = np.tile(mean, (len(members), 1))
    some = rest[:: max(1, len(rest) // _MEMBER_ROWS)]
    if len(some):
        sums, variances = surrogate.totals(cache.take(some), members)
        scale = len(rest) / len(some)
        posterior += (sums - sums.mean(axis=0)) * scale
        posterior += np.sqrt(np.maximum(variances, 0) * scale) * rng.standard_normal(
            posterior.shape
        )
    return Imputation(mean, posterior, len(rest), cache.statistics)


def told(sample: Sample, metric: Metric, imputation: Imputation) -> Sample:
    """The sample of the whole pool, with the surrogate's view of the rest."""
    columns = [imputation.statistics.index(name) for name in metric.statistics]
    # Items whose label is not known are taken to be answerable.
    answerable = [float(imputation.count)] * (sample.stats.shape[1] - len(columns))
    constant = np.tile(answerable, (len(imputation.posterior), 1))
    return replace(
        sample,
        surrogate=np.concatenate([imputation.mean[columns], answerable]),
        posterior=np.hstack([imputation.posterior[:, columns], constant]),
    )


def estimate(sample: Sample, estimator: str) -> Estimate:
    """The named estimate of the mean statistic (d = 1), over the items that can be answered."""
    made = catalog.load("estimators", estimator).estimate(sample)
    return made if len(made.mean) == 1 else _answerable(made, sample)


def interval(metric: Metric, estimate: Estimate, level: float, *, group: bool = False) -> Interval:
    """The metric's interval: made for its mean statistic (d = 1), sent through its smooth map.

    The map has to be monotone. Its variance stays that of the mean statistic.
    """
    low, high = bounds(metric.statistics[0])
    if estimate.draws is not None:
        made = catalog.load("intervals", "credible").interval(estimate, level)
    elif group:
        made = catalog.load("intervals", "group-t").interval(estimate, level)
    elif (low, high) == (0.0, 1.0):
        made = catalog.load("intervals", "korn-graubard").interval(estimate, level)
    else:
        made = catalog.load("intervals", "shrunk-t").interval(estimate, level)
    ends = np.clip([made.lower, made.upper], low, high)
    lower, upper = sorted(metric.smooth(np.array([end])) for end in ends)
    return replace(made, lower=lower, upper=upper)


def one_draw(sample: Sample, estimate: Estimate, metric: Metric) -> float:
    """Variance of the statistic (d = 1) over the pool (the group): what one uniform draw has.

    NaN where no draw fell into the group and the statistic is not the zero-one loss.
    """
    mean = estimate.mean[0]
    if metric.statistics == ("zero_one",):
        return float(np.clip(mean, 0, 1) * (1 - np.clip(mean, 0, 1)))
    answered = sample.stats[:, -1] if sample.stats.shape[1] > 1 else sample.inside
    weights = answered / sample.probs
    return (
        float(weights @ (sample.stats[:, 0] - mean) ** 2 / weights.sum())
        if weights.any()
        else np.nan
    )


def _answerable(estimate: Estimate, sample: Sample) -> Estimate:
    """The mean over items that can be answered: a ratio of two means, linearised.

    Raises NotEstimable when no answerable item is in sight.
    """
    whole, answered = estimate.mean
    if answered <= 0:
        raise NotEstimable("every labelled item was declined", hint="activetest next --n 10")
    inside = sample.stats[:, -1] if len(estimate.inside) else estimate.inside
    if len(inside) and not (inside.any() or estimate.exact):
        raise NotEstimable("no draw has a label here", hint="activetest next --n 10")
    ratio = whole / answered
    direction = np.array([1.0, -ratio]) / answered
    return replace(
        estimate,
        mean=np.array([ratio]),
        variance=np.array([[direction @ estimate.variance @ direction]]),
        model_variance=np.array([[direction @ estimate.model_variance @ direction]]),
        terms=ratio + (estimate.terms @ direction)[:, None],
        draws=None if estimate.draws is None else estimate.draws[:, :1] / estimate.draws[:, 1:],
        inside=inside,
        limits=estimate.limits[:, :1],
    )
