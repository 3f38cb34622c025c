"""Columns of a file that hold the fields of an answer."""

import unicodedata

import pytest

from activetest.errors import ChoiceError, ColumnsUnclear, LabelError
from activetest.nouns.answer_fields import check_columns, find_columns, require_columns


@pytest.mark.parametrize(
    ("present", "columns", "found"),
    [
        (["id", "label", "x"], {}, {"id": "id", "label": "label"}),
        (["ID ", "Label", "STATUS"], {}, {"id": "ID ", "label": "Label", "status": "STATUS"}),
        (["ID", "id", "label"], {}, {"id": "id", "label": "label"}),
        (["ID", "Id", "label"], {}, {"label": "label"}),
        (["activetest_id", "id", "label"], {}, {"id": "activetest_id", "label": "label"}),
        (["a", "b", "label"], {"id": "a", "label": "b"}, {"id": "a", "label": "b"}),
        (["id", "status", "label"], {"status": ""}, {"id": "id", "label": "label"}),
        (["id", "name"], {"label": "id"}, {"label": "id"}),
        (["id", "label"], {"round": ""}, {"id": "id", "label": "label"}),
        (["id", "round"], {"round": ""}, {"id": "id", "round": "round"}),
    ],
)
def test_columns_are_found_by_their_names(present, columns, found):
    assert find_columns(present, columns, "name") == found


def test_names_that_unicode_calls_equal_are_one_name():
    name = "r\u00e9ponse"
    other = unicodedata.normalize("NFD", name)
    assert find_columns(["id", other], {"label": name}, "name")["label"] == other
    with pytest.raises(LabelError, match="has no column 'reponse'"):
        find_columns(["id", other], {"label": "reponse"}, "name")


def test_a_status_and_an_annotator_may_be_switched_off_and_nothing_else():
    assert check_columns({"status": "", "annotator": ""}) == {"status": "", "annotator": ""}
    for field in ("id", "label"):
        with pytest.raises(ChoiceError, match=f"has no column for {field!r}"):
            check_columns({field: ""})


def test_what_is_missing_is_said_with_what_columns_hold():
    values = {"when": ["1", "2"], "answer": ["x"] * 2_000}
    with pytest.raises(ColumnsUnclear) as error:
        require_columns(["when", "answer", ""], {}, "name", lambda: values, "do this")
    assert error.value.problem == "name has no column 'id'; it has when, answer, "
    assert error.value.hint == "do this, or say which one it is: `columns={'id': 'when'}`"
    assert error.value.columns == {"when": ["1", "2"], "answer": ["x"] * 1_000}
    with pytest.raises(ColumnsUnclear) as error:
        require_columns(["id", "answer"], {}, "name", lambda: {"id": ["a"]})
    assert error.value.found == {"id": "id"} and error.value.columns == {"id": ["a"]}
    with pytest.raises(LabelError, match="two columns are called 'id'"):
        require_columns(["id", "id", "label"], {}, "name", dict)
