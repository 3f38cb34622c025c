"""Items that surrogates learn with the black box's labels: ALT-MAS, section 3.1.

A classifier C_eta, a network of the shape of mc-dropout's, learns from the labelled items where the
black box agrees with the truth. A part of them is for validation: there the threshold on C_eta's
softmax is tuned to the highest precision. Of the pool's items without a label that pass the
threshold, as many are learned as the precision times their number, the most confident first.

The input of C_eta are the features alone, as in the paper: what the black box predicts is a
function of them.

- All labels are right: there is nothing to learn, C_eta calls the black box right everywhere, and
  every item of the pool is learned with its label. The first wrong label changes that.
- All labels are wrong, or no validation item is right: precision is 0, and nothing is learned.
- No validation item is wrong: precision is 1 down to the least confident validation item.
- Fewer than two labels: nothing could validate C_eta, and nothing is learned.
"""

from collections.abc import Callable
from dataclasses import replace
from operator import add
from typing import Any

import numpy as np

from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._inputs import input_columns
from activetest.surrogates._thinning import evenly_spaced
from activetest.system.parallel import map_reduce
from activetest.wings.neural.dropout_network import NAMES, train_dropout_network
from activetest.wings.neural.network import Network, standardise_layer
from activetest.wings.neural.torch_training import load_torch, prepare_network_data

# Share of the labelled items that are for validation.
_VALIDATION = 0.3
# Of more items than this, evenly spaced ones in the order of confidence are learned: their features
# are held in memory, and every one takes its time in every epoch.
MOST_AUGMENTED = 20_000


def choose_augmented(training: TrainingSet, *, rng: np.random.Generator) -> Array:
    """(n,) pool positions, in order, of the items to learn with the black box's labels.

    Raises ChoiceError if PyTorch is not installed, and ValueError without a pool.
    """
    torch, pool = load_torch("the augmentation by agreement"), require_pool(training)
    right = training.labels == training.rows.outputs.pred
    train, validation = split_labels(right, rng)
    if not len(train) or not right[validation].any():
        return np.empty(0, np.int64)
    score = _fit_agreement(torch, training.rows, right, train, validation, rng=rng)
    threshold, hits, reached = find_threshold(score(training.rows[validation]), right[validation])
    scores = score_pool(pool, score)
    scores[training.rows.index] = -np.inf
    passing = np.flatnonzero(scores >= threshold)
    chosen = passing[select_surest(scores[passing], hits, reached, rng)]
    return np.sort(chosen[evenly_spaced(len(chosen), MOST_AUGMENTED)])


def require_pool(training: TrainingSet) -> PoolView:
    """The pool of classes. Raises ValueError if there is none."""
    if training.pool is None or not training.classes:
        raise ValueError("items to learn are looked for in a pool of classes")
    return training.pool


def split_labels(right: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Positions of the training and of the validation part of labels, right (M,) bool.

    The share for validation is the same of right and wrong ones, rounded up, but one of each stays
    for training.
    """
    parts: tuple[list[Array], list[Array]] = ([], [])
    for kind in (right, ~right):
        order = rng.permutation(np.flatnonzero(kind))
        count = min(int(np.ceil(_VALIDATION * len(order))), max(len(order) - 1, 0))
        parts[0].append(order[count:])
        parts[1].append(order[:count])
    train, validation = map(np.concatenate, parts)
    # Without a validation part nothing is learned.
    return (train, validation) if len(validation) else (validation, validation)


def balance_classes(right: Array, rng: np.random.Generator) -> Array:
    """Positions of all rows, with those of the minority repeated until classes are equal."""
    groups = [np.flatnonzero(right), np.flatnonzero(~right)]
    minority, majority = sorted(groups, key=len)
    repeated = rng.choice(minority, len(majority) - len(minority)) if len(minority) else minority
    return np.concatenate([majority, minority, repeated])


def find_threshold(scores: Array, right: Array) -> tuple[float, int, int]:
    """The threshold of highest precision, and that precision as a fraction of two counts.

    scores, right (M,). Of equally precise thresholds, the one that most rows reach.
    """
    scores = level_ties(scores)
    order = np.argsort(-scores, kind="stable")
    hits, reached = np.cumsum(right[order]), np.arange(1, len(order) + 1)
    # Rows of equal scores pass a threshold together: only the last of them is an end.
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    precision = hits[ends] / reached[ends]
    best = ends[precision == precision.max()][-1]
    return float(scores[order[best]]), int(hits[best]), int(reached[best])


def select_surest(scores: Array, hits: int, reached: int, rng: np.random.Generator) -> Array:
    """Positions of the largest scores (R,): R times hits / reached of them, rounded down.

    Equal scores are in random order.
    """
    order = np.lexsort((rng.random(len(scores)), -level_ties(scores)))
    return order[: hits * len(scores) // reached]


def score_pool(pool: PoolView, score: Callable[[Rows], Array]) -> Array:
    """(N,) scores of all items, of which a chunk is in memory at a time."""
    pieces = map_reduce(pool.chunks(), lambda piece: [score(pool.rows(*piece))], add)
    return np.concatenate(pieces)


def _fit_agreement(
    torch: Any,
    rows: Rows,
    right: Array,
    train: Array,
    validation: Array,
    *,
    rng: np.random.Generator,
) -> Callable[[Rows], Array]:
    """C_eta: rows -> (R,) float32 log-odds that the black box is right there.

    Their order is that of the softmax, which float32 would round to 1 far from the boundary. The
    minority of the training part is over-sampled; training ends by the loss of the validation part.
    """
    if right.all():
        return lambda rows: np.zeros(len(rows.index), np.float32)
    columns = input_columns(rows, outputs=False)
    data = prepare_network_data(columns, right, np.ones(len(right)), 2, rng=rng)
    balanced = train[balance_classes(right[train], rng)]
    data = replace(data, train_rows=balanced, held_out_rows=validation)
    trained = train_dropout_network(torch, data, rng=rng).parameters
    first, second, last = (
        tuple(part[0] for part in trained[start : start + len(NAMES)])
        for start in range(0, len(trained), len(NAMES))
    )
    trunk = (standardise_layer(first, data.center, data.scale), second)
    network = Network(trunk, ((last,),))

    def score(rows: Rows) -> Array:
        logits = [
            part[0, 1] - part[0, 0]
            for _, part in network.outputs(input_columns(rows, outputs=False))
        ]
        return np.concatenate([np.empty(0, np.float32), *logits])

    return score
