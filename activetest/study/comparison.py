"""Several models in one report: which numbers are of which, and the pool that has all of them."""

import math
from collections.abc import Iterable, Sequence

from activetest.cache.aligned import align_items
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError
from activetest.estimation.view import ANYTIME
from activetest.item_statistics import specification
from activetest.item_statistics.compared import bind_metric, counts_mistakes, subtract_models
from activetest.item_statistics.metric import Metric
from activetest.nouns.choices import DIFFERENCE, Choices
from activetest.nouns.expression import parse_expression
from activetest.nouns.log import Log
from activetest.nouns.name_lists import join_names
from activetest.rounds.compared_pool import ComparedPool, list_drawn_for
from activetest.sampling.question import compares_models, describe_objective, find_fact
from activetest.study.findings import Context, Finding, open_findings
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy


def list_model_names(study: StoredStudy) -> tuple[str, ...]:
    """The names of the study's models, that of the outputs at hand first."""
    own = study.model_name
    return (own, *(each.name for each in study.list_models() if each.name != own))


def compare_models(
    metrics: Sequence[Metric],
    reference: str | None,
    models: Sequence[str],
    *,
    open_classes: bool = False,
) -> list[Metric]:
    """Every other model's metrics, and their differences to those of a reference.

    models are all of them, that of the outputs at hand first. Areas under curves are left out, and
    what is of the labels alone, as a rate: it is the same for every model. So is all but the share
    of mistakes where each model may predict classes of its own.
    Raises ChoiceError for a reference that is none of them, or the only one.
    """
    if reference is None:
        return []
    own, others = models[0], [name for name in models if name != reference]
    if reference not in models:
        raise ChoiceError(
            f"this study has no model {reference!r}: its models are {join_names(models)}",
            f"`reference={own!r}`",
        )
    if not others:
        raise ChoiceError(
            f"{reference!r} is the only model of this study, and there is none to compare it with",
            "`study.add('v2', 'FILE')` adds one",
        )
    found = []
    for metric in metrics:
        alike = metric.refine is None and not (metric.models or metric.of_labels)
        if alike and (counts_mistakes(metric) or not open_classes):
            found += [bind_metric(metric, each) for each in models if each != own]
            found += [subtract_models(metric, each, reference) for each in others]
    return found


