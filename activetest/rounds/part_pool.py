"""A part of the population as a pool: a stratum, with draws and means of its own."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from activetest.nouns.log import Log, take_part
from activetest.nouns.pool import PoolOver, PoolView
from activetest.nouns.rows import Array, Rows


class PartPool(PoolOver):
    """The items of one part, from position 0 on; those of other parts follow behind them.

    All that is about a pool is about the part: its size, chunks, groups and scores. Items of other
    parts can be taken, as surrogates learn from their labels.

    number  of the part, from 1 on
    """

    def __init__(self, pool: PoolView, number: int) -> None:
        """The part of this number of a pool of several."""
        super().__init__(pool)
        self.number = number
        self._start = pool.part_ends[number - 2] if number > 1 else 0
        self.size = pool.part_ends[number - 1] - self._start
        self.part_ends, self.part_names = (self.size,), pool.part_names[number - 1 : number]

    @property
    def whole(self) -> PoolView:
        """The population that it is a part of."""
        return self._pool

    @cached_property
    def hashes(self) -> Array:
        """(N,) uint64 hash of each id: of the part's items first."""
        found, stop = self._pool.hashes, self._start + self.size
        return np.concatenate([found[self._start : stop], found[: self._start], found[stop:]])

    def find_places(self, positions: Array) -> Array:
        """Positions of items, from their positions in the population."""
        before, behind = positions < self._start, positions >= self._start + self.size
        outside = np.where(before, positions + self.size, positions)
        return np.where(before | behind, outside, positions - self._start)

    def find_positions(self, places: Array) -> Array:
        """Positions of items in the population, from those here."""
        inside, before = places < self.size, places < self.size + self._start
        outside = np.where(before, places - self.size, places)
        return np.where(inside, places + self._start, outside)

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1 of the part."""
        return self._pool.rows(self._start + start, self._start + min(stop, self.size))

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        return self._pool.take(self.find_positions(np.asarray(indices, np.int64)))

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        return self._pool.ids(self.find_positions(np.asarray(indices, np.int64)))

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """(start, stop) of consecutive chunks that cover the part."""
        begin, end = self._start, self._start + self.size
        return [
            (max(start, begin) - begin, min(stop, end) - begin)
            for start, stop in self._pool.chunks(size)
            if start < end and stop > begin
        ]

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """As the pool's, of the part's items."""
        here = slice(self._start, self._start + self.size)
        probs, known = self._pool.uncertain_attributes()
        return probs[here], known[here]

    def scores(self, code: int | None = None) -> Array:
        """As the pool's, of the part's items."""
        return self._pool.scores(code)[self._start : self._start + self.size]

    def compute_once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Result of compute() the first time it was called for this key and part."""
        return self._pool.compute_once(("part", self.number, key), compute)

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """As the pool's, for this part."""
        about = [self.number, self._start, self.size, origin]
        return self._pool.compute_stored(f"{name}-of-part-{self.number}", about, compute)


def list_part_pools(pool: PoolView) -> list[PartPool]:
    """The parts of a population as pools, in their order."""
    return [PartPool(pool, number) for number in range(1, len(pool.part_ends) + 1)]


def cut_log(log: Log, pool: PartPool) -> Log:
    """The log of a part: see nouns.log.take_part."""
    return take_part(log, pool.number, pool.find_places, pool.size)
