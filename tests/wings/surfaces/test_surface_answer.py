"""Reports of a surface: cells, extremes, effects and maps, worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from activetest.errors import ChoiceError
from activetest.nouns.report import Weight
from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Attributes, Surface, SurfaceData
from activetest.wings.surfaces import surface_answer
from activetest.wings.surfaces.surface_answer import (
    PoolSurface,
    describe_surface,
    draw_map,
    find_cell,
    flip,
    tabulate,
)
from activetest.wings.surfaces.surface_notes import write_notes

ATTRIBUTES = Attributes(("sex", "race"), (("F", "M"), ("a", "b", "c*d")))
# Arms (F, a), (F, b), (M, b) and (M, c*d) of 40, 30, 20 and 3 items.
CODES = np.repeat([[0, 0], [0, 1], [1, 1], [1, 2]], [40, 30, 20, 3], axis=0)
PHI = np.array([[0.9, 0.6, 0.8, 0.1]])


def make_surface(
    metric: str = "accuracy", attributes: Attributes = ATTRIBUTES, **fields: object
) -> PoolSurface:
    """A surface whose means are known; two labels, both right, in the first arm."""

    def predict(codes: Array) -> tuple[Array, Array]:
        return np.full((1, len(codes)), 0.3), np.full((1, len(codes)), 20.0)

    surface = Surface("test", PHI[0], PHI, np.full((1, 4), 20.0), predict, {"a": 0.7, "b": 0.3})
    data = SurfaceData(
        arms=Arms.of_items(attributes, CODES),
        items=np.array([0, 1]),
        values=np.ones(2),
        weights=np.ones(2),
        confidence=None,
        predicted=np.zeros(93, np.int32),
        classes=2,
        **fields,
    )
    return PoolSurface(surface, data, metric, 0.95, 5)


def test_a_complete_combination_has_the_value_of_its_arm():
    cell = find_cell(make_surface(), {"race": "a", "sex": "F"})
    assert cell.attributes == {"sex": "F", "race": "a"}
    assert cell.estimate == pytest.approx((2 + 38 * 0.9) / 40)
    assert (cell.n_pool, cell.n_labeled, cell.n_arms, cell.occurs) == (40, 2, 1, True)
    assert cell.lower < cell.estimate < cell.upper and cell.method == "surface"


def test_a_partial_combination_joins_its_arms():
    cell = find_cell(make_surface(), {"race": "b"})
    assert cell.estimate == pytest.approx((30 * 0.6 + 20 * 0.8) / 50)
    assert (cell.n_pool, cell.n_labeled, cell.n_arms) == (50, 0, 2)


def test_a_combination_that_never_occurs_is_predicted_if_it_is_complete():
    cell = find_cell(make_surface(), {"sex": "M", "race": "a"})
    assert cell.estimate == pytest.approx(0.3)
    assert (cell.n_pool, cell.n_arms, cell.occurs) == (0, 0, False)
    attributes = Attributes((*ATTRIBUTES.names, "age"), (*ATTRIBUTES.values, ("old",)))
    codes = np.column_stack([CODES, np.zeros(93, int)])
    fitted = make_surface()
    fitted = replace(fitted, data=replace(fitted.data, arms=Arms.of_items(attributes, codes)))
    part = find_cell(fitted, {"sex": "M", "race": "a"})
    assert part.estimate is None and "name age as well" in part.reason


def test_what_is_labelled_wholly_is_exact():
    fitted = make_surface()
    data = replace(
        fitted.data, items=np.array([90, 91, 92]), values=np.array([1, 0, 0]), weights=np.ones(3)
    )
    cell = find_cell(replace(fitted, data=data), {"sex": "M", "race": "c*d"})
    assert cell.method == "exact"
    assert cell.estimate == cell.lower == cell.upper == pytest.approx(1 / 3)


def test_the_level_of_an_interval_can_be_another_one():
    fitted = make_surface()
    wide, narrow = (find_cell(fitted, {"race": "b"}, level) for level in (0.99, 0.5))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper
    assert wide.level == 0.99


@pytest.mark.parametrize(
    ("named", "problem", "hint"),
    [
        ({"rase": "a"}, "'rase' is no attribute", "did you mean 'race'"),
        ({"sex": "X"}, "no item has sex=X", "the values of sex are F, M"),
        ({}, "needs an attribute", "sex, race"),
    ],
)
def test_attributes_and_values_that_are_not_there_are_refused(named, problem, hint):
    with pytest.raises(ChoiceError, match=problem) as refused:
        find_cell(make_surface(), named)
    assert hint in refused.value.hint


def test_the_worst_come_first_and_small_arms_are_not_ranked():
    found = describe_surface(make_surface())
    names = [tuple(cell.attributes.values()) for cell in (*found.worst, *found.best)]
    assert names == [("F", "b"), ("M", "b"), ("F", "a")]
    assert (found.combinations, found.occurring, found.ranked, found.labeled) == (6, 4, 3, 1)
    assert found.components == {"a": 0.7, "b": 0.3} and found.attributes == {"sex": 2, "race": 3}
    assert not found.detailed


def test_of_an_error_the_largest_is_the_worst():
    found = describe_surface(make_surface("error"))
    assert [tuple(cell.attributes.values()) for cell in found.worst] == [("F", "a"), ("M", "b")]
    assert not found.higher_better


def test_effects_are_those_of_every_value_over_all_others():
    found = describe_surface(make_surface())
    assert [dict(cell.attributes) for cell in found.effects] == [
        *({"sex": value} for value in "FM"),
        *({"race": value} for value in ("a", "b", "c*d")),
    ]
    for cell in found.effects:
        assert cell == find_cell(make_surface(), cell.attributes)


def test_a_map_has_a_cell_for_every_pair_of_values():
    found = draw_map(make_surface(), "race", "sex")
    assert (found.rows, found.columns) == (("a", "b", "c*d"), ("F", "M"))
    for row, race in zip(found.cells, found.rows, strict=True):
        for cell, sex in zip(row, found.columns, strict=True):
            other = find_cell(make_surface(), {"race": race, "sex": sex})
            assert cell.attributes == {"race": race, "sex": sex}
            assert cell.n_pool == other.n_pool
            if cell.occurs:
                assert cell.estimate == pytest.approx(other.estimate)
    assert not found.cells[0][1].occurs and found.cells[0][1].estimate is None


def test_a_map_needs_two_attributes_with_not_too_many_values(monkeypatch):
    with pytest.raises(ChoiceError, match="another attribute"):
        draw_map(make_surface(), "race", "race")
    monkeypatch.setattr(surface_answer, "_WIDEST_MAP", 2)
    with pytest.raises(ChoiceError, match="at most 2 values .* race has 3"):
        draw_map(make_surface(), "race", "sex")


def test_a_table_has_a_row_for_each_combination_and_with_all_the_others_too(monkeypatch):
    table = tabulate(make_surface())
    assert list(table) == ["sex", "race", "estimate", "lower", "upper", "support", "labels"]
    assert list(zip(table["sex"], table["race"], table["support"], strict=True)) == [
        *(("F", "a", 40), ("F", "b", 30), ("M", "b", 20), ("M", "c*d", 3))
    ]
    whole = tabulate(make_surface(), all=True)
    assert whole["occurs"].tolist() == [True, True, False, False, True, True]
    assert whole["estimate"][[2, 3]] == pytest.approx(0.3)
    np.testing.assert_allclose(whole["estimate"][[0, 1, 4, 5]], table["estimate"])
    assert whole["support"].tolist() == [40, 30, 0, 0, 20, 3]
    monkeypatch.setattr(surface_answer, "MOST_ROWS", 5)
    with pytest.raises(ChoiceError, match="there are 6 combinations"):
        tabulate(make_surface(), all=True)


def test_an_attribute_that_is_called_like_a_column_of_the_table_has_another_name():
    attributes = Attributes(("sex", "support"), ATTRIBUTES.values)
    assert list(tabulate(make_surface(attributes=attributes)))[:2] == ["sex", "attribute_support"]


def test_no_attribute_loses_its_column_to_another_one():
    attributes = Attributes(("labels", "attribute_labels"), ATTRIBUTES.values)
    table = tabulate(make_surface(attributes=attributes))
    assert len(table) == 7
    assert table["attribute_labels"].tolist() == ["a", "b", "b", "c*d"]
    assert table["attribute_attribute_labels"].tolist() == ["F", "F", "M", "M"]


def test_one_minus_a_statistic_has_the_interval_the_other_way_round():
    cell = find_cell(make_surface(), {"race": "b"})
    turned = flip(cell)
    assert turned.estimate == pytest.approx(1 - cell.estimate)
    assert (turned.lower, turned.upper) == (1 - cell.upper, 1 - cell.lower)


def test_notes_say_that_it_is_a_model_what_was_supplied_and_what_is_not_ranked():
    model, small = write_notes(make_surface())
    assert "if the model is right" in model.text and model.weight == Weight.LIMITED
    assert "1 combination that has fewer than 5 items" in small.text
    _, supplied, _ = write_notes(make_surface(supplied=1))
    assert "the 1 label that you supplied" in supplied.text
