"""Declarations of choices: what a field of a record says that is an option, a setting and a key.

The records of choices.py are made of them, and those of the files of that name in wings.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Annotated, Any

from activetest.nouns.records import LARGEST, Rule

# A comma outside of brackets.
_COMMA = re.compile(r",(?![^\[\]]*\])")
# Rules of values that choices of several records have.
Name = Annotated[str, Rule("it must be a name")]
Names = Annotated[tuple[str, ...], Rule("it must be a list of names")]
Count = Annotated[int, Rule("it must be a whole number above 0", lambda value: 0 < value < LARGEST)]


class Section(StrEnum):
    """Where an option stands in the help."""

    DATA = "data"
    AIM = "aim"
    SAMPLING = "sampling"
    GROUPS = "groups"
    ADVANCED = "advanced"


class Kind(StrEnum):
    """How the text of an option becomes a value. Lists may be separated by commas."""

    TEXT = "text"
    NUMBER = "number"
    WHOLE = "whole number"
    NAMES = "names"
    METRICS = "metrics"
    FLAG = "true or false"
    # Of the pool: a text may be several of them, and is split where these are known.
    VALUES = "values"

    @property
    def is_list(self) -> bool:
        """Whether an option of this kind takes several values."""
        return self in (Kind.NAMES, Kind.METRICS)


class Simulated(StrEnum):
    """Whether `simulate` takes a choice, too, and how many values of it."""

    NO = "no"
    ONCE = "once"
    SEVERAL = "several"


@dataclass(frozen=True)
class Declaration:
    """One choice, as users see it.

    meaning      one or two sentences for the help
    section      where it stands in the help
    kind         how text becomes a value
    values       the values it takes, where they are few
    metavar      stands for the value in the help; the values joined by "|" where it is empty
    flag         the option; "--name" where it is empty
    value        the default
    default      the default in words, where it is no single value
    simulated    whether `simulate` takes it
    simulated_default  the default there in words, where it is another one
    completes    what a shell completes its value with: a family of the catalogue or "columns"
    rank         {command: place} among the ten options that its help explains first, from 1
    needs        "family/method" of the catalogue without which it says nothing; empty for most
    """

    meaning: str
    section: Section
    kind: Kind = Kind.TEXT
    values: tuple[str, ...] = ()
    metavar: str = ""
    flag: str = ""
    value: Any = None
    default: str = ""
    simulated: Simulated = Simulated.ONCE
    simulated_default: str = ""
    completes: str = ""
    rank: Mapping[str, int] = field(default_factory=dict)
    needs: str = ""

    def takes_several(self, *, simulated: bool = False) -> bool:
        """Whether several values may be given, to a study or to `simulate`."""
        return self.kind.is_list or (simulated and self.simulated == Simulated.SEVERAL)


def declare(
    meaning: str, section: Section, *, value: Any = None, required: bool = False, **more: Any
) -> Any:
    """A field of a dataclass that is a choice; value is its default, more as in Declaration."""
    declaration = Declaration(meaning, section, value=value, **more)
    metadata = {"declaration": declaration, "values": declaration.values}
    if required:
        return field(metadata=metadata)
    return field(default=value, metadata=metadata)


def derive() -> Any:
    """A field of a dataclass that follows from choices and is stored with them."""
    return field()


def declared(*classes: type) -> dict[str, Declaration]:
    """{name: declaration} of the fields of these dataclasses that users choose, in order."""
    return {
        each.name: each.metadata["declaration"]
        for cls in classes
        for each in fields(cls)
        if "declaration" in each.metadata
    }


def split_list(kind: Kind, texts: Iterable[str]) -> tuple[str, ...]:
    """The values in texts such as "a,b". Of metrics, commas in brackets belong to the name."""
    if kind == Kind.METRICS:
        return tuple(name.strip() for text in texts for name in _COMMA.split(text))
    return tuple(name for text in texts for name in text.split(","))
