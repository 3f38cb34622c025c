"""The question about a surface: a metric at every combination of attributes."""

from collections.abc import Mapping
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import ArmAllocation
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.sampling.question import check_settings, chooses_between
from activetest.wings.surfaces import fitting
from activetest.wings.surfaces.choices import SurfaceChoices
from activetest.wings.surfaces.explored_arms import allocate_arms as allocate
from activetest.wings.surfaces.fitting import find_surface_metric
from activetest.wings.surfaces.membership import check_model

ACQUISITION = "surface-variance"
CHOOSES = "CHOOSES_ARMS"
FINDING = "surface"
SIMULATED = ("surface-variance", "uniform")
OWN = ("attributes", "surface", "min_support", "attribute_model")
ABOUT = "combinations of attributes"
EXAMPLE = "question='surface'"
SEPARATOR = "; "

__all__ = [
    "allocate",
    "check",
    "describe",
    "describe_pool",
    "describe_settings",
    "name_judged",
    "resolve",
    "split_metrics",
    "weigh_rows",
]


def weigh_rows(allocation: ArmAllocation, rows: Rows, cache: PoolView, choices: Choices) -> Array:
    """(R,) weights of rows in a round with this allocation: see fitting.weigh_rows."""
    return fitting.weigh_rows(allocation, rows, cache, choices.of(SurfaceChoices).attribute_model)


def split_metrics(named: tuple[str, ...]) -> dict[str, Any]:
    """All of them are metrics that draws can aim at."""
    return {"metric": named}


def name_judged(choices: Choices) -> str:
    """The metric."""
    return choices.metric


def resolve(choices: Choices, cache: PoolView, texts: Mapping[str, str]) -> Choices:
    """The choices as they are: nothing waits for the pool's values."""
    return choices


def describe_pool(choices: Choices, kind: str) -> tuple[str, ...]:
    """Nothing: a surface needs no probabilities."""
    return ()


def describe(choices: Choices) -> str:
    """The question in plain words that follow "to"."""
    *others, last = choices.attributes
    names = f"{', '.join(others)} and {last}" if others else last
    return f"estimate {choices.metric} at every combination of {names}"


def describe_settings(choices: Choices) -> str:
    """Nothing: only the floor is worth a word."""
    return ""


def check(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError where there is no surface, or what is chosen has no effect on it."""
    for name, counted in (("weight", "items"), ("price", "labels")):
        if pool.get(name):
            raise ChoiceError(
                f"a surface counts all {counted} alike, and knows no `{name}`",
                "leave `question` out: `study.report()` has the metrics of every single value of "
                "an attribute",
            )
    if not choices.attributes:
        raise ChoiceError(
            "the question surface is about combinations of attributes, and there are none",
            "`attributes=[column, column]`; `question='none'` drops the question",
        )
    check_settings(choices)
    find_surface_metric(choices.metric, specification.describe_pool(pool, choices.costs))
    catalog.split_options("surfaces", choices.of(SurfaceChoices).surface)
    check_model(choices.of(SurfaceChoices).attribute_model)
    explores = catalog.fact("acquisition", choices.acquisition, "CHOOSES_ARMS")
    if chooses_between(choices.acquisition) and not explores:
        raise ChoiceError(
            f"{choices.acquisition} chooses between groups, and the question is about combinations "
            "of attributes",
            f"`acquisition='{ACQUISITION}'`",
        )
    if explores and choices.power != 1:
        raise ChoiceError(
            f"{choices.acquisition} gives rows no scores: they have no power", "leave `power` at 1"
        )
