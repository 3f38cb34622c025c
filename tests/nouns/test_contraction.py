"""Sums of products over named axes, also where there is nothing to add."""

import numpy as np
import pytest

from activetest.nouns.contraction import contract


def hide_in_memory(shape, dtype):
    """An array without entries, as a copy of nothing is one, that begins at what is no number."""
    return np.lib.stride_tricks.as_strided(np.full(1, np.nan, dtype), shape, [0] * len(shape))


def cut_all(shape, dtype):
    """One that is a part of an array without any numbers."""
    whole = np.full([max(size, 1) for size in shape], np.nan, dtype)
    return whole[tuple(slice(size) for size in shape)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("rd,d->r", [(6, 0), (0,)]),
        ("rd,rd->r", [(6, 0), (6, 0)]),
        ("rd,de,re->r", [(6, 0), (0, 0), (6, 0)]),
        ("...lj,lj->...l", [(2, 6, 0), (6, 0)]),
    ],
)
def test_a_sum_without_terms_is_0_whatever_lies_in_memory(subscripts, shapes, dtype):
    for first in (hide_in_memory, cut_all):
        for rest in (hide_in_memory, cut_all):
            operands = [first(shapes[0], dtype), *(rest(shape, dtype) for shape in shapes[1:])]
            found = contract(subscripts, *operands)
            assert found.dtype == dtype and found.shape[-1] == 6
            assert (found == 0).all()


def test_other_sums_are_those_of_numpy():
    rng = np.random.default_rng(0)
    left, right = rng.random((5, 3)), rng.random(3)
    assert contract("rd,d->r", left, right) == pytest.approx(left @ right)
