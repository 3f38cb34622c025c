"""How far apart rows of numbers are."""

import numpy as np

from activetest.nouns.rows import Array


def square_distances(left: Array, right: Array) -> Array:
    """(R, m) squared Euclidean distances of rows (R, k) and (m, k), as precise as these."""
    squares: Array = left @ (-2 * right.T)
    squares += (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    np.maximum(squares, 0, out=squares)
    return squares
