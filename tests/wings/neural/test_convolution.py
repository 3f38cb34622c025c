"""Filters over images: by loops, in numpy and in torch."""

import numpy as np
import pytest
from pytest import approx

from activetest.wings.neural.convolution import FILTERS, Image, convolve, convolve_tensor

IMAGES = [Image(8, 8), Image(5, 7, 3), Image(4, 9)]


def filter_by_loops(maps, weights, bias):
    """One layer for a single image (H, W, C): every sum written out."""
    height, width, channels = maps.shape
    found = np.zeros((height, width, weights.shape[1]))
    for row in range(height):
        for column in range(width):
            for channel in range(channels):
                for down in range(3):
                    for across in range(3):
                        y, x = row + down - 1, column + across - 1
                        if 0 <= y < height and 0 <= x < width:
                            place = channel * 9 + down * 3 + across
                            found[row, column] += maps[y, x, channel] * weights[place]
    found = np.maximum(found + bias, 0)
    pooled = np.zeros((height // 2, width // 2, found.shape[2]))
    for row in range(height // 2):
        for column in range(width // 2):
            square = found[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            pooled[row, column] = square.max(axis=(0, 1))
    return pooled


def draw(image, others=2, networks=1):
    rng = np.random.default_rng(0)
    layers = [
        (
            rng.normal(size=(networks, into, out)).astype(np.float32),
            rng.normal(size=(networks, out)).astype(np.float32),
        )
        for into, out in image.list_filters()
    ]
    shape = (networks, 3, image.columns + others)
    return rng.normal(size=shape).astype(np.float32), layers


@pytest.mark.parametrize("image", IMAGES)
def test_what_filters_make_of_an_image(image):
    inputs, layers = draw(image)
    found = convolve(inputs[0], [(weights[0], bias[0]) for weights, bias in layers], image)
    assert found.shape == (3, image.columns + image.gain + 2)
    for row, values in zip(inputs[0], found, strict=True):
        maps = row[:-2].reshape(image.height, image.width, image.channels)
        for weights, bias in layers:
            maps = filter_by_loops(maps, weights[0], bias[0])
        assert maps.shape[2] == FILTERS[-1]
        # Features behind the pixels go past the filters.
        expected = np.append(np.moveaxis(maps, 2, 0).ravel(), row[-2:])
        assert values == approx(expected, abs=1e-4)


@pytest.mark.parametrize("image", IMAGES)
def test_torch_sees_the_same_with_every_network(image):
    torch = pytest.importorskip("torch")
    inputs, layers = draw(image, networks=3)
    tensors = [tuple(map(torch.tensor, layer)) for layer in layers]
    found = convolve_tensor(torch, torch.tensor(inputs), tensors, image)
    for network in range(3):
        mine = [(weights[network], bias[network]) for weights, bias in layers]
        assert found[network].numpy() == approx(convolve(inputs[network], mine, image), abs=1e-4)
