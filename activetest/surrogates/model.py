"""The black box itself as the surrogate.

The naive baseline of Active Testing (Kossen 2021), section 5.2.
"""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.evidence import Array, Beliefs, Known, Rows
from activetest.expectation import moments
from activetest.surrogates._classes import over_classes
from activetest.surrogates._gaussian import over_nodes


def fit(known: Known, *, rng: np.random.Generator | None = None) -> "Model":
    """The black box's own beliefs: labels teach it nothing.

    Raises ChoiceError where the black box gave neither probabilities nor a predictive deviation.
    """
    del rng
    if known.rows.outputs.probs is None and known.rows.outputs.std is None:
        raise ChoiceError(
            "the surrogate 'model' needs probabilities or a column pred_std, "
            "and this pool has neither",
            hint="activetest init POOL --surrogate agreement (classes) "
            "or --surrogate residual (values)",
        )
    return Model(known.statistics)


@dataclass(frozen=True)
class Model:
    """One member, without doubt about itself; statistics (T,) are the names of what is at stake."""

    statistics: tuple[str, ...]

    def params(self) -> dict:
        """JSON-ready parameters: the names of the statistics."""
        return {"statistics": list(self.statistics)}

    def beliefs(self, rows: Rows) -> Beliefs:
        """Outcomes are the classes, or nodes of N(pred, pred_std^2)."""
        if rows.outputs.probs is not None:
            return over_classes(rows, rows.outputs.probs, self.statistics)
        return over_nodes(
            rows, rows.outputs.pred, rows.outputs.std.astype(float) ** 2, self.statistics
        )

    def members(self, count: int, rng: np.random.Generator) -> Array:
        """(K, 0): every member is the black box."""
        return np.empty((count, 0))

    def totals(self, rows: Rows, members: Array) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation, and of its variance."""
        mean, variance = (part.sum(axis=1) for part in moments(self.beliefs(rows)))
        return np.tile(mean, (len(members), 1)), np.tile(variance, (len(members), 1))


def restore(params: dict) -> Model:
    """The surrogate that params() described."""
    return Model(tuple(params["statistics"]))
