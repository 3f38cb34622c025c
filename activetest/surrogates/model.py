"""The black box itself as the surrogate.

The naive baseline of Active Testing (Kossen 2021), section 5.2.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._classes import class_beliefs
from activetest.surrogates._gaussian import node_beliefs


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> "Model":
    """The black box's own predictions, which do not depend on labels.

    Raises ChoiceError if the black box gave neither probabilities nor a predictive deviation.
    """
    del rng
    if training.rows.outputs.probs is None and training.rows.outputs.std is None:
        raise ChoiceError(
            "the surrogate 'model' needs probabilities or a column pred_std, "
            "and this pool has neither",
            hint='`study.change(surrogate="agreement")` for classes, '
            '`study.change(surrogate="residual")` for values',
        )
    return Model()


@dataclass(frozen=True)
class Model:
    """A single member without uncertainty about its parameters."""

    def params(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes are the classes, or nodes of N(pred, pred_std^2)."""
        if rows.outputs.probs is not None:
            beliefs = class_beliefs(rows, rows.outputs.probs, statistics)
        elif rows.outputs.std is not None:
            variance = rows.outputs.std.astype(float) ** 2
            beliefs = node_beliefs(rows, rows.outputs.pred, variance, statistics)
        else:
            raise ValueError("the outputs have neither probabilities nor a deviation")
        # All members are the same, so that one draw is enough.
        return beliefs if members is None else replace(beliefs, draws=beliefs.probs[None])

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


def restore(params: dict[str, Any]) -> Model:
    """The surrogate that params() described."""
    del params
    return Model()
