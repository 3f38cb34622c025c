"""The groups of a question: the value of each, how they rank, and which answer is how probable."""

from dataclasses import dataclass

import numpy as np

from activetest.estimation.evidence import Group
from activetest.estimation.group_estimates import HEADLINE, estimate_group
from activetest.estimation.view import View
from activetest.item_statistics.metric import Metric
from activetest.nouns.contraction import contract
from activetest.nouns.group_report import Ranked
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.comparison import count_regions
from activetest.wings.groups.counts import GroupCounts
from activetest.wings.groups.credible import value_intervals
from activetest.wings.groups.ranks import Ranks, draw_values, rank_arms

# Draws of the posterior for probabilities and ranks, where nobody asks for another number.
_DRAWS = 10_000
POSTERIOR, EXACT, PSEUDO, NONE = "posterior", "exact", "pseudo-posterior", "none"


@dataclass(frozen=True)
class GroupRank:
    """Ranking of A groups, and its basis.

    arms       their counts
    known      (A,) labels
    items      (A,) items that can be answered
    method     (A,) as in group_report.Ranked
    draws      (S, A) of their values; 0 for groups without an item
    estimate, lower, upper   (A,)
    order      (A,) the worst first, groups without an item last
    """

    arms: Arms
    known: Array
    items: Array
    method: Array
    draws: Array
    estimate: Array
    lower: Array
    upper: Array
    order: Array

    @property
    def n_answerable(self) -> int:
        """Number of groups that have an item; they come first in the order."""
        return int((self.items > 0).sum())

    @property
    def rmse(self) -> float:
        """Root of the mean over items of the expected squared errors of the estimates."""
        errors = self.draws - np.nan_to_num(self.estimate)
        square = contract("sa,sa->a", errors, errors) / len(errors)
        return float(np.sqrt(square @ self.items / max(self.items.sum(), 1)))


def summarise_groups(
    counts: GroupCounts,
    view: View | None,
    metric: Metric,
    level: float,
    rng: np.random.Generator,
    *,
    draws: int = _DRAWS,
) -> GroupRank:
    """Where the groups stand, by so many draws of the posterior.

    view    holds the metric of the groups whose labels were not drawn uniformly inside: their
            values are the doubly robust estimates, with normal errors. None where there are no such
            groups
    """
    arms = counts.arms
    items, rest = (arms.sum_cells(each.astype(float)) for each in (arms.size, arms.unlabelled))
    method = np.full(len(items), POSTERIOR, dtype=object)
    method[rest == 0] = EXACT
    method[items == 0] = NONE
    weighted = {}
    if view is not None:
        for place in np.flatnonzero(counts.weighted & (rest > 0)):
            found = estimate_group(view, metric, _find_group(view, arms.groups[place]))
            method[place] = HEADLINE if found else PSEUDO
            if found:
                weighted[place] = found
    drawn = np.nan_to_num(draw_values(arms, draws, rng), copy=False)
    estimate, lower, upper = value_intervals(arms, drawn, level, rng)
    for place, found in weighted.items():
        normal = found.value + np.sqrt(found.variance) * rng.standard_normal(len(drawn))
        drawn[:, place] = np.clip(normal, metric.lower, metric.upper)
        estimate[place], lower[place], upper[place] = found.value, found.lower, found.upper
    badness = level_ties(arms.worse_sign * np.nan_to_num(estimate))
    order = np.lexsort((-badness, items == 0))
    known = arms.sum_cells(counts.labelled)
    return GroupRank(arms, known, items, method, drawn, estimate, lower, upper, order)


def rank_groups(
    stands: GroupRank, worst: int, level: float, rng: np.random.Generator
) -> tuple[tuple[Ranked, ...], Ranks]:
    """The groups, the worst first, and their ranks in that order."""
    answerable = stands.order[: stands.n_answerable]
    places = rank_arms(stands.draws, answerable, stands.arms.worse_sign, worst, level, rng)
    groups = []
    for rank, place in enumerate(stands.order):
        exists = rank < len(answerable)
        quantity = Quantity(
            estimate=float(stands.estimate[place]) if exists else None,
            lower=float(stands.lower[place]) if exists else None,
            upper=float(stands.upper[place]) if exists else None,
            level=level,
            method=str(stands.method[place]),
        )
        groups.append(
            Ranked(
                quantity=quantity,
                group=stands.arms.groups[place],
                n_pool=int(stands.items[place]),
                n_labeled=int(stands.known[place]),
                rank=rank + 1,
                p_worst=float(places.worst[rank]) if exists else None,
                p_best=float(places.best[rank]) if exists else None,
                p_among_worst=float(places.among_worst[rank]) if exists else None,
                rank_lower=int(places.lower[rank]) if exists else None,
                rank_upper=int(places.upper[rank]) if exists else None,
            )
        )
    return tuple(groups), places


def find_region_chances(stands: GroupRank, pair: tuple[int, int], rope: float) -> Array:
    """(3,) probabilities that the first of two groups is below, within or above the rope.

    By the value of the first minus that of the second. Lambda is the largest.
    """
    first, second = pair
    chances: Array = count_regions(stands.draws[:, first] - stands.draws[:, second], rope)
    return chances


def _find_group(view: View, meaning: dict[str, str]) -> Group:
    """The group of a view with this meaning."""
    (found,) = (each for each in view.evidence.groups[1:] if each.meaning == meaning)
    return found
