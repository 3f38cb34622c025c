"""Functions that take every declared choice as a keyword show them: in signature and docstring."""

import inspect
import re
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any, TypeVar

from activetest.nouns.choices import DECLARATIONS, default_words, list_declarations, option
from activetest.nouns.declarations import Declaration, Kind

_INDENTS: dict[str, Any] = {"initial_indent": " " * 4, "subsequent_indent": " " * 8}
F = TypeVar("F", bound=Callable[..., Any])

_TYPES = {Kind.NUMBER: float, Kind.WHOLE: int, Kind.FLAG: bool}
_SEVERAL = {Kind.NUMBER: Sequence[float], Kind.WHOLE: Sequence[int]}


def with_settings(*, simulated: bool = False) -> Callable[[F], F]:
    """Names every setting in the signature and docstring of a function that takes **settings.

    simulated  those that `simulate` takes, and as it takes them

    All default to None, which means that a setting was not given; the docstring says what holds
    then.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [
            each
            for each in signature.parameters.values()
            if each.kind != inspect.Parameter.VAR_KEYWORD
        ]
        shown = signature.replace(parameters=[*own, *_parameters(simulated)])
        vars(function)["__signature__"] = shown
        if function.__doc__:
            text = inspect.cleandoc(function.__doc__)
            function.__doc__ = f"{text}\n\n{describe_settings(simulated=simulated)}"
        return function

    return decorate


def describe_settings(*, simulated: bool = False) -> str:
    """The settings, one a line: name, meaning and default."""
    lines = ["Settings:"]
    for name, declaration in list_declarations(simulated=simulated).items():
        default = default_words(name, simulated=simulated)
        words = _in_python(declaration.meaning)
        if declaration.values:
            words += f" One of {', '.join(declaration.values)}."
        end = "" if default.endswith(".") else "."
        words += f" Default: {default}{end}" if default else ""
        lines.append(fill(f"{name}: {words}", 100, **_INDENTS))
    return "\n".join(lines)


def _parameters(simulated: bool) -> list[inspect.Parameter]:
    """A keyword for every setting."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_annotation(declaration, simulated),
        )
        for name, declaration in list_declarations(simulated=simulated).items()
    ]


def _annotation(declaration: Declaration, simulated: bool) -> Any:
    """Types of a setting: text or a number, and several of them where it is a list."""
    kind = declaration.kind
    if declaration.takes_several(simulated=simulated):
        return _TYPES.get(kind, str) | _SEVERAL.get(kind, Sequence[str]) | None
    return _TYPES.get(kind, str) | None


def _in_python(meaning: str) -> str:
    """The meaning of a choice, with settings in place of options."""
    names = {option(name): name for name in DECLARATIONS}
    return re.sub(r"--[a-z][a-z-]*", lambda found: f"`{names.get(found[0], found[0])}`", meaning)
