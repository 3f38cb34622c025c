"""Several models in one report: which numbers are of which, and the pool that has all of them."""

from collections.abc import Sequence

from activetest.cache.cache import Cache
from activetest.errors import ChoiceError
from activetest.item_statistics.compared import bind_metric, subtract_models
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.log import Log
from activetest.nouns.name_lists import join_names
from activetest.nouns.pool import PoolView
from activetest.rounds.compared_pool import ComparedPool
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy


def list_model_names(study: StoredStudy) -> tuple[str, ...]:
    """The names of the study's models, that of the outputs at hand first."""
    names = [each.name for each in study.list_models()]
    own = study.model.name if isinstance(study, ModelStudy) else names[0]
    return (own, *(name for name in names if name != own))


def compare_models(metrics: Sequence[Metric], reference: str | None, facts: Facts) -> list[Metric]:
    """Every other model's metrics, and their differences to those of a reference.

    Areas under curves are left out. Raises ChoiceError for a reference that the study lacks, or
    that is its only model.
    """
    if reference is None:
        return []
    own, others = facts.models[0], [name for name in facts.models if name != reference]
    if reference not in facts.models:
        raise ChoiceError(
            f"this study has no model {reference!r}: its models are {join_names(facts.models)}",
            f"`reference={own!r}`",
        )
    if not others:
        raise ChoiceError(
            f"{reference!r} is the only model of this study, and there is none to compare it with",
            "`study.add('v2', 'FILE')` adds one",
        )
    found = []
    for metric in metrics:
        if metric.refine is None:
            found += [bind_metric(metric, each) for each in facts.models if each != own]
            found += [subtract_models(metric, each, reference) for each in others]
    return found


def join_models(study: StoredStudy, cache: Cache, log: Log, metrics: Sequence[Metric]) -> PoolView:
    """The pool with the outputs of all models that these metrics are of; itself without others."""
    (own, *others), named = (
        list_model_names(study),
        {name for each in metrics for name in each.models},
    )
    pools = {name: study.of_model(name).known_cache() for name in others if name in named}
    return ComparedPool(own, cache, pools, log) if pools else cache
