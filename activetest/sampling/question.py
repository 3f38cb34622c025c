"""Choices about groups: what is asked of them, and by what they are judged."""

from collections.abc import Iterable, Mapping
from typing import Any

from activetest import catalog
from activetest.bandits.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices, Question, Selection, Task
from activetest.nouns.name_lists import join_names
from activetest.pool.groups import PREDICTED
from activetest.rounds.membership import check_model
from activetest.rounds.surface import find_surface_metric

# Measures by which groups can be judged for each question.
_METRICS: dict[str | None, tuple[str, ...]] = {
    Question.ESTIMATE: KINDS,
    Question.IDENTIFY: (ACCURACY, ERROR, ECE, COST),
    Question.COMPARE: (ACCURACY, ERROR, COST),
}
# Choices without effect unless a question is asked, and the question they belong to.
_BELONGS_TO = {
    "worst": Question.IDENTIFY,
    "compare": Question.COMPARE,
    "rope": Question.COMPARE,
    "prior": Question.IDENTIFY,
    "prior_strength": Question.IDENTIFY,
}
# Choices that every question uses.
_OF_EVERY_QUESTION = ("prior", "prior_strength")

# Choices about the arms of a surface.
OF_ARMS = ("surface", "min_support", "attribute_model")
# The usual acquisitions of questions.
_OF_GROUPS, _OF_SURFACES = "thompson", "surface-variance"
# Of rounds that choose between groups: what may be left out of the choice is small, but drawn.
FLOOR = 0.1


def usual_floor(name: str) -> float:
    """The floor of an acquisition where the user names none."""
    return FLOOR if chooses_between(name) else Choices.floor


def chooses_between(name: str) -> bool:
    """Whether an acquisition chooses between groups or arms, and not between items."""
    facts = (catalog.fact("acquisition", name, each) for each in ("CHOOSES_GROUPS", "CHOOSES_ARMS"))
    return any(facts)


def check_unasked(names: Iterable[str]) -> None:
    """Raises ChoiceError for choices about groups where no question is asked."""
    if names := sorted(names):
        about_arms = names[0] in ("attributes", *OF_ARMS)
        usual = Question.SURFACE if about_arms else Question.IDENTIFY
        question = _BELONGS_TO.get(names[0], usual)
        raise ChoiceError(
            f"`{names[0]}` has no effect without a question", f"`question='{question}'`"
        )


def describe_objective(choices: Choices) -> str:
    """The metrics that draws aim at, in words."""
    if chooses_between(choices.acquisition):
        return choices.judged
    return join_names((choices.metric, *choices.also))


def describe_question(choices: Choices) -> str:
    """The question in plain words that follow "to"; empty without one."""
    by = choices.judged
    if choices.question == Question.ESTIMATE:
        return f"estimate {by} of every group of {choices.groups[0]}"
    if choices.question == Question.IDENTIFY:
        which = "worst group" if choices.worst == 1 else f"{choices.worst} worst groups"
        return f"identify the {which} of {choices.groups[0]} by {by}"
    if choices.question == Question.SURFACE:
        *others, last = choices.attributes
        names = f"{', '.join(others)} and {last}" if others else last
        return f"estimate {by} at every combination of {names}"
    if choices.question == Question.COMPARE:
        first, second = choices.compare
        return f"compare {first} and {second} of {choices.groups[0]} by {by}, rope {choices.rope:g}"
    return ""


def describe_prior(choices: Choices) -> str:
    """The prior in words; empty for the usual one."""
    if choices.question == Question.SURFACE:
        return ""
    strength = choices.prior_strength
    weight = "" if strength is None else f" with the weight of {strength:g} labels"
    return f"{choices.prior} prior{weight}" if weight or choices.prior != Choices.prior else ""


