"""Other models' predictions as members: an ensemble trained elsewhere, a stronger model, a judge.

Their predictions are used unchanged, like the fixed surrogates of Kossen et al. 2022, section 7.3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import RESIDUAL_VARIANCE_SHARE, GaussianEnsemble

USES_OTHER_MODELS = True
NEEDS_OTHER_MODELS = True

# Pseudo-observations of the prior variance of the residual.
_NOISE_PRIOR = 2.0


def fit(
    training: TrainingSet, *, rng: np.random.Generator | None = None
) -> Ensemble | GaussianEnsemble:
    """The models whose predictions the rows have; for values, labels determine the noise.

    Raises ChoiceError if the rows have no such predictions.
    """
    del rng
    predictions = training.rows.external
    if predictions is None:
        raise ChoiceError(
            "the surrogate 'external' is what other models say, and this pool has no columns of it",
            hint="add surrogate_prob_* columns, or give a file: `study.change(other_models=path)`",
        )
    if training.classes:
        return Ensemble(OtherModelProbs(predictions.shape[1]))
    squares = ((training.labels - predictions.mean(axis=1)) ** 2 - predictions.var(axis=1)).sum()
    prior_noise = _NOISE_PRIOR * RESIDUAL_VARIANCE_SHARE * training.scale**2
    # The disagreement of the models is counted apart; some of the prior noise always remains.
    noise = (prior_noise + max(squares, 0)) / (_NOISE_PRIOR + len(training.labels))
    return GaussianEnsemble(OtherModelValues(predictions.shape[1], float(noise)))


@dataclass(frozen=True)
class OtherModelProbs:
    """Class probabilities of `size` other models, as the rows have them."""

    size: int

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {"size": self.size}

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over models."""
        return _require_predictions(rows).mean(axis=1)

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) probabilities of these models."""
        return np.moveaxis(_require_predictions(rows)[:, which], 0, 1)


@dataclass(frozen=True)
class OtherModelValues:
    """Values of `size` other models, as the rows have them, and the variance of the noise."""

    size: int
    noise: float

    def params(self) -> dict[str, Any]:
        """The fields of the dataclass."""
        return {"size": self.size, "noise": self.noise}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean over models, and variance between them plus noise."""
        values = _require_predictions(rows).astype(float)
        return values.mean(axis=1), values.var(axis=1) + self.noise

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) values of these models, and the (K, 1) variance of the noise."""
        values = _require_predictions(rows)[:, which].T.astype(float)
        return values, np.full((len(which), 1), self.noise)


def restore(params: dict[str, Any]) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    size = int(params["size"])
    if "noise" in params:
        return GaussianEnsemble(OtherModelValues(size, float(params["noise"])))
    return Ensemble(OtherModelProbs(size))


def _require_predictions(rows: Rows) -> Array:
    """(R, E, ...) predictions of the other models. Raises ValueError if the rows have none."""
    if rows.external is None:
        raise ValueError("the rows have no predictions of other models")
    return rows.external
