"""What rows are scored for: the metrics that draws aim at, as an acquisition sees them."""

from dataclasses import dataclass

from activetest.nouns.rows import Array


@dataclass(frozen=True)
class Objectives:
    """What R rows are scored for. Axes as in rows; A metrics.

    pred    (R,) what the black box predicts: class codes, or values
    kinds   (A, R, C) of every metric that draws aim at, which labels add the same to it: outcomes
            with the same number do, and the number is that of the first of them. See
            item_statistics.kinds. None unless the method states NEEDS_KINDS
    """

    pred: Array
    kinds: Array | None = None

    @property
    def known_kinds(self) -> Array:
        """(A, R, C) kinds, which the caller knows to exist. Raises ValueError otherwise."""
        if self.kinds is None:
            raise ValueError("these objectives say nothing of which outcomes are alike")
        return self.kinds
