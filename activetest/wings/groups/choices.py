"""Choices about questions about groups: which groups, and what is believed of them beforehand."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from activetest.nouns.declarations import Count, Kind, Section, declare
from activetest.nouns.records import LARGEST, Rule

# The metric that draws cannot aim at: see QuestionChoices.target.
TARGET = "confusion"


class Prior(StrEnum):
    """Belief about a group before any label."""

    INFORMATIVE = "informative"
    UNIFORM = "uniform"


Target = Annotated[str, Rule(f"it must be {TARGET}, or empty", ("", TARGET).__contains__)]
Pair = Annotated[
    tuple[str, ...], Rule("it must be a list of two values", lambda value: len(value) in (0, 2))
]
# A prior that counts as more labels leaves nothing to learn.
Strength = Annotated[
    float,
    Rule("it must be a number above 0, at most 1,000,000", lambda value: 0 < value <= 1_000_000),
]
Size = Annotated[float, Rule("it must be a number from 0 up", lambda value: 0 <= value < LARGEST)]


@dataclass(frozen=True)
class QuestionChoices:
    """The fields of Choices that serve questions about groups.

    target    what groups are judged by where it is not the metric: "confusion", for estimate alone
    compare   values of the two groups to compare

    The other fields are as declared.
    """

    target: Target = ""
    worst: Count = declare(
        "How many of the worst groups to identify.",
        Section.GROUPS, value=1, kind=Kind.WHOLE, metavar="M",
    )  # fmt: skip
    compare: Pair = declare(
        "The two groups to compare.", Section.GROUPS, value=(), kind=Kind.VALUES, metavar="A,B",
    )  # fmt: skip
    prior: str = declare(
        "Starting belief about each group: what the model's own probabilities say, or all values "
        "equally likely.",
        Section.GROUPS, value=Prior.INFORMATIVE.value, values=tuple(Prior),
    )  # fmt: skip
    prior_strength: Strength | None = declare(
        "How many labels the starting belief counts as, at most 1,000,000.",
        Section.GROUPS, kind=Kind.NUMBER, metavar="X", default="2; 1 for costs",
    )  # fmt: skip
    rope: Size = declare(
        "Treat differences up to this size as equal, for compare.",
        Section.GROUPS, value=0.05, kind=Kind.NUMBER, metavar="E",
    )  # fmt: skip


CHOICES = QuestionChoices
