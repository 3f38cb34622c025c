"""Growing a forest in NumPy: many trees at once, level by level.

Trees learn from bootstrap samples (Breiman 2001), down to leaves of one class or of a few values. A
node compares a few random inputs, each with its value in a random row, and keeps the best of these
splits (extremely randomised trees: Geurts, Ernst and Wehenkel 2006). On pools of our own making
such a forest says as much as scikit-learn's, which takes longer to load than this one to grow.

Rows stand node by node, and in order of their classes within nodes, so that every sum is one of
neighbours. Rows that a tree did not draw go down with the others, with weight 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from activetest.nouns.rows import Array

# Trees that grow at once: what their rows have in common stays in the processor's cache.
_TOGETHER = 50
# Splits that a node compares, times the root of the number of inputs.
_TRIES = 2


class Source(NamedTuple):
    """M rows to learn from.

    inputs   (M, W) float32
    labels   (M,) class codes, or values
    classes  whether labels are classes
    least    rows of the sample that a leaf holds at least
    """

    inputs: Array
    labels: Array
    classes: bool
    least: int


@dataclass(frozen=True)
class Grown:
    """K trees, node by node: a node before what is below it, the left child next to its parent.

    starts     (K + 1,) first node of each tree, and the end
    right      (nodes,) the right child, counted from the tree's first node; -1 at leaves
    feature    (nodes,) input that is compared; -1 at leaves
    threshold  (nodes,) float32, up to which it goes left; 0 at leaves
    drawn      (K, M) how often each tree drew each row
    reached    (K, M) the leaf that each row reaches, numbered over all trees in order of the nodes
    """

    starts: Array
    right: Array
    feature: Array
    threshold: Array
    drawn: Array
    reached: Array

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return int(np.count_nonzero(self.right < 0))

    def sum_leaves(self, values: Array) -> Array:
        """(leaves,) sums of values (M,) over the rows that each leaf drew."""
        weighted = (self.drawn * values).ravel()
        return np.bincount(self.reached.ravel(), weighted, minlength=self.leaves)


def grow(source: Source, trees: int, rng: np.random.Generator) -> Grown:
    """A forest of so many trees."""
    parts = []
    for first in range(0, trees, _TOGETHER):
        parts.append(_grow_block(source, min(_TOGETHER, trees - first), rng))
    sizes = np.concatenate([np.diff(each.starts) for each in parts])
    leaves = np.cumsum([0, *(each.leaves for each in parts[:-1])])
    reached = [each.reached + before for each, before in zip(parts, leaves, strict=True)]
    return Grown(
        np.append(0, np.cumsum(sizes)),
        np.concatenate([each.right for each in parts]),
        np.concatenate([each.feature for each in parts]),
        np.concatenate([each.threshold for each in parts]),
        np.concatenate([each.drawn for each in parts]),
        np.concatenate(reached),
    )


@dataclass(frozen=True)
class _Standing:
    """Rows of the nodes of a level.

    row     (R,) which one of the source's rows
    slot    (R,) the same, counted over all trees
    starts  (N + 1,) where each node's rows begin, and the end
    width   number of inputs
    """

    row: Array
    slot: Array
    starts: Array
    width: int

    @cached_property
    def _first(self) -> Array:
        """(R,) where the inputs of each row begin."""
        return self.row * self.width

    @cached_property
    def sizes(self) -> Array:
        """(N,) number of rows of each node."""
        return np.diff(self.starts)

    @property
    def nodes(self) -> int:
        """N."""
        return len(self.starts) - 1

    def spread(self, values: Array) -> Array:
        """(R,) of each row the value (N,) of its node."""
        return np.repeat(values, self.sizes)

    def compare(self, source: Source, feature: Array, threshold: Array) -> Array:
        """(R,) True where a row goes right: feature and threshold (N,) of its node."""
        cell = self.spread(feature)
        cell += self._first
        right: Array = source.inputs.take(cell) > self.spread(threshold)
        return right

    def keep(self, which: Array) -> "_Standing":
        """Only these nodes (N,) bool."""
        rows = self.spread(which)
        starts = np.append(0, np.cumsum(self.sizes[which]))
        return _Standing(self.row[rows], self.slot[rows], starts, self.width)

    def descend(self, right: Array) -> "_Standing":
        """The children of all nodes, left and right in turn: right (R,) bool of each row."""
        seen = np.append(0, np.cumsum(right))
        rights = np.diff(seen[self.starts])
        lefts = self.sizes - rights
        first = self.starts[:-1]
        rank = seen[:-1] - self.spread(seen[first])
        place = np.where(
            right,
            self.spread(first + lefts) + rank,
            np.arange(len(right)) - rank,
        )
        row, slot = np.empty_like(self.row), np.empty_like(self.slot)
        row[place], slot[place] = self.row, self.slot
        sizes = np.stack([lefts, rights], axis=1).ravel()
        return _Standing(row, slot, np.append(0, np.cumsum(sizes)), self.width)


class _Totals(NamedTuple):
    """What nodes contain: their cells are the classes in them, or of values the whole node.

    weight  (R,) how often each row was drawn
    value   (R,) that, times the value of a row
    cells   (P,) where the rows of each cell begin
    nodes   (N,) where the cells of each node begin
    sums    (P,) of values over cells
    sizes   (N,) weight of each node
    """

    weight: Array
    value: Array
    cells: Array
    nodes: Array
    sums: Array
    sizes: Array

    def split(self, right: Array) -> tuple[Array, Array]:
        """(N,) how good the split is, and the weight of its smaller side: right (R,) bool.

        The sum of squares over weight, which is largest where the Gini impurity or the variance
        of both sides is smallest.
        """
        sums = np.add.reduceat(self.value * right, self.cells)
        if len(self.cells) == len(self.nodes):
            sizes = np.add.reduceat(self.weight * right, self.cells)
        else:
            sizes = np.add.reduceat(sums, self.nodes)
        rest = self.sizes - sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.add.reduceat(sums**2, self.nodes) / sizes
            score += np.add.reduceat((self.sums - sums) ** 2, self.nodes) / rest
        return score, np.minimum(sizes, rest)

    def find_pure(self) -> Array:
        """(N,) True where a node is of one class."""
        return np.maximum.reduceat(self.sums, self.nodes) == self.sizes


def _sum_up(standing: _Standing, source: Source, drawn: Array) -> _Totals:
    """What the nodes contain; drawn (K M,) as in Grown."""
    weight = drawn.take(standing.slot)
    labels = source.labels.take(standing.row)
    new = np.zeros(len(labels), bool)
    new[standing.starts[:-1]] = True
    value = weight
    if source.classes:
        new[1:] |= labels[1:] != labels[:-1]
    else:
        value = weight * labels
    cells = np.flatnonzero(new)
    nodes = np.searchsorted(cells, standing.starts[:-1])
    sums = np.add.reduceat(value, cells)
    sizes = np.add.reduceat(weight, standing.starts[:-1])
    return _Totals(weight, value, cells, nodes, sums, sizes)


def _grow_block(source: Source, trees: int, rng: np.random.Generator) -> Grown:
    """Trees that grow at once."""
    size = len(source.labels)
    drawn = rng.multinomial(size, np.full(size, 1 / size), size=trees)
    weights = drawn.ravel().astype(float)
    order = np.argsort(source.labels, kind="stable") if source.classes else np.arange(size)
    row = np.tile(order, trees)
    slot = row + np.repeat(np.arange(trees) * size, size)
    standing = _Standing(row, slot, np.arange(trees + 1) * size, source.inputs.shape[1])
    levels, reached, before = [], np.empty(trees * size, np.intp), 0
    while standing.nodes:
        feature, threshold = _find_splits(standing, source, weights, rng)
        split = feature >= 0
        ended = standing.keep(~split)
        reached[ended.slot] = ended.spread(before + np.flatnonzero(~split))
        levels.append((feature, threshold))
        before += standing.nodes
        standing = standing.keep(split)
        if standing.nodes:
            right = standing.compare(source, feature[split], threshold[split])
            standing = standing.descend(right)
    return _order_nodes(levels, drawn, reached.reshape(drawn.shape))


def _find_splits(
    standing: _Standing, source: Source, weights: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(N,) the input that each node compares, -1 at leaves, and (N,) float32 with what."""
    feature, threshold = np.full(standing.nodes, -1), np.zeros(standing.nodes, np.float32)
    totals = _sum_up(standing, source, weights)
    inner = totals.sizes >= 2 * source.least
    if source.classes:
        inner &= ~totals.find_pure()
    if not inner.any():
        return feature, threshold
    standing = standing.keep(inner)
    totals = _sum_up(standing, source, weights)
    best = np.full(standing.nodes, -np.inf)
    chosen, value = feature[inner], threshold[inner]
    for tried, at in _draw_splits(standing, source, rng):
        score, smaller = totals.split(standing.compare(source, tried, at))
        better = (smaller >= source.least) & (score > best)
        best[better], chosen[better], value[better] = score[better], tried[better], at[better]
    feature[inner], threshold[inner] = chosen, value
    return feature, threshold


