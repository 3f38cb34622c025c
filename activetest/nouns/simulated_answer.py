"""Strategies that a simulation compares, and how they answered a question."""

from dataclasses import dataclass, fields
from typing import Any

from activetest.nouns.choices import Choices


@dataclass(frozen=True)
class Strategy:
    """A way to draw, of which many studies were simulated: see Choices."""

    surrogate: str
    acquisition: str
    selection: str
    power: float
    refit: str


def describe_strategy(choices: Choices) -> dict[str, Any]:
    """{field of Strategy: value} of the choices of a study."""
    return {each.name: getattr(choices, each.name) for each in fields(Strategy)}


@dataclass(frozen=True)
class Wait:
    """Labels until something held, over the simulated studies of one strategy.

    share            of the studies in which it held at some look
    labels           mean number of labels; a study in which it never held counts with its last
                     look, so that this is too few wherever share is below 1
    standard_error   Monte-Carlo standard error of labels
    median           median number of labels; None where it held in less than half of the studies
    """

    share: float
    labels: float
    standard_error: float
    median: float | None


@dataclass(frozen=True)
class AnswerLook:
    """Answers of the studies of one strategy after so many labels.

    budget             labels of each study
    runs               studies with so many labels
    right              share of them whose answer is right: the named groups are the worst ones, or
                       the region of the difference is the true one, or the named model is the
                       best one, or within the tolerance of it. None for "estimate"
    decided            share whose answer had the study's level; None for "estimate"
    decided_wrong      share whose answer had that level and was wrong; None for "estimate"
    reciprocal_rank    mean of 1 / rank of the groups that are worst in truth, where the other worst
                       ones are left out of a rank (Ji 2021, Identification), or of the model that
                       is best; None but for "identify" and "best"
    rmse               mean over studies of the root mean squared error of the groups' values, where
                       groups count alike; None for "best", as the next two
    weighted_rmse      the same, where groups count by their items (Ji 2021, Table 3)
    coverage           share of groups whose interval held the true value
    regret             how much worse than the best model the named one is on average; None but for
                       "best"
    """

    budget: int
    runs: int
    right: float | None
    decided: float | None
    decided_wrong: float | None
    reciprocal_rank: float | None
    rmse: float | None
    weighted_rmse: float | None
    coverage: float | None
    regret: float | None = None


@dataclass(frozen=True)
class SimulatedAnswer(Strategy):
    """How one way to draw answered the question.

    floor              share of its draws that is uniform
    question, metric   as in Choices
    goal               the question in words that follow "to"
    level              probability from which an answer is decided
    runs               studies
    until_right        labels until the answer was right and stayed right; None for "estimate"
    until_sure         labels until the answer was right and decided at one look; None for
                       "estimate"
    until_decided      labels until the answer was decided first; None for "estimate"
    first_wrong        share of the studies that were ever decided whose answer was wrong when it
                       was decided first; None for "estimate", and where none was
    looks              by number of labels: after every round
    """

    floor: float
    question: str
    metric: str
    goal: str
    level: float
    runs: int
    until_right: Wait | None
    until_sure: Wait | None
    until_decided: Wait | None
    first_wrong: float | None
    looks: tuple[AnswerLook, ...]
