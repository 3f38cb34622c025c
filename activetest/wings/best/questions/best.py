"""The question which of the study's models is best."""

from collections.abc import Mapping
from typing import Any

from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.expression import parse_expression
from activetest.nouns.log import ArmAllocation
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.sampling.question import check_settings, chooses_between, serves_question
from activetest.wings.best.joint import JointSurrogate

ACQUISITION = "top-two"
CHOOSES = "AIMS"
FINDING = "best"
SIMULATED = ("top-two", "non-unanimous", "uniform")
OWN = ("tolerance",)
RESETS = ("tolerance",)
OF_MODELS = True
ABOUT = "models"
EXAMPLE = "question='best'"

# Metrics that models are judged by: they count mistakes.
_METRICS = ("error", "accuracy")

join_surrogates = JointSurrogate


def check(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError for choices that make no sense for this question."""
    check_settings(choices)
    named = parse_expression(choices.metric)
    if named.models or specification.split_specification(named.metric)[0] not in _METRICS:
        raise ChoiceError(
            f"the question best judges all models by {' or '.join(_METRICS)}, and the metric is "
            f"{choices.metric!r}",
            "`metric='error'`",
        )
    if choices.draw_for and serves_question(choices.acquisition):
        raise ChoiceError(
            f"{choices.acquisition} finds by itself which differences items are drawn for",
            "leave out `draw_for`, or `acquisition='optimal'`",
        )
    if chooses_between(choices.acquisition):
        raise ChoiceError(
            f"{choices.acquisition} chooses between groups, and the question is about models",
            f"`acquisition='{ACQUISITION}'`",
        )
    if choices.selection == Selection.TOP:
        raise ChoiceError(
            "the best model is found by items that are drawn at random", "`selection='draw'`"
        )


def allocate(*given: Any, **named: Any) -> tuple[ArmAllocation, Array]:
    """Nothing: rounds have scores, see the acquisitions of this wing."""
    raise NotImplementedError


def weigh_rows(allocation: ArmAllocation, rows: Rows, cache: PoolView, choices: Choices) -> Array:
    """Nothing: rounds have scores."""
    raise NotImplementedError


def split_metrics(named: tuple[str, ...]) -> dict[str, Any]:
    """All of them; models are judged by the first."""
    return {"metric": named}


def name_judged(choices: Choices) -> str:
    """The metric."""
    return choices.metric


def resolve(choices: Choices, cache: PoolView, texts: Mapping[str, str]) -> Choices:
    """The choices as they are: nothing waits for the pool's values."""
    return choices


def describe_pool(choices: Choices, kind: str) -> tuple[str, ...]:
    """Nothing: models need no probabilities."""
    return ()


def describe(choices: Choices) -> str:
    """The question in plain words that follow "to"."""
    return f"find the best model by {choices.metric}"


def describe_settings(choices: Choices) -> str:
    """Nothing: only the floor is worth a word."""
    return ""
