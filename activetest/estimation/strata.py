"""Means over a population of several parts: each part is a stratum with an estimate of its own.

The mean is the sum over parts of their means times their shares of the population, and so is it
unbiased where they are; strata are drawn from independently, so that variances add up, with squared
shares (Cochran 1977, theorems 5.1 and 5.3). How many draws a part got follows no label: see
sampling.part_rounds.

A draw of part p is taken as one that chose the part with its share of all draws, n_p / n. Terms are
moved and scaled such that weights w n_p / n, the same for every group, give each part's variance.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from activetest.estimation.estimate import evaluate_metric
from activetest.estimation.value import Value, WorstCase
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import Estimate, Sample, Shape
from activetest.nouns.rows import Array


def join_values(values: Sequence[Value], whole: Sample, metric: Metric) -> Value:
    """The metric over several parts, from its values in each, with their worst cases.

    values  of the parts that have items of the group
    whole   the sample of the group in all parts, of which only what is known of the pool is used

    Raises NotEstimable where the metric is undefined.
    """
    found = join_plain([each.plain for each in values], whole, metric)
    return replace(
        found,
        worst=_join_cases([each.worst for each in values], values, whole, metric, found),
        declined=_join_cases([each.declined for each in values], values, whole, metric, found),
    )


def join_plain(values: Sequence[Value], whole: Sample, metric: Metric) -> Value:
    """As join_values, of values without worst cases."""
    sizes = np.array([each.sample.size for each in values], float)
    shares = sizes / sizes.sum()
    answered = len(whole.total)
    means = [_add_answered(each.means, each.sample, answered) for each in values]
    stats = [_append_ones(each.sample.stats, each.sample, answered) for each in values]
    open_parts = [place for place, each in enumerate(means) if not each.exact]
    strata = [
        _Stratum(values[place].sample, stats[place], means[place], float(shares[place]))
        for place in open_parts
    ]
    sample, weights = _join_samples(whole, strata, values, shares)
    joined = _join_means(means, shares, strata, weights, sample)
    value = evaluate_metric(joined, sample, metric)
    if not strata or value.estimate.exact:
        return value
    estimate, squares = value.estimate, sum(float((s.weights**2).sum()) for s in strata)
    freedom = max(1 / squares - 1, 1.0)
    shape = Shape(freedom, estimate.skewness, min(estimate.spread_freedom, freedom))
    return replace(value, estimate=replace(estimate, shape=shape))


class _Stratum:
    """A part that is not known whole.

    share   of the population
    weights (M,) of its draws in the mean of the population
    """

    def __init__(self, sample: Sample, stats: Array, means: Estimate, share: float) -> None:
        self.sample, self.stats, self.means, self.share = sample, stats, means, share
        self.weights = share * means.weights


def _append_ones(stats: Array, sample: Sample, columns: int) -> Array:
    """(M, d) with whether an item was answered, where a part has no declined item and others do."""
    missing = columns - stats.shape[1]
    return stats if not missing else np.column_stack([stats, sample.drawn_mass])


def _add_answered(means: Estimate, sample: Sample, columns: int) -> Estimate:
    """The means with that of the answered items, which is 1 where no item was declined."""
    if len(means.mean) == columns:
        return means
    ones, variance = np.ones((len(means.terms), 1)), np.zeros((columns, columns))
    variance[:-1, :-1] = means.variance
    return replace(
        means,
        mean=np.append(means.mean, 1.0),
        variance=variance,
        terms=np.hstack([means.terms, ones]),
        guess=np.hstack([means.guess, sample.inside[:, None]]),
        limits=np.hstack([means.limits, [[0.0], [1.0]]]),
        follows=None if means.follows is None else np.hstack([means.follows, ones < 0]),
    )


def _join_means(
    means: Sequence[Estimate],
    shares: Array,
    strata: Sequence[_Stratum],
    weights: Array,
    sample: Sample,
) -> Estimate:
    """The means (d,) of the population; weights (M,) of all draws of strata."""
    mean = shares @ np.array([each.mean for each in means])
    variance = np.tensordot(shares**2, np.array([each.variance for each in means]), 1)
    limits = np.tensordot(shares, np.array([each.limits for each in means]), 1)
    shrink = 1 - float((weights**2).sum())
    terms, start = [np.empty((0, len(mean)))], 0
    for each in strata:
        stop = start + len(each.weights)
        apart = each.means.terms - each.means.weights @ each.means.terms
        own = 1 - float((each.means.weights**2).sum())
        scale = each.weights / weights[start:stop]
        if own > 0:
            scale = scale * np.sqrt(max(shrink, 0.0) / own)
        terms.append(mean + scale[:, None] * apart)
        start = stop
    follows = None
    if any(each.means.follows is not None for each in strata):
        follows = np.concatenate(
            [
                np.zeros(each.stats.shape, bool)
                if each.means.follows is None
                else each.means.follows
                for each in strata
            ]
        )
    guesses = [np.empty((0, len(mean))), *(each.means.guess for each in strata)]
    return Estimate(
        mean,
        variance,
        np.concatenate(terms),
        weights,
        np.concatenate(guesses),
        limits,
        sample.inside,
        follows=follows,
        exact=not strata,
    )


def _join_samples(
    whole: Sample, strata: Sequence[_Stratum], values: Sequence[Value], shares: Array
) -> tuple[Sample, Array]:
    """The sample of all draws of the strata, and (M,) their weights; values are of all parts."""
    counts = np.array([len(each.weights) for each in strata])
    total = max(int(counts.sum()), 1)
    ends = np.cumsum(counts)

    def join(find: Callable[[_Stratum], Array]) -> Array:
        return np.concatenate([np.empty(0), *map(find, strata)])

    def split(array: Array) -> list[Array]:
        return np.split(array, ends[:-1]) if len(ends) else []

    weights = join(lambda each: len(each.weights) / total * each.means.weights)
    q = join(lambda each: len(each.weights) / total * each.sample.q)
    samples = [each.sample for each in values]
    known = sum(
        float((each.known_sum[0] if len(each.known_sum) else each.total)[0]) for each in samples
    )
    lefts = [float(each.left[0]) if len(each.left) else each.unknown for each in samples]
    # A round that recorded nothing about the group does not say what was open.
    recorded = all(s.sample.left[0] > 0 for s in strata if len(s.sample.left))
    opened = sum(lefts) if recorded else 0.0
    rows = int(counts.sum())
    stats = np.concatenate([np.empty((0, len(whole.total))), *(each.stats for each in strata)])
    # The first line says what was known before any draw, the last one what is expected now.
    known_sum, imputed_sum = np.zeros((2, *stats.shape))
    known_sum[:-1, 0] = known
    for each in samples if rows else ():
        columns, drawn = each.stats.shape[1], len(each.known_sum) > 0 and each.unknown > 0
        known_sum[-1, :columns] += each.known_sum[-1] if drawn else each.total
        imputed_sum[-1, :columns] += each.imputed_sum[-1] if drawn else 0.0

    def expect(slope: Array) -> tuple[Array, Array]:
        found = [each.sample.expect(slope[: each.sample.stats.shape[1]]) for each in strata]
        means = [
            mean + slope[each.sample.stats.shape[1] :].sum() * each.sample.drawn_mass
            for each, (mean, _) in zip(strata, found, strict=True)
        ]
        none = [np.empty(0)]
        return np.concatenate(none + means), np.concatenate(none + [each for _, each in found])

    def measure_doubt(slope: Array) -> float:
        return sum(
            float(share**2) * each.label_variance(slope[: each.stats.shape[1]])
            for share, each in zip(shares, samples, strict=True)
        )

    def spread(slope: Array, mean: Array) -> float:
        found = [
            np.nan
            if each.spread is None
            else each.spread(slope[: each.stats.shape[1]], mean[: each.stats.shape[1]])
            for each in samples
        ]
        there = np.isfinite(found)
        if not there.any():
            return np.nan
        return float(shares[there] @ np.array(found)[there] / shares[there].sum())

    def reach(guess: Array) -> Array:
        parts = zip(strata, split(guess), strict=True)
        found = [each.sample.reach(part) for each, part in parts if each.sample.reach]
        return np.concatenate(found, axis=2)

    reaches = strata and all(each.sample.reach is not None for each in strata)
    masses = strata and all(each.sample.mass is not None for each in strata)
    sample = replace(
        whole,
        stats=stats,
        q=q,
        weights=weights,
        known_sum=known_sum,
        imputed=np.zeros_like(stats),
        imputed_sum=imputed_sum,
        inside=join(lambda each: each.sample.inside),
        left=np.full(rows, opened),
        remaining=join(lambda each: each.sample.drawable / each.share),
        counted=join(lambda each: each.sample.counted),
        mass=join(lambda each: each.sample.drawn_mass) if masses else None,
        uniform=False,
        floor=min((each.sample.floor for each in strata), default=1.0),
        doubted=any(each.doubted for each in samples),
        bounded=all(each.bounded for each in samples),
        expect=expect,
        label_variance=measure_doubt,
        spread=spread,
        reach=reach if reaches else None,
        learned=None,
        crossed=None,
        own=None,
    )
    return sample, weights


def _join_cases(
    cases: Sequence[WorstCase | None],
    values: Sequence[Value],
    whole: Sample,
    metric: Metric,
    found: Value,
) -> WorstCase | None:
    """The worst case over parts: each at its worst, on the side that counts."""
    if not any(cases):
        return None
    sides: list[Value | None] = []
    for side in ("low", "high"):
        each_part = [
            value.plain if case is None else getattr(case, side)
            for case, value in zip(cases, values, strict=True)
        ]
        known = [each.plain for each in each_part if each is not None]
        sides.append(join_plain(known, whole, metric) if len(known) == len(values) else None)
    ends = [float(found.estimate.mean[0])]
    ends += [float(each.estimate.limited_mean[0]) for each in sides if each is not None]
    bounded = all(each is not None for each in sides) and all(
        case is None or case.bounded for case in cases
    )
    limits = (min(ends), max(ends)) if bounded else (-np.inf, np.inf)
    return WorstCase(sides[0], sides[1], limits)
