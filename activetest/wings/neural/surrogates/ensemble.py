"""Deep ensemble: several networks with different first weights and orders of training rows.

Lakshminarayanan et al. 2017; the best surrogate in Active Testing (Kossen 2021), 5.2 to 5.4. Every
fit starts from new random weights, so that surrogates of different rounds differ by more than the
labels in between: retraining at intervals makes an implicit ensemble of surrogates, and a round
draws with a Thompson sample from it (Active Testing, 3.4). Over many rounds the draws therefore
come from many more networks than one fit has, and from fewer if refits are rare.

Five networks with two hidden layers of 128 units, unless ensemble[members=10;layers=3;width=64]
says otherwise: more members are more diverse, and larger ones are closer to the truth (Active
Testing, 5.4 and Fig. 7).

Where the features are an image, convolutions come before the dense layers: see _convolution.
"""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._nothing import has_no_labels, prior_belief, restore_nothing
from activetest.surrogates._training_data import prepare_training_data
from activetest.wings.neural.convolution import FILTERS, Image, convolve_tensor
from activetest.wings.neural.network import Network, standardise_layer, stored_layers
from activetest.wings.neural.network_members import make_ensemble
from activetest.wings.neural.torch_training import (
    calibrate_temperature,
    collect_params,
    draw_layers,
    load_torch,
    prepare_network_data,
    train_networks,
)

NEEDS_FEATURES = True
SEES_IMAGES = True
AUGMENTS = True

# Networks, their hidden layers, and the units in each.
OPTIONS = {"members": 5, "layers": 2, "width": 128}

_NAMES = ("weights", "bias")


def fit(
    training: TrainingSet,
    *,
    rng: np.random.Generator,
    members: int = OPTIONS["members"],
    layers: int = OPTIONS["layers"],
    width: int = OPTIONS["width"],
) -> Ensemble | GaussianEnsemble:
    """Networks after training rows (or the background sample) and M labels, of classes or values.

    Raises ChoiceError if PyTorch is not installed, and for networks that are too large.
    """
    torch = load_torch("the surrogate 'ensemble'")
    training_rows = prepare_training_data(training, rng=rng)
    if not len(training_rows.labels):
        return prior_belief(training, training_rows.augmented, members)
    image = Image(*training.image) if training.image else None
    data = prepare_network_data(
        training_rows.inputs,
        training_rows.labels,
        training_rows.weights,
        training.classes,
        rng=rng,
        pixels=image.columns if image else 0,
    )
    columns = training_rows.inputs.shape[1]
    sizes = [*image.list_filters()] if image else []
    columns += image.gain if image else 0
    sizes += pairwise((columns, *(width,) * layers, data.outputs))
    start = draw_layers(sizes, members, rng=rng)
    trained = train_networks(torch, data, start, partial(_forward, torch, image), rng=rng)
    params = collect_params(
        data,
        trained,
        _NAMES,
        outputs=training_rows.outputs,
        augmented=training_rows.augmented,
    )
    if image:
        params["image"] = list(training.image)
    return restore(
        calibrate_temperature(params, _make_networks(params), data, training_rows.inputs)
    )


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    if has_no_labels(params):
        return restore_nothing(params)
    return make_ensemble(params, _make_networks(params))


def _forward(
    torch: Any,
    image: Image | None,
    parameters: list[Any],
    inputs: Any,
    generator: Any,
    learning: bool,
) -> Any:
    """(1, E, B, O) outputs of every network for its own inputs (E, B, W)."""
    del generator, learning
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    if image:
        inputs = convolve_tensor(torch, inputs, hidden[: len(FILTERS)], image)
        hidden = hidden[len(FILTERS) :]
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
    return torch.baddbmm(bias[:, None], inputs, weights)[None]


def _make_networks(params: dict[str, Any]) -> Network:
    """All members side by side, for raw inputs."""
    layers, center, scale = stored_layers(params, _NAMES), params["center"], params["scale"]
    image = Image(*params["image"]) if "image" in params else None
    filters = layers[: len(FILTERS)] if image else []
    first, *others = layers[len(filters) :]
    if image:
        # Outputs of filters stay as they are.
        flat = image.columns + image.gain
        center = np.concatenate([np.zeros(flat), center[image.columns :]])
        scale = np.concatenate([np.ones(flat), scale[image.columns :]])
    branches = tuple(
        (
            *((weights[member], bias[member]) for weights, bias in filters),
            standardise_layer((first[0][member], first[1][member]), center, scale),
            *((weights[member], bias[member]) for weights, bias in others),
        )
        for member in range(len(first[0]))
    )
    return Network((), branches, image)
