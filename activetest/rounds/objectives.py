"""The objectives of a round: for each metric, the weighted sum of statistics that it follows.

A metric of several means changes with its items like gradient . h (Sawade 2010; Marchant and
Rubinstein 2021): draws that estimate the mean of that sum well estimate the metric well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from activetest import catalog
from activetest.item_statistics import specification
from activetest.item_statistics.compared import bind_metric, list_told_apart
from activetest.item_statistics.curves import approximate_influence
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic, combine_statistics, statistic
from activetest.nouns.choices import DIFFERENCE, Choices, Selection
from activetest.nouns.expression import parse_expression
from activetest.nouns.log import Log, Objective
from activetest.nouns.pool import PoolView, SeveralModels
from activetest.nouns.rows import Array, Outputs
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import list_labelled, observe_statistics
from activetest.system.parallel import map_reduce

# Rows that determine the shape of a curve that is an objective.
_SHAPE_ROWS = 4096


def list_recorded_statistics(choices: Choices, cache: PoolView) -> tuple[Statistic, ...]:
    """(T,) statistics of the configured metrics, each once: what rounds record sums of."""

    def find() -> tuple[Statistic, ...]:
        facts = specification.describe_pool(cache.roles, choices.costs, cache)
        aims = list_aims(choices, getattr(cache, "models", ()))
        specifications = dict.fromkeys((choices.metric, *choices.also, *choices.metrics, *aims))
        found = {
            each.name: each
            for name in specifications
            for metric in specification.find_metrics(name, facts)
            for each in metric.statistics
        }
        if choices.question and catalog.fact("questions", choices.question, "OF_MODELS"):
            metric = specification.find_metric(choices.metric, facts)
            found |= {each.name: each for each in list_of_models(metric, cache)}
        return tuple(found.values())

    return cache.compute_once(("recorded statistics", choices), find)


def list_of_models(metric: Metric, cache: PoolView) -> tuple[Statistic, ...]:
    """(K,) the statistic of a metric of one mean, of the outputs of each model of the pool."""
    models = cache.models if isinstance(cache, SeveralModels) else ()
    return tuple(bind_metric(metric, each).statistics[0] for each in models)


def find_drawn_classes(
    choices: Choices, pool: Mapping[str, Any], cache: PoolView | None = None
) -> tuple[int, ...] | None:
    """Codes of the predicted classes whose items can change a metric of the choices; None for all.

    pool is what a study keeps of its pool; which classes these are needs no cache.

    Every metric counts that the choices name: what draws aim at, and what else is recorded. Rounds
    that answer a question about groups leave nothing out, and nor do those of items with weights.
    """

    def find() -> tuple[int, ...] | None:
        facts = specification.describe_pool(pool, choices.costs, cache)
        if choices.question is not None or not facts.classes or pool.get("weight") is not None:
            return None
        if DIFFERENCE in choices.draw_for:
            return None
        names = dict.fromkeys((choices.metric, *choices.also, *choices.metrics, *choices.draw_for))
        return specification.find_relevant_classes(names, facts)

    return find() if cache is None else cache.compute_once(("drawn classes", choices), find)


def list_aims(choices: Choices, models: Sequence[str]) -> tuple[str, ...]:
    """Specifications of what items are drawn for, in a study with these models."""
    metric, found = parse_expression(choices.metric).metric, list[str]()
    for each in choices.aims:
        others = models[1:] if each == DIFFERENCE else ()
        found += [f"{metric}({name})-{metric}({models[0]})" for name in others] or [each]
    return tuple(dict.fromkeys(found))


def find_compared_models(choices: Choices, cache: PoolView) -> tuple[str, ...]:
    """The models whose predictions differ on all items that can be drawn; none for all items.

    Without a floor, items are left out that cannot change any of the differences that draws are
    for. Each difference shares a model with another one, so that there is one set of items on which
    not all of the models predict the same.
    """
    at_random = choices.selection == Selection.DRAW and choices.question is None
    if choices.floor or not at_random or cache.roles.get("weight") is not None:
        return ()

    def find() -> tuple[str, ...]:
        facts = specification.describe_pool(cache.roles, choices.costs, cache)
        names = list_aims(choices, facts.models or ())
        pairs = [
            list_told_apart(specification.find_metric(name, facts).statistics) for name in names
        ]
        joined = set(pairs[0])
        for _ in pairs:
            joined.update(*(each for each in pairs if each & joined))
        return tuple(sorted(joined)) if all(each and each <= joined for each in pairs) else ()

    return cache.compute_once(("compared models", choices), find)


def linearise_objective(objective: Objective) -> Statistic:
    """The weighted sum of an objective, as one statistic."""
    return combine_statistics(find_statistics(objective), objective.weights)


def find_statistics(objective: Objective) -> tuple[Statistic, ...]:
    """(d,) the statistics of an objective."""
    return tuple(map(statistic, objective.statistics))


def find_objectives(
    log: Log, cache: PoolView, surrogate: Surrogate, choices: Choices, free: Array
) -> tuple[Objective, ...]:
    """One objective per metric, its total still 0; free (N,) as in fit.find_free_items.

    The gradient is taken where the surrogate believes the means to be: one more pass, for metrics
    of several means only.
    """

    def find() -> list[Metric]:
        facts = specification.describe_pool(cache.roles, choices.costs, cache)
        names = list_aims(choices, getattr(cache, "models", ()))
        return [specification.find_metric(name, facts) for name in names]

    metrics = [
        _linearise_curve(metric, cache.classes, cache, surrogate) if metric.refine else metric
        for metric in cache.compute_once(("objectives", choices), find)
    ]
    several = {
        each.name: each
        for metric in metrics
        if len(metric.statistics) > 1
        for each in metric.statistics
    }
    means = _estimate_means(log, cache, surrogate, tuple(several.values()), free) if several else {}
    return tuple(_make_objective(metric, means) for metric in metrics)


def _make_objective(metric: Metric, means: dict[str, float]) -> Objective:
    names = tuple(each.name for each in metric.statistics)
    if len(names) == 1:
        return Objective(names, (1.0,), 0.0)
    weights = metric.gradient(np.array([means[name] for name in names]))
    if not np.isfinite(weights).all() or not weights.any():
        # The metric is not defined where the means are: any of its parts may change that.
        weights = np.ones(len(names))
    return Objective(names, tuple(map(float, weights)), 0.0)


def _linearise_curve(
    metric: Metric, classes: tuple[str, ...], cache: PoolView, surrogate: Surrogate
) -> Metric:
    """A curve's metric as one mean, linear around what the surrogate believes."""
    if metric.refine is None or metric.class_name is None:
        raise ValueError(f"{metric.title} is no curve of one class")
    outputs, labels, weights = expand_beliefs(cache, surrogate)
    code = classes.index(metric.class_name)
    refined = metric.refine(outputs, labels, weights)
    return replace(
        refined, statistics=(approximate_influence(refined, code, outputs.known_probs[:, code]),)
    )


