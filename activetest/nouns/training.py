"""What a surrogate may learn from. Axes as in rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from activetest.nouns.choices import Augmentation
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate

if TYPE_CHECKING:
    from activetest.nouns.pool import PoolView


@dataclass(frozen=True)
class TrainingRows:
    """Rows that are not the pool's and whose labels are known.

    features  (M, D) float32, standardised like those of the pool
    labels    (M,) class codes or values
    """

    features: Array
    labels: Array


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
                 augment "agreement", and where a surrogate continues
    shares       (classes,) how often each class is predicted in the pool, counting one more
                 prediction of each; None for regression, and where outputs are probabilities
    earlier      the surrogate of the last round, where this one may go on from it
    keeps_evidence   whether what the earlier one learned of other things than labels is kept,
                 whatever the number of labels is now
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
    pool: "PoolView | None" = None
    shares: Array | None = None
    earlier: Surrogate | None = None
    keeps_evidence: bool = False
    image: tuple[int, ...] = ()

    @property
    def uses_outputs(self) -> bool:
        """Whether surrogates of features start from the black box's outputs."""
        return self.train is None and self.augment == Augmentation.OUTPUTS
