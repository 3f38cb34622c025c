"""Requirements: how they are written, and which verdict an interval gives.

A requirement is `metric[class]@group op threshold`, for example recall[fraud]>=0.8 or
accuracy@region=EU>=0.9; class and group may be left out, and blanks between parts do not matter.
There is only one way to read it:

- the last operator (>= or <=) ends the left side, and a number follows it. > and < mean >= and <=:
  a sample cannot show the difference;
- the first @ outside the brackets begins the group. Its first = ends the column, and the rest is
  the value, whatever it contains: accuracy@income=>50K>=0.8 is about the group >50K of the column
  income. A product of columns has a product of values: error@sex*race=Female*White<=0.1;
- the group stands behind a difference of models, and is of both:
  accuracy(v2)-accuracy(v1)@region=EU>=-0.01;
- error(part=week48) is about one part of the population, and error(part=week48)-error(part=week40)
  about the first less the second;
- brackets may contain anything but brackets.
"""

import math
import re
from dataclasses import dataclass

from activetest.errors import ChoiceError
from activetest.nouns.expression import parse_expression
from activetest.nouns.report import FAIL, PASS, UNDECIDED
from activetest.nouns.rounding import MARGIN

_EXAMPLE = "write it like 'recall[fraud]>=0.8' or 'accuracy@region=EU>=0.9'"
# Greedy, so that the operator found is the last one.
_SIDES = re.compile(r"(.*)(>=|<=|>|<)(.*)", re.DOTALL)
_LEFT = re.compile(r"([^\[\]@]*)(\[[^\[\]]*\])?\s*(?:@(.*))?", re.DOTALL)
# Of models: see nouns.expression.
_MODELS = re.compile(r"((?:[^\[\]@]|\[[^\[\]]*\])*\))()\s*(?:@(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Requirement:
    """A metric that has to be good enough.

    text        as the user wrote it
    metric      specification, with what stands in brackets: "recall[fraud]"
    group       (column, value), or None for the whole pool
    op          ">=" or "<="
    threshold   the value that decides
    level       confidence of the verdict, where it is not that of the study
    parts       names of a part of the population, and of one that is subtracted; empty for all
    """

    text: str
    metric: str
    group: tuple[str, str] | None
    op: str
    threshold: float
    level: float | None = None
    parts: tuple[str, ...] = ()

    def find_alpha(self, level: float) -> float:
        """The error of the verdict on either side, in a study of this level."""
        return 1 - (level if self.level is None else self.level)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it names, as an expression does."""
        return parse_expression(self.metric).models

    def refuse(self, problem: str, hint: str) -> ChoiceError:
        """The error for a requirement that cannot be decided."""
        return ChoiceError(f"requirement {self.text!r}: {problem}", hint)


def parse_requirement(text: str) -> Requirement:
    """The requirement in a text. Raises ChoiceError, with the reason, for any other text."""
    sides = _SIDES.fullmatch(text)
    if not sides:
        raise _refuse(text, "has neither >= nor <=", f"{_EXAMPLE}; a shell wants the quotes")
    left, op, number = (part.strip() for part in sides.groups())
    if len(op) == 1 and left.endswith("="):
        raise _refuse(text, f"has the operator ={op}", f"write {op}=")
    metric, group = _parse_left(text, left)
    parts = parse_expression(metric).parts
    if parts and group:
        raise _refuse(text, "is about a part and about a group", "name one of them")
    metric = parse_expression(metric).metric if parts else metric
    threshold = _parse_threshold(text, number)
    return Requirement(text, metric, group, op[0] + "=", threshold, parts=parts)


def decide_by_interval(
    requirement: Requirement,
    lower: float | None,
    upper: float | None,
    *,
    strict: tuple[float, float] | None = None,
) -> str:
    """The verdict of an interval: "pass", "fail", or "undecided" while the threshold is inside.

    An interval of level 1 - 2 alpha errs towards either side with probability alpha at most. Among
    k gates that all have to pass, failing any takes an error of alpha / k: strict holds the ends
    (lower, upper) of that wider interval. None where there is no interval.
    """
    if lower is None or upper is None:
        return UNDECIDED
    # As if every metric were good when it is large.
    sign = 1 if requirement.op == ">=" else -1
    limit = sign * requirement.threshold
    slack = MARGIN * max(1, abs(limit))
    if min(sign * end for end in (lower, upper)) >= limit - slack:
        return PASS
    failing = max(sign * end for end in strict or (lower, upper))
    return FAIL if failing < limit - slack else UNDECIDED


def explain_shared_error(
    requirement: Requirement, lower: float | None, upper: float | None, gates: int
) -> str | None:
    """Why an undecided gate has not failed though its interval misses the threshold, if it does."""
    if decide_by_interval(requirement, lower, upper) != FAIL:
        return None
    return (
        f"its interval misses the threshold, but one of {gates} gates fails only by a wider one: "
        "they share the error of failing"
    )


def join_reasons(*reasons: str | None) -> str | None:
    """The reasons that there are, as one; None without any."""
    return "; ".join(filter(None, reasons)) or None


def _parse_left(text: str, left: str) -> tuple[str, tuple[str, str] | None]:
    """The metric and the group in what stands before the operator."""
    parts = _LEFT.fullmatch(left) or _MODELS.fullmatch(left)
    if not parts:
        raise _refuse(text, "has brackets that do not fit together", "write recall[fraud]>=0.8")
    name, brackets, group = parts.groups()
    if not name.strip():
        raise _refuse(text, "names no metric", _EXAMPLE)
    metric = name.strip() + (brackets or "")
    if group is None:
        return metric, None
    column, equals, value = (part.strip() for part in group.partition("="))
    if not (column and equals):
        raise _refuse(text, f"has no column=value after the @, but {group!r}", _EXAMPLE)
    return metric, (column, value)


def _parse_threshold(text: str, number: str) -> float:
    if "@" in number:
        hint = "the group stands before the operator: accuracy@region=EU>=0.9"
        raise _refuse(text, "has something after its threshold", hint)
    try:
        threshold = float(number)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        hint = "percentages as shares: 0.9 for 90 %" if "%" in number else _EXAMPLE
        raise _refuse(text, f"has no number after its last operator, but {number!r}", hint)
    return threshold


def _refuse(text: str, what: str, hint: str) -> ChoiceError:
    return ChoiceError(f"requirement {text!r} {what}", hint)
