"""Argilla: its records are answers, flat and nested, and tasks are what its client logs."""

import json
from pathlib import Path

import pytest

from activetest.errors import LabelError
from activetest.formats import argilla, find_format
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.study.ingest import ingest
from tests.exports import write_argilla

ANN, BEN, EVE = "4da72a1c-2c28", "ad5d7659-1499", "0e0e0e0e-0000"
RECORDS = [
    ("a", [("cat", ANN, "submitted"), ("dog", BEN, "submitted"), ("cat", EVE, "draft")]),
    ("b", [("dog", ANN, "discarded")]),
    ("c", [("dog", ANN, "draft")]),
    ("d", []),
]


def read(content: bytes, **columns: str) -> list[exports.Label]:
    return exports.parse_content(content, "x.json", columns=columns)


def take(content: bytes, **columns: str) -> list[tuple]:
    return [(row.id, row.label, row.annotator, row.status) for row in read(content, **columns)]


def detect(content: bytes) -> str | None:
    return find_format(take_head(content, "no name"), "ANSWERS")


@pytest.mark.parametrize("lines", [False, True])
def test_discarded_responses_decline_and_drafts_are_no_answers(lines):
    content = write_argilla(RECORDS)
    if lines:
        content = "\n".join(map(json.dumps, json.loads(content))).encode()
    assert detect(content) == "argilla"
    assert take(content) == [
        ("a", "cat", ANN, LABELLED),
        ("a", "dog", BEN, LABELLED),
        ("b", "", ANN, DECLINED),
        ("c", "", "", PENDING),
        ("d", "", "", PENDING),
    ]


def test_nested_records_do_not_know_drafts():
    content = write_argilla(RECORDS[:1], flat=False)
    assert detect(content) == "argilla"
    assert take(content) == [
        ("a", "cat", ANN, LABELLED), ("a", "dog", BEN, LABELLED), ("a", "cat", EVE, LABELLED),
    ]  # fmt: skip
    known = json.loads(content)
    for response, status in zip(
        known[0]["responses"]["label"], ("submitted", "discarded", "draft"), strict=True
    ):
        response["status"] = status
    assert take(json.dumps(known).encode()) == [
        ("a", "cat", ANN, LABELLED), ("a", "", BEN, DECLINED),
    ]  # fmt: skip


def test_a_file_that_does_not_know_drafts_is_taken_with_a_note(study):
    done = ingest(study, write_to(write_argilla([("item-1", RECORDS[0][1][:1])], flat=False)))
    assert str(done).endswith("records.to_list(flatten=True) says it") and done.new == 1
    flat = ingest(study, write_to(write_argilla([("item-2", RECORDS[0][1][:1])])))
    assert flat.notes == () and str(flat).endswith("0 items pending")


def write_to(content: bytes) -> str:
    Path("export").write_bytes(content)
    return "export"


@pytest.mark.parametrize("flat", [True, False])
def test_our_own_id_goes_before_that_of_the_record(flat):
    content = write_argilla([("a", [("cat", ANN, "submitted")])], flat=flat)
    records = json.loads(content)
    # A field called id takes the place of the record's.
    records[0]["id"] = "from a field"
    assert take(json.dumps(records).encode())[0][0] == "a"
    without = write_argilla([("a", [])], flat=flat, metadata=False)
    assert take(without) == [("a", "", "", PENDING)]
    named = json.loads(without)
    (named[0] if flat else named[0]["fields"])["ref"] = 17
    assert take(json.dumps(named).encode(), id="ref") == [("17", "", "", PENDING)]
    with pytest.raises(LabelError, match="record 1: it has no 'nothing'; it has "):
        read(without, id="nothing")


def test_of_several_questions_the_user_says_which():
    records = json.loads(write_argilla([("a", [("cat", ANN, "submitted")])], question="kind"))
    other = json.loads(write_argilla([("a", [(4, ANN, "submitted")])], question="rating"))
    both = json.dumps([records[0] | other[0]]).encode()
    with pytest.raises(LabelError, match="more than one question: kind, rating"):
        read(both)
    assert take(both, label="rating") == [("a", "4", ANN, LABELLED)]
    assert take(json.dumps(records).encode()) == [("a", "cat", ANN, LABELLED)]


def test_several_classes_and_spans_are_refused():
    for value in (["cat", "dog"], [{"label": "x", "start": 0, "end": 1}]):
        with pytest.raises(LabelError, match="^x.json, record 1, response 1: "):
            read(write_argilla([("a", [(value, ANN, "submitted")])]))
    assert take(write_argilla([("a", [(["cat"], ANN, "submitted")])]))[0][1] == "cat"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("label.responses.status", ["odd"], "'odd' is no status"),
        ("label.responses.users", [], "1 values, 0 users"),
        ("label.responses", "cat", "'label.responses' is of type str"),
    ],
)
def test_a_damaged_record_is_named(key, value, message):
    records = json.loads(write_argilla([RECORDS[3], RECORDS[1]]))
    records[1][key] = value
    with pytest.raises(LabelError, match=f"^x.json, record 2.*{message}"):
        read(json.dumps(records).encode())


def write_tasks(columns=("id", "label", "Text")) -> bytes:
    rows = [{"id": "=1", "label": "", "Text": "t"}, {"id": "b", "label": "", "Text": 3}]
    return argilla.write_tasks(rows, columns, orders=(9, 10), classes=())


def test_tasks_are_records_with_the_id_twice_and_a_number_to_sort_by():
    first, second = json.loads(write_tasks())
    assert first == {
        "id": "=1",
        "fields": {"text": "t"},
        "metadata": {"activetest_id": "=1", "activetest_order": 9},
        "suggestions": {},
        "responses": {},
        "vectors": {},
    }
    assert second["fields"] == {"text": "3"} and second["metadata"]["activetest_order"] == 10
    assert json.loads(write_tasks(("id", "label")))[0]["fields"] == {"item": "=1"}
    assert detect(write_tasks()) == "argilla"
    assert take(write_tasks()) == [("=1", "", "", PENDING), ("b", "", "", PENDING)]


def test_the_settings_have_the_fields_of_the_tasks_and_the_classes():
    settings = json.loads(argilla.write_config(("Text", "a b"), ("cat", "dog")))
    assert [field["name"] for field in settings["fields"]] == ["text", "a_b"]
    (question,) = settings["questions"]
    assert [each["value"] for each in question["settings"]["options"]] == ["cat", "dog"]
    assert {each["name"] for each in settings["metadata"]} == {"activetest_id", "activetest_order"}
    numbers = json.loads(argilla.write_config((), ()))
    assert numbers["questions"][0]["settings"]["type"] == "text"
    assert [field["name"] for field in numbers["fields"]] == ["item"]


def test_records_with_answers_are_no_tasks():
    assert argilla.list_columns(write_tasks(), "x") == {"text"}
    with pytest.raises(LabelError):
        argilla.list_columns(write_argilla(RECORDS, flat=False), "x")
    records = json.loads(write_tasks())
    records[0]["responses"] = {"label": [{"value": "cat", "user_id": "x"}]}
    with pytest.raises(LabelError):
        argilla.list_columns(json.dumps(records).encode(), "x")