def expand_beliefs(cache: PoolView, surrogate: Surrogate) -> tuple[Outputs, Array, Array]:
    """Outputs, labels and weights that stand for the pool as the surrogate sees it.

    Some of its rows, each once for every class, weighted by how probable that is.
    """
    rows = cache.take(np.arange(0, cache.size, max(1, cache.size // _SHAPE_ROWS)))
    classes = len(cache.classes)
    truths = tuple(
        combine_statistics([statistic(f"tp:{code}"), statistic(f"fn:{code}")], (1.0, 1.0))
        for code in range(classes)
    )
    probs = surrogate.expected(rows, truths)
    index = np.tile(np.arange(len(rows.index)), classes)
    return rows.outputs[index], np.repeat(np.arange(classes), len(rows.index)), probs.ravel()


def _estimate_means(
    log: Log, cache: PoolView, surrogate: Surrogate, statistics: tuple[Statistic, ...], free: Array
) -> dict:
    """{name: mean over the pool}, of known labels as they are and of expectations for the rest."""

    def on_piece(piece: tuple[int, int]) -> Array:
        rows, here = cache.rows(*piece), free[slice(*piece)]
        mean = surrogate.expected(rows, statistics)
        return np.append((mean * here).sum(axis=1, dtype=float), rows.mass @ here)

    total = map_reduce(cache.chunks(), on_piece, np.add)
    positions, labels = list_labelled(log)
    rows = cache.take(positions)
    stats = observe_statistics(rows, labels, statistics) * rows.mass[:, None]
    total = total + np.append(stats.sum(axis=0), rows.mass.sum())
    return {each.name: value / total[-1] for each, value in zip(statistics, total, strict=False)}
