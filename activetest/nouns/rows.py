"""Rows of a pool as the methods see them, and what the black box said of them.

Axes, everywhere: N pool, R rows of a chunk, C outcomes, K members (draws of a surrogate), T
statistics of items, G groups (the first is always the whole pool), D draws of a log (columns of a
design where there is one), B labels that were supplied, M draws used by an estimate, d statistics
of one metric.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Outputs:
    """What the black box said about R items.

    pred    (R,) class code (integer) or predicted value (float)
    probs   (R, C) class probabilities; None for hard labels and for regression
    std     (R,) predictive standard deviation; None unless a regression pool has one
    """

    pred: Array
    probs: Array | None = None
    std: Array | None = None

    @cached_property
    def confidence(self) -> Array:
        """(R,) probability of the predicted class."""
        return np.take_along_axis(self.probs, self.pred[:, None], axis=1)[:, 0]

    def __getitem__(self, index) -> "Outputs":
        """The outputs of some of the rows; index is whatever an array takes."""
        probs = None if self.probs is None else self.probs[index]
        std = None if self.std is None else self.std[index]
        return Outputs(self.pred[index], probs, std)


@dataclass(frozen=True)
class Rows:
    """A chunk of the pool as the methods see it.

    index    (R,) position of each row in the pool
    hashes   (R,) uint64 hash of each row's id
    outputs  what the black box said
    design   (R, D) float32 columns for linear surrogates: the model's own confidence
             (classification) or prediction (regression) first, then standardised principal
             components of the features
    codes    (R, columns) integer code of each group column's value
    right    (T, R) value of each of the cache's statistics when the black box is right
    wrong    (T, R) its mean over the other classes, as likely as the black box thinks them
    spread   (T, R) its variance over them

    features (R, D) float32 all features, standardised over the pool; missing values are 0
    external (R, E, C) what E other models say: class probabilities; (R, E) values for regression

    right, wrong and spread are None for regression, where outcomes are not right or wrong; features
    and external are None unless a surrogate wants them.
    """

    index: Array
    hashes: Array
    outputs: Outputs
    design: Array
    codes: Array
    right: Array | None = None
    wrong: Array | None = None
    spread: Array | None = None
    features: Array | None = None
    external: Array | None = None

    def __getitem__(self, index) -> "Rows":
        """Some of the rows; index is whatever an array takes."""
        each = (self.index, self.hashes, self.outputs, self.design, self.codes)
        across = (self.right, self.wrong, self.spread)
        asked = (self.features, self.external)
        return Rows(
            *(part[index] for part in each),
            *(None if part is None else part[:, index] for part in across),
            *(None if part is None else part[index] for part in asked),
        )
