"""Belief of somebody who has the answer key: the label of every item, and no doubt."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, moments
from activetest.nouns.rows import Array, Rows
from activetest.rounds.fit import observe_statistics


@dataclass(frozen=True)
class KnownLabels:
    """A surrogate that knows the labels (N,) of all items; it has one member.

    Acquisitions that need the answer key score items by it, see catalog.
    """

    labels: Array

    def params(self) -> dict[str, Any]:
        """Nothing: what it knows is no parameter."""
        return {}

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Any = None
    ) -> Beliefs:
        """One certain outcome, the label: outcome_values (T, R, 1)."""
        values = observe_statistics(rows, self.labels[rows.index], statistics).T[..., None]
        probs = np.ones((len(rows.index), 1))
        return Beliefs(probs, values, draws=None if members is None else probs[None])

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) the true statistics."""
        return self.beliefs(rows, statistics).outcome_values[..., 0]

    def draw_members(self, count: int, rng: np.random.Generator) -> Array:
        """(K,) zeros: all members are the same."""
        del rng
        return np.zeros(count, np.intp)

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of the true statistics, and zeros."""
        sums = [each.sum(axis=1) for each in moments(self.beliefs(rows, statistics))]
        mean, variance = (np.broadcast_to(each, (len(members), len(each))) for each in sums)
        return mean, variance
