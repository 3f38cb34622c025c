"""Questions about groups: estimate all, identify the worst, or compare two (Ji et al. 2021)."""

from collections.abc import Mapping
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.log import Allocation, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.pool.groups import PREDICTED
from activetest.sampling.question import check_settings, chooses_between
from activetest.wings.groups import between_groups, partition
from activetest.wings.groups.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS
from activetest.wings.groups.bandit import COMPARE, ESTIMATE, IDENTIFY
from activetest.wings.groups.choices import TARGET, Prior, QuestionChoices
from activetest.wings.groups.counts import name_judged

# Metrics that groups can be judged by for each question.
_METRICS = {
    ESTIMATE: KINDS,
    IDENTIFY: (ACCURACY, ERROR, ECE, COST),
    COMPARE: (ACCURACY, ERROR, COST),
}


class GroupQuestion:
    """A question about the groups of a column."""

    @staticmethod
    def allocate(
        log: Log,
        cache: PoolView,
        choices: Choices,
        *,
        free: Array,
        seed: int,
        number: int,
        count: int,
    ) -> tuple[Allocation, Array]:
        """A group by the acquisition, then any of its rows: see between_groups.allocate_draws."""
        return between_groups.allocate_draws(
            log, cache, choices, seed=seed, number=number, count=count
        )

    @staticmethod
    def weigh_rows(allocation: Allocation, rows: Rows, cache: PoolView, choices: Choices) -> Array:
        """(R,) weights of rows in a round with this allocation: see partition.row_weights."""
        return partition.row_weights(allocation, rows, cache)

    @staticmethod
    def split_metrics(named: tuple[str, ...]) -> dict[str, Any]:
        """The metrics, and the target: a confusion matrix is no metric that draws can aim at."""
        if named[0] != TARGET:
            return {"metric": named, "target": ""}
        return {"metric": named[1:] or (ACCURACY,), "target": TARGET}

    @staticmethod
    def name_judged(choices: Choices) -> str:
        """The target, else the metric."""
        return name_judged(choices)

    @staticmethod
    def resolve(choices: Choices, cache: PoolView, texts: Mapping[str, str]) -> Choices:
        """The choices with the groups that are compared: see resolve_compared_groups."""
        return between_groups.resolve_compared_groups(choices, cache, texts.get("compare"))

    @staticmethod
    def describe_pool(choices: Choices, kind: str) -> tuple[str, ...]:
        """A sentence where priors cannot be what was chosen."""
        if kind != "pred" or choices.of(QuestionChoices).prior == Prior.UNIFORM:
            return ()
        return ("the pool has no probabilities: priors of groups are uniform",)

    @staticmethod
    def describe(choices: Choices) -> str:
        """The question in plain words that follow "to"."""
        by, column, own = name_judged(choices), choices.groups[0], choices.of(QuestionChoices)
        if choices.question == ESTIMATE:
            return f"estimate {by} of every group of {column}"
        if choices.question == IDENTIFY:
            which = "worst group" if own.worst == 1 else f"{own.worst} worst groups"
            return f"identify the {which} of {column} by {by}"
        first, second = own.compare
        return f"compare {first} and {second} of {column} by {by}, rope {own.rope:g}"

    @staticmethod
    def describe_settings(choices: Choices) -> str:
        """The prior in words; empty for the usual one."""
        own = choices.of(QuestionChoices)
        strength = own.prior_strength
        weight = "" if strength is None else f" with the weight of {strength:g} labels"
        usual = own.prior == QuestionChoices.prior and not weight
        return "" if usual else f"{own.prior} prior{weight}"

    @staticmethod
    def check(choices: Choices, pool: Mapping[str, Any]) -> None:
        """Raises ChoiceError for a question that makes no sense in a pool with these roles."""
        for name in ("weight", "price"):
            if pool.get(name):
                raise ChoiceError(
                    f"questions about groups count labels: they know no `{name}`",
                    "leave `question` out: `study.report(groups=[column])` gives metrics of groups",
                )
        if not choices.groups:
            raise ChoiceError(f"the question {choices.question} needs groups", "`groups=[column]`")
        if catalog.fact("acquisition", choices.acquisition, "CHOOSES_ARMS"):
            raise ChoiceError(
                f"{choices.acquisition} explores combinations of attributes, and the question is "
                f"to {choices.question} groups",
                "`question='surface'`, or `acquisition='thompson'`",
            )
        _check_judged(choices, pool)
        _check_arguments(choices)
        if chooses_between(choices.acquisition):
            _check_between(choices)


estimate = identify = compare = GroupQuestion()


def _check_judged(choices: Choices, pool: Mapping[str, Any]) -> None:
    kind, _ = specification.split_specification(name_judged(choices))
    if kind == CONFUSION and choices.question != ESTIMATE:
        raise ChoiceError(
            f"a confusion matrix is no single number to {choices.question} groups by",
            f"`question='{ESTIMATE}'`, or another `metric`",
        )
    if kind == ECE and choices.question == COMPARE:
        raise ChoiceError(
            "calibration errors of two groups cannot be compared: what is believed of "
            "them lies above the truth, by more where labels are few",
            f"`question='{IDENTIFY}'`, or compare by `metric='{ACCURACY}'`",
        )
    judging = _METRICS[choices.question or ESTIMATE]
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
    check_settings(choices)
    own = choices.of(QuestionChoices)
    if choices.question == COMPARE and (len(own.compare) != 2 or len(set(own.compare)) != 2):
        raise ChoiceError(
            f"the question {COMPARE} needs two values of {choices.groups[0]!r}",
            "`compare=[a, b]`",
        )
    if choices.question == COMPARE and own.rope >= (widest := _range(choices)):
        raise ChoiceError(
            f"`rope` is {own.rope:g}, and no two groups differ by more than "
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
    if name in ("bayes-ucb", "top-two-thompson") and choices.question != IDENTIFY:
        raise ChoiceError(
            f"{name} looks for the worst group, and the question is {choices.question}",
            "`acquisition='thompson'`",
        )
    worst = choices.of(QuestionChoices).worst
    if name == "top-two-thompson" and worst > 1:
        raise ChoiceError(f"{name} looks for one group, not {worst}", "`acquisition='thompson'`")
