"""Meanings of labels: files and mappings, and words for no label yet."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activetest.errors import LabelError
from activetest.labels.files import Label
from activetest.labels.mapping import make_edit, read_label_map
from activetest.nouns.log import DECLINED, LABELLED, PENDING


def edit(label, mapping=None, missing=(), status=LABELLED, normalise=str):
    """The status and label of a row after it was edited."""
    rows = [Label("line 2", "a", "", status, label)]
    (row,) = make_edit(mapping or {}, missing, normalise)(rows)
    return row.status, row.label


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from,to\n0,cat\n1,dog\n", {"0": "cat", "1": "dog"}),
        ("0,cat\r\n1,dog\r\n", {"0": "cat", "1": "dog"}),
        ("\ufefffrom, to\n 0 , cat \n\n0,cat\n", {"0": "cat"}),
        ("from;to\n0;cat\n", {"0": "cat"}),
        ('"a,b",cat\nN/A,\n', {"a,b": "cat", "N/A": ""}),
        ("to,from\n", {"to": "from"}),
        ("a title\nfrom\tto\n0\tcat\n", {"0": "cat"}),
        ("0;cat\n", {"0": "cat"}),
        ("a;b;c,cat\nx,y\n", {"a;b;c": "cat", "x": "y"}),
    ],
)
def test_a_file_of_two_columns_with_or_without_a_header(tmp_path, text, found):
    (tmp_path / "map.csv").write_text(text, encoding="utf-8")
    assert read_label_map(tmp_path / "map.csv") == found
    assert read_label_map(str(tmp_path / "map.csv")) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("from,to\n", "is empty"),
        ("0,cat,1\n", "line 1: 3 fields, not 2"),
        ("0,cat\n1\n", "line 2: 1 fields, not 2"),
        (",cat\n", "line 1: the label is empty"),
        ("0,cat\n0,dog\n", "line 2: '0' stands for 'cat' and for 'dog'"),
        ('0,"cat\n', "line 1"),
    ],
)
def test_any_other_file_is_refused(tmp_path, text, problem):
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(LabelError) as error:
        read_label_map(tmp_path / "map.csv")
    assert problem in error.value.problem and "map.csv" in error.value.problem


@pytest.mark.parametrize("source", ["-", 3, ["a"], "missing.csv"])
def test_what_is_no_mapping_is_refused(source):
    with pytest.raises(LabelError):
        read_label_map(source)


def test_a_mapping_of_python_holds_values_as_labels_do():
    given = {0: True, 1.0: "dog ", np.int8(2): 3.0, "x": None, float("2.5"): "y"}
    assert read_label_map(given) == {"0": "True", "1": "dog", "2": "3", "x": "", "2.5": "y"}
    with pytest.raises(LabelError, match="of type list"):
        read_label_map({"a": ["b", "c"]})


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@settings(max_examples=40)
@given(st.dictionaries(WORDS.map(str.strip).filter(bool), WORDS.map(str.strip), min_size=1))
def test_what_a_csv_writer_wrote_is_the_mapping(tmp_path_factory, mapping):
    path = tmp_path_factory.mktemp("map") / "map.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("from", "to"), *mapping.items()])
    assert read_label_map(path) == mapping


def test_a_row_says_what_the_mapping_says():
    mapping = {"0": "cat", "x": "", "cat": "dog"}
    assert edit("0.0", mapping) == (LABELLED, "cat")
    assert edit("cat", mapping) == (LABELLED, "dog")
    assert edit("y", mapping, normalise=str.upper) == (LABELLED, "Y")
    assert edit("x", mapping) == (PENDING, "")
    assert edit("", {"": "cat"}, status=DECLINED) == (DECLINED, "")


def test_a_word_for_no_label_is_one_in_any_case_and_before_any_mapping():
    assert edit("n/A", missing=[" N/a "]) == (PENDING, "")
    assert edit("x", {"x": "cat"}, missing=["X"]) == (PENDING, "")
    assert edit("x", {"x": "none"}, missing=["none"]) == (LABELLED, "none")
