"""Beliefs about groups, as densities and intervals (Ji 2021, Figures 1, 5, 7 and 8)."""

import numpy as np

from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts
from activetest.nouns.choices import Choices
from activetest.nouns.group_beliefs import Density, GroupBelief, GroupBeliefs
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import make_generator
from activetest.wings.groups import between_groups
from activetest.wings.groups import confusion as cells
from activetest.wings.groups.counts import GroupCounts, count_groups
from activetest.wings.groups.group_ranking import GroupRank, summarise_groups
from activetest.wings.groups.ranks import draw_values

_ACCURACY = "accuracy"
# Draws of a density, points of its curve, and the cells in which draws are counted first.
_DRAWS, _POINTS, _CELLS = 10_000, 96, 1024
# How far a curve reaches beyond the draws, in bandwidths.
_REACH = 3.0


def describe_beliefs(
    log: Log, cache: PoolView, choices: Choices, *, seed: int, surrogate: Surrogate | None
) -> GroupBeliefs:
    """The groups of a study's question, each with its density, its accuracy and its calibration.

    surrogate is the one that was fitted to every label.
    """
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    kinds = [choices.metric, _ACCURACY, *([cells.BINS_KIND] if facts.probabilities else [])]
    stands = {}
    rng = make_generator(seed, len(log.history) + 1, "beliefs")
    for kind in dict.fromkeys(kinds):
        counts = count_groups(log, cache, choices, kind=kind)
        metric = specification.find_metric(kind, facts)
        view = None
        if counts.weighted.any():
            view = build_view(
                log, cache, choices, [metric], seed=seed, own_view=False, surrogate=surrogate
            )
        stands[kind] = summarise_groups(counts, view, metric, choices.level, rng, draws=_DRAWS)
        if kind == choices.metric:
            bandit = between_groups.make_bandit(counts, cache, choices)
            limits = metric.lower, metric.upper
    stand = stands[choices.metric]
    groups = tuple(
        GroupBelief(
            group=stand.arms.groups[place],
            value=_build_quantity(stand, place, choices.level),
            density=estimate_density(
                stand.draws[:, place], step=1 / stand.items[place], limits=limits
            ),
            accuracy=_build_quantity(stands[_ACCURACY], place, choices.level),
            ece=_build_quantity(stands[cells.BINS_KIND], place, choices.level)
            if facts.probabilities
            else None,
        )
        for place in stand.order[: stand.n_answerable]
    )
    difference = None
    if bandit.pair:
        first, second = bandit.pair
        apart = stand.draws[:, first] - stand.draws[:, second]
        step = 1 / min(stand.items[first], stand.items[second])
        difference = estimate_density(apart, step=step, limits=(-np.inf, np.inf))
    return GroupBeliefs(groups, difference, _describe_calibration(log, cache, choices, facts, rng))


def _describe_calibration(
    log: Log, cache: PoolView, choices: Choices, facts: Facts, rng: np.random.Generator
) -> Density | None:
    """The density of the calibration error of the whole pool."""
    if not facts.probabilities:
        return None
    bins: GroupCounts = cells.count_by_confidence(log, cache, choices)
    if cells.find_non_uniform(bins).any():
        return None
    drawn = draw_values(bins.arms, _DRAWS, rng)[:, 0]
    return estimate_density(drawn, step=1 / bins.arms.size.sum(), limits=(0.0, 1.0))


def _build_quantity(stand: GroupRank, place: int, level: float) -> Quantity:
    """The value of a group that has an item."""
    estimate, lower, upper = stand.estimate[place], stand.lower[place], stand.upper[place]
    method = str(stand.method[place])
    return Quantity(float(estimate), float(lower), float(upper), level, method)


def estimate_density(
    drawn: Array, *, step: float, limits: tuple[float, float] = (-np.inf, np.inf)
) -> Density:
    """The density of a number from draws of it (S,), with a normal kernel.

    step    smallest distance of two values, below which the curve shows no detail
    limits  that the number cannot leave: what the kernel puts beyond is reflected

    The bandwidth is that of Silverman (1986, equation 3.31).
    """
    low, high = float(drawn.min()), float(drawn.max())
    if high - low < 1e-12:
        return Density((), ())
    spread = np.subtract(*np.quantile(drawn, [0.75, 0.25])) / 1.34
    narrow = min(drawn.std(), spread) if spread > 0 else drawn.std()
    width = max(0.9 * narrow * len(drawn) ** -0.2, step)
    ends = max(low - _REACH * width, limits[0]), min(high + _REACH * width, limits[1])
    values = np.linspace(*ends, _POINTS)
    counted, edges = np.histogram(drawn, _CELLS, (low, high))
    middle = (edges[1:] + edges[:-1]) / 2
    heights = np.zeros(_POINTS)
    for centre in (middle, 2 * limits[0] - middle, 2 * limits[1] - middle):
        if np.isfinite(centre).all():
            apart = (values[:, None] - centre) / width
            heights += np.exp(-(apart**2) / 2) @ counted
    heights /= len(drawn) * width * np.sqrt(2 * np.pi)
    return Density(tuple(values.tolist()), tuple(heights.tolist()))
