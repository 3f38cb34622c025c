"""Choices about a question: which it is, what it is asked with, and what without one."""

from collections.abc import Iterable, Mapping
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.choices import DECLARATIONS, DIFFERENCE, Choices, Task
from activetest.nouns.expression import parse_expression
from activetest.nouns.name_lists import join_names
from activetest.nouns.pool import PoolView
from activetest.nouns.question import Question

# Facts of acquisitions that choose between groups of items, and not between items.
_BETWEEN = ("CHOOSES_GROUPS", "CHOOSES_ARMS")
# Of rounds that choose between groups, or are for differences of models: items that may be left out
# of the choice, or add nothing, are drawn now and then.
FLOOR = 0.1


def find_question(choices: Choices) -> Question | None:
    """The question of a study; None for one without. Raises UnknownMethod where it is not there."""
    return catalog.load("questions", choices.question) if choices.question else None


def resolve_question(choices: Choices, cache: PoolView, texts: Mapping[str, str]) -> Choices:
    """The choices once the pool's values are known: see Question.resolve."""
    question = find_question(choices)
    return question.resolve(choices, cache, texts) if question else choices


def split_metrics(metrics: Iterable[str], question: str | None) -> dict[str, Any]:
    """The settings of the metrics that were named: see Question.split_metrics."""
    named = tuple(dict.fromkeys(metrics))
    if question is None:
        return {"metric": named}
    found: dict[str, Any] = catalog.load("questions", question).split_metrics(named)
    return found


def name_judged(choices: Choices) -> str:
    """The metric that a question judges by; without a question, the metric."""
    question = find_question(choices)
    return question.name_judged(choices) if question else choices.metric


def find_fact(question: str | None, name: str) -> Any:
    """A fact about a question; None without one."""
    return catalog.fact("questions", question, name) if question else None


def usual_acquisition(question: str | None) -> str:
    """The acquisition of a question where the user names none."""
    return str(find_fact(question, "ACQUISITION") or Choices.acquisition)


def usual_floor(acquisition: str, aims: Iterable[str]) -> float:
    """The floor of an acquisition with these aims where the user names none.

    Of a difference of models, most items are known, and draws of them serve other numbers alone.
    """
    between = serves_question(acquisition) or compares_models(aims)
    return FLOOR if between else Choices.floor


def compares_models(aims: Iterable[str]) -> bool:
    """Whether items are drawn for differences of models alone."""
    return all(each == DIFFERENCE or len(parse_expression(str(each)).models) > 1 for each in aims)


def chooses_between(name: str) -> bool:
    """Whether an acquisition chooses between groups or arms, and not between items."""
    return any(catalog.fact("acquisition", name, each) for each in _BETWEEN)


def serves_question(name: str) -> bool:
    """Whether an acquisition is of use with a question alone."""
    return chooses_between(name) or bool(catalog.fact("acquisition", name, "AIMS"))


def list_idle_choices(question: str | None) -> list[str]:
    """Choices of questions that have no effect on this one, or without one."""
    kept = find_fact(question, "KEEPS") or ()
    return [name for name in _list_owners("RESETS") if name not in kept]


def list_question_choices() -> list[str]:
    """Choices that say nothing where no question is asked."""
    return [*_list_owners("OWN")]


def check_unasked(names: Iterable[str]) -> None:
    """Raises ChoiceError for choices about groups where no question is asked."""
    if names := sorted(names):
        question = _list_owners("OWN")[names[0]]
        raise ChoiceError(
            f"`{names[0]}` has no effect without a question", f"`question='{question}'`"
        )


def check_settings(choices: Choices) -> None:
    """Raises ChoiceError for choices that have no effect on the study's question."""
    owners = _list_owners("RESETS")
    for name in list_idle_choices(choices.question):
        own = owners[name] == choices.question
        if not own and getattr(choices, name) != getattr(Choices, name):
            about = (
                f"on the question {choices.question}" if choices.question else "without a question"
            )
            if name not in DECLARATIONS:
                raise ChoiceError(f"{name} has no effect {about}", "leave it empty")
            raise ChoiceError(f"`{name}` has no effect {about}", f"`question='{owners[name]}'`")


def describe_objective(choices: Choices) -> str:
    """The metrics that draws aim at, in words."""
    if chooses_between(choices.acquisition):
        return name_judged(choices)
    words = f"the differences of {parse_expression(choices.metric).metric} between models"
    return join_names([words if each == DIFFERENCE else each for each in choices.aims])


def check_question(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError for a question that makes no sense in a pool with these roles."""
    if choices.question is None:
        _check_without_question(choices)
        return
    if pool["task"] == Task.REGRESSION:
        raise ChoiceError(
            "questions are about groups of a classifier, and this pool predicts values",
            "leave `question` out: `study.report(groups=[column])` gives metrics of groups",
        )
    question = find_question(choices)
    assert question is not None
    question.check(choices, pool)


def _check_without_question(choices: Choices) -> None:
    check_settings(choices)
    for name in catalog.having("questions", "EXAMPLE"):
        if catalog.fact("acquisition", choices.acquisition, find_fact(name, "CHOOSES")):
            raise ChoiceError(
                f"acquisition {choices.acquisition!r} chooses between {find_fact(name, 'ABOUT')}, "
                "and the study asks no question about them",
                f"`{find_fact(name, 'EXAMPLE')}`, or `acquisition='optimal'`",
            )


def _list_owners(fact: str) -> dict[str, str]:
    """{choice: the question that states it in this fact}."""
    return {
        choice: question
        for question in catalog.having("questions", fact)
        for choice in find_fact(question, fact)
    }
