"""The items of one pool in the order of another: files of a study may be written anew."""

from collections.abc import Sequence

import numpy as np

from activetest.cache.cache import Cache
from activetest.nouns.pool import PoolOver, PoolView
from activetest.nouns.rows import Array, Rows


class AlignedPool(PoolOver):
    """A pool whose items stand in another order, as a PoolView."""

    def __init__(self, pool: PoolView, order: Array) -> None:
        """The pool, and the position there of each item."""
        super().__init__(pool)
        self._order = order

    @property
    def hashes(self) -> Array:
        """(N,) uint64 hash of each id."""
        return self._pool.hashes[self._order]

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        return self.take(np.arange(start, min(stop, self.size)))

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        positions = np.asarray(indices, np.int64)
        return self._pool.take(self._order[positions]).change(index=positions)

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        return self._pool.ids(self._order[np.asarray(indices, np.int64)])

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """As the pool's, in this order."""
        probs, known = self._pool.uncertain_attributes()
        return probs[self._order], known[self._order]

    def scores(self, code: int | None = None) -> Array:
        """As the pool's, in this order."""
        return self._pool.scores(code)[self._order]


def align_items(pool: PoolView, other: Cache) -> PoolView:
    """Another pool of the same items, in the order of this one: itself where it is the same.

    Raises ValueError where it lacks an item.
    """
    if np.array_equal(pool.hashes, other.hashes):
        return other
    order = np.concatenate([other.find(pool.ids(np.arange(*each))) for each in pool.chunks()])
    if (order < 0).any():
        raise ValueError("pools of a study have other items")
    return AlignedPool(other, order)