def list_differing(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The reference of differences, and then the models that they are of; none without any."""
    pairs = [each.models for each in metrics if len(each.models) > 1]
    return tuple(dict.fromkeys([*(each[1] for each in pairs), *(each[0] for each in pairs)]))


def list_models(metrics: Sequence[Metric]) -> set[str]:
    """The names of the models that metrics are of, where they name any."""
    return {name for metric in metrics for name in metric.models}


def list_named_models(choices: Choices, known: Iterable[str] = ()) -> set[str]:
    """The models that choices name in metrics, and in what draws aim at; known are all of them."""
    metrics = (choices.metric, *choices.also, *choices.draw_for)
    named = {name for each in metrics for name in parse_expression(each).models}
    return named.union(known) if DIFFERENCE in choices.draw_for else named


def list_compared(study: StoredStudy) -> list[str]:
    """The names of the study's models that labels of the study took no part in making."""
    return [each.name for each in study.list_models() if not each.trained]


def count_declared(study: StoredStudy) -> int:
    """Number of models that a study had before its first draw."""
    return sum(not each.rounds for each in study.list_models())


def join_models(
    study: StoredStudy, cache: Cache, log: Log, named: Iterable[str] = ()
) -> Cache | ComparedPool:
    """The pool with the outputs of these models and of those that draws were or are made for.

    It is the pool itself where there are no others. Raises ChoiceError for a model that labels of
    the study took part in making: its numbers rest on other draws than those of the others.
    """
    own, *others = list_model_names(study)
    drawn_for = {name for each in log.history for name in list_drawn_for(each)}
    trained = {each.name for each in study.list_models() if each.trained}
    needed = {*named, *drawn_for, *list_named_models(study.choices, list_compared(study))}
    if is_of_models(study.choices):
        needed |= {*list_compared(study)}
    for name in sorted(trained & (needed | ({own} if needed else set()))):
        raise ChoiceError(
            f"labels of this study took part in making {name}: its numbers rest on draws that came "
            "after it, and are not compared with others that rest on all",
            f"`study.report(model={name!r})`",
        )
    pools = {
        name: align_items(cache, study.of_model(name).known_cache())
        for name in others
        if name in needed
    }
    return ComparedPool(own, cache, pools, log, study.further_classes) if pools else cache


def check_models(study: StoredStudy | None, choices: Choices, models: Sequence[str] = ()) -> None:
    """Raises ChoiceError where draws are to aim at a model that the study lacks.

    study is None for one that is made, which begins with these models.
    """
    known, compared = (list_model_names(study), list_compared(study)) if study else (models, models)
    specification.check_models(sorted(list_named_models(choices)), known)
    if DIFFERENCE in choices.draw_for and len(compared) < 2:
        raise ChoiceError(
            f"`draw_for={DIFFERENCE!r}` compares models, and {known[0]} has none beside it",
            "`study.add('v2', 'FILE')` adds one",
        )


def describe_aims(choices: Choices) -> tuple[str, ...]:
    """A sentence on the metrics that draws without a floor say nothing about, where there are any.

    Items are left out then on which models do the same.
    """
    if choices.floor or not compares_models(choices.aims):
        return ()
    named = dict.fromkeys((choices.metric, *choices.also, *choices.metrics))
    others = [each for each in named if len(parse_expression(each).models) < 2]
    return (
        f"floor 0: items on which the models do the same are not drawn, and {join_names(others)} "
        "of single models, also of later ones, have no estimate from such draws",
    )


def describe_draws_for_models(choices: Choices) -> str:
    """A sentence on what items are drawn for once a further model came."""
    if DIFFERENCE in choices.draw_for:
        return "items are drawn for its difference to the first model, too"
    objective = describe_objective(choices)
    return f"items are drawn for {objective} as before; `draw_for={DIFFERENCE!r}` compares models"


def check_rope(rope: float | None, reference: str | None, level: float) -> None:
    """Raises ChoiceError for a rope that is no size, or has nothing to compare."""
    if rope is None:
        return
    if not 0 < rope < math.inf:
        raise ChoiceError(f"`rope` is {rope}", "it is above zero, for example 0.01")
    if reference is None:
        raise ChoiceError(
            "`rope` is about differences between models, and there is no reference",
            "name one: `study.report(reference='model', rope=0.01)`",
        )
    if level <= 0.5:
        raise ChoiceError(
            f"`rope` needs a level above 0.5, and this study has {level:g}", "leave `rope` out"
        )


def is_of_models(choices: Choices) -> bool:
    """Whether the study's question is about all of its models."""
    return bool(find_fact(choices.question, "OF_MODELS"))


def check_several(study: StoredStudy | None, choices: Choices, models: Sequence[str]) -> None:
    """Raises ChoiceError for a question about several models where there is one.

    models are those that a new study begins with.
    """
    if is_of_models(choices) and len(study.list_models() if study else models) < 2:
        raise ChoiceError(
            f"the question {choices.question} is about several models, and this study has one",
            "`study.add('v2', 'FILE')` adds one" if study else "name the others with `models`",
        )


def list_findings(about: Context) -> list[Finding]:
    """The findings of a report: none on a further model, for they are about the first one.

    None either over several parts of the population: each is of one log of draws.
    """
    several = len(about.cache.part_ends) > 1
    return [] if isinstance(about.study, ModelStudy) or several else [*open_findings(about)]


def check_model_report(study: StoredStudy, *, gates: bool, kind: str, surface: bool) -> None:
    """Raises ChoiceError where a report on a further model is to say more than it can.

    How likely other items were to be drawn follows from the outputs of the model that the draws
    were made for: bets, and answers to the study's question, are about that one.
    """
    if not isinstance(study, ModelStudy):
        return
    name = study.model.name
    if surface:
        raise ChoiceError(
            f"the surface of this study is of its first model, and not of {name}",
            "leave out `surface`, `at` and `maps`",
        )
    if gates or kind == ANYTIME:
        raise ChoiceError(
            f"a report on {name} alone holds for one look, and has no gates at every look",
            f"`study.report(require='error({name})<=0.1')`, or `interval=\"fixed\"`",
        )
