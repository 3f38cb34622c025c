"""Beliefs of surrogates without a row to learn from: every class alike, or any usual value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble, unpack_positions
from activetest.surrogates._gaussian import GaussianEnsemble


@dataclass(frozen=True)
class EqualClasses:
    """`size` members that give each of the classes the same probability."""

    has_no_labels: ClassVar[bool] = True
    count: int
    size: int

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {"has_no_labels": True, "count": self.count, "size": self.size}

    def probs(self, rows: Rows) -> Array:
        """(R, C) one over the number of classes."""
        return np.full((len(rows.index), self.count), 1 / self.count, np.float32)

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) the same for every member."""
        return np.broadcast_to(self.probs(rows), (len(which), len(rows.index), self.count))


@dataclass(frozen=True)
class UsualValues:
    """`size` members that expect any value which the black box usually predicts."""

    has_no_labels: ClassVar[bool] = True
    mean: float
    variance: float
    size: int

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {"has_no_labels": True, **vars(self)}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean and variance, of every row alike."""
        return np.full(len(rows.index), self.mean), np.full(len(rows.index), self.variance)

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) the same for every member."""
        mean, variance = (
            np.broadcast_to(each, (len(which), len(rows.index))) for each in self.moments(rows)
        )
        return mean, variance


def prior_belief(
    training: TrainingSet, augmented: Array | None, size: int
) -> Ensemble | GaussianEnsemble:
    """The surrogate of a training set without a row to learn from.

    Values have mean and variance of the predictions in the background sample.
    """
    if training.classes:
        return Ensemble(EqualClasses(training.classes, size), augmented)
    background = training.background
    mean = 0.0 if background is None else float(background.outputs.pred.mean())
    return GaussianEnsemble(UsualValues(mean, training.scale**2, size))


def has_no_labels(params: Mapping[str, Any]) -> bool:
    """Whether parameters are those of a surrogate that had no row to learn from."""
    return "has_no_labels" in params


def restore_nothing(params: Mapping[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate of these parameters."""
    size = int(params["size"])
    if "count" in params:
        return Ensemble(EqualClasses(int(params["count"]), size), unpack_positions(params))
    return GaussianEnsemble(UsualValues(float(params["mean"]), float(params["variance"]), size))