def check_question(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError for a question that makes no sense in a pool with these roles."""
    between = chooses_between(choices.acquisition)
    if choices.question is None:
        for name, question in _BELONGS_TO.items():
            if getattr(choices, name) != getattr(Choices, name):
                raise ChoiceError(
                    f"`{name}` has no effect without a question",
                    f"`question='{question}'`",
                )
        if choices.target:
            raise ChoiceError("target has no effect without a question", "leave it empty")
        if between:
            arms = catalog.fact("acquisition", choices.acquisition, "CHOOSES_ARMS")
            about = "combinations of attributes" if arms else "groups"
            of_groups = f"question='{Question.IDENTIFY}', groups=[column]"
            remedy = f"question='{Question.SURFACE}'" if arms else of_groups
            raise ChoiceError(
                f"acquisition {choices.acquisition!r} chooses between {about}, "
                "and the study asks no question about them",
                f"`{remedy}`, or `acquisition='optimal'`",
            )
        return
    if pool["task"] == Task.REGRESSION:
        raise ChoiceError(
            "questions are about groups of a classifier, and this pool predicts values",
            "leave `question` out: `study.report(groups=[column])` gives metrics of groups",
        )
    _check_counting(choices, pool)
    if choices.question == Question.SURFACE:
        _check_surface(choices, pool)
        return
    if not choices.groups:
        raise ChoiceError(f"the question {choices.question} needs groups", "`groups=[column]`")
    if catalog.fact("acquisition", choices.acquisition, "CHOOSES_ARMS"):
        raise ChoiceError(
            f"{choices.acquisition} explores combinations of attributes, and the question is to "
            f"{choices.question} groups",
            f"`question='{Question.SURFACE}'`, or `acquisition='{_OF_GROUPS}'`",
        )
    _check_judged(choices, pool)
    _check_arguments(choices)
    if between:
        _check_between(choices)


def _check_counting(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError for weights and prices: questions count items and labels."""
    for name, counted in (("weight", "items"), ("price", "labels")):
        if not pool.get(name):
            continue
        if choices.question == Question.SURFACE:
            raise ChoiceError(
                f"a surface counts all {counted} alike, and knows no `{name}`",
                "leave `question` out: `study.report()` has the metrics of every single value of "
                "an attribute",
            )
        raise ChoiceError(
            f"questions about groups count labels: they know no `{name}`",
            "leave `question` out: `study.report(groups=[column])` gives metrics of groups",
        )


def usual_acquisition(question: str | None) -> str:
    """The acquisition of a question where the user names none."""
    if question is None:
        return str(Choices.acquisition)
    return _OF_SURFACES if question == Question.SURFACE else _OF_GROUPS


def _check_surface(choices: Choices, pool: Mapping[str, Any]) -> None:
    """Raises ChoiceError where there is no surface, or what is chosen has no effect on it."""
    if not choices.attributes:
        raise ChoiceError(
            f"the question {Question.SURFACE} is about combinations of attributes, and there are "
            "none",
            "`attributes=[column, column]`; `question='none'` drops the question",
        )
    for name, question in _BELONGS_TO.items():
        if getattr(choices, name) != getattr(Choices, name):
            raise ChoiceError(
                f"`{name}` has no effect on the question {Question.SURFACE}",
                f"`question='{question}'`",
            )
    find_surface_metric(choices.judged, specification.describe_pool(pool, choices.costs))
    catalog.split_options("surfaces", choices.surface)
    check_model(choices.attribute_model)
    explores = catalog.fact("acquisition", choices.acquisition, "CHOOSES_ARMS")
    if chooses_between(choices.acquisition) and not explores:
        raise ChoiceError(
            f"{choices.acquisition} chooses between groups, and the question is about combinations "
            "of attributes",
            f"`acquisition='{_OF_SURFACES}'`",
        )
    if explores and choices.power != 1:
        raise ChoiceError(
            f"{choices.acquisition} gives rows no scores: they have no power", "leave `power` at 1"
        )


def _check_judged(choices: Choices, pool: Mapping[str, Any]) -> None:
    kind, _ = specification.split_specification(choices.judged)
    if kind == CONFUSION and choices.question != Question.ESTIMATE:
        raise ChoiceError(
            f"a confusion matrix is no single number to {choices.question} groups by",
            f"`question='{Question.ESTIMATE}'`, or another `metric`",
        )
    if kind == ECE and choices.question == Question.COMPARE:
        raise ChoiceError(
            "calibration errors of two groups cannot be compared: what is believed of "
            "them lies above the truth, by more where labels are few",
            f"`question='{Question.IDENTIFY}'`, or compare by `metric='{ACCURACY}'`",
        )
    judging = _METRICS[choices.question]
    others = [name for name in judging if name != CONFUSION]
    if kind not in judging or specification.split_specification(choices.metric)[0] not in others:
        raise ChoiceError(
            f"the question {choices.question} judges groups by "
            f"{', '.join(judging)}, and the metric is {choices.metric!r}",
            f"`metric='{ACCURACY}'`",
        )
    computed = PREDICTED in pool.get("computed", ())
    if kind == CONFUSION and (choices.groups[0] != PREDICTED or not computed):
        hint = "another `metric`"
        if computed or PREDICTED not in choices.groups:
            first = [PREDICTED, *(name for name in choices.groups if name != PREDICTED)]
            hint = f"`groups={first!r}`, or {hint}"
        raise ChoiceError(
            f"a confusion matrix is about predicted classes, and the groups are those of "
            f"the column {choices.groups[0]!r}",
            hint,
        )


def _check_arguments(choices: Choices) -> None:
    for name, question in _BELONGS_TO.items():
        given = getattr(choices, name) != getattr(Choices, name)
        if given and question != choices.question and name not in _OF_EVERY_QUESTION:
            raise ChoiceError(
                f"`{name}` has no effect on the question {choices.question}",
                f"`question='{question}'`",
            )
    if choices.question == Question.COMPARE and (
        len(choices.compare) != 2 or len(set(choices.compare)) != 2
    ):
        raise ChoiceError(
            f"the question {Question.COMPARE} needs two values of {choices.groups[0]!r}",
            "`compare=[a, b]`",
        )
    if choices.question == Question.COMPARE and choices.rope >= (widest := _range(choices)):
        raise ChoiceError(
            f"`rope` is {choices.rope:g}, and no two groups differ by more than "
            f"{widest:g} in {choices.metric}",
            "it is a difference that does not matter, for example 0.05",
        )


def _range(choices: Choices) -> float:
    """How far the values of two groups can be apart."""
    kind, _ = specification.split_specification(choices.metric)
    if kind != COST or choices.costs is None:
        return 1.0
    return max(map(max, choices.costs)) - min(map(min, choices.costs))


def _check_between(choices: Choices) -> None:
    name = choices.acquisition
    if choices.selection == Selection.TOP or choices.power != 1:
        raise ChoiceError(
            f"{name} chooses groups and gives rows no scores: they have neither a top nor a power",
            "leave `selection` at draw and `power` at 1",
        )
    if name in ("bayes-ucb", "top-two-thompson") and choices.question != Question.IDENTIFY:
        raise ChoiceError(
            f"{name} looks for the worst group, and the question is {choices.question}",
            "`acquisition='thompson'`",
        )
    if name == "top-two-thompson" and choices.worst > 1:
        raise ChoiceError(
            f"{name} looks for one group, not {choices.worst}", "`acquisition='thompson'`"
        )
