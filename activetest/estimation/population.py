"""From this pool to the process that made it: the variance that the pool's own sampling adds.

The pool is taken to be a sample, of N items or of C clusters of items, from what the process could
make. An estimate that is unbiased for this pool is unbiased for the process as well, with variance
E[V] + V_pool: V, given the pool, is what the draws show, and V_pool is the variance of the pool's
own value (Sarndal, Swensson and Wretman 1992, section 13.6; Binder and Roberts 2003). With u_j what
item j adds to the deviation of the linearised metric (their sum over the pool is 0),

    V_pool = N / (N - 1) sum_j u_j^2        for items that are independent,
    V_pool = C / (C - 1) sum_c (sum_{j in c} u_j)^2        for clusters that are.

Both sums are estimated from the labels without bias whatever the probabilities of draws were, but
for the estimated mean in u. For squares that is the weighted sum that LURE makes of known items.
For products of two items of a cluster, every pair of draws l < m gives an unbiased estimate, as the
second draw's term is unbiased given the first: sum_c A_lc A_mc - D_l, with A_mc the sum of u over
items of c that were known before draw m, and u / q of its own item, and D_l the same sum of u^2.
Pairs are weighted as draws are, by w_l w_m. Clusters never make the variance smaller than
independent items would: fewer products than that would take are noise.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.certain import find_part
from activetest.estimation.delta_method import count_effectively, divide_by_answered, find_sides
from activetest.estimation.estimate import combine_difference, estimate_difference, widen_difference
from activetest.estimation.evidence import Evidence, Group
from activetest.estimation.samples import find_metric_steps
from activetest.estimation.value import KnownItems, SampledPool, Value
from activetest.item_statistics.metric import Metric, take_mean
from activetest.nouns.estimate import Estimate, Sample, Shape, Sides
from activetest.nouns.log import PENDING
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import floor_count
from activetest.nouns.rows import Array
from activetest.system.parallel import map_reduce


@dataclass(frozen=True)
class Population:
    """Units that the pool is a sample of: independent items or, with codes, independent clusters.

    codes   (N,) cluster of each item, from 0; None for items
    """

    codes: Array | None = None


def generalise_value(
    value: Value,
    evidence: Evidence,
    group: Group,
    population: Population,
) -> Value:
    """The value for the population, from the value for this pool.

    Known labels of this pool no longer bound it, and where every label is known it is estimated
    from N items. Raises NotEstimable for model-based values, for metrics whose interval needs more
    than the variance of their linear form, and for a single cluster.
    """
    if value.estimate.draws is not None:
        raise NotEstimable("the surrogate's own view is about this pool", "read doubly-robust")
    if value.metric.interval is not None:
        raise NotEstimable(
            f"an interval of {value.metric.title} is about this pool alone",
            "`study.report()` gives it",
        )
    influence = _measure_influence(value, evidence, group) / group.total
    known = list_known_items(evidence, value.sample, value.metric)
    pool = _sample_pool(value, influence, known, evidence, (group,), population)
    if _is_share(value) and group.mass is None:
        mean = float(np.clip(value.estimate.mean[0], 0, 1))
        pool = replace(pool, items=mean * (1 - mean) / max(group.items - 1, 1))
    worst, declined = value.worst, value.declined
    if worst is not None:
        worst = worst.change(lambda each: _add_pool(each, pool, group.items))
    if declined is not None and declined.evidence is not None:
        low, high = (
            None if each is None else generalise_value(each, known, group, population)
            for each, known in zip((declined.low, declined.high), declined.evidence, strict=True)
        )
        declined = replace(declined, low=low, high=high)
    return replace(_add_pool(value, pool, group.items), worst=worst, declined=declined)


def generalise_difference(
    first: Value,
    second: Value,
    groups: tuple[Group, Group],
    evidence: Evidence,
    population: Population,
    level: float,
    *,
    decides: bool = False,
) -> Quantity:
    """As estimate_difference, for the population. A cluster may have items in both groups."""
    assert first.sampled is not None and second.sampled is not None
    pools = first.sampled.value, second.sampled.value
    apart, joint = combine_difference(*pools)
    influence = first.slope * first.sampled.influence - second.slope * second.sampled.influence
    known = min(first.sampled.known, second.sampled.known, key=lambda each: each.all)
    pool = _sample_pool(first, influence, known, evidence, groups, population)
    size = min(group.items for group in groups)
    lower, upper = joint.limits[:, 0].tolist()
    joint = _add_variance(joint, pool, size, (lower, upper))
    found = catalog.load("intervals", "group-t").interval(joint, level)
    found = widen_difference(found, apart, first.plain, second.plain, decides=decides)
    if any(value.worst or value.declined for value in pools):
        # Missing answers and declined items widen it by as much as they do for this pool.
        plain = estimate_difference(pools[0].plain, pools[1].plain, level)
        hull = estimate_difference(*pools, level)
        lower = max(lower, found.find_ends()[0] - (plain.find_ends()[0] - hull.find_ends()[0]))
        upper = min(upper, found.find_ends()[1] + (hull.find_ends()[1] - plain.find_ends()[1]))
        found = replace(found, lower=lower, upper=upper)
    return found


def list_known_items(evidence: Evidence, sample: Sample, metric: Metric) -> KnownItems:
    """Drawn items first, then supplied ones, as in the log; draws are those of the sample."""
    log, steps = evidence.log, find_metric_steps(evidence, metric)
    places = np.arange(len(log.rows))
    drawn = np.full(len(places), -1)
    drawn[steps] = np.arange(len(steps))
    # Draws beyond those that estimates use are not known to any of them.
    since = np.where(places < evidence.used, np.searchsorted(steps, places, "right"), len(steps))
    supplied = np.searchsorted(log.round[steps], log.supplied_round)
    return KnownItems(
        since=np.concatenate([since, supplied]).astype(np.int64),
        drawn=np.concatenate([drawn, np.full(len(supplied), -1)]),
        inverse=1 / sample.q,
        weights=sample.weights,
        all=sample.unknown == 0,
    )


def sum_squares(influence: Array, known: KnownItems) -> float:
    """The sum of u^2 over the pool, from (K,) u of what is known."""
    return float(known.item_weights @ influence**2)


def sum_cluster_products(influence: Array, clusters: Array, known: KnownItems) -> float:
    """The sum over the pool of u_j u_k, for different items j and k of a cluster, in both orders.

    clusters   (K,) cluster of each item that is known, as codes from 0
    """
    item_weights = known.item_weights
    sums = np.bincount(clusters, item_weights * influence)
    if known.all:
        return float(sums @ sums - influence @ influence)
    weights, squares = known.weights, known.weights**2
    rest = 1 - squares.sum()
    if rest <= 0:
        return 0.0
    # Sum_m w_m^2 A_mc^2 over all c: between two items of a cluster becoming known, A stays.
    order = np.lexsort((known.since, clusters))
    code, since, u = clusters[order], known.since[order], influence[order]
    before = np.append(0.0, np.cumsum(squares))
    running = np.cumsum(u)
    first = np.searchsorted(code, code)
    running = running - np.where(first > 0, running[first - 1], 0.0)
    last = np.append(code[1:] != code[:-1], True)
    until = np.where(last, len(weights), np.append(since[1:], len(weights)))
    alone = float(running**2 @ (before[until] - before[since]))
    # At the draw of an item, its cluster's sum is moved by u / q.
    drawn = np.flatnonzero(known.drawn >= 0)
    step = known.drawn[drawn]
    jump = influence[drawn] * known.inverse[step]
    at = _sum_known_before(clusters, known.since, influence, clusters[drawn], step)
    alone += float(squares[step] @ ((at + jump) ** 2 - at**2))
    # Sum_{l < m} w_l w_m D_l, twice.
    later = 1 - np.cumsum(weights)
    of_known = np.append(np.cumsum((weights * later)[::-1])[::-1], 0.0)[known.since]
    of_drawn = np.append(weights * later * known.inverse, 0.0)[known.drawn]
    diagonal = 2 * float((of_known + of_drawn) @ influence**2)
    return (float(sums @ sums) - alone - diagonal) / rest


def _sum_known_before(
    clusters: Array, since: Array, influence: Array, cluster: Array, step: Array
) -> Array:
    """(Q,) sum of u over items of a cluster that were known before a draw, for Q such questions."""
    order = np.lexsort((since, clusters))
    steps = int(max(since.max(initial=0), step.max(initial=0))) + 1
    keys = clusters[order] * steps + since[order]
    running = np.append(0.0, np.cumsum(influence[order]))
    start = np.searchsorted(clusters[order], cluster)
    return np.asarray(
        running[np.searchsorted(keys, cluster * steps + step, side="right")] - running[start]
    )


def _measure_influence(value: Value, evidence: Evidence, group: Group) -> Array:
    """(K,) deviation of every drawn and supplied item's linearised statistic from its mean.

    Zero outside the group, and for items that were declined, whose mean is a ratio.
    """
    metric, means = value.metric, value.means
    mean = np.clip(means.mean, *means.limits)
    single = len(metric.statistics) == 1
    answerable = divide_by_answered(metric, take_mean if single else metric.smooth, value.sample)
    slope = np.ones(1) if len(mean) == 1 else answerable.gradient(mean)
    columns = evidence.find_columns(metric)
    columns += [-1] * (len(mean) - len(columns))
    stats = np.concatenate([evidence.stats, evidence.supplied_stats])
    labelled = stats[:, -1] > 0
    inside = group.membership(evidence.codes) * labelled
    return np.asarray(((stats[:, columns] - evidence.mass[:, None] * mean) @ slope) * inside)


def _refuse_constant(value: Value, *, clustered: bool) -> None:
    """Raise NotEstimable where items that cannot change a metric still differ from its mean.

    Not for shares of independent items, whose variance needs no items.
    """
    metric = value.metric
    free = metric.ratio is not None and not any(each[0] for each in metric.ratio)
    if (free and len(metric.statistics) > 1) or (_is_share(value) and not clustered):
        return
    raise NotEstimable(
        f"draws left out items that cannot change {metric.title} in this pool, and they count for "
        "the population",
        f"`study.change(metric={[metric.title, 'error']!r})` draws these, too",
    )


def _sample_pool(
    value: Value,
    influence: Array,
    known: KnownItems,
    evidence: Evidence,
    groups: tuple[Group, ...],
    population: Population,
) -> SampledPool:
    """V_pool of items and of clusters, from (K,) u of what is known.

    Where draws left out items that cannot change the metric, u of these is 0.
    """
    size = relevant = sum(group.items for group in groups)
    log = evidence.log
    stats = np.concatenate([evidence.stats, evidence.supplied_stats])
    codes = evidence.codes
    inside = sum((group.membership(codes) for group in groups), np.zeros(len(codes)))
    if log.left_out and value.relevant is not None:
        _refuse_constant(value, clustered=population.codes is not None or len(groups) > 1)
        parts = [find_part(evidence, value.metric, group) for group in groups]
        inside = sum((np.append(part.drawn, part.supplied) for part in parts), 0 * inside)
        influence, relevant = influence * inside, sum(part.count for part in parts)
    answered = (log.item_status != PENDING) * inside * (evidence.mass > 0)
    total = known.item_weights @ answered
    # Over the answered ones' weight: how many items they stand for is known.
    items = sum_squares(influence, known) * relevant / total if total > 0 else 0.0
    items *= size / max(size - 1, 1)
    freedom = max(float((stats[:, -1] * inside).sum()) - 1, 1.0)
    pool = SampledPool(value, influence, known, items, 0.0, freedom)
    if population.codes is None:
        return pool
    sizes = _count_clusters(evidence.cache, groups, population.codes)
    present = sizes[sizes > 0]
    if len(present) < 2:
        raise NotEstimable(
            "all items are of one cluster, which says nothing about others",
            "name a column with more values",
        )
    _, clusters = np.unique(population.codes[log.item_rows], return_inverse=True)
    products = sum_cluster_products(influence, clusters, known)
    count = len(present)
    effective = float(present.sum()) ** 2 / float((present.astype(float) ** 2).sum())
    return replace(
        pool,
        clustered=(items * (size - 1) / size + products) * count / (count - 1),
        freedom=max(min(pool.freedom, effective - 1), 1.0),
    )


def _count_clusters(cache: PoolView, groups: tuple[Group, ...], codes: Array) -> Array:
    """(C,) items of the groups in each cluster."""
    count = int(codes.max()) + 1
    if any(group.column is None for group in groups):
        return np.bincount(codes, minlength=count)

    def on_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        inside = sum((each.membership(rows.codes) for each in groups), np.zeros(len(rows.codes)))
        return np.bincount(codes[slice(*piece)], inside, minlength=count)

    counts: Array = map_reduce(cache.chunks(), on_piece, np.add)
    return counts


def _is_share(value: Value) -> bool:
    """Whether the value is a share whose mean says its variance."""
    declined = value.sample.stats.shape[1] > len(value.metric.statistics)
    return value.is_share and not declined


def _add_pool(value: Value, pool: SampledPool, size: int) -> Value:
    """The value for the population, without what could be at worst."""
    about = _add_variance(value.estimate, pool, size, value.metric.bounds)
    return replace(value.plain, estimate=about, sampled=replace(pool, value=value))


def _add_variance(
    estimate: Estimate, pool: SampledPool, size: int, bounds: tuple[float, float]
) -> Estimate:
    """The estimate for the population: nothing is known of it but the metric's own bounds.

    Degrees of freedom are Satterthwaite's (1946) for the sum of two variances.
    """
    added, observed = pool.variance, float(estimate.variance[0, 0])

    def combine(freedom: float, of_pool: float) -> float:
        squares = observed**2 / freedom + added**2 / of_pool
        return (observed + added) ** 2 / squares if squares > 0 else freedom

    third = estimate.skewness * observed**1.5 + pool.skewness * added**1.5
    shape = Shape(
        freedom=combine(estimate.freedom, pool.freedom),
        skewness=third / (observed + added) ** 1.5 if observed + added > 0 else 0.0,
        spread_freedom=combine(estimate.spread_freedom, pool.spread_freedom),
    )
    if estimate.exact:
        # N items, each of which was as likely as any other.
        sides = find_sides(pool.influence)
        above, below = (count_effectively(pool.influence[side]) for side in sides)
        estimate = replace(
            estimate,
            inside=np.ones(size),
            terms=np.tile(estimate.mean, (size, 1)),
            minority_count=min(above, below),
            weighted_minority_count=min(above, below),
            sides=Sides((below, above), (1.0, 1.0)),
            max_weight=1.0,
            one_draw=pool.items * size,
            floor=1.0,
            exact=False,
        )
    own = max(int(np.count_nonzero(estimate.inside)), 3) - 1.0
    # Intervals of groups take their degrees of freedom from the draws inside.
    kept = floor_count(combine(own, pool.freedom)) + 1
    return replace(
        estimate,
        variance=estimate.variance + added,
        limits=np.array([bounds], float).T,
        inside=estimate.inside * (np.cumsum(estimate.inside > 0) <= kept),
        model_variance=estimate.model_variance + added,
        shape=shape,
        follows=None,
        known=0.0,
        open_share=1.0,
        doubt=0.0,
        open_items=np.inf,
    )
