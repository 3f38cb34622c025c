"""MC dropout: fifty networks, each one network with a part of its units dropped.

Gal and Ghahramani 2016, as in ALT-MAS: two hidden layers of 256 units, 50 masks, trained from new
weights at every fit (its appendix C.1). A mask is the same for all rows, so that each makes a
network, which is a member. Prediction takes ten times as long as with an ensemble.

A fifth of the hidden units is dropped: mc-dropout[dropout=0.5] drops half of them. ALT-MAS tuned
the share and does not say to what. The more units are dropped, the worse a single pass predicts.
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
# Share of the hidden units that a pass drops.
OPTIONS = {"dropout": (str(DROPPED), "0.1", "0.3", "0.5")}

_MASKS = 50
# What parameters of earlier versions were trained with.
_EARLIER = 0.5


def fit(
    training: TrainingSet, *, rng: np.random.Generator, dropout: str = OPTIONS["dropout"][0]
) -> Ensemble | GaussianEnsemble:
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
    trained = train_dropout_network(torch, data, rng=rng, dropout=float(dropout))
    params = collect_params(
        data,
        trained,
        NAMES,
        outputs=training_rows.outputs,
        augmented=training_rows.augmented,
    )
    params |= {"seed": int(rng.integers(2**32)), "dropout": float(dropout)}
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

    Dropped units are removed from the matrices, which saves work.
    """
    first, second, last = (
        tuple(part[0] for part in layer) for layer in stored_layers(params, NAMES)
    )
    rng = np.random.default_rng(params["seed"])
    dropout = params.get("dropout", _EARLIER)
    masks = [rng.random((_MASKS, width)) >= dropout for width in HIDDEN]
    scale = np.float32(1 / (1 - dropout))
    branches = tuple(
        (
            (second[0][:, after] * (scale * before)[:, None], second[1][after]),
            (last[0][after] * scale, last[1]),
        )
        for before, after in zip(*masks, strict=True)
    )
    return Network((standardise_layer(first, params["center"], params["scale"]),), branches)
