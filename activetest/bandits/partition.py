"""The pool cut into cells by groups and by what the outputs say, and what they say of each."""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.log import Allocation
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.parallel import map_reduce
from activetest.pool.groups import columns_of

EDGES = "edges"


@dataclass(frozen=True)
class Partition:
    """The pool cut into cells: the groups of one column, each cut by strata of the outputs.

    group    a group column; "" for the whole pool
    strata   () for none, ("predicted",) for the predicted class, ("edges", e0, ..., eB) for B bins
             of the confidence; a bin holds low < value <= high, the first also what is below

    The cell of a row is the code of its group times the number of strata, plus its stratum.
    """

    group: str
    strata: tuple = ()

    def factors(self, cache) -> frozenset:
        """What a cell is a combination of: cells of fewer of them are unions of these cells.

        What follows from the outputs stands in a tuple, for a pool may have a column of that name.
        """
        computed = cache.roles.get("computed", ())
        columns = columns_of(self.group) if self.group else ()
        names = {(name,) if name in computed else name for name in columns}
        return frozenset(names | ({self.strata} if self.strata else set()))

    @property
    def binned(self) -> bool:
        """Whether strata are bins of the confidence."""
        return self.strata[:1] == (EDGES,)

    def column(self, cache) -> int:
        """Place of the group among the columns of codes. Raises ChoiceError where it has none."""
        if self.group not in cache.group_names:
            raise ChoiceError(
                f"{self.group!r} is not a group of this study",
                f"its groups are {', '.join(cache.group_names) or '(none)'}; name more by --group",
            )
        return cache.group_names.index(self.group)

    def values(self, cache) -> list[str]:
        """The values of the group column; one for the whole pool."""
        return cache.group_values[self.column(cache)] if self.group else [""]

    def deep(self, cache) -> int:
        """Number of strata."""
        if self.binned:
            return len(self.strata) - 2
        return len(cache.classes) if self.strata else 1

    def owner(self, cache) -> Array:
        """(L,) code of the group that each cell is part of."""
        return np.repeat(np.arange(len(self.values(cache))), self.deep(cache))

    def cells(self, rows: Rows, cache) -> Array:
        """(R,) the cell of each row."""
        if self.group:
            codes = rows.codes[:, self.column(cache)].astype(np.intp)
        else:
            codes = np.zeros(len(rows.codes), np.intp)
        if not self.strata:
            return codes
        if not self.binned:
            return codes * self.deep(cache) + rows.outputs.pred
        inner = np.array(self.strata[2:-1], np.float32)
        return codes * self.deep(cache) + np.searchsorted(inner, rows.outputs.confidence)


@dataclass(frozen=True)
class CellTotals:
    """What a pool's outputs say about its cells, whatever is labelled.

    cells   (N,) int32 cell of each row
    size    (L,) rows
    belief  (L, J) sums of the probabilities that the black box gives the outcomes; None for hard
            labels
    """

    cells: Array
    size: Array
    belief: Array | None


def cell_totals(cache, partition: Partition, classes: bool, width: int) -> CellTotals:
    """One pass over the pool. It depends on nothing that is labelled, so the cache keeps it."""
    return cache.kept((partition, classes), lambda: _ground(cache, partition, classes, width))


def _ground(cache, partition: Partition, classes: bool, width: int) -> CellTotals:
    count = len(partition.owner(cache))

    def on_piece(piece) -> tuple[list[Array], Array, Array | None]:
        rows = cache.rows(*piece)
        cells = partition.cells(rows, cache)
        belief = believed(rows.outputs, cells, (count, width), classes)
        return [cells.astype(np.int32)], np.bincount(cells, minlength=count), belief

    def combine(one, more):
        belief = None if one[2] is None else one[2] + more[2]
        return one[0] + more[0], one[1] + more[1], belief

    cells, size, belief = map_reduce(cache.chunks(), on_piece, combine)
    return CellTotals(np.concatenate(cells), size, belief)


def believed(outputs: Outputs, cells: Array, shape, classes: bool) -> Array | None:
    """(L, J) sums over rows of the probabilities of the outcomes."""
    if outputs.probs is None:
        return None
    if not classes:
        right = np.bincount(cells, outputs.confidence, minlength=shape[0])
        return np.stack([right, np.bincount(cells, minlength=shape[0]) - right], axis=1)
    belief = np.zeros(shape)
    for code, probs in enumerate(outputs.probs.T):
        belief[:, code] = np.bincount(cells, probs, minlength=shape[0])
    return belief


def row_weights(allocation: Allocation, rows: Rows, cache) -> Array:
    """(R,) weight of rows in a round with these shares, had they been free.

    Raises NotEstimable where the groups are not what they were.
    """
    partition = Partition(allocation.group, allocation.strata)
    known = allocation.group in cache.group_names
    if not known or len(partition.owner(cache)) != len(allocation.weight):
        raise NotEstimable(
            f"rounds chose between the groups of {allocation.group!r}, which are no groups any more",
            hint=f"activetest init POOL --group '{allocation.group}', or use --interval fixed",
        )
    return np.array(allocation.weight)[partition.cells(rows, cache)]
