"""The settings that users give to a study and to simulations, sorted by who needs them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.specification import find_task
from activetest.nouns.arguments import read_name, show
from activetest.nouns.choices import DECLARATIONS, ColumnChoices, Task
from activetest.nouns.declarations import Kind, Simulated
from activetest.nouns.records import LARGEST, find_rule

# Auxiliary files.
FILES = ("train", "other_models")


@dataclass(frozen=True)
class Settings:
    """The user's settings, by who needs it; what was not given is left out.

    columns   for ColumnChoices
    choices   for Choices, but for costs
    files     {"train": address, "other_models": address}; None where it was not given, empty where
              the study is to forget it
    seed      None where it was not given
    costs     address of the file of costs, or a mapping {predicted: {true: cost}}
    texts     of choices that are values of the pool, where they were given as "A,B": the separator
              among several commas is seen when the pool's values are known
    """

    columns: dict[str, Any]
    choices: dict[str, Any]
    files: dict[str, str | None]
    seed: int | None
    costs: str | Mapping[Any, Any] | None
    texts: dict[str, str]


def read_settings(given: Mapping[str, Any], *, simulated: bool = False) -> Settings:
    """Sort the settings that users give by name; None counts as not given.

    Names are those of activetest.nouns.choices. Where several names are possible, a text is one of
    them. simulated reads several values where `simulate` compares them.
    Raises ChoiceError for a name that is no setting, or a value that makes no sense.
    """
    values = {}
    for name, value in given.items():
        if name not in DECLARATIONS:
            raise ChoiceError(
                f"there is no choice {name!r}", catalog.nearest(name, tuple(DECLARATIONS))
            )
        if simulated and DECLARATIONS[name].simulated == Simulated.NO:
            other = "`metrics` and `aim` say what is estimated, and what draws aim at"
            raise ChoiceError(
                f"`{name}` is no setting of a simulation",
                other if name == "metric" else "leave it out",
            )
        if value is not None:
            values[name] = _read_value(name, value, simulated)
    names = {field.name for field in fields(ColumnChoices)}
    texts = {
        name: value
        for name, value in values.items()
        if DECLARATIONS[name].kind == Kind.VALUES and isinstance(value, str)
    }
    values |= {name: text.rpartition(",")[::2] for name, text in texts.items()}
    return Settings(
        files={name: values.pop(name, None) for name in FILES},
        seed=values.pop("seed", None),
        costs=values.pop("costs", None),
        texts=texts,
        columns={name: value for name, value in values.items() if name in names},
        choices={name: value for name, value in values.items() if name not in names},
    )


def complete_task(columns: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, Any]:
    """The columns, with regression as the task where all metrics are of values and none is given.

    So a column of scores holds predicted values where the metric is their mean, and probabilities
    where it is an error.
    """
    if "task" in columns or find_task(metrics) != Task.REGRESSION:
        return dict(columns)
    return {**columns, "task": Task.REGRESSION.value}


def _read_value(name: str, value: Any, simulated: bool) -> Any:
    """The value; of choices that are lists, a tuple. Raises ChoiceError for another type."""
    declaration = DECLARATIONS[name]
    if declaration.takes_several(simulated=simulated):
        single = isinstance(value, str) or not isinstance(value, Iterable)
        values = tuple(_read_one(name, each) for each in ((value,) if single else value))
        if values in (("",), ("none",)) and name in _MAY_BE_EMPTY:
            # As an empty name removes a column of weights or prices.
            return ()
        if not values and name not in _MAY_BE_EMPTY:
            raise ChoiceError(f"`{name}` is empty", "name at least one, or leave it out")
        return values
    several = declaration.kind == Kind.VALUES and not isinstance(value, str)
    if several and isinstance(value, Iterable):
        return tuple(_read_one(name, each) for each in value)
    return _read_one(name, value)


def _read_one(name: str, value: Any) -> Any:
    """One value, also where it is a number of NumPy. Raises ChoiceError for another type."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if name in (*FILES, "costs"):
        if isinstance(value, str | Path):
            return str(value)
        if name == "costs" and isinstance(value, Mapping):
            return value
        hint = "write it to a file, and give the path"
        hint += ", or give a mapping {predicted: {true: cost}}" if name == "costs" else ""
        raise ChoiceError(f"`{name}` is of type {type(value).__name__}", hint)
    kind = DECLARATIONS[name].kind
    rule = find_rule(_TYPES.get(kind, str))
    if not isinstance(value, str | int | float):
        raise ChoiceError(f"`{name}` is {show(value)}", rule.hint)
    if isinstance(value, str):
        read_name(name, value)
    elif LARGEST <= abs(value) < math.inf:
        raise ChoiceError(f"`{name}` is {show(value)}", "it is too large")
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and (kind == Kind.VALUES or name in _NAMES_OF_VALUES):
        return str(value)
    if (kind == Kind.VALUES or name in _CHECKED_HERE) and not rule.holds(value):
        raise ChoiceError(f"`{name}` is {value!r}", rule.hint)
    return value


_TYPES: dict[Kind, Any] = {Kind.NUMBER: float, Kind.WHOLE: int, Kind.FLAG: bool}
_MAY_BE_EMPTY = ("features", "text", "groups", "attributes", "other_columns", "draw_for")
# Names of classes, and a schedule: whole numbers stand for text, as they do for values of the pool.
_NAMES_OF_VALUES = ("positive", "classes", "refit")
# Settings that are no field of Choices, whose values check_choices looks at.
_CHECKED_HERE = (*(each.name for each in fields(ColumnChoices)), "seed")
