"""Deep ensemble: five networks that differ in how they began and in what order they learned.

Lakshminarayanan et al. 2017; the surrogate that served best in Active Testing (Kossen 2021), 5.2 to
5.4. Every fit begins anew from the generator it is given, so surrogates of different rounds differ
by more than the labels bought in between: retraining at intervals implicitly makes an ensemble of
surrogates, and the one that a round draws with is a Thompson sample from it (Active Testing, 3.4).
Over many rounds draws are thus spread by many more than five networks; a rare --refit makes them
fewer.
"""

from functools import partial

import numpy as np

from activetest.nouns.training import TrainingSet
from activetest.surrogates._inputs import training_data
from activetest.surrogates._network import Network, standardised, stored_layers
from activetest.surrogates._network_votes import committee
from activetest.surrogates._torch_training import (
    calibrated,
    examples,
    first_layers,
    load_torch,
    stored,
    train,
)

NEEDS_FEATURES = True

_MEMBERS, _HIDDEN = 5, (128, 128)
_NAMES = ("weights", "bias")


def fit(training: TrainingSet, *, rng: np.random.Generator):
    """Networks after training rows (or the sketch) and M labels, of classes or values.

    Raises ChoiceError where PyTorch is not installed.
    """
    torch = load_torch("ensemble")
    taught = training_data(training, rng=rng)
    given = examples(taught.inputs, taught.labels, taught.weights, training.classes, rng=rng)
    start = first_layers(taught.inputs.shape[1], _HIDDEN, given.outputs, _MEMBERS, rng=rng)
    trained = train(torch, given, start, partial(_forward, torch), rng=rng)
    params = stored(given, trained, _NAMES, outputs=taught.outputs)
    return restore(calibrated(params, _network(params), given, taught.inputs))


def restore(params: dict):
    """The surrogate that params() described."""
    return committee(params, _network(params))


def _forward(torch, parameters, inputs, generator, learning):
    """(1, E, B, O) outputs of every network for inputs of its own, (E, B, W)."""
    del generator, learning
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
    return torch.baddbmm(bias[:, None], inputs, weights)[None]


def _network(params: dict) -> Network:
    """All members side by side, for inputs as they come."""
    first, *others = stored_layers(params, _NAMES)
    center, scale = params["center"], params["scale"]
    branches = tuple(
        (
            standardised((first[0][e], first[1][e]), center, scale),
            *((weights[e], bias[e]) for weights, bias in others),
        )
        for e in range(len(first[0]))
    )
    return Network((), branches)
