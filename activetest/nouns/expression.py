"""How metrics of several models are written: accuracy(v2), and accuracy(v2)-accuracy(v1).

A metric is followed by the model in brackets, as `model=v2` or by its name alone. Of one metric,
one model is subtracted from another. Without such brackets it is of the study's first model.
`part=week48` in the brackets says of which part of the population it is.
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
    parts    the same of parts of the population: none for all of it
    """

    metric: str
    models: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def parse_expression(text: str) -> Expression:
    """The expression in a text. Raises ChoiceError for a difference of different metrics."""
    if found := _TERM_ALONE.fullmatch(text.strip()):
        return _make_expression(text, found[1].strip(), found[2])
    found = _DIFFERENCE.fullmatch(text.strip())
    if not found:
        return Expression(text)
    first, second = found[1].strip(), found[3].strip()
    if first != second:
        raise ChoiceError(
            f"{text!r} subtracts {second} from {first}, which is another metric",
            f"subtract the same one: '{first}({found[2]})-{first}({found[4]})'",
        )
    return _make_expression(text, first, found[2], found[4])


def _make_expression(text: str, metric: str, *brackets: str) -> Expression:
    """The expression with what stands in one pair of brackets, or in two."""
    read = [_read_name(text, each) for each in brackets]
    names, kinds = tuple(name for _, name in read), {key for key, _ in read}
    if len(kinds) > 1:
        raise ChoiceError(f"{text!r} subtracts a part and a model from each other", _EXAMPLE)
    if len({*names}) < len(names):
        raise ChoiceError(f"{text!r} subtracts a number from itself", _EXAMPLE)
    return Expression(metric, parts=names) if kinds == {"part"} else Expression(metric, names)


def _read_name(text: str, where: str) -> tuple[str, str]:
    """Whether brackets name a model or a part, and its name."""
    key, equals, name = (part.strip() for part in where.partition("="))
    if equals and key not in ("model", "part"):
        raise ChoiceError(
            f"{text!r} asks for {key!r}, and only `model` and `part` are known", _EXAMPLE
        )
    name, key = (name, key) if equals else (key, "model")
    if not name:
        raise ChoiceError(f"{text!r} names no {key} in its brackets", _EXAMPLE)
    return key, name
