"""Surrogates that have a probability for every class: what several of them share."""

import threading
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows

# Members asked at a time, for all rows: their probabilities must fit in memory.
_TOGETHER = 10


class Members(Protocol):
    """E members that each give every row a probability for every class.

    size                E
    probs(rows)         (R, C) mean over all members
    draws(rows, which)  (K, R, C) of the members with these numbers (K,)
    params()            enough to make them again: JSON-ready values and arrays
    """

    size: int

    def probs(self, rows: Rows) -> Array: ...

    def draws(self, rows: Rows, which: Array) -> Array: ...

    def params(self) -> dict: ...


@dataclass(frozen=True)
class Ensemble:
    """The surrogate that a set of members makes: beliefs are the mean of the members'.

    last remembers what each thread asked about last: a round asks twice about the same rows, and
    members may be slow.
    """

    members: Members
    last: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def note(self) -> str | None:
        """What else to know about the members, in a few words."""
        return getattr(self.members, "note", None)

    def params(self) -> dict:
        """Those of the members."""
        return self.members.params()

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes are the classes; draws (K, R, C) are those of the distinct members asked for."""
        if members is None:
            return over_classes(rows, self._probs(rows), statistics)
        draws = self.members.draws(rows, np.unique(members))
        return over_classes(rows, draws.mean(axis=0), statistics, draws)

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def draw_members(self, count: int, rng: np.random.Generator) -> Array:
        """(K,) numbers of members, each as often as any other."""
        del rng
        return np.arange(count) % self.members.size

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        distinct, place = np.unique(members, return_inverse=True)
        sums = []
        for some in np.array_split(distinct, max(len(distinct) // _TOGETHER, 1)):
            for probs in self.members.draws(rows, some):
                parts = moments(over_classes(rows, probs, statistics))
                sums.append([part.sum(axis=1) for part in parts])
        mean, variance = np.moveaxis(np.array(sums), 1, 0)
        return mean[place], variance[place]

    def _probs(self, rows: Rows) -> Array:
        if getattr(self.last, "rows", None) is not rows:
            self.last.probs = self.members.probs(rows)
            self.last.rows = rows
        return self.last.probs


def over_classes(
    rows: Rows, probs: Array, statistics: tuple[Statistic, ...], draws: Array | None = None
) -> Beliefs:
    """Outcomes are the classes: probs (R, C), outcome_values (T, R, C) what each class would make of it."""
    outcome_values = np.stack([each.table(rows.outputs, probs.shape[1]) for each in statistics])
    return Beliefs(probs.astype(float), outcome_values, draws=draws)
