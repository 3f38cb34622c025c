"""MC dropout: one network, and fifty of those that dropping units makes of it.

Gal & Ghahramani 2016, as ALT-MAS uses it: two hidden layers of 256 units, 50 masks, begun anew at
every fit (its appendix C.1). A mask is the same for all rows: each is a network, and a member.
Prediction costs ten times an ensemble's.

Where there are no training rows, section 3.1 of ALT-MAS finds some: a classifier of the same shape
learns from the labels so far where the black box is right, and rows of which it is surest are
learned from as if the black box's word were their label. The better the black box, the more that
teaches. Rows whose errors it cannot see are then believed to be right, and so is ASE.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from activetest.nouns.rows import Array
from activetest.nouns.training import TrainingSet
from activetest.surrogates._inputs import TrainingData, inputs, training_data
from activetest.surrogates._network import Network, standardised, stored_layers
from activetest.surrogates._network_votes import committee, shares
from activetest.surrogates._torch_training import (
    Examples,
    Trained,
    calibrated,
    examples,
    first_layers,
    load_torch,
    stored,
    train,
)

NEEDS_FEATURES = True

_MASKS, _HIDDEN, _DROPPED = 50, (256, 256), 0.5
_NAMES = ("weights", "bias")
# Labels below which nothing can be said about where the black box is right.
_FEWEST_LABELS = 10
# Share of the labels that the precision of "the black box is right" is measured on.
_VALIDATION = 0.3


def fit(training: TrainingSet, *, rng: np.random.Generator):
    """The network after training rows (or the augmentation) and M labels, of classes or values.

    Raises ChoiceError where PyTorch is not installed.
    """
    torch = load_torch("mc-dropout")
    taught = training_data(training, rng=rng)
    if training.train is None and training.classes and len(training.labels) >= _FEWEST_LABELS:
        taught = _augmented(torch, training, taught, rng=rng)
    given = examples(taught.inputs, taught.labels, taught.weights, training.classes, rng=rng)
    trained = _trained(torch, given, rng=rng)
    params = stored(given, trained, _NAMES, outputs=taught.outputs)
    params["seed"] = int(rng.integers(2**32))
    return restore(calibrated(params, _network(params), given, taught.inputs))


def restore(params: dict):
    """The surrogate that params() described."""
    return committee(params, _network(params))


def _trained(torch, given: Examples, *, rng: np.random.Generator) -> Trained:
    """One network, with a fresh mask for every row and step."""
    start = first_layers(given.inputs.shape[1], _HIDDEN, given.outputs, 1, rng=rng)
    return train(torch, given, start, partial(_forward, torch), rng=rng)


def _forward(torch, parameters, inputs, generator, learning):
    """(1, 1, B, O) outputs for inputs (1, B, W); nothing is dropped when it does not learn."""
    *hidden, (weights, bias) = zip(parameters[::2], parameters[1::2], strict=True)
    for matrix, shift in hidden:
        inputs = torch.baddbmm(shift[:, None], inputs, matrix).relu()
        if learning:
            drawn = torch.rand(inputs.shape, generator=generator, device=inputs.device)
            inputs = inputs * (drawn >= _DROPPED) / (1 - _DROPPED)
    return torch.baddbmm(bias[:, None], inputs, weights)[None]


def _network(params: dict) -> Network:
    """The networks that the masks leave; the first layer is before any mask, and common to all.

    Units that a mask drops are cut out of the matrices: about half of the work.
    """
    first, second, last = (
        tuple(part[0] for part in layer) for layer in stored_layers(params, _NAMES)
    )
    rng = np.random.default_rng(params["seed"])
    kept = [rng.random((_MASKS, width)) >= _DROPPED for width in _HIDDEN]
    grown = np.float32(1 / (1 - _DROPPED))
    branches = tuple(
        (
            (second[0][:, later] * (grown * early)[:, None], second[1][later]),
            (last[0][later] * grown, last[1]),
        )
        for early, later in zip(*kept, strict=True)
    )
    return Network((standardised(first, params["center"], params["scale"]),), branches)


def _augmented(
    torch, training: TrainingSet, taught: TrainingData, *, rng: np.random.Generator
) -> TrainingData:
    """The lesson and, of weight one, rows with the black box's word for a label; ALT-MAS 3.1.

    The classifier learns from a part of the labels; the others set its threshold and measure its
    precision. The sketch stands for the pool.
    """
    right = training.labels == training.rows.outputs.pred
    order = rng.permutation(len(right))
    held = order[: int(np.ceil(_VALIDATION * len(right)))]
    learned = order[len(held) :]
    seen = inputs(training.rows, outputs=True)
    others = ~np.isin(training.background.index, training.rows.index)
    rows = training.background[np.flatnonzero(others)]
    asked = np.concatenate([seen[held], inputs(rows, outputs=True)])
    said = _agreement(torch, seen[learned], right[learned], asked, rng=rng)
    threshold, precision = most_precise(said[: len(held)], right[held])
    chosen = surest(said[len(held) :], threshold, precision)
    return TrainingData(
        np.concatenate([taught.inputs, asked[len(held) :][chosen]]),
        np.concatenate([taught.labels, rows.outputs.pred[chosen]]),
        np.concatenate([taught.weights, np.ones(len(chosen))]),
        taught.outputs,
    )


def _agreement(
    torch, seen: Array, right: Array, asked: Array, *, rng: np.random.Generator
) -> Array:
    """(R,) probability that the black box is right about rows asked (R, W).

    Learned from rows seen (M, W), right (M,) bool.
    """
    if right.all() or not right.any():
        # Nothing to tell apart: the black box is as good everywhere.
        return np.full(len(asked), float(right.all()))
    given = examples(seen, right, np.ones(len(right)), 2, rng=rng)
    # Drawn again from rows to learn from only: a copy held out would say nothing.
    given = replace(given, learned=given.learned[balanced(right[given.learned], rng)])
    params = stored(given, _trained(torch, given, rng=rng), _NAMES, outputs=True)
    network = _network(params | {"seed": int(rng.integers(2**32))})
    said = [shares(part, 1.0).mean(axis=0)[1] for _, part in network.outputs(asked)]
    return np.concatenate(said)


def balanced(right: Array, rng: np.random.Generator) -> Array:
    """Positions of all rows, the minority's drawn again until it is as many; none if none is."""
    kinds = [np.flatnonzero(right), np.flatnonzero(~right)]
    few, many = sorted(kinds, key=len)
    more = rng.choice(few, len(many) - len(few)) if len(few) else few
    return np.concatenate([many, few, more])


def most_precise(said: Array, right: Array) -> tuple[float, float]:
    """The threshold of highest precision, and that precision.

    said, right (M,): of thresholds alike in precision, the one that calls most rows right.
    """
    order = np.argsort(-said, kind="stable")
    precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # A threshold takes all rows of its value or none: only the last of them ends a set.
    ends = np.append(np.flatnonzero(np.diff(said[order])), len(order) - 1)
    best = ends[precision[ends] == precision[ends].max()][-1]
    return float(said[order[best]]), float(precision[best])


def surest(said: Array, threshold: float, precision: float) -> Array:
    """Positions of the N_s highest said (R,): precision times those that reach the threshold."""
    count = int(precision * (said >= threshold).sum())
    return np.argsort(-said, kind="stable")[:count]
