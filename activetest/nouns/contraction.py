"""Sums of products of arrays over named axes."""

import numpy as np

from activetest.nouns.rows import Array


def contract(subscripts: str, *operands: Array) -> Array:
    """The sums of `numpy.einsum`; 0 where a sum has no terms.

    Up to version 2.4 at least, NumPy multiplies the 0 of such a sum with whatever lies in memory
    where an operand without entries is said to begin: now and then that is no number.
    """
    if not all(each.size for each in operands):
        operands = tuple(np.broadcast_to(np.zeros((), each.dtype), each.shape) for each in operands)
    found: Array = np.einsum(subscripts, *operands)
    return found
