"""Prodigy: accepted answers are labels, ignored ones decline, rejected ones say too little."""

import json

import pytest

from activetest.errors import LabelError
from activetest.formats import find_format
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.nouns.log import DECLINED, LABELLED


def write(*tasks: dict) -> bytes:
    hashes = {"text": "t", "_input_hash": -12, "_task_hash": 34, "_annotator_id": "ann"}
    return "\n".join(json.dumps(hashes | task) for task in tasks).encode() + b"\n"


def take(content: bytes, **columns: str) -> list[tuple]:
    rows = exports.parse_content(content, "x.jsonl", columns=columns)
    return [(row.id, row.label, row.annotator, row.status) for row in rows]


def test_choices_and_accepted_labels_are_answers_and_ignored_ones_decline():
    content = write(
        {"meta": {"activetest_id": "a"}, "accept": ["cat"], "answer": "accept"},
        {"activetest_id": "b", "label": "dog", "answer": "accept"},
        {"meta": {"activetest_id": "c"}, "accept": [], "answer": "ignore"},
    )
    assert find_format(take_head(content, "x"), "ANSWERS") == "prodigy"
    assert take(content) == [
        ("a", "cat", "ann", LABELLED), ("b", "dog", "ann", LABELLED), ("c", "", "ann", DECLINED),
    ]  # fmt: skip
    named = write({"meta": {"ref": 7}, "accept": ["cat"], "answer": "accept"})
    assert take(named, id="ref", annotator="text") == [("7", "cat", "t", LABELLED)]


@pytest.mark.parametrize("kept", [["label"], ["accept"]])
def test_lines_without_hashes_are_prodigys_where_they_say_how_it_was_answered(kept):
    answers = {"label": "cat", "accept": ["cat"]}
    tasks = [
        {"id": answer, **{key: answers[key] for key in kept}, "answer": answer}
        for answer in ("accept", "ignore")
    ]
    content = "".join(f"{json.dumps(task)}\n" for task in tasks).encode()
    assert take(content) == [("accept", "cat", "", LABELLED), ("ignore", "", "", DECLINED)]
    other = b'{"id": "a", "label": "cat", "answer": "a cat"}\n'
    assert find_format(take_head(other, "x"), "ANSWERS") == "json-lines"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"id": "a", "label": "cat", "answer": "reject"}, "a rejected answer does not say"),
        ({"id": "a", "accept": ["cat", "dog"], "answer": "accept"}, "several answers"),
        ({"id": "a", "accept": ["cat"], "answer": "perhaps"}, "'perhaps' is no answer"),
        ({"accept": ["cat"], "answer": "accept"}, "it has no 'id'; it has text"),
    ],
)
def test_what_is_no_single_answer_names_its_line(task, message):
    good = {"id": "b", "accept": ["cat"], "answer": "accept"}
    with pytest.raises(LabelError, match=f"^x.jsonl, line 2: {message}"):
        take(write(good, task))