def _draw_splits(
    standing: _Standing, source: Source, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """(N,) random inputs, and (N,) what they are in a random row of each node."""
    width = source.inputs.shape[1]
    for _ in range(int(np.ceil(_TRIES * np.sqrt(width)))):
        feature = rng.integers(width, size=standing.nodes)
        place = standing.starts[:-1] + (rng.random(standing.nodes) * standing.sizes).astype(int)
        yield feature, source.inputs[standing.row[place], feature]


def _order_nodes(levels: list[tuple[Array, Array]], drawn: Array, reached: Array) -> Grown:
    """Trees of nodes that were found level by level; reached (K, M) nodes in that order."""
    inner = [feature >= 0 for feature, _ in levels]
    below = [np.ones(len(each), np.intp) for each in inner]
    # Of each node, how many there are from it on.
    for level in range(len(levels) - 2, -1, -1):
        below[level][inner[level]] += below[level + 1].reshape(-1, 2).sum(axis=1)
    starts = np.append(0, np.cumsum(below[0]))
    place, tree = [starts[:-1]], [np.arange(len(below[0]))]
    right = np.full(starts[-1], -1, np.int32)
    for level, lower in enumerate(below[1:]):
        parents, owner = place[level][inner[level]], tree[level][inner[level]]
        children = np.stack([parents + 1, parents + 1 + lower[::2]], axis=1)
        right[parents] = children[:, 1] - starts[owner]
        place.append(children.ravel())
        tree.append(np.repeat(owner, 2))
    order = np.concatenate(place)
    feature, threshold = (np.concatenate(each) for each in zip(*levels, strict=True))
    sorted_by = np.argsort(order)
    leaf = np.cumsum(right < 0) - 1
    return Grown(
        starts,
        right,
        feature[sorted_by].astype(np.int32),
        threshold[sorted_by],
        drawn,
        leaf[order[reached]],
    )
