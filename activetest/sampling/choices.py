"""Whether choices make sense: every key and value checked, whoever wrote them."""

import math
from dataclasses import MISSING, fields

from activetest import catalog
from activetest.bandits.arms import CONFUSION
from activetest.bandits.bandit import TASKS as QUESTIONS
from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.labels.annotators import METHODS
from activetest.nouns.choices import Choices
from activetest.sampling.question import PRIORS, check_task

# Beyond this, powers of small scores would be lost.
_MOST_POWER = 16
# A prior that counts as more labels leaves nothing to learn.
_MOST_LABELS = 1_000_000
_SHARE = "a number from 0 to 1"
_RULES = {
    "metric": ("a name", lambda value: isinstance(value, str)),
    "metrics": ("a list of names", lambda value: _names(value) and len(value) > 0),
    "surrogate": ("a name", lambda value: isinstance(value, str)),
    "acquisition": ("a name", lambda value: isinstance(value, str)),
    "floor": (_SHARE, lambda value: _number(value) and 0 <= value <= 1),
    "level": ("a number between 0 and 1", lambda value: _number(value) and 0 < value < 1),
    "budget": ("a whole number above 0", lambda value: value is None or _count(value)),
    "groups": ("a list of column names", lambda value: _names(value)),
    "also": ("a list of names", lambda value: _names(value)),
    "annotators": (f"one of {', '.join(METHODS)}", lambda value: value in METHODS),
    "interval": ("fixed or anytime", lambda value: value in ("fixed", "anytime")),
    "refit": ("every, doubling or a whole number of labels", lambda value: _schedule(value)),
    "selection": ("draw or top", lambda value: value in ("draw", "top")),
    "power": (
        f"a number above 0, at most {_MOST_POWER}",
        lambda value: _number(value) and 0 < value <= _MOST_POWER,
    ),
    "costs": ("a square of numbers", lambda value: value is None or _square(value)),
    "task": (f"one of {', '.join(QUESTIONS)}", lambda value: value in (None, *QUESTIONS)),
    "target": (f"{CONFUSION}, or empty", lambda value: value in ("", CONFUSION)),
    "worst": ("a whole number above 0", lambda value: _count(value)),
    "compare": ("a list of two values", lambda value: _names(value) and len(value) in (0, 2)),
    "prior": (f"one of {', '.join(PRIORS)}", lambda value: value in PRIORS),
    "strength": (
        f"a number above 0, at most {_MOST_LABELS:,}",
        lambda value: value is None or (_number(value) and 0 < value <= _MOST_LABELS),
    ),
    "rope": ("a number from 0 up", lambda value: _number(value) and 0 <= value < math.inf),
}


def checked(entries: dict, pool: dict, *, where: str, simulated: bool = False) -> Choices:
    """The choices in `entries`, for a pool with the roles in `pool`.

    simulated allows what only simulations can do. Raises ChoiceError or UnknownMethod, naming the
    key and `where` it stands.
    """
    for key, value in entries.items():
        if key not in _RULES:
            raise ChoiceError(f"{where}: there is no choice {key!r}", f"known: {', '.join(_RULES)}")
        wanted, holds = _RULES[key]
        if not holds(value):
            raise ChoiceError(f"{where}: {key} is {value!r}", f"it must be {wanted}")
    for field in fields(Choices):
        if field.name not in entries and field.default is MISSING:
            raise ChoiceError(f"{where}: {field.name} is missing", "activetest init sets it again")
    choices = Choices(**{key: _frozen(value) for key, value in entries.items()})
    _check_names(choices, pool, where)
    _check_acquisition(choices, pool, where, simulated)
    check_task(choices, pool, where)
    return choices


