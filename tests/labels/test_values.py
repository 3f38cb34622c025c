"""Labels that are values of a program: columns of frames, rows and mappings."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.errors import LabelConflict, LabelError
from activetest.labels import values
from activetest.labels.files import Label
from activetest.nouns.log import DECLINED, LABELLED, PENDING


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def label_of(value) -> tuple[int, str]:
    """The meaning of a value, however it comes."""
    (row,) = values.read_mapping({"a": value})
    assert values.read_columns({"id": ["a"], "label": [value]})[0][1:] == row[1:]
    assert values.read_rows([{"id": "a", "label": value}])[0][1:] == row[1:]
    return row.status, row.label


def test_columns_rows_and_files_say_the_same():
    columns = {
        "id": ["a", "b", "c", "d"],
        "label": [" cat ", "", None, ""],
        "annotator": ["ann", "bob", None, 7],
        "status": [None, " Declined", "skipped", ""],
        "pixels": [[1], [2], [3], [4]],
    }
    expected = [
        Label("row 0", "a", "ann", LABELLED, "cat"),
        Label("row 1", "b", "bob", DECLINED, ""),
        Label("row 2", "c", "", DECLINED, ""),
        Label("row 3", "d", "7", PENDING, ""),
    ]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert values.read_columns(columns) == values.read_rows(iter(rows)) == expected


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("cat", "cat"),
        (" cat\t", "cat"),
        (np.str_("cat"), "cat"),
        (3, "3"),
        (3.0, "3"),
        (np.int8(3), "3"),
        (np.float32(3), "3"),
        (np.array(3), "3"),
        (-0.0, "0"),
        (1e22, "10000000000000000000000"),
        (3.5, "3.5"),
        (np.float64(0.1), "0.1"),
        (True, "True"),
        (np.bool_(False), "False"),
        (Decimal("3.50"), "3.50"),
        (math.inf, "inf"),
    ],
)
def test_a_value_is_the_class_that_a_pool_names_so(value, label):
    assert label_of(value) == (LABELLED, label)


@pytest.mark.parametrize("value", [None, "", "  ", math.nan, np.float32("nan"), Decimal("nan")])
def test_a_missing_value_still_waits(value):
    assert label_of(value) == (PENDING, "")


def test_missing_values_of_pandas_still_wait(pandas):
    assert label_of(pandas.NA) == label_of(pandas.NaT) == (PENDING, "")


@pytest.mark.parametrize(
    "value",
    [["a", "b"], {"a": 1}, b"cat", 1j, np.array([1, 2]), datetime.date(2020, 1, 1), object()],
)
def test_another_value_is_named_with_its_row_and_id(value):
    sort = f"is of type {type(value).__name__}"
    for column in ("label", "annotator", "status"):
        rows = [{"id": "a", "label": "x"}, {"id": "b", "label": "", column: value}]
        with pytest.raises(LabelError, match=f"the rows, row 1, id 'b': the {column} {sort}") as e:
            values.read_rows(rows)
        assert e.value.hint
    with pytest.raises(LabelError, match=f"the rows, row 1: the id {sort}"):
        values.read_rows([{"id": "a", "label": "x"}, {"id": value, "label": "y"}])


@pytest.mark.parametrize("value", [["cat"], ("cat",), {"cat"}, np.array(["cat"])])
def test_a_list_of_one_label_is_that_label_and_an_empty_one_none_yet(value):
    assert label_of(value) == (LABELLED, "cat")
    assert label_of(type(value)([]) if not isinstance(value, np.ndarray) else value[:0]) == (
        PENDING,
        "",
    )


def test_the_hint_about_a_status_is_in_the_words_of_what_was_given():
    row = {"id": "a", "label": "x", "status": "lost"}
    with pytest.raises(LabelError) as error:
        values.read_rows([row])
    assert error.value.hint.endswith("; if that key means something else, leave it out")
    with pytest.raises(LabelError) as error:
        values.read_columns({name: [value] for name, value in row.items()})
    assert error.value.hint.endswith("`columns={'status': ''}` leaves it out")


@pytest.mark.parametrize("id", [17, 17.0, "17", np.int64(17), np.float64(17)])
def test_an_id_is_its_text(id):
    assert values.read_columns({"id": [id], "label": ["x"]})[0].id == "17"


def test_ids_that_are_text_stay_as_they_are():
    """As in a file: an id of a pool may begin with a space or a zero."""
    assert [row.id for row in values.read_mapping({" a": 1, "007": 1})] == [" a", "007"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": None, "label": "x"}, "row 0: the id is empty"),
        ({"id": math.nan, "label": "x"}, "row 0: the id is empty"),
        ({"label": "x"}, "row 0: there is no 'id'"),
        ({"id": "a"}, "row 0: there is no 'label'"),
        (("a", "x"), "row 0: of type tuple, not a mapping"),
        ({"id": "a", "label": "x", "status": "lost"}, "row 0, id 'a': 'lost' is no status"),
        ({"id": "a", "label": None, "status": "labelled"}, "row 0, id 'a': labelled, but"),
        ({"id": "a", "label": "x", "status": "declined"}, "row 0, id 'a': declined, but"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(row, problem):
    with pytest.raises(LabelError) as error:
        values.read_rows([row])
    assert problem in error.value.problem and error.value.hint


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"label": ["x"]}, "the frame has no column 'id'; it has label"),
        ({"id": ["a"], "answer": ["x"]}, "no column 'label'; it has id, answer"),
        ({}, "no column 'id'"),
    ],
)
def test_a_frame_without_labels_says_what_it_has(columns, problem):
    with pytest.raises(LabelError) as error:
        values.read_columns(columns)
    assert problem in error.value.problem and "id and label" in error.value.hint


def test_repeated_rows_count_once_and_two_labels_for_one_item_are_a_conflict():
    columns = {"id": ["a", "a", "b", "a"], "label": ["", "cat", None, "cat"]}
    assert [row[1:] for row in values.read_columns(columns)] == [
        ("a", "", LABELLED, "cat"),
        ("b", "", PENDING, ""),
    ]
    columns["label"][3] = "dog"
    match = "'a' is labelled 'cat' in row 1 and labelled 'dog' in row 3"
    with pytest.raises(LabelConflict, match=match):
        values.read_columns(columns)
    with pytest.raises(LabelConflict, match="'cat' in entry 0 and labelled 'dog' in entry 1"):
        values.read_mapping({17: "cat", "17": "dog"})
    assert len(values.read_columns(columns | {"annotator": ["x", "y", "y", "z"]})) == 4


def test_a_series_is_a_mapping_from_its_index(pandas):
    series = pandas.Series(["cat", None], index=[17, 4])
    assert values.is_mapping(series) and not values.is_mapping(series.to_frame())
    assert [row[1:] for row in values.read_mapping(series)] == [
        ("17", "", LABELLED, "cat"),
        ("4", "", PENDING, ""),
    ]
    with pytest.raises(LabelConflict, match="'4' is labelled"):
        values.read_mapping(pandas.Series(["cat", "dog"], index=[4, 4]))


_ids = st.text(min_size=1)
_labels = st.text().map(str.strip).filter(bool) | st.integers() | st.booleans()


@given(st.dictionaries(_ids, _labels))
def test_every_mapping_of_texts_and_numbers_is_read_back(labels):
    rows = values.read_mapping(labels)
    assert {row.id: row.label for row in rows} == {id: str(value) for id, value in labels.items()}
    assert all(row.status == LABELLED for row in rows)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "label": "\udcff"},
        {"id": "\ud800", "label": "cat"},
        {"id": "a", "label": "cat", "annotator": "\ud800"},
    ],
)
def test_halves_of_characters_are_no_text(row):
    with pytest.raises(LabelError, match="is no Unicode text"):
        values.read_rows([row])


def test_ids_may_have_bytes_that_are_no_text():
    assert values.read_mapping({"a\udcff": "cat"})[0].id == "a\udcff"


def test_only_whole_numbers_are_rows_of_a_frame():
    found = values.read_mapping({"row-3": "cat", 4: "dog"}, id_prefix="row-")
    assert [row.id for row in found] == ["row-3", "row-4"]
