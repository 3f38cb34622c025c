"""The pool cut into cells by groups and by strata of the outputs, and the totals of each cell."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.log import Allocation
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.pool.groups import columns_of
from activetest.system.parallel import map_reduce

EDGES = "edges"
# Cells of rows, rows per cell, and sums of probabilities.
_ChunkTotals = tuple[list[Array], Array, Array | None]


@dataclass(frozen=True)
class Partition:
    """The pool cut into cells: the groups of one column, each cut by strata of the outputs.

    group    a group column; "" for the whole pool
    strata   () for none, ("predicted",) for the predicted class, ("edges", e0, ..., eB) for B bins
             of the confidence; a bin holds low < value <= high, the first also what is below

    The cell of a row is the code of its group times the number of strata, plus its stratum.
    """

    group: str
    strata: tuple[Any, ...] = ()

    def crossed_columns(self, cache: PoolView) -> frozenset[Any]:
        """The columns that are crossed: a partition by fewer of them has unions of these cells.

        Computed columns are in a tuple, since a pool may have a column of the same name.
        """
        computed = cache.roles.get("computed", ())
        columns = columns_of(self.group) if self.group else ()
        names = {(name,) if name in computed else name for name in columns}
        return frozenset(names | ({self.strata} if self.strata else set()))

    @property
    def by_confidence(self) -> bool:
        """Whether the strata are bins of the confidence."""
        return self.strata[:1] == (EDGES,)

    def find_column(self, cache: PoolView) -> int:
        """Index of the group among the columns of codes. Raises ChoiceError if it has none."""
        if self.group not in cache.group_names:
            raise ChoiceError(
                f"{self.group!r} is not a group of this study",
                f"its groups are {', '.join(cache.group_names) or '(none)'}; name more by `groups`",
            )
        return cache.group_names.index(self.group)

    def group_values(self, cache: PoolView) -> list[str]:
        """The values of the group column; one for the whole pool."""
        return cache.group_values[self.find_column(cache)] if self.group else [""]

    def count_strata(self, cache: PoolView) -> int:
        """Number of strata."""
        if self.by_confidence:
            return len(self.strata) - 2
        return len(cache.classes) if self.strata else 1

    def group_of_cell(self, cache: PoolView) -> Array:
        """(L,) code of the group that each cell belongs to."""
        return np.repeat(np.arange(len(self.group_values(cache))), self.count_strata(cache))

    def assign_cells(self, rows: Rows, cache: PoolView) -> Array:
        """(R,) the cell of each row."""
        if self.group:
            codes = rows.codes[:, self.find_column(cache)].astype(np.intp)
        else:
            codes = np.zeros(len(rows.codes), np.intp)
        if not self.strata:
            return codes
        if not self.by_confidence:
            return codes * self.count_strata(cache) + rows.outputs.pred
        inner = np.array(self.strata[2:-1], np.float32)
        return codes * self.count_strata(cache) + np.searchsorted(inner, rows.outputs.confidence)


@dataclass(frozen=True)
class CellTotals:
    """Sizes of a pool's cells and the model's probabilities there; independent of the labels.

    cells   (N,) int32 cell of each row
    size    (L,) rows
    prob_sums   (L, J) sums of the black box's probabilities of the outcomes; None for hard labels
    """

    cells: Array
    size: Array
    prob_sums: Array | None


def compute_cell_totals(
    cache: PoolView, partition: Partition, classes: bool, width: int
) -> CellTotals:
    """Totals of the cells, from one pass over the pool; kept by the cache."""
    return cache.compute_once(
        (partition, classes), lambda: _scan_pool(cache, partition, classes, width)
    )


def _scan_pool(cache: PoolView, partition: Partition, classes: bool, width: int) -> CellTotals:
    count = len(partition.group_of_cell(cache))

    def scan_chunk(chunk: tuple[int, int]) -> _ChunkTotals:
        rows = cache.rows(*chunk)
        cells = partition.assign_cells(rows, cache)
        prob_sums = sum_probs(rows.outputs, cells, (count, width), classes)
        return [cells.astype(np.int32)], np.bincount(cells, minlength=count), prob_sums

    def combine(left: _ChunkTotals, right: _ChunkTotals) -> _ChunkTotals:
        prob_sums = None if left[2] is None or right[2] is None else left[2] + right[2]
        return left[0] + right[0], left[1] + right[1], prob_sums

    cells, size, prob_sums = map_reduce(cache.chunks(), scan_chunk, combine)
    return CellTotals(np.concatenate(cells), size, prob_sums)


def sum_probs(
    outputs: Outputs, cells: Array, shape: tuple[int, int], classes: bool
) -> Array | None:
    """(L, J) sums over rows of the probabilities of the outcomes; None for hard labels."""
    if outputs.probs is None:
        return None
    if not classes:
        right = np.bincount(cells, outputs.confidence, minlength=shape[0])
        return np.stack([right, np.bincount(cells, minlength=shape[0]) - right], axis=1)
    prob_sums = np.zeros(shape)
    for code, probs in enumerate(outputs.probs.T):
        prob_sums[:, code] = np.bincount(cells, probs, minlength=shape[0])
    return prob_sums


def row_weights(allocation: Allocation, rows: Rows, cache: PoolView) -> Array:
    """(R,) weight that rows would have in a round with this allocation if they could be drawn.

    Raises NotEstimable if the groups have changed.
    """
    partition = Partition(allocation.group, allocation.strata)
    known = allocation.group in cache.group_names
    if not known or len(partition.group_of_cell(cache)) != len(allocation.weight):
        raise NotEstimable(
            f"rounds chose between the groups of {allocation.group!r}, which no longer exist",
            hint=f'`study.change(groups={[allocation.group]!r})`, or use `interval="fixed"`',
        )
    return np.array(allocation.weight)[partition.assign_cells(rows, cache)]
