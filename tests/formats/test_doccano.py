"""doccano: a label in a list is the label, and its own numbers are no ids unless it is said."""

import json

import pytest

from activetest.errors import ColumnsUnclear, LabelError
from activetest.formats import find_format
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.nouns.log import LABELLED, PENDING

NEW = {"id": "a", "text": "t", "label": ["cat"], "Comments": []}
OLD = {"id": 300, "data": "t", "label": ["cat"], "meta": {"activetest_id": "a"}}


def write(*rows: dict, lines: bool = True) -> bytes:
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    return text.encode()


def find(content: bytes, suffix: str = ".jsonl") -> str | None:
    return find_format(take_head(content, f"x{suffix}"), "ANSWERS")


def take(content: bytes, **columns: str) -> list[tuple]:
    rows = exports.parse_content(content, "x", columns=columns)
    return [(row.id, row.label, row.status) for row in rows]


@pytest.mark.parametrize("lines", [True, False])
def test_a_list_of_one_is_a_label_and_an_empty_one_is_still_to_come(lines):
    content = write(NEW, NEW | {"id": "b", "label": []}, lines=lines)
    assert find(content) == "doccano"
    assert take(content) == [("a", "cat", LABELLED), ("b", "", PENDING)]
    assert take(write(OLD, lines=lines)) == [("a", "cat", LABELLED)]
    assert find(write(OLD)) == "doccano"


@pytest.mark.parametrize("header", ["id,data,label", "id,text,label,Comments", "id;data;label"])
def test_tables_have_a_label_a_row(header):
    comma = ";" if ";" in header else ","
    line = comma.join({"id": "a", "label": "cat"}.get(name, "t") for name in header.split(comma))
    content = f"{header}\n{line}\n".encode()
    assert find(content, ".csv") == "doccano" and take(content) == [("a", "cat", LABELLED)]


@pytest.mark.parametrize(
    "content",
    [
        b"id,text,label\n1,t,cat\n",
        b"id,label,data\n1,cat,t\n",
        b"id,label,Comments\n1,cat,c\n",
        write({"id": 1, "text": "t", "label": ["cat"]}),
        write({"id": 1, "text": "t", "label": "cat", "Comments": []}),
        write(OLD | {"pred": "dog"}),
        b"{",
    ],
)
def test_what_any_program_may_write_is_none_of_its_exports(content):
    assert find(content) != "doccano"


@pytest.mark.parametrize(
    "content",
    [
        write(NEW | {"id": 7, "ref": "a"}),
        write({key: value for key, value in OLD.items() if key != "meta"}),
        b"id,data,label\n7,t,cat\n",
    ],
)
def test_whole_numbers_may_be_its_own_and_are_asked_about(content):
    with pytest.raises(ColumnsUnclear, match="may be doccano's own") as caught:
        take(content)
    assert caught.value.hint == "say which one it is: `columns={'id': 'id'}`"
    assert "id" in caught.value.columns and "label" not in caught.value.columns
    assert take(content, id="id")[0][1:] == ("cat", LABELLED)


@pytest.mark.parametrize(
    "row",
    [
        NEW | {"label": [[0, 2, "ORG"]]},
        NEW | {"label": [[0, 2, "ORG"], [4, 6, "ORG"]]},
        {"id": "a", "text": "t", "Comments": [], "relations": []}
        | {"entities": [{"id": 1, "label": "ORG", "start_offset": 0, "end_offset": 2}]},
    ],
)
def test_spans_are_refused_with_the_step_that_makes_labels(row):
    assert find(write(row)) == "doccano"
    with pytest.raises(LabelError, match="marks parts of the item") as caught:
        take(write(row))
    assert "export a project in which annotators classify whole texts" in caught.value.hint


def test_several_classes_are_refused():
    with pytest.raises(LabelError) as caught:
        take(write(NEW | {"label": ["cat", "dog"]}))
    assert "make a study of each class" in caught.value.hint
