"""A perceptron of two hidden layers of 256 units with dropout: ALT-MAS, appendix C.1.

It is the network of mc-dropout, and the classifier that says where the black box is right.
"""

from functools import partial
from typing import Any

import numpy as np

from activetest.surrogates._torch_training import (
    NetworkData,
    TrainedNetworks,
    draw_first_layers,
    train_networks,
)

HIDDEN, DROPPED = (256, 256), 0.5
# The arrays of a layer, as parameters store them.
NAMES = ("weights", "bias")


def train_dropout_network(
    torch: Any, data: NetworkData, *, rng: np.random.Generator
) -> TrainedNetworks:
    """One network from new weights, with a fresh mask for every row and step."""
    start = draw_first_layers(data.inputs.shape[1], HIDDEN, data.outputs, 1, rng=rng)
    return train_networks(torch, data, start, partial(_forward, torch), rng=rng)


def _forward(torch: Any, parameters: list[Any], inputs: Any, generator: Any, learning: bool) -> Any:
    """(1, 1, B, O) outputs for inputs (1, B, W); units are dropped only when learning."""
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
        if learning:
            noise = torch.rand(inputs.shape, generator=generator, device=inputs.device)
            inputs = inputs * (noise >= DROPPED) / (1 - DROPPED)
    return torch.baddbmm(bias[:, None], inputs, weights)[None]
