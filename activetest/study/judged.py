"""Models that gates judge by the same labels: how verdicts share the error, and labels wear out.

A model that comes after draws may owe its good numbers to these very labels, if it was chosen by
them. Draws that came after it tell of it alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from activetest.cache.cache import Cache
from activetest.errors import NotEstimable
from activetest.estimation.spending import share_among_models
from activetest.estimation.view import View, build_view
from activetest.item_statistics.metric import Metric
from activetest.nouns.log import LABELLED, supply_draws_before
from activetest.nouns.name_lists import join_names
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import Gate, LaterDraws, Note, Weight
from activetest.nouns.study_lists import Model
from activetest.reporting.gate_values import measure_gate
from activetest.reporting.requirements import Requirement
from activetest.reporting.rows import HEADLINE, estimate_row
from activetest.reporting.verdicts import find_subject
from activetest.study.comparison import (
    count_declared,
    join_models,
    list_model_names,
    list_models,
)
from activetest.study.declared import record_gates
from activetest.study.hindsight import HindsightStudy
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy

Gates = Sequence[tuple[Requirement, Metric]]


def count_sharing(study: StoredStudy) -> int | None:
    """Number of models that share most of the error alike; None where each has its own."""
    if not study.choices.share_error:
        return None
    return max(study.choices.candidates or 0, count_declared(study))


def set_level(study: StoredStudy, requirement: Requirement) -> Requirement:
    """The requirement at the level of its model, where models share the error."""
    sharing = count_sharing(study)
    names = [each.name for each in study.list_models()]
    judged = name_judged(study, requirement)
    if sharing is None or judged not in names:
        return requirement
    share = share_among_models(names.index(judged) + 1, sharing)
    if isinstance(study, HindsightStudy):
        return replace(requirement, level=study.find_level(1 - (1 - study.usual) * share))
    return replace(requirement, level=1 - (1 - study.choices.level) * share)


def name_judged(study: StoredStudy, requirement: Requirement) -> str:
    """The model that a gate judges; of a difference the first one."""
    return (*requirement.models, list_model_names(study)[0])[0]


def list_judged(study: StoredStudy, requirements: Sequence[Requirement]) -> list[str]:
    """Models that gates were asked of, in the order of their first ones; these come last."""
    own = study.list_models()[0].name
    before = [str(gate.expression.get("model", own)) for gate in study.ledger.gates()]
    return list(dict.fromkeys([*before, *(name_judged(study, each) for each in requirements)]))


def record_judged(
    study: StoredStudy,
    requirements: Sequence[Requirement],
    kinds: Sequence[str],
    *,
    source: str,
    conditions: Mapping[str, Any],
) -> list[Note]:
    """As declared.record_gates, about the model of the study; nothing in hindsight."""
    if isinstance(study, HindsightStudy):
        return []
    return record_gates(
        *(study.ledger, requirements, kinds),
        level=study.choices.level,
        source=source,
        conditions={**conditions, "share_error": count_sharing(study)},
        model=study.model_name if isinstance(study, ModelStudy) else None,
    )


def describe_judged(
    study: StoredStudy, cache: Cache, view: View, required: Gates, gates: Sequence[Gate]
) -> tuple[tuple[Gate, ...], list[Note]]:
    """The gates with what draws since their models came say, and a note on how labels wear.

    view  the one by which the gates were decided

    Of the first model that gates were asked of, nothing is said.
    """
    if isinstance(study, HindsightStudy):
        return tuple(gates), study.list_notes()
    requirements = [requirement for requirement, _ in required]
    judged = list_judged(study, requirements)
    here = [name_judged(study, each) for each in requirements]
    late = [name for name in judged[1:] if name in here]
    if not late:
        return tuple(gates), []
    models = {each.name: each for each in study.list_models()}
    views: dict[str, View] = {}
    found = list(gates)
    for place, name in enumerate(here):
        model = models[name]
        if name not in late or not model.rounds or model.trained:
            continue
        if name not in views:
            about = [
                metric for each, (_, metric) in zip(here, required, strict=True) if each == name
            ]
            views[name] = _view_since(study, cache, view, model, about)
        found[place] = replace(gates[place], since_added=_measure(views[name], *required[place]))
    return tuple(found), [_write_note(study, judged, late)]


def _view_since(
    study: StoredStudy, cache: Cache, view: View, model: Model, metrics: list[Metric]
) -> View:
    """The view in which labels that are older than a model are known items, and no draws."""
    if isinstance(study, ModelStudy) and study.model.name == model.name:
        log = ModelStudy(study.base, replace(model, trained=True)).log(cache)
    else:
        log = supply_draws_before(view.log, model.rounds + 1)
    pool = join_models(study, cache, log, list_models(metrics))
    return build_view(
        *(log, pool, study.choices, metrics),
        seed=study.seed,
        own_view=False,
        population=view.population,
    )


def _measure(view: View, requirement: Requirement, metric: Metric) -> LaterDraws:
    """The number of a gate in a view of later draws."""
    labels = int((view.log.status == LABELLED).sum())
    level, subject = view.choices.level, find_subject(view, requirement)
    if subject.against is None:
        row = estimate_row(view, metric, HEADLINE, subject.group, level=level)
        return LaterDraws(row.quantity, labels)
    nothing = Quantity(None, None, None, level, "none")
    try:
        found = measure_gate(view, metric, subject)
    except NotEstimable:
        return LaterDraws(nothing, labels)
    interval = found.find_interval(level)
    enough = found.check_interval(interval)
    return LaterDraws(found.describe(interval, nothing, reliable=enough), labels)


def _write_note(study: StoredStudy, judged: Sequence[str], late: Sequence[str]) -> Note:
    """How many models the labels judged before these, and what that does to the error."""
    places = [_write_place(judged.index(name) + 1) for name in late]
    if len(late) == 1:
        text = f"{late[0]} is the {places[0]} model that is judged by these labels"
    else:
        text = f"{join_names(late)} are the {join_names(places)} models that these labels judge"
    count, level = judged.index(late[-1]) + 1, study.choices.level
    chance = 100 * (1 - level if study.choices.share_error else 1 - level**count)
    words = f"at least one of {count} bad ones would pass in up to {chance:.2g} %"
    if study.choices.share_error:
        words = f"models share the error, so that a bad one passes in at most {chance:.2g} %, "
        words += "however many there are"
    return Note(f"{text}: {words}.", Weight.ANSWER)


def _write_place(number: int) -> str:
    """A number as 1st, 2nd, 3rd, 4th ..., 11th, ... 21st."""
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
