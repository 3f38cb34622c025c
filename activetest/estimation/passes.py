"""The pool as the passes of a surrogate label it, and the metric of every pass.

ALT-MAS, eqs. (2) and (3). A pass is a member of the surrogate. In it every item has the class that
it gives the largest probability, the first of several; of a surrogate that only knows whether the
box is right, the likelier of right and wrong, and with wrong what it expects of a statistic then.
Every item of the pool counts, in every pass, unlike in the posterior of `estimate.impute_unknown`:
the cost is that of all members' probabilities of all items.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.known_items import find_unknown, measure_items
from activetest.estimation.samples import Evidence
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import Estimate, PassSums, Sample
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array, Rows
from activetest.rounds.fit import list_labelled, make_generator, observe_statistics
from activetest.system.parallel import map_reduce

# Members of a surrogate that draws them; one that has fewer of them shows all it has.
_MEMBERS = 200
# Single precision leaves of equal probabilities no more than this between them.
_EQUAL = 1e-6
# Items that show whether a surrogate has learned anything: if not, all classes are alike to it.
_SHOWN = 100
# Probabilities of all members at once.
_NUMBERS = 1 << 23


@dataclass(frozen=True)
class Passes:
    """Sums of T statistics over the pool in each of K passes.

    sums             (K, T) of each kind
    unknown, known   number of items without and with a label, or the sums of their weights
    statistics       (T,) names
    informed         whether any pass finds one class more probable than another
    """

    sums: PassSums
    unknown: float
    known: float
    statistics: tuple[str, ...]
    informed: bool = True


def check_passes(metric: Metric, cache: PoolView) -> None:
    """Raises NotEstimable for a metric that is not computed of sums over labelled items."""
    if not cache.classes:
        raise NotEstimable(
            "no passes: each gives items their most probable class, and this pool predicts values",
            '`study.report(estimators=["ase"])`',
        )
    if metric.refine:
        raise NotEstimable(
            f"no passes: they are sums over items, and {metric.title} is an area under a curve",
            '`study.report(estimators=["ase"])`',
        )


def sum_passes(evidence: Evidence, cache: PoolView, *, seed: int) -> Passes:
    """The sums of every statistic in every pass of the surrogate that knows all labels."""
    log, statistics, surrogate = evidence.log, evidence.statistics, evidence.surrogate
    members = surrogate.draw_members(_MEMBERS, make_generator(seed, len(log.history) + 1, "passes"))
    unknown, known = find_unknown(log, cache.size), np.zeros(cache.size, bool)
    known[list_labelled(log)[0]] = True
    # Positions of the items that the surrogate learned the box's label of, if it did.
    found = getattr(surrogate, "augmented", None)
    augmented = np.zeros(cache.size, bool)
    if found is not None:
        augmented[np.asarray(found, int)] = True
    augmented &= unknown

    def on_piece(piece: tuple[int, int]) -> Array:
        here = slice(*piece)
        rows = cache.rows(*piece)
        beliefs = surrogate.beliefs(rows, statistics, members)
        masks = np.column_stack([unknown[here], unknown[here] & ~augmented[here], known[here]])
        chosen = find_nearly_largest(beliefs.known_draws, axis=2, error=_EQUAL)
        sums = np.empty((3, len(chosen), len(statistics)))
        place = np.arange(chosen.shape[1]) * beliefs.probs.shape[1] + chosen
        for t, values in enumerate(beliefs.outcome_values):
            sums[..., t] = (np.take(values, place) @ masks.astype(float)).T
        sums[1] += _sum_box_labels(rows[augmented[here]], evidence)
        return sums

    classes = max(len(cache.classes), 2)
    pieces = cache.chunks(max(_NUMBERS // (_MEMBERS * classes), 1))
    sums = PassSums(*map_reduce(pieces, on_piece, np.add))
    without, having = (measure_items(cache, np.flatnonzero(each)) for each in (unknown, known))
    few = surrogate.beliefs(cache.rows(0, min(cache.size, _SHOWN)), statistics, members).known_draws
    informed = bool((few != few[..., :1]).any())
    return Passes(sums, without, having, tuple(each.name for each in statistics), informed)


def _sum_box_labels(rows: Rows, evidence: Evidence) -> Array:
    """(T,) sums of the statistics of rows whose labels are what the box says."""
    stats = observe_statistics(rows, rows.outputs.pred.astype(float), evidence.statistics)
    return np.asarray((stats * rows.mass[:, None]).sum(axis=0))


def add_passes(sample: Sample, metric: Metric, passes: Passes) -> Sample:
    """The sample of the whole pool, with the sums of the metric's statistics in every pass.

    Raises NotEstimable where passes would say of unknown items what nothing has told them.
    """
    if sample.unknown and not passes.informed:
        raise NotEstimable(
            "the surrogate has learned nothing yet: to every pass all classes are equally probable",
            "`study.next(10)`",
        )
    columns = [passes.statistics.index(each.name) for each in metric.statistics]
    certain = 0.0 if sample.certain is None else sample.certain

    def choose(sums: Array, count: float) -> Array:
        # Items whose label is not known count as answerable.
        answerable = np.full((len(sums), sample.stats.shape[1] - len(columns)), count)
        return np.hstack([sums[:, columns], answerable])

    sums = passes.sums
    return replace(
        sample,
        passes=PassSums(
            choose(sums.unknown, passes.unknown) - certain,
            choose(sums.augmented, passes.unknown) - certain,
            choose(sums.known, passes.known) + certain,
        ),
    )


def average_passes(means: Estimate, metric: Metric, bounds: tuple[float, float]) -> Estimate:
    """The estimate (d = 1) of the metric's map of (d,) means: its mean over the K draws of them.

    Draws in which it has no value are left out. Raises NotEstimable where it has none in any.
    """
    if means.draws is None:
        raise ValueError("an estimate without draws has no mean over them")
    values = metric.smooth(np.clip(means.draws, *means.limits))
    found = values[np.isfinite(values)]
    if not len(found):
        raise NotEstimable(
            metric.undefined or "it is not defined for these labels", "`study.next(10)`"
        )
    spread = found.var(ddof=1) if len(found) > 1 else 0.0
    limits = means.limits if means.limits.shape[1] == 1 else np.array([bounds]).T
    return replace(
        means,
        mean=np.array([found.mean()]),
        variance=np.array([[spread]]),
        terms=np.empty((0, 1)),
        guess=np.empty((0, 1)),
        limits=limits,
        draws=found[:, None],
        undefined=len(values) - len(found),
    )
