"""Choices about groups: what is asked of them, and by what they are judged."""

from activetest import catalog
from activetest.bandits.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS
from activetest.bandits.bandit import COMPARE, ESTIMATE, IDENTIFY, TASKS
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.pool.groups import PREDICTED

NONE = "none"
POOLS = ("classification", "regression")
PRIORS = ("informative", "uniform")

# What each task can judge groups by.
_KINDS = {ESTIMATE: KINDS, IDENTIFY: (ACCURACY, ERROR, ECE, COST), COMPARE: (ACCURACY, ERROR, COST)}
# What says nothing without a task, and the task it belongs to.
_IDLE = {"worst": IDENTIFY, "compare": COMPARE, "rope": COMPARE}
_IDLE |= {"prior": IDENTIFY, "strength": IDENTIFY}

# Of rounds that choose between groups: what may be left out of the choice is small, but drawn.
FLOOR = 0.1


def usual_floor(name: str) -> float:
    """The floor of an acquisition where the user names none."""
    return FLOOR if catalog.fact("acquisition", name, "CHOOSES_GROUPS") else Choices.floor


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
    by = choices.judged
    if choices.task == ESTIMATE:
        return f"estimate {by} of every group of {choices.groups[0]}"
    if choices.task == IDENTIFY:
        which = "worst group" if choices.worst == 1 else f"{choices.worst} worst groups"
        return f"identify the {which} of {choices.groups[0]} by {by}"
    if choices.task == COMPARE:
        one, two = choices.compare
        return f"compare {one} and {two} of {choices.groups[0]} by {by}, rope {choices.rope:g}"
    return ""


def believed(choices: Choices) -> str:
    """The prior in words; empty for the usual one."""
    weight = "" if choices.strength is None else f" with the weight of {choices.strength:g} labels"
    return f"{choices.prior} prior{weight}" if weight or choices.prior != Choices.prior else ""


def check_task(choices: Choices, pool: dict, where: str) -> None:
    """Raises ChoiceError for a task that makes no sense in a pool with these roles."""
    between = catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
    if choices.task is None:
        for name, task in _IDLE.items():
            if getattr(choices, name) != getattr(Choices, name):
                raise ChoiceError(
                    f"{where}: {option(name)} has no effect without a task", f"--task {task}"
                )
        if choices.target:
            raise ChoiceError(f"{where}: target has no effect without a task", "leave it empty")
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
    _check_judged(choices, pool, where)
    _check_asked(choices, where)
    if between:
        _check_between(choices, where)


def option(name: str) -> str:
    """The option that sets this field of Choices."""
    return "--prior-strength" if name == "strength" else f"--{name}"


def _check_judged(choices: Choices, pool: dict, where: str) -> None:
    kind, _ = specification.split(choices.judged)
    if kind == CONFUSION and choices.task != ESTIMATE:
        raise ChoiceError(
            f"{where}: a confusion matrix is no single number to {choices.task} groups by",
            f"--task {ESTIMATE}, or another --metric",
        )
    if kind == ECE and choices.task == COMPARE:
        raise ChoiceError(
            f"{where}: calibration errors of two groups cannot be compared: what is believed of "
            "them lies above the truth, by more where labels are few",
            f"--task {IDENTIFY}, or compare by --metric {ACCURACY}",
        )
    others = [name for name in _KINDS[choices.task] if name != CONFUSION]
    if kind not in _KINDS[choices.task] or specification.split(choices.metric)[0] not in others:
        raise ChoiceError(
            f"{where}: the task {choices.task} judges groups by "
            f"{', '.join(_KINDS[choices.task])}, and the metric is {choices.metric!r}",
            f"--metric {ACCURACY}",
        )
    computed = PREDICTED in pool.get("computed", ())
    if kind == CONFUSION and (choices.groups[0] != PREDICTED or not computed):
        hint = "another --metric"
        if computed or PREDICTED not in choices.groups:
            first = [PREDICTED, *(name for name in choices.groups if name != PREDICTED)]
            hint = f"{' '.join(f'--group {name!r}' for name in first)}, or {hint}"
        raise ChoiceError(
            f"{where}: a confusion matrix is about predicted classes, and the groups are those of "
            f"the column {choices.groups[0]!r}",
            hint,
        )


def _check_asked(choices: Choices, where: str) -> None:
    for name, task in _IDLE.items():
        asked = getattr(choices, name) != getattr(Choices, name)
        if asked and task != choices.task and name not in ("prior", "strength"):
            raise ChoiceError(
                f"{where}: --{name} has no effect on the task {choices.task}", f"--task {task}"
            )
    if choices.task == COMPARE and (len(choices.compare) != 2 or len(set(choices.compare)) != 2):
        raise ChoiceError(
            f"{where}: the task {COMPARE} needs two values of {choices.groups[0]!r}",
            "--compare A,B",
        )
    if choices.task == COMPARE and choices.rope >= (widest := _range(choices)):
        raise ChoiceError(
            f"{where}: --rope is {choices.rope:g}, and no two groups differ by more than "
            f"{widest:g} in {choices.metric}",
            "it is a difference that does not matter, for example 0.05",
        )


def _range(choices: Choices) -> float:
    """How far the values of two groups can be apart."""
    kind, _ = specification.split(choices.metric)
    if kind != COST:
        return 1.0
    return max(map(max, choices.costs)) - min(map(min, choices.costs))


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
