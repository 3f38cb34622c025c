"""Trees of a forest as plain arrays, through which rows walk without scikit-learn."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from activetest.nouns.rows import Array

# Rows and trees that are walked at a time: what is looked up stays in the processor's cache.
_BLOCK = 2048
_TOGETHER = 8
# Levels that all rows go down before those that reached a leaf are set aside.
_LEVELS = 3


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees in a row.

    width        number of inputs
    starts       (size + 1,) first node of each tree, and the end
    left, right  (nodes,) below it, counted from the tree's first node; -1 at leaves
    feature      (nodes,) input that is compared
    threshold    (nodes,) up to which it goes left
    """

    width: int
    starts: Array
    left: Array
    right: Array
    feature: Array
    threshold: Array

    @property
    def size(self) -> int:
        """The number of trees."""
        return len(self.starts) - 1

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return int(np.count_nonzero(self.left < 0))

    def check(self) -> None:
        """Raises ValueError where the nodes are no trees, through which rows might walk for ever.

        Stored trees may have been written by anybody.
        """
        nodes, starts = len(self.left), self.starts
        arrays = (self.right, self.feature, self.threshold)
        if starts.ndim != 1 or any(each.shape != (nodes,) for each in (self.left, *arrays)):
            raise ValueError("the nodes of a forest have different lengths")
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != nodes or (np.diff(starts) < 1).any():
            raise ValueError("a forest has no nodes where a tree starts")
        first = np.repeat(starts[:-1], np.diff(starts))
        inner = np.flatnonzero(self.left >= 0)
        below = np.stack([self.left[inner], self.right[inner]]).astype(np.int64) + first[inner]
        expected = np.ones(nodes, np.int64)
        expected[starts[:-1]] = 0
        early = (below <= inner).any() or (below >= nodes).any()
        if early or (np.bincount(below.ravel(), minlength=nodes) != expected).any():
            raise ValueError("a node of a tree does not have one parent before it")
        feature = self.feature[inner]
        if (feature < 0).any() or (feature >= self.width).any():
            raise ValueError("a tree compares an input that there is not")
        if not np.isfinite(self.threshold[inner]).all():
            raise ValueError("a tree compares with what is no number")

    def walk(self, columns: Array, which: Array) -> Iterator[tuple[slice, Iterator[Array]]]:
        """For blocks of rows: the slice, and an iterator over the (block,) leaves in these trees.

        columns (R, width) float32; leaves are numbered over all trees in the order of the nodes.
        Raises ValueError for rows of another width, whose inputs trees would take from one another.
        """
        if columns.shape[1] != self.width:
            raise ValueError(f"the forest knows {self.width} inputs, not {columns.shape[1]}")
        for start in range(0, len(columns), _BLOCK):
            block = columns[start : start + _BLOCK]
            yield slice(start, start + len(block)), self._walk_block(block, which)

    @cached_property
    def _steps(self) -> "_Steps":
        """The nodes, in the order in which rows walk through them."""
        return _by_level(self)

    def _walk_block(self, block: Array, which: Array) -> Iterator[Array]:
        """(B,) leaves that rows (B, W) reach, in one of these trees at a time."""
        for first in range(0, len(which), _TOGETHER):
            yield from self._steps.walk(block, which[first : first + _TOGETHER])


class _Steps(NamedTuple):
    """Nodes of all trees, tree by tree and level by level, so that children stand side by side.

    roots      (size,) where each tree starts
    below      (nodes,) where the left child stands, the right one after it; at a leaf, itself
    feature    (nodes,) input that is compared; 0 at leaves
    threshold  (nodes,) float32, up to which it goes left; infinite at leaves
    leaf       (nodes,) which leaf it is, in the order of the nodes; of no meaning elsewhere
    """

    roots: Array
    below: Array
    feature: Array
    threshold: Array
    leaf: Array

    def walk(self, block: Array, which: Array) -> Array:
        """(K, B) the leaf that each of the rows (B, W) reaches in each of these trees (K,)."""
        cells = block.ravel()
        node = np.repeat(self.roots[which], len(block))
        row = np.tile(np.arange(len(block)) * block.shape[1], len(which))
        reached, walking = np.empty_like(node), np.arange(len(node))
        while len(walking):
            for _ in range(_LEVELS):
                cell = self.feature.take(node)
                cell += row
                right = cells.take(cell) > self.threshold.take(node)
                node = self.below.take(node)
                node += right
            reached[walking] = node
            still = np.flatnonzero(self.below.take(node) != node)
            walking, node, row = walking.take(still), node.take(still), row.take(still)
        return self.leaf.take(reached).reshape(len(which), len(block))


def _by_level(trees: Trees) -> _Steps:
    """The same nodes in another order.

    Inputs are float32: one of them is at most a threshold just when it is at most the largest
    float32 that is, so thresholds are rounded down.
    """
    roots = trees.starts[:-1].astype(np.intp)
    inner = trees.left >= 0
    first = np.repeat(roots, np.diff(trees.starts))
    left, right = trees.left + first, trees.right + first
    levels = [roots]
    while len(levels[-1]):
        above = levels[-1][inner[levels[-1]]]
        levels.append(np.stack([left[above], right[above]], axis=1).ravel())
    order = np.concatenate(levels)
    order = order[np.argsort(first[order], kind="stable")]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    threshold = trees.threshold.astype(np.float32)
    threshold = np.where(
        threshold > trees.threshold, np.nextafter(threshold, np.float32(-np.inf)), threshold
    )
    return _Steps(
        roots,
        place[np.where(inner, left, np.arange(len(inner)))][order],
        np.where(inner, trees.feature, 0).astype(np.intp)[order],
        np.where(inner, threshold, np.float32(np.inf))[order],
        (np.cumsum(~inner) - 1)[order],
    )


def list_nodes(trees: list) -> tuple[int, Array, Array, Array, Array, Array]:
    """The fields of Trees, of scikit-learn's trees."""
    left, right, feature = (
        np.concatenate([getattr(tree, name) for tree in trees]).astype(np.int32)
        for name in ("children_left", "children_right", "feature")
    )
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    threshold = np.concatenate([tree.threshold for tree in trees])
    return int(trees[0].n_features), starts, left, right, feature, threshold
