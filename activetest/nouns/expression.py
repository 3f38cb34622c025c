"""How metrics of several models are written: accuracy(v2), and accuracy(v2)-accuracy(v1).

A metric is followed by the model in brackets, as `model=v2` or by its name alone. Of one metric,
one model is subtracted from another. Without such brackets it is of the study's first model.
"""

import re
from dataclasses import dataclass

from activetest.errors import ChoiceError

_EXAMPLE = "write it like 'accuracy(v2)' or 'accuracy(v2)-accuracy(v1)'"
_TERM = r"([^\[\]()@]*?(?:\[[^\[\]]*\])?)\s*\(([^()]*)\)"
_TERM_ALONE = re.compile(_TERM, re.DOTALL)
_DIFFERENCE = re.compile(rf"{_TERM}\s*-\s*{_TERM}", re.DOTALL)


@dataclass(frozen=True)
class Expression:
    """A metric and whose it is.

    metric   its specification, with what stands in brackets: "recall[fraud]"
    models   names of the models: none for the study's first one alone, one, or the one from which
             the other is subtracted, and that
    """

    metric: str
    models: tuple[str, ...] = ()


def parse_expression(text: str) -> Expression:
    """The expression in a text. Raises ChoiceError for a difference of different metrics."""
    if found := _TERM_ALONE.fullmatch(text.strip()):
        return Expression(found[1].strip(), (_read_model(text, found[2]),))
    found = _DIFFERENCE.fullmatch(text.strip())
    if not found:
        return Expression(text)
    first, second = found[1].strip(), found[3].strip()
    models = _read_model(text, found[2]), _read_model(text, found[4])
    if first != second:
        raise ChoiceError(
            f"{text!r} subtracts {second} from {first}, which is another metric",
            f"subtract the same one: '{first}({models[0]})-{first}({models[1]})'",
        )
    if models[0] == models[1]:
        raise ChoiceError(f"{text!r} subtracts a number from itself", _EXAMPLE)
    return Expression(first, models)


def _read_model(text: str, where: str) -> str:
    """The name of the model in brackets."""
    key, equals, name = (part.strip() for part in where.partition("="))
    if equals and key != "model":
        raise ChoiceError(f"{text!r} asks for {key!r}, and only `model` is known", _EXAMPLE)
    name = name if equals else key
    if not name:
        raise ChoiceError(f"{text!r} names no model in its brackets", _EXAMPLE)
    return name
