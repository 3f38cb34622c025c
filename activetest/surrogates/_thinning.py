"""Fewer rows to learn from, where a method's cost grows too fast with their number."""

import numpy as np

from activetest.nouns.rows import Array


def together(before: Array, told: Array, most: int) -> tuple[Array, Array]:
    """At most that many positions of both: evenly spaced ones of those before, and all those told.

    Only where those told alone are too many are they thinned, too.
    """
    return before[spaced(len(before), max(most - len(told), 0))], told[spaced(len(told), most)]


def spaced(size: int, most: int) -> Array:
    """Positions of at most that many of `size` rows, evenly spaced."""
    count = min(size, most)
    return np.arange(count) * size // max(count, 1)
