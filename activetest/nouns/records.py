"""Records read by their annotations: entries of TOML, of JSON and of callers, checked in one place.

A field takes what its annotation says: a text, true or false, a whole number, a number, lists of
these where it is a tuple, and None where it may be. `Annotated` with a Rule narrows it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from activetest.errors import ChoiceError

T = TypeVar("T")
# Larger whole numbers fit no column of a database and no array.
LARGEST = 2**63
_WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number"}


@dataclass(frozen=True)
class Rule:
    """Condition on a value, as a hint says it, and whether a value of its type meets it."""

    hint: str
    holds: Callable[[Any], bool] = lambda value: True


def one_of(values: Iterable[str], *, between: str = "") -> Rule:
    """The rule of a text that is one of these; between stands between two of them."""
    known = tuple(values)
    words = between.join(known) if between and len(known) == 2 else f"one of {', '.join(known)}"
    return Rule(f"it must be {words}", known.__contains__)


def read_record(record: Callable[..., T], entries: Mapping[str, Any], where: str = "") -> T:
    """The record of entries that it has fields for; lists become tuples.

    where  begins what is wrong

    Raises ChoiceError for a value that is not what the annotation of its field says.
    """
    rules = _find_rules(record)
    for name, value in entries.items():
        if not rules[name].holds(value):
            raise ChoiceError(f"{where}{name} is {_show(value)}", rules[name].hint)
    return record(**{name: to_tuples(value) for name, value in entries.items()})


def find_unknown(record: Any, entries: Iterable[str]) -> str | None:
    """The first name in order that no field has."""
    return min({*entries} - {*list_names(record)}, default=None)


def find_missing(record: Any, entries: Iterable[str]) -> str | None:
    """The first name in order of a field that needs an entry and has none."""
    needed = {each.name for each in fields(record) if each.default is MISSING}
    return min(needed - {*entries}, default=None)


def list_names(record: Any) -> list[str]:
    """The names of a record's fields."""
    return [each.name for each in fields(record)]


def write_record(record: Any) -> dict[str, Any]:
    """{name: value} as TOML and JSON hold it: tuples as lists, and nothing for None."""
    found = {name: getattr(record, name) for name in list_names(record)}
    return {name: to_lists(value) for name, value in found.items() if value is not None}


def to_tuples(value: Any) -> Any:
    """A value whose lists are tuples, however deep."""
    return tuple(map(to_tuples, value)) if isinstance(value, list | tuple) else value


def to_lists(value: Any) -> Any:
    """A value whose tuples are lists, however deep."""
    return list(map(to_lists, value)) if isinstance(value, list | tuple) else value


@cache
def _find_rules(record: Any) -> dict[str, Rule]:
    """{name: rule} of a record's fields; a text whose values are declared is one of these."""
    hints = get_type_hints(record, include_extras=True)
    return {
        each.name: one_of(each.metadata["values"], between=" or ")
        if each.metadata.get("values") and hints[each.name] is str
        else find_rule(hints[each.name])
        for each in fields(record)
    }


def find_rule(annotation: Any) -> Rule:
    """The rule that an annotation states: a type, several of one, or a narrower one."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _find_plain_rule(annotation)
    inner = find_rule(parts[0])
    if origin is Annotated:
        every = (inner, *parts[1:])
        return Rule(every[-1].hint, lambda value: all(rule.holds(value) for rule in every))
    if origin in (Union, UnionType):
        return Rule(inner.hint, lambda value: value is None or inner.holds(value))
    words = inner.hint.removeprefix("it must be a ")
    several = words.replace("list", "lists", 1) if words.startswith("list") else f"{words}s"
    return Rule(
        f"it must be a list of {several}",
        lambda value: isinstance(value, list | tuple) and all(map(inner.holds, value)),
    )


def _find_plain_rule(kind: type) -> Rule:
    if kind is bool:
        return Rule("it must be true or false", lambda value: isinstance(value, bool))
    known = (int, float) if kind is float else kind
    return Rule(
        f"it must be a {_WORDS[kind]}",
        lambda value: isinstance(value, known) and not isinstance(value, bool),
    )


def _show(value: Any) -> str:
    """A value in a message; whole numbers as they are typed, which options read as 5.0."""
    from activetest.nouns.arguments import show

    whole = isinstance(value, float) and abs(value) < LARGEST and value.is_integer()
    return show(int(value) if whole else value)
