"""MC dropout: fifty networks, each one network with half of its units dropped.

Gal and Ghahramani 2016, as in ALT-MAS: two hidden layers of 256 units, 50 masks, trained from new
weights at every fit (its appendix C.1). A mask is the same for all rows, so that each makes a
network, which is a member. Prediction takes ten times as long as with an ensemble.
"""

from typing import Any

import numpy as np

from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._dropout import DROPPED, HIDDEN, NAMES, train_dropout_network
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._network import Network, standardise_layer, stored_layers
from activetest.surrogates._network_members import make_ensemble
from activetest.surrogates._nothing import believe_nothing, knows_nothing, restore_nothing
from activetest.surrogates._torch_training import (
    calibrate_temperature,
    collect_params,
    load_torch,
    prepare_network_data,
)
from activetest.surrogates._training_data import prepare_training_data

NEEDS_FEATURES = True
AUGMENTS = True

_MASKS = 50


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The network after training rows (or the background sample) and M labels.

    Raises ChoiceError if PyTorch is not installed.
    """
    torch = load_torch("the surrogate 'mc-dropout'")
    training_rows = prepare_training_data(training, rng=rng)
    if not len(training_rows.labels):
        return believe_nothing(training, training_rows.augmented, _MASKS)
    data = prepare_network_data(
        training_rows.inputs, training_rows.labels, training_rows.weights, training.classes, rng=rng
    )
    trained = train_dropout_network(torch, data, rng=rng)
    params = collect_params(
        data,
        trained,
        NAMES,
        outputs=training_rows.outputs,
        augmented=training_rows.augmented,
    )
    params["seed"] = int(rng.integers(2**32))
    return restore(
        calibrate_temperature(params, _make_networks(params), data, training_rows.inputs)
    )


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if knows_nothing(params):
        return restore_nothing(params)
    return make_ensemble(params, _make_networks(params))


def _make_networks(params: dict[str, Any]) -> Network:
    """The masked networks; the first layer comes before any mask and is shared.

    Dropped units are removed from the matrices, which saves about half of the work.
    """
    first, second, last = (
        tuple(part[0] for part in layer) for layer in stored_layers(params, NAMES)
    )
    rng = np.random.default_rng(params["seed"])
    masks = [rng.random((_MASKS, width)) >= DROPPED for width in HIDDEN]
    scale = np.float32(1 / (1 - DROPPED))
    branches = tuple(
        (
            (second[0][:, after] * (scale * before)[:, None], second[1][after]),
            (last[0][after] * scale, last[1]),
        )
        for before, after in zip(*masks, strict=True)
    )
    return Network((standardise_layer(first, params["center"], params["scale"]),), branches)
