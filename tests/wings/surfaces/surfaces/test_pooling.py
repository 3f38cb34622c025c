"""Pooling of sparse arms, by hand."""

import numpy as np
import pytest

from activetest.wings.surfaces.surfaces import _pooling
from activetest.wings.surfaces.surfaces._pooling import pool_counts

COUNTS = np.array([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0], [6.0, 2.0]])
KERNEL = np.array(
    [
        [1.0, 0.5, 0.25, 0.1],
        [0.5, 1.0, 0.3, 0.2],
        [0.25, 0.3, 1.0, 0.6],
        [0.1, 0.2, 0.6, 1.0],
    ]
)


def test_sparse_arms_have_the_kernel_mean_of_three_and_others_their_own():
    pooled = pool_counts(COUNTS, KERNEL.__getitem__, pool=5)
    first = (1 * COUNTS[0] + 0.5 * COUNTS[1] + 0.25 * COUNTS[2]) / 1.75
    third = (1 * COUNTS[2] + 0.6 * COUNTS[3] + 0.3 * COUNTS[1]) / 1.9
    np.testing.assert_allclose(pooled, [first, COUNTS[1], third, COUNTS[3]])
    assert COUNTS[0].tolist() == [1, 0], "the counts themselves stay"


def test_up_to_five_takes_in_arms_with_five():
    below = pool_counts(COUNTS, KERNEL.__getitem__, pool=5)
    up_to = pool_counts(COUNTS, KERNEL.__getitem__, pool=5, limit="up-to")
    second = (1 * COUNTS[1] + 0.5 * COUNTS[0] + 0.3 * COUNTS[2]) / 1.8
    np.testing.assert_allclose(up_to, [below[0], second, below[2], below[3]])


def test_a_plain_mean_does_not_weigh():
    pooled = pool_counts(COUNTS, KERNEL.__getitem__, pool=2, average="plain")
    np.testing.assert_allclose(pooled[0], [1, 7 / 3])


def test_fewer_arms_than_neighbours_are_all_averaged():
    pooled = pool_counts(COUNTS[:2], np.ones((2, 2)).__getitem__, pool=5)
    np.testing.assert_allclose(pooled, [[1.5, 1.5], [2, 3]])


def test_the_arm_itself_is_always_among_its_neighbours():
    """Four arms in one place: each pools itself and the first two others."""
    pooled = pool_counts(COUNTS, np.ones((4, 4)).__getitem__, pool=5, neighbours=1)
    np.testing.assert_allclose(pooled, COUNTS)


@pytest.mark.parametrize("total", [4.9, 5.0])
def test_fractional_counts_are_pooled_as_they_are(total):
    counts = np.array([[total / 2, total / 2], [8.0, 2.0]])
    pooled = pool_counts(counts, np.ones((2, 2)).__getitem__, pool=5)
    expected = counts.mean(axis=0) if total < 5 else counts[0]
    np.testing.assert_allclose(pooled[0], expected)


def test_arms_are_taken_in_chunks(monkeypatch):
    whole = pool_counts(COUNTS, KERNEL.__getitem__, pool=20)
    monkeypatch.setattr(_pooling, "_CHUNK", 3)
    np.testing.assert_array_equal(pool_counts(COUNTS, KERNEL.__getitem__, pool=20), whole)
