"""Parts of a population as a pool: a stratum, or several, with draws and means of their own."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.nouns.log import Log, take_parts
from activetest.nouns.pool import PoolOver, PoolView
from activetest.nouns.rows import Array, Rows

# Letters of the name of a result that is kept.
_LONGEST = 99


class PartPool(PoolOver):
    """The items of some parts, from position 0 on; those of other parts follow behind them.

    All that is about a pool is about these parts: its size, chunks, groups and scores. Items of
    other parts can be taken, as surrogates learn from their labels.

    numbers  of the parts in the pool, from 1 on
    """

    def __init__(self, pool: PoolView, *numbers: int) -> None:
        """The parts of these numbers of a pool of several."""
        super().__init__(pool)
        self.numbers = numbers
        parts = [*pairwise([0, *pool.part_ends])]
        chosen = [parts[number - 1] for number in numbers]
        others = [each for each in parts if each not in chosen]
        # Behind a pool that is a part itself stand the items of others.
        others.append((pool.part_ends[-1], pool.whole.size))
        self._chosen, self._ranges = chosen, np.array([*chosen, *others])
        sizes = self._ranges[:, 1] - self._ranges[:, 0]
        self._ends = np.cumsum(sizes)
        self.part_ends = tuple(self._ends[: len(chosen)].tolist())
        self.part_names = tuple(pool.part_names[number - 1] for number in numbers)
        self.size = self.part_ends[-1]

    @property
    def whole(self) -> PoolView:
        """The population that they are parts of."""
        return self._pool.whole

    @cached_property
    def hashes(self) -> Array:
        """(N,) uint64 hash of each id: of the parts' items first."""
        found = self._pool.hashes
        return np.concatenate([found[start:stop] for start, stop in self._ranges])

    def find_places(self, positions: Array) -> Array:
        """Positions of items, from their positions in the pool of all parts."""
        order = np.argsort(self._ranges[:, 0], kind="stable")
        order = order[self._ranges[order, 1] > self._ranges[order, 0]]
        at = order[np.searchsorted(self._ranges[order, 0], positions, side="right") - 1]
        return np.asarray(positions - self._ranges[at, 1] + self._ends[at])

    def find_positions(self, places: Array) -> Array:
        """Positions of items in the pool of all parts, from those here."""
        at = np.searchsorted(self._ends, places, side="right")
        return np.asarray(places - self._ends[at] + self._ranges[at, 1])

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1 of the parts."""
        stop = min(stop, self.size)
        at = int(np.searchsorted(self._ends, start, side="right"))
        if stop > self._ends[at]:
            return self.take(np.arange(start, stop))
        shift = int(self._ranges[at, 1] - self._ends[at])
        return self._pool.rows(start + shift, stop + shift)

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        return self._pool.take(self.find_positions(np.asarray(indices, np.int64)))

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        return self._pool.ids(self.find_positions(np.asarray(indices, np.int64)))

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """(start, stop) of consecutive chunks that cover the parts, each inside of one."""
        pieces = self._pool.chunks(size)
        return [
            (max(start, begin) - end + stop_here, min(stop, end) - end + stop_here)
            for (begin, end), stop_here in zip(self._chosen, self.part_ends, strict=True)
            for start, stop in pieces
            if start < end and stop > begin
        ]

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """As the pool's, of the parts' items."""
        probs, known = self._pool.uncertain_attributes()
        return self.cut(probs), self.cut(known)

    def scores(self, code: int | None = None) -> Array:
        """As the pool's, of the parts' items."""
        return self.cut(self._pool.scores(code))

    def cut(self, values: Array) -> Array:
        """Values of the parts' items, of those (N,) of all parts."""
        return np.concatenate([values[start:stop] for start, stop in self._chosen])

    def compute_once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Result of compute() the first time it was called for this key and these parts."""
        return self._pool.compute_once(("parts", self.numbers, key), compute)

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """As the pool's, for these parts."""
        about = [list(self.numbers), list(self.part_ends), origin]
        return self._pool.compute_stored(
            f"{name}-of-{'-'.join(self.part_names)}"[:99], about, compute
        )


def list_part_pools(pool: PoolView) -> list[PartPool]:
    """The parts of a population as pools, in their order."""
    return [PartPool(pool, number) for number in range(1, len(pool.part_ends) + 1)]


def cut_log(log: Log, pool: PartPool) -> Log:
    """The log of parts: see nouns.log.take_parts."""
    return take_parts(log, pool.numbers, pool.find_places, pool.size)
