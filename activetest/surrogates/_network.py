"""Prediction of many small networks side by side, in numpy: only training needs torch."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array

# Rows at a time. What a layer writes then stays in the processor's cache, and the memory it is
# written to is never given back to the system in between.
_BATCH = 512

Layer = tuple[Array, Array]


@dataclass(frozen=True)
class Network:
    """E perceptrons with rectified units, float32.

    trunk      layers that all have in common, each (weights (I, O), bias (O,)); may be empty
    branches   (E,) the layers that follow, one tuple per network; the last has no rectifier
    """

    trunk: tuple[Layer, ...]
    branches: tuple[tuple[Layer, ...], ...]

    @property
    def size(self) -> int:
        """E, the number of networks."""
        return len(self.branches)

    def outputs(self, inputs: Array, which: Array | None = None) -> Iterator[tuple[slice, Array]]:
        """Pairs (rows, (K, O, B) what networks `which` put out there) that cover inputs (R, W).

        Without which (K,), all of them. The array is overwritten by the next pair.
        """
        branches = self.branches if which is None else [self.branches[k] for k in which]
        trunk_rooms = _rooms([self.trunk])
        rooms = _rooms([branch[:-1] for branch in branches])
        wide = branches[0][-1][0].shape[1]
        last = np.empty(len(branches) * wide * _BATCH, np.float32)
        for start in range(0, len(inputs), _BATCH):
            batch = np.ascontiguousarray(inputs[start : start + _BATCH], np.float32)
            shared = _through(batch, self.trunk, trunk_rooms)
            out = last[: len(branches) * wide * len(batch)].reshape(-1, wide, len(batch))
            for branch, target in zip(branches, out, strict=True):
                hidden = _through(shared, branch[:-1], rooms)
                weights, bias = branch[-1]
                # Outputs along the first axis: what follows sums over them, row beside row.
                np.matmul(weights.T, hidden.T, out=target)
                target += bias[:, None]
            yield slice(start, start + len(batch)), out


def standardised(layer: Layer, center: Array, scale: Array) -> Layer:
    """The layer that does to raw inputs what this one does to (inputs - center) / scale, (I,)."""
    weights, bias = layer
    weights = weights / scale[:, None]
    return weights.astype(np.float32), (bias - center @ weights).astype(np.float32)


def stored_layers(params: dict, names: tuple[str, ...]) -> list[tuple[Array, ...]]:
    """The arrays of each layer in turn, float32: those that params keep as name_0, name_1, ..."""
    depth = sum(key.startswith(f"{names[0]}_") for key in params)
    return [
        tuple(np.asarray(params[f"{name}_{level}"], np.float32) for name in names)
        for level in range(depth)
    ]


def _rooms(stacks) -> list[Array]:
    """One flat buffer per depth, large enough for the widest layer there."""
    depth = max(len(stack) for stack in stacks)
    widest = [max(stack[level][0].shape[1] for stack in stacks) for level in range(depth)]
    return [np.empty(_BATCH * width, np.float32) for width in widest]


def _through(values: Array, layers: tuple[Layer, ...], rooms: list[Array]) -> Array:
    """(B, O) rectified values after these layers, in rooms; values (B, I)."""
    for (weights, bias), room in zip(layers, rooms, strict=True):
        out = room[: len(values) * weights.shape[1]].reshape(len(values), -1)
        np.matmul(values, weights, out=out)
        out += bias
        values = np.maximum(out, 0, out=out)
    return values
