"""Choices about groups: what is asked of them, and by what they are judged."""

from activetest import acquisition, specs
from activetest.arms import CONFUSION, KINDS
from activetest.arms_rewards import COMPARE, ESTIMATE, IDENTIFY, TASKS
from activetest.errors import ChoiceError
from activetest.evidence import Choices

NONE = "none"
POOLS = ("classification", "regression")
PRIORS = ("informative", "uniform")

# Of rounds that choose between groups: what may be left out of the choice is small, but drawn.
FLOOR = 0.1


def usual_floor(name: str) -> float:
    """The floor of an acquisition where the user names none."""
    return FLOOR if name in acquisition.ARMS else Choices.floor


def told(words) -> tuple[str | None, str | None]:
    """What --task says about the pool, and what about the study: a task, none or nothing.

    words is one word, several or None. Raises ChoiceError for a word that means neither, or two
    that mean the same.
    """
    words = (words,) if isinstance(words, str) else tuple(words or ())
    of_pool = [word for word in words if word in POOLS]
    of_study = [word for word in words if word in (*TASKS, NONE)]
    for word in words:
        if word not in (*of_pool, *of_study):
            raise ChoiceError(
                f"no task is called {word!r}",
                hint=f"choose from {', '.join((*TASKS, NONE))}, "
                f"or say what the pool is: {', '.join(POOLS)}",
            )
    for several in (of_pool, of_study):
        if len(set(several)) > 1:
            raise ChoiceError(f"--task is {' and '.join(several)}", "name one of them")
    return (of_pool or [None])[0], (of_study or [None])[0]


def sentence(choices: Choices) -> str:
    """What is asked of the groups, in plain words that follow "to"; empty without a task."""
    by = choices.target or choices.metric
    if choices.task == ESTIMATE:
        return f"estimate {by} of every group of {choices.groups[0]}"
    if choices.task == IDENTIFY:
        which = "worst group" if choices.worst == 1 else f"{choices.worst} worst groups"
        return f"identify the {which} of {choices.groups[0]} by {by}"
    if choices.task == COMPARE:
        one, two = choices.compare
        return f"compare {one} and {two} of {choices.groups[0]} by {by}"
    return ""


def check_task(choices: Choices, pool: dict, where: str) -> None:
    """Raises ChoiceError for a task that makes no sense in a pool with these roles."""
    between = choices.acquisition in acquisition.ARMS
    if choices.task is None:
        for name, idle in (("worst", 1), ("compare", ()), ("target", "")):
            if getattr(choices, name) != idle:
                raise ChoiceError(
                    f"{where}: --{name} has no effect without a task", f"--task {TASKS[1]}"
                )
        if between:
            raise ChoiceError(
                f"{where}: acquisition {choices.acquisition!r} chooses between groups, "
                "and the study has no task",
                f"--task {IDENTIFY} --group COLUMN, or --acquisition optimal",
            )
        return
    if pool["task"] == "regression":
        raise ChoiceError(
            f"{where}: a task asks about groups of a classifier, and this pool predicts values",
            "leave --task out: report --group gives metrics of groups",
        )
    if not choices.groups:
        raise ChoiceError(f"{where}: the task {choices.task} needs groups", "--group COLUMN")
    _check_judged(choices, where)
    _check_asked(choices, where)
    if between:
        _check_between(choices, where)


def _check_judged(choices: Choices, where: str) -> None:
    kind, _ = specs.split(choices.target or choices.metric)
    if kind == CONFUSION and choices.task != ESTIMATE:
        raise ChoiceError(
            f"{where}: a confusion matrix is no single number to {choices.task} groups by",
            f"--task {ESTIMATE}, or another --metric",
        )
    if kind not in KINDS:
        raise ChoiceError(
            f"{where}: a task judges groups by {', '.join(KINDS)}, and the metric is "
            f"{choices.metric!r}",
            "--metric accuracy",
        )


def _check_asked(choices: Choices, where: str) -> None:
    if choices.worst > 1 and choices.task != IDENTIFY:
        raise ChoiceError(
            f"{where}: --worst has no effect on the task {choices.task}", f"--task {IDENTIFY}"
        )
    if choices.compare and choices.task != COMPARE:
        raise ChoiceError(
            f"{where}: --compare has no effect on the task {choices.task}", f"--task {COMPARE}"
        )
    if choices.task == COMPARE and (len(choices.compare) != 2 or len(set(choices.compare)) != 2):
        raise ChoiceError(
            f"{where}: the task {COMPARE} needs two values of {choices.groups[0]!r}",
            "--compare A,B",
        )


def _check_between(choices: Choices, where: str) -> None:
    name = choices.acquisition
    if choices.selection == "top" or choices.power != 1:
        raise ChoiceError(
            f"{where}: {name} chooses groups and gives rows no scores: they have neither a top "
            "nor a power",
            "leave --selection at draw and --power at 1",
        )
    if name in ("bayes-ucb", "top-two-thompson") and choices.task != IDENTIFY:
        raise ChoiceError(
            f"{where}: {name} looks for the worst group, and the task is {choices.task}",
            "--acquisition thompson",
        )
    if name == "top-two-thompson" and choices.worst > 1:
        raise ChoiceError(
            f"{where}: {name} looks for one group, not {choices.worst}", "--acquisition thompson"
        )
