"""Choices about which model is best."""

from dataclasses import dataclass
from typing import Annotated

from activetest.nouns.declarations import Kind, Section, declare
from activetest.nouns.records import LARGEST, Rule

Size = Annotated[float, Rule("it must be a number from 0 up", lambda value: 0 <= value < LARGEST)]


@dataclass(frozen=True)
class BestChoices:
    """The fields of Choices that serve the question which model is best; they are as declared."""

    tolerance: Size = declare(
        "Models count as best whose metric is within E of that of the best one, for the question "
        "best.",
        Section.AIM, value=0.0, kind=Kind.NUMBER, metavar="E",
    )  # fmt: skip


CHOICES = BestChoices
