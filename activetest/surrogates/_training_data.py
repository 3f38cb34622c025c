"""Rows and labels that surrogates of features learn from.

By default and without training rows, the black box's outputs are inputs too, and its predictions
for a background sample of the pool count as a few labels: without any label the surrogate then
approximates the black box. With training rows, or another augmentation, labels are predicted from
features alone, as in the papers: rows are the training rows, the labelled items and, with the
augmentation by agreement, items of the pool with the black box's labels.
"""

from dataclasses import dataclass

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.choices import Augmentation, Choices
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._black_box import fit_sharpness, log_probs, softmax
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE
from activetest.surrogates._inputs import input_columns
from activetest.surrogates._thinning import thin_training_rows

# Labels that the whole background sample counts as.
BACKGROUND_WEIGHT = 20.0


@dataclass(frozen=True)
class TrainingData:
    """Rows to learn from.

    inputs      (M, W) float32, see input_columns
    labels      (M,) class codes, or values; if outputs is true, values are label minus prediction
    weights     (M,) of the rows, in labels
    outputs     whether the black box's outputs are among the inputs
    augmented   (n,) pool positions of the rows that have the black box's labels, in order; None
                without that augmentation
    """

    inputs: Array
    labels: Array
    weights: Array
    outputs: bool
    augmented: Array | None = None


def prepare_training_data(
    training: TrainingSet, *, rng: np.random.Generator, most: int | None = None
) -> TrainingData:
    """Rows that are not labelled ones, see below, and then the labelled rows of the pool.

    At most `most` rows, see thin_training_rows. Labels outside the classes are left out.
    Raises ChoiceError for training rows or an augmentation without features.
    """
    if not training.uses_outputs and not _count_features(training.rows):
        what, remedy = (
            ("training rows are", "leave `train` out")
            if training.train is not None
            else (f"`augment={training.augment!r}` is", f"leave `augment={Choices.augment!r}`")
        )
        raise ChoiceError(
            f"{what} of use only where the pool has features",
            f"name them with `features`, or {remedy}",
        )
    if training.uses_outputs:
        before = _take_background(training, rng)
    else:
        before = _take_known(training, rng)
    labels = training.labels
    if training.uses_outputs and not training.classes:
        labels = labels - training.rows.outputs.pred
    first, labelled = (
        np.flatnonzero(each >= 0) if training.classes else np.arange(len(each))
        for each in (before.labels, labels)
    )
    if most is not None:
        first, labelled = thin_training_rows(first, labelled, most)
    labelled_inputs = input_columns(training.rows[labelled], outputs=training.uses_outputs)
    inputs = np.concatenate([before.inputs[first], labelled_inputs])
    kind = np.intp if training.classes else float
    learned = np.concatenate([before.labels[first], labels[labelled]])
    if not training.classes:
        # As exact as inputs are: between two splits of a tree that are as good, the last digits of
        # doubles would decide.
        learned = learned.astype(np.float32)
    augmented = before.augmented
    if augmented is not None:
        # They are the last of the first rows.
        places = first - (len(before.labels) - len(augmented))
        augmented = augmented[places[places >= 0]]
    return TrainingData(
        inputs.astype(np.float32, copy=False),
        learned.astype(kind),
        np.concatenate([before.weights[first], np.ones(len(labelled))]),
        training.uses_outputs,
        augmented,
    )


def _count_features(rows: Rows) -> int:
    return 0 if rows.features is None else int(rows.features.shape[1])


def _take_background(training: TrainingSet, rng: np.random.Generator) -> TrainingData:
    """The background sample, with labels drawn from the black box; together a few labels."""
    background = training.background
    if background is None:
        raise ValueError("without training rows, surrogates need a background sample")
    labels = _draw_background_labels(training, background, rng)
    weights = np.full(len(labels), BACKGROUND_WEIGHT / len(labels))
    return TrainingData(input_columns(background, outputs=True), labels, weights, True)


def _take_known(training: TrainingSet, rng: np.random.Generator) -> TrainingData:
    """The training rows, if any, and then the augmented items, each with weight one."""
    inputs, labels = [input_columns(training.rows[:0], outputs=False)], [training.labels[:0]]
    if training.train is not None:
        inputs.append(training.train.known_features)
        labels.append(training.train.labels)
    augmented = None
    if training.augment not in (Augmentation.NONE, Augmentation.OUTPUTS):
        augmentation = catalog.load("augmentations", training.augment)
        augmented = augmentation.choose_augmented(training, rng=rng)
        chosen = augmentation.require_pool(training).take(augmented)
        inputs.append(input_columns(chosen, outputs=False))
        labels.append(chosen.outputs.pred)
    rows = np.concatenate(labels)
    return TrainingData(np.concatenate(inputs), rows, np.ones(len(rows)), False, augmented)


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
