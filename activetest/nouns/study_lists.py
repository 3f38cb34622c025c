"""Lists of a study: parts, models, criteria and raters; and what it was asked and planned.

Every study has one criterion today. They are recorded as a list, so that later ones can be added.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from activetest.nouns.expression import parse_expression

# The numbers of the first part, model, criterion and rater; and the only phase of a round.
FIRST = 1
# Who asked for a gate.
OF_REPORT, OF_CONFIG = "report", "study.toml"
# Names of models are also names of files, and stand in expressions such as accuracy(v2)@region.
_MODEL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
# The last parts, whose number follows.
_LAST = re.compile(r"last:([1-9][0-9]{0,5})")
MODEL_NAMES = (
    "a name has up to 64 ASCII letters, digits, underscores, dots and hyphens, and begins with a "
    "letter"
)


@dataclass(frozen=True)
class Part:
    """A part of the population: a pool of items.

    address      where it was when it came, as study.toml has it
    format       of the file: the ending of its name
    fingerprint  of the ids and outputs of all items up to it: of those of earlier parts, too
    rows         number of items
    retired      whether it left the population
    """

    name: str = "pool"
    address: str = ""
    format: str = ""
    fingerprint: str = ""
    rows: int = 0
    retired: bool = False


def count_last(name: str) -> int:
    """How many of the last parts a name is of; 0 for the name of a part.

    >>> count_last("last:4"), count_last("week48")
    (4, 0)
    """
    found = _LAST.fullmatch(name)
    return int(found[1]) if found else 0


@dataclass(frozen=True)
class Model:
    """A model whose outputs are judged.

    version      None where none was named
    part         number of the part that its outputs are about; None for all parts
    source       where its outputs are; None where they are columns of the parts themselves
    fingerprint  of its outputs
    trained      whether labels of this study were used to train or to choose it; None where nobody
                 said
    rounds       number of rounds that were drawn before it came
    """

    name: str = "model"
    version: str | None = None
    part: int | None = None
    source: str | None = None
    fingerprint: str = ""
    trained: bool | None = None
    rounds: int = 0


def is_model_name(name: str) -> bool:
    """Whether a model can have this name: ASCII letters, digits, `_`, `.` and `-`, a letter first.

    >>> is_model_name("v2.1"), is_model_name("../v2")
    (True, False)
    """
    return _MODEL_NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Criterion:
    """A question that is asked about every item."""

    name: str = "label"


@dataclass(frozen=True)
class Rater:
    """Whoever answers: the name is empty where nobody in particular is named.

    price  of one answer; None where it has none of its own
    """

    name: str = ""
    kind: str = "people"
    price: float | None = None


@dataclass(frozen=True)
class Plan:
    """How much is to be labelled, and when gates are decided.

    budget     labels, or money, as the unit says; None without one
    unit       "labels" or "money"
    looks      number of looks of sequential gates, with the draws at the last one and how error is
               spent; None where no looks are planned
    interval   kind of the intervals that draws are made for
    level      confidence of the study
    declined   what declined items count as: "ignore" leaves them out, "worst" counts each at the
               least and at the most that its label could make of it
    """

    budget: float | None = None
    unit: str = "labels"
    looks: int | None = None
    last_look: int | None = None
    spending: str | None = None
    interval: str = "fixed"
    level: float = 0.95
    declined: str = "worst"


@dataclass(frozen=True)
class AskedGate:
    """A gate that somebody asked for.

    requirement  as it was written
    expression   what has to be good enough, see write_expression
    op           ">=" or "<="
    threshold    the value that decides
    level        confidence of the verdict: of the study, unless models share its error
    interval     "fixed", "anytime" or "sequential": how it is decided
    source       who asked: OF_REPORT or OF_CONFIG
    conditions   what else its number depends on: "population", "cluster", "bound", "assume"; and
                 "share_error": number of models that share most of the error alike
    """

    requirement: str
    expression: Mapping[str, Any]
    op: str
    threshold: float
    level: float
    interval: str
    source: str = OF_REPORT
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def is_same(self, other: "AskedGate") -> bool:
        """Whether it is the same question, however it is written and whoever asks."""
        return self._question == other._question

    @property
    def _question(self) -> tuple[Any, ...]:
        about = dict(self.expression), dict(self.conditions)
        return about, self.op, self.threshold, self.level, self.interval


@dataclass(frozen=True)
class PartDraws:
    """How many draws from a part were planned before a round."""

    part: int
    planned: int


@dataclass(frozen=True)
class Target:
    """Target of draws: an expression, see write_expression, and its weight among all targets."""

    expression: Mapping[str, Any]
    weight: float


def write_expression(
    metric: str, group: tuple[str, str] | None = None, parts: Sequence[str] = ()
) -> dict[str, str | dict[str, str]]:
    """A metric, its class and its group as JSON holds them; what there is not is left out.

    metric  as it is asked for, with what stands in brackets: "recall[fraud]", "error(v2)-error(v1)"
    group   (column, value)
    parts   names of the part of the population, and of one that is subtracted

    >>> write_expression("recall[fraud]", ("region", "EU"))
    {'metric': 'recall', 'class': 'fraud', 'group': {'region': 'EU'}}
    >>> write_expression("error(v2)-error(v1)")
    {'metric': 'error', 'model': 'v2', 'minus': {'model': 'v1'}}
    """
    expression = parse_expression(metric)
    name, bracket, rest = expression.metric.partition("[")
    found: dict[str, str | dict[str, str]] = {"metric": name}
    if bracket:
        found["class"] = rest.removesuffix("]")
    for key, model in zip(("model", "minus"), expression.models, strict=False):
        found[key] = model if key == "model" else {"model": model}
    for key, part in zip(("part", "minus"), parts, strict=False):
        found[key] = part if key == "part" else {"part": part}
    if group is not None:
        found["group"] = dict([group])
    return found
