"""The settings that users give to a study and to simulations, sorted by who needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.choices import (
    DECLARATIONS,
    ColumnChoices,
    Simulated,
    split_list,
)
from activetest.sampling.question import split_task

# Auxiliary files.
FILES = ("train", "other_models")


@dataclass(frozen=True)
class Settings:
    """What the user asked for, by who needs it; what was not given is left out.

    columns   for ColumnChoices
    choices   for Choices, but for costs and compare
    files     {"train": address, "other_models": address}; None where it was not given, empty where
              the study is to forget it
    seed      None where it was not given
    costs     address of the file of costs
    compare   the two groups as text "A,B", or as two values
    """

    columns: dict[str, Any]
    choices: dict[str, Any]
    files: dict[str, str | None]
    seed: int | None
    costs: str | None
    compare: str | tuple[str, ...] | None


def read_settings(given: Mapping[str, Any], *, simulated: bool = False) -> Settings:
    """Sort the settings that users give by name; None counts as not given.

    Names are those of activetest.nouns.choices, earlier ones included. Lists may be given as text
    with commas. simulated reads several values where `simulate` compares them. Raises ChoiceError
    for a name that is no setting, or a value that makes no sense.
    """
    values = {}
    for name, value in given.items():
        present = _PRESENT_NAMES.get(name, name)
        if present not in DECLARATIONS:
            raise ChoiceError(
                f"there is no choice {name!r}", catalog.nearest(name, tuple(DECLARATIONS))
            )
        if value is not None and present != "costs":
            values[present] = _as_list(present, value, simulated)
        elif value is not None:
            values[present] = str(value)
    task, question = split_task(values.pop("task", None))
    if question and values.setdefault("question", question) != question:
        raise ChoiceError(
            f"`question` is {values['question']} and `task` is {question}", "name one of them"
        )
    if task:
        values["task"] = task
    names = {field.name for field in fields(ColumnChoices)}
    files = {
        name: None if (value := values.pop(name, None)) is None else str(value) for name in FILES
    }
    return Settings(
        files=files,
        seed=values.pop("seed", None),
        costs=values.pop("costs", None),
        compare=values.pop("compare", None),
        columns={name: value for name, value in values.items() if name in names},
        choices={name: value for name, value in values.items() if name not in names},
    )


def _as_list(name: str, value: Any, simulated: bool) -> Any:
    """The value; of choices that are lists, a tuple."""
    declaration = DECLARATIONS[name]
    if declaration.kind.is_list:
        return split_list(declaration.kind, [value]) if isinstance(value, str) else tuple(value)
    if simulated and declaration.simulated == Simulated.SEVERAL:
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    return value


# {earlier name: present one}. `task` still names the task of the pool.
_PRESENT_NAMES = {
    old: name
    for name, declaration in DECLARATIONS.items()
    for old in declaration.old_keys
    if old not in DECLARATIONS
}
