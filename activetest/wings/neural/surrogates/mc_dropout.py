"""MC dropout: many networks, each one network with a part of its units dropped.

Gal and Ghahramani 2016, as in ALT-MAS: two hidden layers of 256 units, 50 passes, trained from new
weights at every fit (its appendix C.1); mc-dropout[passes=20;layers=1;width=64] has others. A mask
is the same for all rows, so that each makes a network, which is a member. Prediction takes ten
times as long as with an ensemble.

A fifth of the hidden units is dropped: mc-dropout[dropout=0.5] drops half of them. ALT-MAS tuned
the share and does not say to what. The more units are dropped, the worse a single pass predicts.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._training_data import prepare_training_data
from activetest.wings.neural.dropout_network import DROPPED, HIDDEN, NAMES, train_dropout_network
from activetest.wings.neural.network import Layer, Network, standardise_layer, stored_layers
from activetest.wings.neural.network_members import make_ensemble
from activetest.wings.neural.torch_training import (
    calibrate_temperature,
    check_size,
    collect_params,
    load_torch,
    prepare_network_data,
)

NEEDS_FEATURES = True
AUGMENTS = True
# Share of the hidden units that a pass drops, passes, hidden layers, and the units in each.
OPTIONS: dict[str, Any] = {
    "dropout": (str(DROPPED), "0.1", "0.3", "0.5"),
    "passes": 50,
    "layers": len(HIDDEN),
    "width": HIDDEN[0],
}


def fit(
    training: TrainingSet,
    *,
    rng: np.random.Generator,
    dropout: str = OPTIONS["dropout"][0],
    passes: int = OPTIONS["passes"],
    layers: int = OPTIONS["layers"],
    width: int = OPTIONS["width"],
) -> Ensemble | GaussianEnsemble:
    """The network after training rows (or the background sample) and M labels.

    Raises ChoiceError if PyTorch is not installed, and for networks that are too large.
    """
    torch = load_torch("the surrogate 'mc-dropout'")
    training_rows = prepare_training_data(training, rng=rng)
    if not len(training_rows.labels):
        return prior_belief(training, training_rows.augmented, passes)
    data = prepare_network_data(
        training_rows.inputs, training_rows.labels, training_rows.weights, training.classes, rng=rng
    )
    hidden = (width,) * layers
    check_size([*pairwise((*hidden, data.outputs))], passes)
    trained = train_dropout_network(torch, data, rng=rng, dropout=float(dropout), hidden=hidden)
    params = collect_params(
        data,
        trained,
        NAMES,
        outputs=training_rows.outputs,
        augmented=training_rows.augmented,
    )
    params |= {"seed": int(rng.integers(2**32)), "dropout": float(dropout), "passes": passes}
    return restore(
        calibrate_temperature(params, _make_networks(params), data, training_rows.inputs)
    )


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if has_no_labels(params):
        return restore_nothing(params)
    return make_ensemble(params, _make_networks(params))


def _make_networks(params: dict[str, Any]) -> Network:
    """The masked networks; the first layer comes before any mask and is shared.

    Dropped units are removed from the matrices, which saves work.
    """
    first, *others = (tuple(part[0] for part in layer) for layer in stored_layers(params, NAMES))
    rng = np.random.default_rng(params["seed"])
    dropout, passes = params["dropout"], params["passes"]
    widths = [len(bias) for _, bias in (first, *others[:-1])]
    masks = [rng.random((passes, width)) >= dropout for width in widths]
    scale = np.float32(1 / (1 - dropout))
    branches = tuple(_mask_layers(others, kept, scale) for kept in zip(*masks, strict=True))
    return Network((standardise_layer(first, params["center"], params["scale"]),), branches)


def _mask_layers(
    layers: Sequence[Layer], kept: Sequence[Array], scale: np.float32
) -> tuple[Layer, ...]:
    """The layers behind the first one in a pass.

    kept are the units (W,) bool of every hidden layer that stay. Those of the first layer are
    computed once for all passes: the matrix behind it is 0 where they are dropped.
    """
    found = []
    # All outputs stay.
    after: tuple[Any, ...] = (*kept[1:], slice(None))
    for level, (weights, bias) in enumerate(layers):
        before = kept[level]
        inner = weights[before] * scale if level else weights * (scale * before)[:, None]
        found.append((inner[:, after[level]], bias[after[level]]))
    return tuple(found)
