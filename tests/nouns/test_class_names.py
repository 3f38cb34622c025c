"""Names of classes in the metadata of files, which anybody may have written."""

import json

import pytest

from activetest.nouns.class_names import find_label_lists, read_class_names

CLASSES = {"names": ["no", "yes"], "_type": "ClassLabel"}


def describe(features) -> dict[bytes, bytes]:
    return {b"huggingface": json.dumps({"info": {"features": features}}).encode()}


def test_columns_of_class_labels_have_names():
    features = {"label": CLASSES, "id": {"dtype": "string", "_type": "Value"}}
    assert read_class_names(describe(features)) == {"label": ("no", "yes")}
    assert read_class_names({b"activetest": b'{"classes": {"pred": ["a", "b"]}}'}) == {
        "pred": ("a", "b")
    }
    assert read_class_names(None) == read_class_names({}) == {}


def test_lists_of_class_labels_are_told_from_single_ones():
    features = {
        "old": {"feature": CLASSES, "length": -1, "_type": "Sequence"},
        "new": {"feature": CLASSES, "_type": "List"},
        "oldest": [CLASSES],
    }
    assert read_class_names(describe(features)) == {}
    assert find_label_lists(describe(features)) == dict.fromkeys(features, ("no", "yes"))


@pytest.mark.parametrize(
    "names", [["a", "a"], ["a", " a"], ["a", 1], "ab", {"a": 1}, [], [" "], None, ["a", "\ud800"]]
)
def test_what_is_no_list_of_different_names_is_left_out(names):
    assert read_class_names(describe({"pred": {"names": names, "_type": "ClassLabel"}})) == {}


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"[]", b"3", b'{"info": 3}', b'{"info": {"features": []}}', b"[" * 10**5],
)
def test_metadata_that_is_something_else_names_nothing(text):
    assert read_class_names({b"huggingface": text, b"activetest": text}) == {}
