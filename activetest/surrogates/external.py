"""Other models' predictions as members: an ensemble trained elsewhere, a stronger model, a judge.

They are believed as they are, as the fixed surrogates of Kossen et al. 2022 (section 7.3) are.
"""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import Ensemble
from activetest.surrogates._gaussian import GUESS, GaussianEnsemble

USES_OTHER_MODELS = True
NEEDS_OTHER_MODELS = True

# Pseudo-observations behind the first guess of the residual's variance.
_NOISE_PRIOR = 2.0


def fit(
    training: TrainingSet, *, rng: np.random.Generator | None = None
) -> Ensemble | GaussianEnsemble:
    """The members that the rows bring; of values, labels teach the spread around their mean.

    Raises ChoiceError where the rows bring none.
    """
    del rng
    members = training.rows.external
    if members is None:
        raise ChoiceError(
            "the surrogate 'external' is what other models say, and this pool has no columns of it",
            hint="add surrogate_prob_* columns, or: activetest init POOL --surrogates FILE",
        )
    if training.classes:
        return Ensemble(Opinions(members.shape[1]))
    squares = ((training.labels - members.mean(axis=1)) ** 2 - members.var(axis=1)).sum()
    guess = _NOISE_PRIOR * GUESS * training.scale**2
    # What the members disagree about is counted apart; some of the guess always remains.
    noise = (guess + max(squares, 0)) / (_NOISE_PRIOR + len(training.labels))
    return GaussianEnsemble(Values(members.shape[1], float(noise)))


@dataclass(frozen=True)
class Opinions:
    """The rows' own probabilities, from `size` models."""

    size: int

    def params(self) -> dict:
        """The fields."""
        return {"size": self.size}

    def probs(self, rows: Rows) -> Array:
        """(R, C) mean over models."""
        return rows.external.mean(axis=1)

    def draws(self, rows: Rows, which: Array) -> Array:
        """(K, R, C) what these models say."""
        return np.moveaxis(rows.external[:, which], 0, 1)


@dataclass(frozen=True)
class Values:
    """The rows' own values, from `size` models, and the variance of the label around a true one."""

    size: int
    noise: float

    def params(self) -> dict:
        """The fields."""
        return {"size": self.size, "noise": self.noise}

    def moments(self, rows: Rows) -> tuple[Array, Array]:
        """(R,) mean over models; variance between them, and noise."""
        values = rows.external.astype(float)
        return values.mean(axis=1), values.var(axis=1) + self.noise

    def draws(self, rows: Rows, which: Array) -> tuple[Array, Array]:
        """(K, R) values of these models, and the (K, 1) variance of the noise."""
        return rows.external[:, which].T.astype(float), np.full((len(which), 1), self.noise)


def restore(params: dict) -> Ensemble | GaussianEnsemble:
    """The surrogate that params() described."""
    size = int(params["size"])
    if "noise" in params:
        return GaussianEnsemble(Values(size, float(params["noise"])))
    return Ensemble(Opinions(size))
