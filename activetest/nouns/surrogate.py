"""Interface of every surrogate, whatever it is. Axes as in rows."""

from typing import Any, Protocol

import numpy as np

from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array, Rows

# Prefix of the names of parameters that stay the same over many rounds: studies store these
# arrays once.
KEPT = "kept."


class Surrogate(Protocol):
    """A fitted surrogate: what the labels so far let one believe of every row.

    A surrogate that learned items of the pool with the model's labels has their positions (n,) as
    `augmented`; others lack it, or have None there. One that depends on what a pool is like may
    have `attach(pool) -> Surrogate`: the same for a pool whose items may have moved since it was
    fitted; it raises ValueError for a pool that it cannot have been fitted to. One that learns
    from what a pool happens to have names that in `auxiliary_outputs`, as in "4 other models".

    statistics are item statistics, see item_statistics.statistic.Statistic; members are whatever
    draw_members gave.
    """

    def params(self) -> dict[str, Any]:
        """Arrays, and whatever JSON can hold: enough to restore the surrogate and predict again."""
        ...

    def beliefs(self, rows: Rows, statistics: tuple[Any, ...], members: Any = None) -> Beliefs:
        """Beliefs about R rows; with the draws of these members where members are given."""
        ...

    def expected(self, rows: Rows, statistics: tuple[Any, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        ...

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """K members drawn at random, in whatever form the surrogate keeps them."""
        ...

    def totals(self, rows: Rows, members: Any, statistics: tuple[Any, ...]) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        ...
