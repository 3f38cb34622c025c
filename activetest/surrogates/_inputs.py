"""What surrogates that learn from features see of a row, and which labels they learn from.

With training rows they stand on their own, as in the papers: features in, labels out. Nobody who
only has predictions has such rows; then the black box's own outputs are inputs too, and what it
says about some rows of the pool counts as a few labels, so that without any label the surrogate is
about the black box.
"""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._box import log_probs, sharpness, softmax
from activetest.surrogates._gaussian import GUESS
from activetest.surrogates._thinning import together

# With more classes than this, probabilities of single classes are not inputs.
_MOST_CLASSES = 30
# What the black box says about the rows of the sketch weighs as much as this many labels.
BACKGROUND_WEIGHT = 20.0


@dataclass(frozen=True)
class TrainingData:
    """What to learn from.

    inputs    (M, W) float32, see inputs
    labels    (M,) class codes, or values; where outputs is true, values are label minus prediction
    weights   (M,) how much each counts
    outputs   the black box's outputs are among the inputs
    """

    inputs: Array
    labels: Array
    weights: Array
    outputs: bool


def training_data(
    training: TrainingSet, *, rng: np.random.Generator, most: int | None = None
) -> TrainingData:
    """Training rows and labels of the pool; without training rows, the sketch stands in for them.

    At most `most` rows, see together. Labels of no known class are left out. Raises ChoiceError for
    training rows without features.
    """
    outputs = training.train is None
    if not outputs and training.rows.features is None:
        raise ChoiceError(
            "training rows are of use only where the pool has features",
            "name them with --features, or leave --train out",
        )
    if outputs:
        begin, first = inputs(training.background, outputs=True), _said(training, rng)
        weights = np.full(len(first), BACKGROUND_WEIGHT / len(first))
    else:
        begin, first = training.train.features, training.train.labels
        weights = np.ones(len(first))
    labels = training.labels
    if outputs and not training.classes:
        labels = labels - training.rows.outputs.pred
    before, told = (
        np.flatnonzero(each >= 0) if training.classes else np.arange(len(each))
        for each in (first, labels)
    )
    if most is not None:
        before, told = together(before, told, most)
    lines = [begin[before], inputs(training.rows[told], outputs=outputs)]
    kind = np.intp if training.classes else float
    return TrainingData(
        np.concatenate(lines).astype(np.float32, copy=False),
        np.concatenate([first[before], labels[told]]).astype(kind),
        np.concatenate([weights[before], np.ones(len(told))]),
        outputs,
    )


def inputs(rows: Rows, *, outputs: bool) -> Array:
    """(R, W) float32 features and, where asked, what the black box says in comparable units."""
    parts = [] if rows.features is None else [rows.features]
    if outputs:
        parts.append(_outputs(rows))
    return np.ascontiguousarray(np.hstack(parts), np.float32)


def _outputs(rows: Rows) -> Array:
    """(R, W) log-probabilities of classes; the design's columns where classes are many."""
    probs = rows.outputs.probs
    if probs is not None and probs.shape[1] <= _MOST_CLASSES:
        return np.log(np.maximum(probs, 1e-4)) / 3 + 1
    if probs is None and np.issubdtype(rows.outputs.pred.dtype, np.integer):
        codes = np.arange(_MOST_CLASSES)
        return np.hstack([rows.outputs.pred[:, None] == codes, rows.design])
    return rows.design


def _said(training: TrainingSet, rng: np.random.Generator) -> Array:
    """(R,) labels of the sketch's rows, drawn from what the black box says about them.

    Classes are drawn as surely as the labels so far say that the black box deserves.
    """
    outputs = training.background.outputs
    if training.classes:
        if outputs.probs is None:
            return outputs.pred
        told = training.labels >= 0
        said = log_probs(training.rows[told], training.classes)
        sure = sharpness(said, training.labels[told].astype(np.intp))
        steps = np.cumsum(softmax(sure * log_probs(training.background, training.classes)), axis=1)
        return (rng.random((len(steps), 1)) * steps[:, -1:] > steps).sum(axis=1)
    scale = np.sqrt(GUESS) * training.scale if outputs.std is None else outputs.std
    return rng.normal(0, scale, len(outputs.pred))
