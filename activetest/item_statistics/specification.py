"""Specifications of metrics: a name, and what stands in brackets after it, as in recall[fraud]."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, UnknownMethod
from activetest.item_statistics.compared import bind_metric, counts_mistakes, subtract_models
from activetest.item_statistics.metric import Facts, Metric
from activetest.item_statistics.relevance import find_certain
from activetest.item_statistics.statistic import Statistic, sum_over_models
from activetest.nouns.expression import parse_expression
from activetest.nouns.name_lists import join_names
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs


def split_specification(specification: str) -> tuple[str, str | None]:
    """Name and argument. Raises ChoiceError for brackets that do not match."""
    name, bracket, rest = specification.partition("[")
    if not bracket:
        return name.strip(), None
    if not rest.endswith("]") or not rest[:-1].strip() or set(rest[:-1]) & set("[]"):
        raise ChoiceError(
            f"{specification!r} is no metric: its brackets do not match",
            "write it like 'recall[fraud]'",
        )
    return name.strip(), rest[:-1].strip()


def find_metrics(specification: str, facts: Facts) -> tuple[Metric, ...]:
    """The metrics of a specification in a pool with these facts: usually one metric.

    Raises UnknownMethod for a name that no metric has, ChoiceError for one that this pool lacks,
    and for a model that the study lacks.
    """
    expression = parse_expression(specification)
    if expression.parts:
        raise ChoiceError(
            f"{specification!r} is about one part of the population, and only gates are",
            f"`study.report(metrics={expression.metric!r}, part={expression.parts[0]!r})`",
        )
    if expression.models:
        return tuple(
            _find_of_models(each, expression.models, facts)
            for each in find_metrics(expression.metric, facts)
        )
    name, argument = split_specification(specification)
    if name not in catalog.names("metrics"):
        raise UnknownMethod(
            f"there is no metric {name!r}",
            catalog.nearest(name, list_metric_names(facts.task)),
        )
    if catalog.fact("metrics", name, "TASK") not in (None, facts.task):
        raise ChoiceError(
            f"a {facts.task} pool has no metric {name!r}",
            catalog.nearest(name, list_metric_names(facts.task)),
        )
    found: tuple[Metric, ...] = catalog.load("metrics", name).metrics(facts, argument)
    return found


def check_models(names: Iterable[str], known: Sequence[str]) -> None:
    """Raises ChoiceError for a model that is none of those that a study has."""
    for name in names:
        if name not in known:
            raise ChoiceError(
                f"this study has no model {name!r}: "
                + (f"its models are {join_names(known)}" if known else "it has one alone"),
                f"`study.add({name!r}, 'FILE')` adds one",
            )


def _find_of_models(metric: Metric, models: tuple[str, ...], facts: Facts) -> Metric:
    """The metric of these models' outputs. Raises ChoiceError for one that the study lacks."""
    known = facts.models
    if known is not None:
        check_models(models, known)
    if known and models == known[:1]:
        return metric
    if facts.open_classes and not counts_mistakes(metric):
        raise ChoiceError(
            f"{metric.title} is not compared between models of which each may predict classes of "
            "its own",
            "compare errors or accuracies, or name all `classes` in a study of its own",
        )
    return bind_metric(metric, *models) if len(models) == 1 else subtract_models(metric, *models)


def find_metric(specification: str, facts: Facts) -> Metric:
    """The one metric that is meant. Raises ChoiceError where it is several."""
    found = find_metrics(specification, facts)
    if len(found) != 1:
        raise ChoiceError(
            f"{specification!r} is {len(found)} metrics, and one is needed",
            f"name one of them, for example {found[0].title!r}; "
            f"`study.report(metrics=[{specification!r}])` shows all",
        )
    return found[0]


def find_objective_metric(specification: str, facts: Facts) -> Metric:
    """The one metric that draws can aim at. Raises ChoiceError for an average of curves."""
    metric = find_metric(specification, facts)
    if metric.refine and metric.class_name is None:
        raise ChoiceError(
            f"draws cannot aim at {specification!r}, an average of curves",
            "name one class; report takes any metric",
        )
    return metric


def find_scale(specifications: Iterable[str]) -> str | None:
    """The brackets of the first mean label of these; None without such a mean."""
    found = (split_specification(parse_expression(each).metric) for each in specifications)
    return next((argument for name, argument in found if name == "mean"), None)


def find_task(specifications: Iterable[str]) -> str | None:
    """The one task that metrics of all these names have; None where any may have another."""
    names = {each.partition("[")[0].strip() for each in specifications}
    known = {*catalog.names("metrics")}
    tasks = {catalog.fact("metrics", name, "TASK") if name in known else None for name in names}
    return tasks.pop() if len(tasks) == 1 else None


