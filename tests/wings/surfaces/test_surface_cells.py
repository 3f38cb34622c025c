"""Cells, maps and products are read from texts."""

import pytest

from activetest.errors import ChoiceError
from activetest.nouns.surface import Attributes
from activetest.wings.surfaces.surface_cells import parse_cell, parse_map, parse_product

ATTRIBUTES = Attributes(("sex", "race"), (("F", "M"), ("a", "b", "c*d")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("race=a,sex=F", {"race": "a", "sex": "F"}),
        (" race = a , sex = F ", {"race": "a", "sex": "F"}),
        ("race=a, b,sex=F", {"race": "a, b", "sex": "F"}),
        ("race=a=b", {"race": "a=b"}),
    ],
)
def test_a_cell_is_read_from_a_text(text, expected):
    assert parse_cell(text, ("sex", "race")) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rase=a", "'rase' is no attribute"),
        ("a", "has no attribute=value"),
        ("race=a,race=b", "names race twice"),
    ],
)
def test_a_text_that_is_no_cell_is_refused(text, problem):
    with pytest.raises(ChoiceError, match=problem):
        parse_cell(text, ("sex", "race"))


def test_a_map_is_read_from_a_text():
    assert parse_map(" race * sex", ("sex", "race")) == ("race", "sex")
    for text in ("race", "race*sex*age"):
        with pytest.raises(ChoiceError, match="no pair of attributes"):
            parse_map(text, ("sex", "race"))
    with pytest.raises(ChoiceError, match="'rase' is no attribute"):
        parse_map("rase*sex", ("sex", "race"))


def test_a_product_of_attributes_is_read_also_where_values_hold_asterisks():
    assert parse_product("race*sex", "c*d*M", ATTRIBUTES) == {"race": "c*d", "sex": "M"}
    assert parse_product("sex", "F", ATTRIBUTES) == {"sex": "F"}
    assert parse_product("region*sex", "EU*F", ATTRIBUTES) is None
    with pytest.raises(ChoiceError, match="no item has race=x"):
        parse_product("race*sex", "x*M", ATTRIBUTES)
    with pytest.raises(ChoiceError, match="'a' is no value of race"):
        parse_product("race*sex", "a", ATTRIBUTES)
