"""Beliefs about the groups of a question, as curves and points that a picture shows."""

from dataclasses import dataclass

from activetest.nouns.quantity import Quantity


@dataclass(frozen=True)
class Density:
    """The probability density of a number, whose integral is 1.

    values    (P,) at equal distances, ascending
    heights   (P,) the density there

    Both are empty for a number that is known.
    """

    values: tuple[float, ...]
    heights: tuple[float, ...]


@dataclass(frozen=True)
class GroupBelief:
    """One group with an item.

    group      {column: value}
    value      the metric of the question, with its interval
    density    of that value
    accuracy   with its interval
    ece        expected calibration error over ten bins of the confidence, with its interval; None
               where the pool has no probabilities
    """

    group: dict[str, str]
    value: Quantity
    density: Density
    accuracy: Quantity
    ece: Quantity | None


@dataclass(frozen=True)
class GroupBeliefs:
    """Beliefs about all groups of a question.

    groups       the worst by the metric of the question first
    difference   density of the value of the first group minus that of the second, where two are
                 compared
    ece          density of the calibration error of the whole pool, by ten bins; None where the
                 pool has no probabilities, and where labels were not drawn uniformly inside bins
    """

    groups: tuple[GroupBelief, ...]
    difference: Density | None
    ece: Density | None
