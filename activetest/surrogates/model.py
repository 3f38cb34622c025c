"""The black box itself as the surrogate.

The naive baseline of Active Testing (Kossen 2021), section 5.2.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import over_classes
from activetest.surrogates._gaussian import over_nodes


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> "Model":
    """The black box's own beliefs: labels teach it nothing.

    Raises ChoiceError where the black box gave neither probabilities nor a predictive deviation.
    """
    del rng
    if training.rows.outputs.probs is None and training.rows.outputs.std is None:
        raise ChoiceError(
            "the surrogate 'model' needs probabilities or a column pred_std, "
            "and this pool has neither",
            hint="activetest init POOL --surrogate agreement (classes) "
            "or --surrogate residual (values)",
        )
    return Model()


@dataclass(frozen=True)
class Model:
    """One member, without doubt about itself."""

    def params(self) -> dict:
        """No parameters."""
        return {}

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes are the classes, or nodes of N(pred, pred_std^2)."""
        if rows.outputs.probs is not None:
            made = over_classes(rows, rows.outputs.probs, statistics)
        else:
            variance = rows.outputs.std.astype(float) ** 2
            made = over_nodes(rows, rows.outputs.pred, variance, statistics)
        # Every member is the same, so one says it all.
        return made if members is None else replace(made, draws=made.probs[None])

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def draw_members(self, count: int, rng: np.random.Generator) -> Array:
        """(K, 0): every member is the black box."""
        return np.empty((count, 0))

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation, and of its variance."""
        mean, variance = (part.sum(axis=1) for part in moments(self.beliefs(rows, statistics)))
        return np.tile(mean, (len(members), 1)), np.tile(variance, (len(members), 1))


def restore(params: dict) -> Model:
    """The surrogate that params() described."""
    del params
    return Model()
