"""A perceptron with dropout, usually of two hidden layers of 256 units: ALT-MAS, appendix C.1.

It is the network of mc-dropout, and the classifier that says where the black box is right.
"""

from functools import partial
from typing import Any

import numpy as np

from activetest.wings.neural.torch_training import (
    NetworkData,
    TrainedNetworks,
    draw_first_layers,
    train_networks,
)

# Units in a layer, and the share of them that a mask drops, unless another one is chosen.
HIDDEN, DROPPED = (256, 256), 0.2
# The arrays of a layer, as parameters store them.
NAMES = ("weights", "bias")


def train_dropout_network(
    torch: Any,
    data: NetworkData,
    *,
    rng: np.random.Generator,
    dropout: float = DROPPED,
    hidden: tuple[int, ...] = HIDDEN,
) -> TrainedNetworks:
    """One network from new weights, with a fresh mask for every row and step.

    dropout is the share of the hidden units that a mask drops, hidden the units of each layer.
    """
    start = draw_first_layers(data.inputs.shape[1], hidden, data.outputs, 1, rng=rng)
    return train_networks(torch, data, start, partial(_forward, torch, dropout), rng=rng)


def _forward(
    torch: Any,
    dropout: float,
    parameters: list[Any],
    inputs: Any,
    generator: Any,
    learning: bool,
) -> Any:
    """(1, 1, B, O) outputs for inputs (1, B, W); units are dropped only when learning."""
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
        if learning:
            noise = torch.rand(inputs.shape, generator=generator, device=inputs.device)
            inputs = inputs * (noise >= dropout) / (1 - dropout)
    return torch.baddbmm(bias[:, None], inputs, weights)[None]
