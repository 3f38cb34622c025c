"""Pools whose items stand in another order."""

import numpy as np
import pytest

from activetest.cache.aligned import align_items
from tests.makers import build_table

SIZE = 30
SCORES = np.linspace(0.02, 0.98, SIZE)


def build(folder, order, name):
    columns = {"id": [f"i{row}" for row in order], "prob_yes": SCORES[order]}
    columns["prob_no"] = 1 - SCORES[order]
    return build_table(folder, columns, name=name)


@pytest.fixture
def pair(tmp_path):
    """Two pools of the same items, the second one in another order."""
    order = np.random.default_rng(2).permutation(SIZE)
    return build(tmp_path, np.arange(SIZE), "first"), build(tmp_path, order, "second")


def test_a_pool_in_the_same_order_is_itself(pair, tmp_path):
    other = build(tmp_path, np.arange(SIZE), "third")
    assert align_items(pair[0], other) is other


def test_items_have_the_positions_of_the_first_pool(pair):
    first, second = pair
    aligned = align_items(first, second)
    assert aligned.ids(range(SIZE)) == first.ids(range(SIZE))
    np.testing.assert_array_equal(aligned.hashes, first.hashes)
    np.testing.assert_array_equal(aligned.scores(), first.scores())
    for own, found in (
        (first.rows(3, 99), aligned.rows(3, 99)),
        (first.take([7, 2]), aligned.take([7, 2])),
    ):
        np.testing.assert_array_equal(found.index, own.index)
        np.testing.assert_array_equal(found.outputs.probs, own.outputs.probs)


def test_a_pool_that_lacks_an_item_is_refused(pair, tmp_path):
    other = build(tmp_path, np.arange(SIZE - 1), "short")
    with pytest.raises(ValueError, match="other items"):
        align_items(pair[0], other)
