"""The groups of a task: the value of each, and how they rank."""

from dataclasses import dataclass

import numpy as np

from activetest.bandits.arms import Arms
from activetest.bandits.counts import GroupCounts
from activetest.bandits.credible import intervals
from activetest.bandits.ranks import Ranks, draws, ranks
from activetest.estimation.view import View
from activetest.item_statistics.metric import Metric
from activetest.nouns.group_report import Ranked
from activetest.nouns.rows import Array
from activetest.reporting.rows import HEADLINE, measured

# Draws of the posterior that probabilities and ranks rest on.
_DRAWS = 10_000
POSTERIOR, EXACT, PSEUDO, NONE = "posterior", "exact", "pseudo-posterior", "none"


@dataclass(frozen=True)
class Standing:
    """What is known of A groups.

    arms       their counts
    known      (A,) labels
    items      (A,) items that can be answered
    method     (A,) as in report_groups.Ranked
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
    def there(self) -> int:
        """Groups that have an item: the first so many in the order."""
        return int((self.items > 0).sum())

    @property
    def rmse(self) -> float:
        """Root of the mean over items of the squared errors that draws give the estimates."""
        apart = self.draws - np.nan_to_num(self.estimate)
        square = np.einsum("sa,sa->a", apart, apart) / len(apart)
        return float(np.sqrt(square @ self.items / max(self.items.sum(), 1)))


def standing(
    made: GroupCounts, view: View | None, metric: Metric, level: float, rng: np.random.Generator
) -> Standing:
    """Where the groups stand.

    view    sees the metric of the groups whose labels were not drawn uniformly inside: their values
            are the doubly robust estimates, with normal errors. None where there are no such groups
    """
    arms = made.arms
    items, rest = (arms.total(each.astype(float)) for each in (arms.size, arms.rest))
    method = np.full(len(items), POSTERIOR, dtype=object)
    method[rest == 0] = EXACT
    method[items == 0] = NONE
    lines = {}
    for place in np.flatnonzero(made.weighted & (rest > 0)):
        line, variance = measured(view, metric, _group(view, arms.meaning[place]))
        told = line.estimate is not None and line.lower is not None and np.isfinite(variance)
        method[place] = HEADLINE if told else PSEUDO
        if told:
            lines[place] = line, variance
    drawn = np.nan_to_num(draws(arms, _DRAWS, rng), copy=False)
    estimate, lower, upper = intervals(arms, drawn, level, rng)
    for place, (line, variance) in lines.items():
        normal = line.estimate + np.sqrt(variance) * rng.standard_normal(len(drawn))
        drawn[:, place] = np.clip(normal, metric.lower, metric.upper)
        estimate[place], lower[place], upper[place] = line.estimate, line.lower, line.upper
    order = np.lexsort((-arms.worse * np.nan_to_num(estimate), items == 0))
    known = arms.total(made.labelled)
    return Standing(arms, known, items, method, drawn, estimate, lower, upper, order)


def ranking(
    stands: Standing, worst: int, level: float, rng: np.random.Generator
) -> tuple[tuple[Ranked, ...], Ranks]:
    """The groups, the worst first, and their ranks in that order."""
    there = stands.order[: stands.there]
    found = ranks(stands.draws, there, stands.arms.worse, worst, level, rng)
    listed = []
    for rank, place in enumerate(stands.order):
        some = rank < len(there)
        listed.append(
            Ranked(
                group=stands.arms.meaning[place],
                n_pool=int(stands.items[place]),
                n_labeled=int(stands.known[place]),
                estimate=float(stands.estimate[place]) if some else None,
                lower=float(stands.lower[place]) if some else None,
                upper=float(stands.upper[place]) if some else None,
                rank=rank + 1,
                p_worst=float(found.worst[rank]) if some else None,
                p_best=float(found.best[rank]) if some else None,
                p_among_worst=float(found.among[rank]) if some else None,
                rank_lower=int(found.lower[rank]) if some else None,
                rank_upper=int(found.upper[rank]) if some else None,
                method=str(stands.method[place]),
            )
        )
    return tuple(listed), found


def _group(view: View, meaning: dict):
    """The group of a view with this meaning."""
    (found,) = (each for each in view.evidence.groups[1:] if each.meaning == meaning)
    return found