def _check_names(choices: Choices, pool: dict, where: str) -> None:
    facts = specification.facts(pool, choices.costs)
    try:
        for name in (choices.metric, *choices.also):
            specification.objective(name, facts)
        for name in choices.metrics:
            specification.metrics(name, facts)
    except ChoiceError as error:
        raise type(error)(f"{where}: {error.problem}", error.hint) from error
    reason = specification.why_not_bettable(specification.objective(choices.metric, facts))
    if choices.interval == "anytime" and reason:
        raise ChoiceError(
            f"{where}: draws cannot serve anytime-valid intervals here, for {reason}",
            "aim at another metric, or leave --interval fixed",
        )
    if choices.annotators == "dawid-skene" and pool["task"] == "regression":
        raise ChoiceError(
            f"{where}: dawid-skene is for classes, and this pool predicts values",
            "leave annotators at majority: of several values the median counts",
        )
    for key, family in (("surrogate", "surrogates"), ("acquisition", "acquisition")):
        name, known = getattr(choices, key), catalog.names(family)
        if name not in known:
            raise ChoiceError(
                f"{where}: no {key} is called {name!r}", f"choose from {', '.join(known)}"
            )
    task = catalog.fact("surrogates", choices.surrogate, "TASK") or pool["task"]
    if task != pool["task"]:
        fitting = [
            name
            for name in catalog.names("surrogates")
            if catalog.fact("surrogates", name, "TASK") != task
        ]
        raise ChoiceError(
            f"{where}: surrogate {choices.surrogate!r} is for {task}, "
            f"and this pool is {pool['task']}",
            f"choose from {', '.join(fitting)}",
        )
    if catalog.fact("surrogates", choices.surrogate, "NEEDS_FEATURES") and pool.get("open_classes"):
        raise ChoiceError(
            f"{where}: surrogate {choices.surrogate!r} cannot believe in a class that the model "
            "never predicts, and labels of this pool may be of such classes",
            "use --surrogate agreement, or name all classes with --classes",
        )
    silent = pool["kind"] == "pred" and not pool.get("std")
    if choices.surrogate == "model" and silent:
        raise ChoiceError(
            f"{where}: the surrogate 'model' needs probabilities or a column pred_std, "
            "and this pool has neither",
            "leave the surrogate to the default",
        )
    for name in choices.groups:
        if name not in pool.get("groups", ()):
            raise ChoiceError(
                f"{where}: {name!r} is not a group of this study",
                f"activetest init {pool['uri']} --group '{name}'",
            )


def _check_acquisition(choices: Choices, pool: dict, where: str, simulated: bool) -> None:
    task = catalog.fact("acquisition", choices.acquisition, "TASK") or pool["task"]
    if task != pool["task"]:
        raise ChoiceError(
            f"{where}: acquisition {choices.acquisition!r} is for {task}, "
            f"and this pool is {pool['task']}",
            "choose another, for example optimal",
        )
    if catalog.fact("acquisition", choices.acquisition, "SIMULATION_ONLY") and not simulated:
        raise ChoiceError(
            f"{where}: acquisition {choices.acquisition!r} draws with replacement, "
            "and a study never asks for a label twice",
            f"compare it by activetest simulate --acquisition {choices.acquisition}",
        )
    if choices.selection == "top" and choices.interval == "anytime":
        raise ChoiceError(
            f"{where}: nobody can bet on items that are not drawn at random",
            "leave --selection draw, or --interval fixed",
        )
    even, top = choices.acquisition == "uniform", choices.selection == "top"
    if even and (top or choices.power != 1):
        raise ChoiceError(
            f"{where}: uniform draws have neither a top nor a power", "leave them at draw and 1"
        )
    if top and choices.power != 1:
        raise ChoiceError(
            f"{where}: the top scores are the same to any power", "leave --power at 1"
        )
    if choices.surrogate == "model" and catalog.fact(
        "acquisition", choices.acquisition, "NEEDS_MEMBERS"
    ):
        raise ChoiceError(
            f"{where}: {choices.acquisition} compares members, and the surrogate 'model' has one",
            "choose a surrogate with members that differ",
        )


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _names(value) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _square(value) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(row, list | tuple) and len(row) == len(value) and all(map(_number, row))
        for row in value
    )


def _schedule(value) -> bool:
    whole = isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0
    return value in ("every", "doubling") or whole


def _count(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
