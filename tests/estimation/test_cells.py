"""A pool that is cut into cells."""

import numpy as np
import pytest

from activetest.estimation.cut_pool import CutPool

pytestmark = pytest.mark.pool(rows=12, seed=3)


def test_what_was_computed_of_a_cut_pool_is_computed_once_and_apart_from_the_pool(pool):
    asked = []

    def compute():
        asked.append(len(asked))
        return asked[-1]

    cut, other = (CutPool(pool, np.zeros(12, int), ["all"]) for _ in range(2))
    assert [cut.compute_once("key", compute) for _ in range(2)] == [0, 0]
    assert (other.compute_once("key", compute), pool.compute_once("key", compute)) == (1, 2)
    assert cut.compute_once("another", compute) == 3
