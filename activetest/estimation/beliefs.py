"""Beliefs about the pool of the surrogate that knows every label, for model-based estimates.

Active surrogate estimators take what it expects of the items without a label, or of all, and the
posterior of that. ALT-MAS, eqs. (2) and (3), takes the pool as the passes of a surrogate label it,
and the metric of every pass. A pass is a member of the surrogate. In it every item has the class
that it gives the largest probability, the first of several; of a surrogate that only knows whether
the box is right, the likelier of right and wrong, and with wrong what it expects of a statistic
then. Every item of the pool counts, in every pass, unlike in the posterior: the cost is that of all
members' probabilities of all items.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.evidence import Evidence
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import PassSums, Sample
from activetest.nouns.log import PENDING, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.rounds.fit import (
    find_free_items,
    list_labelled,
    make_generator,
    observe_statistics,
)
from activetest.rounds.weighted import find_counted
from activetest.system.parallel import map_reduce

# Members of the surrogate behind a posterior interval, and rows of the pool they are asked about.
_MEMBERS, _MEMBER_ROWS = 200, 5_000
# Single precision leaves of equal probabilities no more than this between them.
_EQUAL = 1e-6
# Items that show whether a surrogate has learned anything: if not, all classes are alike to it.
_SHOWN = 100
# Probabilities of all members at once.
_NUMBERS = 1 << 23


@dataclass(frozen=True)
class Imputation:
    """The beliefs of the surrogate that knows every label about all items without one.

    mean         (T,) sums of expectations
    posterior    (K, T) members' sums, with labels drawn
    count        number of such items, or the sum of their weights
    statistics   (T,) names
    whole        whether it is about the items with a label, too
    informed     whether the surrogate had anything to learn from
    """

    mean: Array
    posterior: Array
    count: float
    statistics: tuple[str, ...]
    whole: bool = False
    informed: bool = True


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


def is_model_based(estimator: str) -> bool:
    """Whether an estimator believes the surrogate about the items without a label."""
    return bool(catalog.fact("estimators", estimator, "MODEL_BASED"))


def needs_passes(estimator: str) -> bool:
    """Whether a model-based estimator looks at every pass of the surrogate."""
    return bool(catalog.fact("estimators", estimator, "NEEDS_PASSES"))


def add_beliefs(sample: Sample, metric: Metric, estimator: str, evidence: Evidence) -> Sample:
    """The sample of the whole pool with what a model-based estimator needs of the surrogate.

    Raises NotEstimable where the surrogate has learned nothing yet, and for named models.
    """
    if metric.models:
        raise NotEstimable(
            "the surrogate's own view is of one model",
            f"`study.report(model={metric.models[0]!r})`",
        )
    if needs_passes(estimator):
        passes = evidence.compute_once("passes", lambda: sum_passes(evidence))
        return add_passes(sample, metric, passes)
    # Some believe it about the items with a label, too.
    whole = catalog.split_options("estimators", estimator)[1].get("plug_in") == "nothing"
    imputation = evidence.compute_once(
        ("imputation", whole), lambda: impute_unknown(evidence, whole=whole)
    )
    return add_imputation(sample, metric, imputation)


def find_unknown(log: Log, size: int) -> Array:
    """(N,) True where an item has no answer yet, drawn or not; declined items have one."""
    unknown = find_free_items(log, size)
    unknown[log.rows[log.status == PENDING]] = True
    unknown[log.supplied_rows[log.supplied_status == PENDING]] = True
    return unknown


def measure_items(cache: PoolView, rows: Array) -> float:
    """The number of the items at these positions, or the sum of their weights."""
    return float(cache.take(rows).mass.sum()) if cache.roles.get("weight") else len(rows)


def impute_unknown(evidence: Evidence, *, whole: bool = False) -> Imputation:
    """The surrogate's beliefs about the rest of the pool, or about the whole of it.

    The mean is summed over every row; how far members differ from it is measured on at most 10,000
    rows, spread evenly over the unknown ones, and scaled up.
    """
    log, cache, seed = evidence.log, evidence.cache, evidence.seed
    statistics, surrogate = evidence.own_statistics, evidence.surrogate
    free = np.ones(cache.size, bool) if whole else find_unknown(log, cache.size)
    counted = find_counted(cache)
    rest = np.flatnonzero(free if counted is None else free & counted)

    def on_piece(piece: tuple[int, int]) -> Array:
        here = free[slice(*piece)]
        mean = surrogate.expected(cache.rows(*piece), statistics)
        return mean[:, here].sum(axis=1, dtype=float)

    mean = map_reduce(cache.chunks(), on_piece, np.add)
    rng = make_generator(seed, len(log.history) + 1, "posterior")
    members = surrogate.draw_members(_MEMBERS, rng)
    posterior = np.tile(mean, (len(members), 1))
    subset = rest[:: max(1, len(rest) // _MEMBER_ROWS)]
    if len(subset):
        sums, variances = surrogate.totals(cache.take(subset), members, statistics)
        scale = measure_items(cache, rest) / measure_items(cache, subset)
        posterior += (sums - sums.mean(axis=0)) * scale
        posterior += np.sqrt(np.maximum(variances, 0) * scale) * rng.standard_normal(
            posterior.shape
        )
    names = tuple(each.name for each in statistics)
    informed = getattr(surrogate, "informed", True)
    return Imputation(mean, posterior, measure_items(cache, rest), names, whole, informed)


def add_imputation(sample: Sample, metric: Metric, imputation: Imputation) -> Sample:
    """The sample of the whole pool, with the surrogate's beliefs about the rest, or about all.

    Raises NotEstimable where the surrogate had nothing to learn from.
    """
    if sample.unknown and not imputation.informed:
        raise NotEstimable("the surrogate has learned nothing yet", "`study.next(10)`")
    columns = [imputation.statistics.index(each.name) for each in metric.statistics]
    # Items whose label is not known count as answerable.
    answerable = [float(imputation.count)] * (sample.stats.shape[1] - len(columns))
    constant = np.tile(answerable, (len(imputation.posterior), 1))
    # The sum of what is known has the part of items without an answer that is certain.
    certain = 0.0 if sample.certain is None or imputation.whole else sample.certain
    return replace(
        sample,
        surrogate=np.concatenate([imputation.mean[columns], answerable]) - certain,
        posterior=np.hstack([imputation.posterior[:, columns], constant]) - certain,
    )


def check_passes(metric: Metric, estimator: str, cache: PoolView) -> None:
    """Raises NotEstimable where passes are needed of a metric that is no map of sums over items."""
    if not needs_passes(estimator):
        return
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


def sum_passes(evidence: Evidence) -> Passes:
    """The sums of every statistic in every pass of the surrogate that knows all labels."""
    log, cache, seed = evidence.log, evidence.cache, evidence.seed
    statistics, surrogate = evidence.own_statistics, evidence.surrogate
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
        box = rows[augmented[here]]
        stats = observe_statistics(box, box.outputs.pred.astype(float), statistics)
        sums[1] += (stats * box.mass[:, None]).sum(axis=0)
        return sums

    classes = max(len(cache.classes), 2)
    pieces = cache.chunks(max(_NUMBERS // (_MEMBERS * classes), 1))
    sums = PassSums(*map_reduce(pieces, on_piece, np.add))
    without, having = (measure_items(cache, np.flatnonzero(each)) for each in (unknown, known))
    few = surrogate.beliefs(cache.rows(0, min(cache.size, _SHOWN)), statistics, members).known_draws
    informed = bool((few != few[..., :1]).any())
    return Passes(sums, without, having, tuple(each.name for each in statistics), informed)


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
