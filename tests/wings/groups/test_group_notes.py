"""Sentences about groups."""

from types import SimpleNamespace

import pytest

from activetest.nouns.report import Weight
from activetest.wings.groups.group_notes import (
    describe_group,
    describe_region,
    list_names,
    write_notes,
)


def test_of_many_names_the_first_eight_are_listed():
    names = [f"g{number}" for number in range(10)]
    assert list_names(names[:1]) == "g0"
    assert list_names(names[:8]) == "g0, g1, g2, g3, g4, g5, g6, g7"
    assert list_names(names[:9]) == "g0, g1, g2, g3, g4, g5, g6, g7 and 1 more"
    assert list_names(names).endswith("g7 and 2 more")


def write_about(*methods: str) -> list:
    """The notes of an answer whose groups g0, g1, ... have these methods, and nothing else."""
    groups = [
        SimpleNamespace(group={"g": str(place)}, method=method)
        for place, method in enumerate(methods)
    ]
    answer = SimpleNamespace(
        groups=groups, question="identify", metric="accuracy", confusion=None, reliability=None
    )
    return write_notes(answer)


WEIGHTED, FEW = "doubly-robust", "pseudo-posterior"


def test_groups_whose_labels_were_not_drawn_uniformly_are_named():
    assert write_about("posterior", "exact") == []
    (alone,) = write_about("posterior", WEIGHTED)
    assert alone.weight == Weight.FACT
    assert alone.text == (
        "Labels in 1 group were not drawn uniformly inside it: "
        "the values of g=1 are weighted estimates (doubly-robust)."
    )
    (few,) = write_about(FEW, FEW)
    assert few.weight == Weight.WIDE
    assert few.text == (
        "Labels in 2 groups were not drawn uniformly inside them: "
        "g=0, g=1 have fewer than 10 labelled draws, so their values come from a posterior of "
        "weighted labels (pseudo-posterior)."
    )
    (both,) = write_about(FEW, WEIGHTED)
    assert both.text.startswith("Labels in 2 groups were not drawn uniformly inside them: the ")
    assert "; g=0 have fewer" in both.text


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
