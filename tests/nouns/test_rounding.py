"""Decisions by numbers that rounding has made: no last digit decides them."""

import numpy as np
import pytest

from activetest.nouns.rounding import (
    ceil_count,
    cut_digits,
    find_nearly_largest,
    fix_signs,
    floor_count,
    is_above,
    is_below,
    level_ties,
    round_count,
)

LESS, MORE = 1 - 1e-13, 1 + 1e-13


def test_a_count_that_rounding_left_beside_a_whole_number_is_that_number():
    assert [round_count(3 * each) for each in (LESS, 1, MORE)] == [3.0] * 3
    assert [floor_count(3 * each) for each in (LESS, MORE)] == [3, 3]
    assert [ceil_count(3 * each) for each in (LESS, MORE)] == [3, 3]
    assert (round_count(2.75), floor_count(2.75), ceil_count(2.75)) == (2.75, 2, 3)


def test_a_number_between_two_short_ones_is_written_in_one_way():
    assert {f"{cut_digits(0.125 * each):.2f}" for each in (LESS, 1, MORE)} == {"0.12"}


def test_a_threshold_is_neither_below_nor_above_what_rounding_leaves_of_it():
    for value in (0.3 * LESS, 0.3, 0.3 * MORE):
        assert not is_below(value, 0.3) and not is_above(value, 0.3)
    assert is_below(0.2999, 0.3) and not is_above(0.2999, 0.3)
    assert is_above(0.3001, 0.3) and not is_below(0.3001, 0.3)
    # A sum of large numbers that cancel leaves what is small beside them.
    assert is_above(1e-5, 0) and not is_above(1e-5, 0, unit=1e6)


def test_the_first_of_nearly_equal_values_is_the_largest():
    values = np.array([[1.0, 2.0 * LESS, 2.0], [3.0, 3.0 * MORE, -np.inf], [1.0, 4.0, 9.0]])
    assert find_nearly_largest(values).tolist() == [1, 0, 2]
    assert find_nearly_largest(values.T, axis=0).tolist() == [1, 0, 2]


def test_ties_are_level_and_all_other_values_keep_their_order():
    values = np.array([0.2, 0.5 * MORE, 0.1, 0.5, 0.5 * LESS, -1.0, 0.0, np.inf, np.inf])
    found = level_ties(values)
    assert len({*found[[1, 3, 4]]}) == 1
    assert (found[[0, 2, 5, 6, 7, 8]] == values[[0, 2, 5, 6, 7, 8]]).all()
    assert np.argsort(found, kind="stable").tolist() == [5, 6, 2, 0, 1, 3, 4, 7, 8]
    assert level_ties(np.array([1e-17, 1.0, 0.0])).tolist() == [0.0, 1.0, 0.0]
    assert len(level_ties(np.empty(0))) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_the_sign_of_a_vector_hangs_on_no_last_digit(sign):
    half = np.sqrt(0.5)
    vectors = sign * np.array([[half * LESS, half], [half, -half * MORE]])
    assert np.allclose(fix_signs(vectors), [[half, half], [half, -half]])
    assert not fix_signs(np.zeros((2, 1))).any()
