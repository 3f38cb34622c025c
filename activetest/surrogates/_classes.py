"""Ensembles whose members give every class a probability."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows

# Members evaluated at a time, for all rows: their probabilities must fit in memory.
_BLOCK = 10


class Members(Protocol):
    """E members that each give every row a probability for every class.

    size                E
    probs(rows)         (R, C) mean over all members
    draws(rows, which)  (K, R, C) of the members with these numbers (K,)
    params()            JSON-ready values and arrays from which they can be restored
    """

    @property
    def size(self) -> int: ...

    def probs(self, rows: Rows) -> Array: ...

    def draws(self, rows: Rows, which: Array) -> Array: ...

    def params(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Ensemble:
    """The surrogate that averages the probabilities of its members.

    last keeps the latest rows of each thread and their probabilities, since rounds evaluate the
    same rows twice and members may be slow.

    augmented   (n,) pool positions, in order, of the items whose predicted label members learned;
                None unless the training was augmented, see the family augmentations
    """

    members: Members
    augmented: Array | None = field(default=None, compare=False)
    last: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def note(self) -> str | None:
        """A short remark about the members and the augmentation for the report, if any."""
        note: str | None = getattr(self.members, "note", None)
        if self.augmented is None:
            return note
        count = len(self.augmented)
        learned = f"{count:,} item{'s' * (count != 1)} learned as the model labels them"
        return f"{note}, {learned}" if note else learned

    @property
    def informed(self) -> bool:
        """Whether the members had any row to learn from."""
        return not getattr(self.members, "has_no_labels", False)

    def params(self) -> dict[str, Any]:
        """The parameters of the members, and the augmented items as bits: see pack_positions."""
        params = self.members.params()
        if self.augmented is None:
            return params
        return params | {"augmented": pack_positions(self.augmented)}

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes are the classes; draws (K, R, C) are those of the distinct members."""
        if members is None:
            return class_beliefs(rows, self._probs(rows), statistics)
        draws = self.members.draws(rows, np.unique(members))
        return class_beliefs(rows, draws.mean(axis=0), statistics, draws)

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
        sums, values = [], None
        for block in np.array_split(distinct, max(len(distinct) // _BLOCK, 1)):
            for probs in self.members.draws(rows, block):
                if values is None:
                    values = _tabulate(rows, statistics, probs.shape[1])
                believed = Beliefs(probs.astype(float), values, of_classes=True)
                sums.append([part.sum(axis=1) for part in moments(believed)])
        mean, variance = np.moveaxis(np.array(sums), 1, 0)
        return mean[place], variance[place]

    def _probs(self, rows: Rows) -> Array:
        if getattr(self.last, "rows", None) is not rows:
            self.last.probs = self.members.probs(rows)
            self.last.rows = rows
        return self.last.probs


def pack_positions(positions: Array) -> Array:
    """(B,) uint8: a bit for each position up to the last, True at these positions (n,)."""
    chosen = np.zeros(positions.max(initial=-1) + 1, bool)
    chosen[positions] = True
    return np.packbits(chosen)


def unpack_positions(params: Mapping[str, Any]) -> Array | None:
    """(n,) the augmented items that parameters hold, in order; None where they hold none."""
    if "augmented" not in params:
        return None
    return np.flatnonzero(np.unpackbits(np.asarray(params["augmented"], np.uint8)))


def class_beliefs(
    rows: Rows, probs: Array, statistics: tuple[Statistic, ...], draws: Array | None = None
) -> Beliefs:
    """Outcomes are the classes: probs (R, C), outcome_values (T, R, C)."""
    values = _tabulate(rows, statistics, probs.shape[1])
    return Beliefs(probs.astype(float), values, draws=draws, of_classes=True)


def _tabulate(rows: Rows, statistics: tuple[Statistic, ...], classes: int) -> Array:
    """(T, R, C) the value of each statistic for every class."""
    return np.stack([each.table(rows.outputs, classes) for each in statistics])
