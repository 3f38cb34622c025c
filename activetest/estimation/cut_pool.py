"""A pool cut into cells, as methods see pools."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows

T = TypeVar("T")
# Of a pool with one class it is not known whether others occur.
_FEWEST_CLASSES = 2


class CutPool:
    """The items of a pool, with a cell for each of them, as a PoolView.

    Cells are its only groups, and the model's outputs stay; or they are its classes, and each item
    is predicted as its cell, with 1 and 0 for labels.
    """

    def __init__(
        self, pool: PoolView, cells: Array, names: Sequence[str], *, as_classes: bool = False
    ) -> None:
        """The pool cut into cells (N,), which are codes of the names."""
        self._pool, self._cells, self._as_classes = pool, cells, as_classes
        self._computed: dict[Hashable, Any] = {}
        self.size, self.statistics = pool.size, pool.statistics
        self.unavailable = pool.unavailable
        self.group_names: tuple[str, ...] = () if as_classes else ("cell",)
        self.group_values = [] if as_classes else [list(names)]
        self.classes = pool.classes
        if as_classes:
            padding = ("",) * (_FEWEST_CLASSES - len(names))
            self.classes = (*names, *padding)

    @property
    def hashes(self) -> Array:
        """As the pool's."""
        return self._pool.hashes

    @property
    def roles(self) -> dict[str, Any]:
        """As the pool's."""
        return self._pool.roles

    @property
    def train(self) -> Any:
        """As the pool's."""
        return self._pool.train

    @property
    def center(self) -> float:
        """As the pool's."""
        return self._pool.center

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        return self._cut(self._pool.rows(start, stop))

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        return self._cut(self._pool.take(indices))

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """As the pool's."""
        return self._pool.ids(indices)

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """As the pool's."""
        return self._pool.chunks(size)

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """As the pool's."""
        return self._pool.uncertain_attributes()

    def scores(self, code: int | None = None) -> Array:
        """As the pool's."""
        return self._pool.scores(code)

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of compute() the first time: apart from what the pool computed."""
        if key not in self._computed:
            self._computed[key] = compute()
        return cast("T", self._computed[key])

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """Result of compute() the first time; nothing is stored."""
        return self.compute_once((name, str(origin)), compute)

    def _cut(self, rows: Rows) -> Rows:
        cells = self._cells[rows.index]
        codes = np.empty((len(cells), 0), np.int64) if self._as_classes else cells[:, None]
        outputs = Outputs(cells) if self._as_classes else rows.outputs
        return rows.change(outputs=outputs, codes=codes)
