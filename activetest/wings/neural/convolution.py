"""Convolutions, for features that are the pixels of an image.

Two layers of 3 x 3 filters, each followed by a rectifier and the maximum over squares of 2 x 2
pixels; images are padded with zeros, so that a layer halves their sides. Networks are trained by
torch, and predict in numpy. The weights of a layer are (C x 9, O), of O filters over C channels, in
the order of torch: channel, row, column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.nouns.rows import Array

# Filters of each layer.
FILTERS = (8, 16)
_SIDE, _POOLED = 3, 2


@dataclass(frozen=True)
class Image:
    """The shape of images whose values are the first columns of inputs, row by row."""

    height: int
    width: int
    channels: int = 1

    @property
    def columns(self) -> int:
        """Values of an image."""
        return self.height * self.width * self.channels

    @property
    def gain(self) -> int:
        """How many more values than pixels the filters make; often fewer, and then below 0."""
        height, width = (side // _POOLED ** len(FILTERS) for side in (self.height, self.width))
        return height * width * FILTERS[-1] - self.columns

    def list_filters(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of a weight of each layer of filters."""
        channels = (self.channels, *FILTERS)
        return [(into * _SIDE**2, out) for into, out in pairwise(channels)]


def convolve(values: Array, layers: Sequence[tuple[Array, Array]], image: Image) -> Array:
    """(B, K) float32 what the layers make of images (B, W), and then the columns behind these."""
    pixels, others = values[:, : image.columns], values[:, image.columns :]
    maps = pixels.reshape(-1, image.height, image.width, image.channels)
    for weights, bias in layers:
        maps = _pool_maps(np.maximum(_filter_maps(maps, weights) + bias, 0))
    flat = maps.transpose(0, 3, 1, 2).reshape(len(maps), -1)
    return np.concatenate([flat, others], axis=1)


def _filter_maps(maps: Array, weights: Array) -> Array:
    """(B, H, W, O) of (B, H, W, C), by filters (C x 9, O)."""
    edge = _SIDE // 2
    padded = np.pad(maps, ((0, 0), (edge, edge), (edge, edge), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_SIDE, _SIDE), axis=(1, 2))
    return windows.reshape(*maps.shape[:3], -1) @ weights


def _pool_maps(maps: Array) -> Array:
    """(B, H // 2, W // 2, O) largest value of each square; an odd row or column is left out."""
    count, height, width, filters = maps.shape
    height, width = height // _POOLED, width // _POOLED
    even = maps[:, : height * _POOLED, : width * _POOLED]
    squares = even.reshape(count, height, _POOLED, width, _POOLED, filters)
    largest: Array = squares.max(axis=(2, 4))
    return largest


def convolve_tensor(
    torch: Any, values: Any, layers: Sequence[tuple[Any, Any]], image: Image
) -> Any:
    """As convolve, of E networks and their own images at once: (E, B, K) of (E, B, W)."""
    networks, count = values.shape[:2]
    pixels, others = values[..., : image.columns], values[..., image.columns :]
    maps = pixels.reshape(networks, count, image.height, image.width, image.channels)
    maps = maps.permute(1, 0, 4, 2, 3).reshape(count, -1, image.height, image.width)
    for weights, bias in layers:
        filters = weights.transpose(1, 2).reshape(-1, weights.shape[1] // _SIDE**2, _SIDE, _SIDE)
        maps = torch.nn.functional.conv2d(
            maps, filters, bias.reshape(-1), padding=_SIDE // 2, groups=networks
        )
        maps = torch.nn.functional.max_pool2d(maps.relu(), _POOLED)
    flat = maps.reshape(count, networks, -1).transpose(0, 1)
    return torch.cat([flat, others], dim=-1)
