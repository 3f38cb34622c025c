"""Sentences about groups."""

import pytest

from activetest.reporting.group_notes import describe_group, describe_region, list_names


def test_of_many_names_the_first_eight_are_listed():
    names = [f"g{number}" for number in range(10)]
    assert list_names(names[:1]) == "g0"
    assert list_names(names[:8]) == "g0, g1, g2, g3, g4, g5, g6, g7"
    assert list_names(names[:9]) == "g0, g1, g2, g3, g4, g5, g6, g7 and 1 more"
    assert list_names(names).endswith("g7 and 2 more")


@pytest.mark.parametrize(
    ("region", "worse", "word"),
    [
        ("above", 1, "worse"),
        ("above", -1, "better"),
        ("below", 1, "better"),
        ("below", -1, "worse"),
    ],
)
def test_a_region_says_which_of_two_groups_is_worse(region, worse, word):
    first, second = {"a": "x", "b": "y"}, {"a": "z"}
    assert describe_group(first) == "a=x, b=y"
    text = f"a=x, b=y is {word} than a=z by more than 0.05"
    assert describe_region(first, second, region, worse, 0.05) == text
    same = "a=x, b=y and a=z differ by at most 0.05"
    assert describe_region(first, second, "within", worse, 0.05) == same