def why_not_bettable(metric: Metric) -> str | None:
    """Why there are no bets on a metric, or None."""
    if metric.given_shares is not None:
        return None
    if metric.ratio is None:
        return f"{metric.title} has no interval that is valid at every look"
    about = metric.against or metric
    if not np.isfinite([[each.lower, each.upper] for each in about.statistics]).all():
        value = "a label can be" if about.of_labels else "one item can cost"
        return f"{metric.title} has no bound on what {value}"
    return None


def suggest_bound(metric: Metric) -> str:
    """How to say what bounds a metric that has no bets, in a few words; empty for no mean."""
    if metric.ratio is None:
        return ""
    about = metric.against or metric
    if about.of_labels:
        return f"'{about.name}[0,1]' says that labels lie between 0 and 1"
    return "`bound` says what one item can cost"


def bound_losses(metric: Metric, bound: float) -> Metric:
    """The metric with losses beyond the bound counted as the bound; itself where it has its own.

    Only for a mean: a map of one, such as rmse, has no bets whatever its bound. A label is no loss:
    a mean of labels, and a judge's own minus it, stay as they are.
    """
    if metric.of_labels or metric.against is not None:
        return metric
    statistics = tuple(_clip_losses(each, bound) for each in metric.statistics)
    if metric.ratio is None or statistics == metric.statistics:
        return metric
    above = np.array(metric.ratio[0])
    ends = above[0] + above[1:] @ np.array([[each.lower, each.upper] for each in statistics])
    lower, upper = float(ends.min()), float(ends.max())
    return replace(metric, statistics=statistics, lower=lower, upper=upper)


def find_relevant_classes(names: Iterable[str], facts: Facts) -> tuple[int, ...] | None:
    """Codes of the predicted classes whose items can change one of these metrics; None for all.

    Raises as find_metrics does.
    """
    found: set[int] = set()
    for name in names:
        for metric in find_metrics(name, facts):
            certain = find_certain(metric, len(facts.classes), open_classes=facts.open_classes)
            if certain is None:
                return None
            found |= certain.classes
    return tuple(sorted(found)) if len(found) < len(facts.classes) else None


def list_metric_names(task: str) -> list[str]:
    """The metrics of a task."""
    return [
        name
        for name in catalog.names("metrics")
        if catalog.fact("metrics", name, "TASK") in (None, task)
    ]


def describe_pool(
    pool: Mapping[str, Any],
    costs: tuple[tuple[float, ...], ...] | None = None,
    cache: PoolView | None = None,
) -> Facts:
    """Facts of a pool with these roles; its scores are read from the cache.

    pool is what a study keeps of it, costs (C, C) or None. Without a cache any scores will do: the
    metrics are then only good for seeing whether they exist.
    """
    classes = tuple(pool.get("classes", ())) if cache is None else cache.classes
    positive = pool.get("positive")
    code = None
    if len(classes) == 2:
        code = classes.index(positive) if positive in classes else 1
    return Facts(
        task=pool["task"],
        classes=classes,
        positive=code,
        probabilities=pool["task"] == "classification" and pool["kind"] != "pred",
        deviation=pool.get("std") is not None,
        costs=costs,
        scores=_any_scores if cache is None else cache.scores,
        center=0.0 if cache is None else cache.center,
        weights=partial(_read_weights, cache) if cache and pool.get("weight") else None,
        open_classes=bool(pool.get("open_classes")),
        judge=pool.get("judge") is not None,
        models=None if cache is None else getattr(cache, "models", ()),
    )


def _read_weights(cache: PoolView) -> Array:
    """(N,) weights of the items."""

    def read_all() -> Array:
        return np.concatenate([cache.rows(*piece).mass for piece in cache.chunks()])

    return cache.compute_once("weights of items", read_all)


def _any_scores(code: int | None) -> Array:
    return np.linspace(0, 1, 101)


def _clip_losses(each: Statistic, bound: float) -> Statistic:
    if np.isfinite([each.lower, each.upper]).all():
        return each
    if each.terms:
        parts = tuple(
            (model, _clip_losses(loss, bound), share) for model, loss, share in each.terms
        )
        return sum_over_models(f"{each.name} within {bound!r}", parts)
    low, high = max(each.lower, -bound), min(each.upper, bound)

    def value(outputs: Outputs, labels: Array | None) -> Array:
        return np.clip(each.value(outputs, labels), low, high)

    # Never recorded: the name only tells it from the others.
    return Statistic(f"{each.name} within {bound!r}", value, low, high, graded=True)
