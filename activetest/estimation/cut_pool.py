"""A pool cut into cells, as methods see pools."""

from collections.abc import Sequence

import numpy as np

from activetest.nouns.pool import PoolOver, PoolView
from activetest.nouns.rows import Array, Outputs, Rows

# Of a pool with one class it is not known whether others occur.
_FEWEST_CLASSES = 2


class CutPool(PoolOver):
    """The items of a pool, with a cell for each of them, as a PoolView.

    Cells are its only groups, and the model's outputs stay; or they are its classes, and each item
    is predicted as its cell, with 1 and 0 for labels.
    """

    def __init__(
        self, pool: PoolView, cells: Array, names: Sequence[str], *, as_classes: bool = False
    ) -> None:
        """The pool cut into cells (N,), which are codes of the names."""
        super().__init__(pool)
        self._cells, self._as_classes = cells, as_classes
        self.group_names = () if as_classes else ("cell",)
        self.group_values = [] if as_classes else [list(names)]
        if as_classes:
            padding = ("",) * (_FEWEST_CLASSES - len(names))
            self.classes = (*names, *padding)

    @property
    def whole(self) -> PoolView:
        """Itself; of a part that keeps its outputs, the population that surrogates are of."""
        whole = self._pool.whole
        return self if self._as_classes or whole is self._pool else whole

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        return self._cut(self._pool.rows(start, stop), self._cells[start:stop])

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        positions = np.asarray(indices, np.int64)
        # Items of other parts, which only surrogates learn from, are in no cell of this one.
        inside = positions < len(self._cells)
        cells = np.where(inside, self._cells[np.where(inside, positions, 0)], 0)
        return self._cut(self._pool.take(positions), cells)

    def _cut(self, rows: Rows, cells: Array) -> Rows:
        codes = np.empty((len(cells), 0), np.int64) if self._as_classes else cells[:, None]
        outputs = Outputs(cells) if self._as_classes else rows.outputs
        return rows.change(outputs=outputs, codes=codes)
