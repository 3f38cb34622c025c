"""MC dropout: fifty networks, each one network with half of its units dropped.

Gal & Ghahramani 2016, as in ALT-MAS: two hidden layers of 256 units, 50 masks, trained from new
weights at every fit (its appendix C.1). A mask is the same for all rows, so that each makes a
network, which is a member. Prediction takes ten times as long as with an ensemble.

Without training rows, rows are added as in section 3.1 of ALT-MAS: a classifier of the same shape
learns from the labels so far where the black box is right, and the rows that it is surest of are
added with the black box's prediction as their label. The better the black box, the more this helps.
Rows whose errors the classifier misses are then believed to be right, which affects ASE too.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GaussianEnsemble
from activetest.surrogates._inputs import (
    TrainingData,
    input_columns,
    prepare_training_data,
    require_background,
)
from activetest.surrogates._network import Network, standardise_layer, stored_layers
from activetest.surrogates._network_members import make_ensemble, scaled_softmax
from activetest.surrogates._torch_training import (
    NetworkData,
    TrainedNetworks,
    calibrate_temperature,
    collect_params,
    draw_first_layers,
    load_torch,
    prepare_network_data,
    train_networks,
)

NEEDS_FEATURES = True

_MASKS, _HIDDEN, _DROPPED = 50, (256, 256), 0.5
_NAMES = ("weights", "bias")
# With fewer labels than this no classifier of "the black box is right" is trained.
_FEWEST_LABELS = 10
# Share of the labels that the precision of "the black box is right" is measured on.
_VALIDATION = 0.3


def fit(training: TrainingSet, *, rng: np.random.Generator) -> Ensemble | GaussianEnsemble:
    """The network after training rows (or the augmentation) and M labels, of classes or values.

    Raises ChoiceError if PyTorch is not installed.
    """
    torch = load_torch("mc-dropout")
    training_rows = prepare_training_data(training, rng=rng)
    if training.train is None and training.classes and len(training.labels) >= _FEWEST_LABELS:
        training_rows = _augment(torch, training, training_rows, rng=rng)
    data = prepare_network_data(
        training_rows.inputs, training_rows.labels, training_rows.weights, training.classes, rng=rng
    )
    trained = _train_network(torch, data, rng=rng)
    params = collect_params(data, trained, _NAMES, outputs=training_rows.outputs)
    params["seed"] = int(rng.integers(2**32))
    return restore(
        calibrate_temperature(params, _make_networks(params), data, training_rows.inputs)
    )


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    return make_ensemble(params, _make_networks(params))


def _train_network(torch: Any, data: NetworkData, *, rng: np.random.Generator) -> TrainedNetworks:
    """One network, with a fresh mask for every row and step."""
    start = draw_first_layers(data.inputs.shape[1], _HIDDEN, data.outputs, 1, rng=rng)
    return train_networks(torch, data, start, partial(_forward, torch), rng=rng)


def _forward(torch: Any, parameters: list[Any], inputs: Any, generator: Any, learning: bool) -> Any:
    """(1, 1, B, O) outputs for inputs (1, B, W); units are dropped only when learning."""
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
        if learning:
            noise = torch.rand(inputs.shape, generator=generator, device=inputs.device)
            inputs = inputs * (noise >= _DROPPED) / (1 - _DROPPED)
    return torch.baddbmm(bias[:, None], inputs, weights)[None]


def _make_networks(params: dict[str, Any]) -> Network:
    """The masked networks; the first layer comes before any mask and is shared.

    Dropped units are removed from the matrices, which saves about half of the work.
    """
    first, second, last = (
        tuple(part[0] for part in layer) for layer in stored_layers(params, _NAMES)
    )
    rng = np.random.default_rng(params["seed"])
    masks = [rng.random((_MASKS, width)) >= _DROPPED for width in _HIDDEN]
    scale = np.float32(1 / (1 - _DROPPED))
    branches = tuple(
        (
            (second[0][:, after] * (scale * before)[:, None], second[1][after]),
            (last[0][after] * scale, last[1]),
        )
        for before, after in zip(*masks, strict=True)
    )
    return Network((standardise_layer(first, params["center"], params["scale"]),), branches)


def _augment(
    torch: Any, training: TrainingSet, training_rows: TrainingData, *, rng: np.random.Generator
) -> TrainingData:
    """The training rows and, with weight one, rows labelled by the black box; ALT-MAS 3.1.

    The classifier learns from a part of the labels; the others determine its threshold and measure
    its precision. The rows come from the background sample.
    """
    right = training.labels == training.rows.outputs.pred
    order = rng.permutation(len(right))
    held_out = order[: int(np.ceil(_VALIDATION * len(right)))]
    train = order[len(held_out) :]
    columns = input_columns(training.rows, outputs=True)
    background = require_background(training)
    unlabelled = ~np.isin(background.index, training.rows.index)
    rows = background[np.flatnonzero(unlabelled)]
    queries = np.concatenate([columns[held_out], input_columns(rows, outputs=True)])
    probs = _predict_agreement(torch, columns[train], right[train], queries, rng=rng)
    threshold, precision = find_threshold(probs[: len(held_out)], right[held_out])
    chosen = select_surest(probs[len(held_out) :], threshold, precision)
    return TrainingData(
        np.concatenate([training_rows.inputs, queries[len(held_out) :][chosen]]),
        np.concatenate([training_rows.labels, rows.outputs.pred[chosen]]),
        np.concatenate([training_rows.weights, np.ones(len(chosen))]),
        training_rows.outputs,
    )


def _predict_agreement(
    torch: Any, columns: Array, right: Array, queries: Array, *, rng: np.random.Generator
) -> Array:
    """(R,) probability that the black box is right at queries (R, W).

    Learned from columns (M, W) and right (M,) bool.
    """
    if right.all() or not right.any():
        # With a single class there is nothing to learn.
        return np.full(len(queries), float(right.all()))
    data = prepare_network_data(columns, right, np.ones(len(right)), 2, rng=rng)
    # Only training rows are repeated: a copy among the held-out rows would not validate.
    data = replace(data, train_rows=data.train_rows[balance_classes(right[data.train_rows], rng)])
    params = collect_params(data, _train_network(torch, data, rng=rng), _NAMES, outputs=True)
    network = _make_networks(params | {"seed": int(rng.integers(2**32))})
    probs = [scaled_softmax(part, 1.0).mean(axis=0)[1] for _, part in network.outputs(queries)]
    return np.concatenate(probs)


def balance_classes(right: Array, rng: np.random.Generator) -> Array:
    """Positions of all rows, with those of the minority repeated until classes are equal."""
    groups = [np.flatnonzero(right), np.flatnonzero(~right)]
    minority, majority = sorted(groups, key=len)
    repeated = rng.choice(minority, len(majority) - len(minority)) if len(minority) else minority
    return np.concatenate([majority, minority, repeated])


def find_threshold(probs: Array, right: Array) -> tuple[float, float]:
    """The threshold of highest precision, and that precision.

    probs, right (M,). Of equally precise thresholds, the one that most rows reach.
    """
    order = np.argsort(-probs, kind="stable")
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # Rows with equal probabilities pass a threshold together: only the last of them is an end.
    ends = np.append(np.flatnonzero(np.diff(probs[order])), len(order) - 1)
    best = ends[precision[ends] == precision[ends].max()][-1]
    return float(probs[order[best]]), float(precision[best])


def select_surest(probs: Array, threshold: float, precision: float) -> Array:
    """Positions of the largest probs (R,): precision times as many as reach the threshold."""
    count = int(precision * (probs >= threshold).sum())
    return np.argsort(-probs, kind="stable")[:count]
