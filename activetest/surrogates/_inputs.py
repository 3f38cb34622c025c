"""Inputs and labels of the surrogates that learn from features.

With training rows they predict labels from features, as in the papers. Without training rows the
black box's outputs are inputs too, and its predictions for a background sample of the pool count as
a few labels: without any label the surrogate then approximates the black box.
"""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._black_box import fit_sharpness, log_probs, softmax
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE
from activetest.surrogates._thinning import thin_training_rows

# With more classes than this, the probabilities of classes are not inputs.
_MOST_CLASSES = 30
# Labels that the whole background sample counts as.
BACKGROUND_WEIGHT = 20.0


@dataclass(frozen=True)
class TrainingData:
    """Rows to learn from.

    inputs    (M, W) float32, see input_columns
    labels    (M,) class codes, or values; if outputs is true, values are label minus prediction
    weights   (M,) of the rows, in labels
    outputs   whether the black box's outputs are among the inputs
    """

    inputs: Array
    labels: Array
    weights: Array
    outputs: bool


def prepare_training_data(
    training: TrainingSet, *, rng: np.random.Generator, most: int | None = None
) -> TrainingData:
    """Training rows, or else the background sample, and then the labelled rows of the pool.

    At most `most` rows, see thin_training_rows. Labels outside the classes are left out.
    Raises ChoiceError for training rows without features.
    """
    train = training.train
    if train is not None and training.rows.features is None:
        raise ChoiceError(
            "training rows are of use only where the pool has features",
            "name them with `features`, or leave `train` out",
        )
    labels = training.labels
    if train is None:
        background = require_background(training)
        first_inputs = input_columns(background, outputs=True)
        first_labels = _draw_background_labels(training, background, rng)
        weights = np.full(len(first_labels), BACKGROUND_WEIGHT / len(first_labels))
        if not training.classes:
            labels = labels - training.rows.outputs.pred
    else:
        first_inputs, first_labels = train.features, train.labels
        weights = np.ones(len(first_labels))
    first, labelled = (
        np.flatnonzero(each >= 0) if training.classes else np.arange(len(each))
        for each in (first_labels, labels)
    )
    if most is not None:
        first, labelled = thin_training_rows(first, labelled, most)
    labelled_inputs = input_columns(training.rows[labelled], outputs=train is None)
    inputs = np.concatenate([first_inputs[first], labelled_inputs])
    kind = np.intp if training.classes else float
    return TrainingData(
        inputs.astype(np.float32, copy=False),
        np.concatenate([first_labels[first], labels[labelled]]).astype(kind),
        np.concatenate([weights[first], np.ones(len(labelled))]),
        train is None,
    )


def require_background(training: TrainingSet) -> Rows:
    """The background sample. Raises ValueError if the training set has none."""
    if training.background is None:
        raise ValueError("without training rows, surrogates need a background sample")
    return training.background


def input_columns(rows: Rows, *, outputs: bool) -> Array:
    """(R, W) float32 features and, with outputs, the black box's outputs on a similar scale."""
    parts = [] if rows.features is None else [rows.features]
    if outputs:
        parts.append(_black_box_columns(rows))
    return np.ascontiguousarray(np.hstack(parts), np.float32)


def _black_box_columns(rows: Rows) -> Array:
    """(R, W) log-probabilities of classes; with many classes, the columns of the design."""
    probs = rows.outputs.probs
    if probs is not None and probs.shape[1] <= _MOST_CLASSES:
        return np.log(np.maximum(probs, 1e-4)) / 3 + 1
    if probs is None and np.issubdtype(rows.outputs.pred.dtype, np.integer):
        codes = np.arange(_MOST_CLASSES)
        return np.hstack([rows.outputs.pred[:, None] == codes, rows.design])
    return rows.design


def _draw_background_labels(
    training: TrainingSet, background: Rows, rng: np.random.Generator
) -> Array:
    """(R,) labels of the background rows, drawn from the black box's predictions.

    Classes are drawn from its probabilities, as sharp as the labels so far suggest.
    """
    outputs = background.outputs
    if training.classes:
        if outputs.probs is None:
            return outputs.pred
        labelled = training.labels >= 0
        logits = log_probs(training.rows[labelled], training.classes)
        sharpness = fit_sharpness(logits, training.labels[labelled].astype(np.intp))
        probs = softmax(sharpness * log_probs(background, training.classes))
        edges = np.cumsum(probs, axis=1)
        return (rng.random((len(edges), 1)) * edges[:, -1:] > edges).sum(axis=1)
    deviation = (
        np.sqrt(RESIDUAL_VARIANCE_SHARE) * training.scale if outputs.std is None else outputs.std
    )
    return rng.normal(0, deviation, len(outputs.pred))
