"""Data that a surrogate may learn from. Axes as in rows."""

from dataclasses import dataclass, replace

import numpy as np

from activetest.nouns.choices import Augmentation
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows, TrainingRows


@dataclass(frozen=True)
class TrainingSet:
    """The labels a surrogate may learn from.

    rows         the M labelled rows
    labels       (M,) class codes or values
    stats        (M, T) the cache's statistics observed there
    statistics   (T,) their names
    classes      number of classes; 0 for regression
    scale        standard deviation of the predictions over the pool; regression only
    train        labelled rows from elsewhere, or None
    background   some rows of the pool, evenly spaced: the black box's predictions for them stand
                 in for training rows; None where the surrogate does not need them
    augment      see nouns.choices.Augmentation
    pool         all items, of which some are learned with the black box's labels; needed for
                 augment "agreement"
    shares       (classes,) how often each class is predicted in the pool, counting one more
                 prediction of each; None for regression, and where outputs are probabilities
    image        (height, width) or (height, width, channels) of the image that features are; empty
                 where they are a plain list
    """

    rows: Rows
    labels: Array
    stats: Array
    statistics: tuple[str, ...]
    classes: int = 0
    scale: float = 1.0
    train: TrainingRows | None = None
    background: Rows | None = None
    augment: str = Augmentation.OUTPUTS.value
    pool: PoolView | None = None
    shares: Array | None = None
    image: tuple[int, ...] = ()

    def __getitem__(self, labels: slice | Array) -> "TrainingSet":
        """The same with these labels alone: a slice or positions of them."""
        rows, stats = self.rows[labels], self.stats[labels]
        return replace(self, rows=rows, labels=self.labels[labels], stats=stats)

    @property
    def usable(self) -> Array:
        """(M,) bool: labels that are values, or classes that the model knows."""
        return self.labels >= 0 if self.classes else np.ones(len(self.labels), bool)

    @property
    def uses_outputs(self) -> bool:
        """Whether surrogates of features start from the black box's outputs."""
        return self.train is None and self.augment == Augmentation.OUTPUTS
