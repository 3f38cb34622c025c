"""Predictions of many small networks side by side, in numpy: only training needs torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.wings.neural.convolution import FILTERS, Image, convolve

# Rows at a time: the outputs of a layer stay in the processor's cache, and its buffer is reused.
BATCH = 512

Layer = tuple[Array, Array]


@dataclass(frozen=True)
class Network:
    """E perceptrons with rectified units, float32.

    trunk      layers that all networks share, each (weights (I, O), bias (O,)); may be empty
    branches   (E,) the layers that follow, one tuple per network; the last has no rectifier
    image      the shape of the image that the first inputs are, which the first layers of each
               branch then look at with convolutions; None without one
    """

    trunk: tuple[Layer, ...]
    branches: tuple[tuple[Layer, ...], ...]
    image: Image | None = None

    @property
    def size(self) -> int:
        """E, the number of networks."""
        return len(self.branches)

    @property
    def width(self) -> int:
        """O, the number of outputs of a network."""
        return int(self.branches[0][-1][0].shape[1])

    def outputs(self, inputs: Array, which: Array | None = None) -> Iterator[tuple[slice, Array]]:
        """Pairs (slice of rows, (K, O, B) outputs of networks `which`) that cover inputs (R, W).

        which (K,); None for all networks. The array is overwritten by the next pair.
        """
        branches = self.branches if which is None else [self.branches[k] for k in which]
        convolutions = 0 if self.image is None else len(FILTERS)
        trunk_buffers = _make_buffers([self.trunk])
        buffers = _make_buffers([branch[convolutions:-1] for branch in branches])
        width = self.width
        buffer = np.empty(len(branches) * width * BATCH, np.float32)
        for start in range(0, len(inputs), BATCH):
            batch = np.ascontiguousarray(inputs[start : start + BATCH], np.float32)
            shared = _apply_layers(batch, self.trunk, trunk_buffers)
            out = buffer[: len(branches) * width * len(batch)].reshape(-1, width, len(batch))
            for branch, target in zip(branches, out, strict=True):
                seen = shared
                if self.image is not None:
                    seen = convolve(shared, branch[:convolutions], self.image)
                hidden = _apply_layers(seen, branch[convolutions:-1], buffers)
                weights, bias = branch[-1]
                # Outputs are the first axis, so that sums over them run along contiguous rows.
                np.matmul(weights.T, hidden.T, out=target)
                np.add(target, bias[:, None], out=target)
            yield slice(start, start + len(batch)), out


def standardise_layer(layer: Layer, center: Array, scale: Array) -> Layer:
    """The layer that maps raw inputs as this one maps (inputs - center) / scale; both (I,)."""
    weights, bias = layer
    weights = weights / scale[:, None]
    return weights.astype(np.float32), (bias - center @ weights).astype(np.float32)


def stored_layers(params: Mapping[str, Any], names: tuple[str, ...]) -> list[tuple[Array, ...]]:
    """The float32 arrays of each layer in turn, which params store as name_0, name_1, ..."""
    depth = sum(key.startswith(f"{names[0]}_") for key in params)
    return [
        tuple(np.asarray(params[f"{name}_{level}"], np.float32) for name in names)
        for level in range(depth)
    ]


def _make_buffers(stacks: Sequence[Sequence[Layer]]) -> list[Array]:
    """One flat buffer per depth, large enough for the widest layer there."""
    depth = max(len(stack) for stack in stacks)
    widest = [max(stack[level][0].shape[1] for stack in stacks) for level in range(depth)]
    return [np.empty(BATCH * width, np.float32) for width in widest]


def _apply_layers(values: Array, layers: tuple[Layer, ...], buffers: list[Array]) -> Array:
    """(B, O) rectified values after these layers, written to buffers; values (B, I)."""
    for (weights, bias), buffer in zip(layers, buffers, strict=True):
        out = buffer[: len(values) * weights.shape[1]].reshape(len(values), -1)
        np.matmul(values, weights, out=out)
        out += bias
        values = np.maximum(out, 0, out=out)
    return values
