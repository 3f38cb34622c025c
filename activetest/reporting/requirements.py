"""Gates: what a requirement says, which verdict numbers give, and which exit code verdicts give.

A requirement is `metric[class]@group op threshold`, for example recall[fraud]>=0.8 or
accuracy@region=EU>=0.9; class and group may be left out, and blanks between parts do not matter.
It can be read in one way only:

- the last operator (>= or <=) ends the left side, and a number follows it. > and < mean >= and <=:
  no sample tells a limit from what lies a hair beside it;
- the first @ outside the brackets begins the group. Its first = ends the column, and the rest is
  the value, whatever stands in it: accuracy@income=>50K>=0.8 is about the group >50K of the column
  income. A product of columns has a product of values: error@sex*race=Female*White<=0.1;
- brackets hold anything but brackets.
"""

import math
import re
from dataclasses import dataclass

from activetest.errors import ChoiceError
from activetest.nouns.report import FAIL, PASS, UNDECIDED

_EXAMPLE = "write it like 'recall[fraud]>=0.8' or 'accuracy@region=EU>=0.9'"
# Greedy, so that the operator found is the last one.
_SIDES = re.compile(r"(.*)(>=|<=|>|<)(.*)", re.DOTALL)
_LEFT = re.compile(r"([^\[\]@]*)(\[[^\[\]]*\])?\s*(?:@(.*))?", re.DOTALL)
# What rounding does to a value that is exactly the threshold.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Requirement:
    """What has to be good enough.

    text        as it was asked
    metric      specification, with what stands in brackets: "recall[fraud]"
    group       (column, value), or None for the whole pool
    op          ">=" or "<="
    threshold   the value that decides
    """

    text: str
    metric: str
    group: tuple[str, str] | None
    op: str
    threshold: float


def parse(text: str) -> Requirement:
    """The requirement in a text. Raises ChoiceError for one that is none, and says why."""
    sides = _SIDES.fullmatch(text)
    if not sides:
        raise _wrong(text, "has neither >= nor <=", f"{_EXAMPLE}; a shell wants the quotes")
    left, op, number = (part.strip() for part in sides.groups())
    if len(op) == 1 and left.endswith("="):
        raise _wrong(text, f"has the operator ={op}", f"write {op}=")
    metric, group = _left(text, left)
    return Requirement(text, metric, group, op[0] + "=", _threshold(text, number))


def from_interval(
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
    passing = (lower, upper)
    failing = passing if strict is None else strict
    if None in passing or None in failing:
        return UNDECIDED
    # As if every metric were good when it is large.
    sign = 1 if requirement.op == ">=" else -1
    limit = sign * requirement.threshold
    slack = _ROUNDING * max(1, abs(limit))
    if min(sign * end for end in passing) >= limit - slack:
        return PASS
    return FAIL if max(sign * end for end in failing) < limit - slack else UNDECIDED


def _left(text: str, left: str) -> tuple[str, tuple[str, str] | None]:
    """The metric and the group in what stands before the operator."""
    parts = _LEFT.fullmatch(left)
    if not parts:
        raise _wrong(text, "has brackets that do not fit together", "write recall[fraud]>=0.8")
    name, brackets, group = parts.groups()
    if not name.strip():
        raise _wrong(text, "names no metric", _EXAMPLE)
    metric = name.strip() + (brackets or "")
    if group is None:
        return metric, None
    column, equals, value = (part.strip() for part in group.partition("="))
    if not (column and equals):
        raise _wrong(text, f"has no column=value after the @, but {group!r}", _EXAMPLE)
    return metric, (column, value)


def _threshold(text: str, number: str) -> float:
    if "@" in number:
        hint = "the group stands before the operator: accuracy@region=EU>=0.9"
        raise _wrong(text, "has something after its threshold", hint)
    try:
        threshold = float(number)
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        hint = "percentages as shares: 0.9 for 90 %" if "%" in number else _EXAMPLE
        raise _wrong(text, f"has no number after its last operator, but {number!r}", hint)
    return threshold


def _wrong(text: str, what: str, hint: str) -> ChoiceError:
    return ChoiceError(f"requirement {text!r} {what}", hint)
