"""Notes of readers, which anybody may have written into a file."""

import json

import pytest

from activetest.formats import FileNotes, add_notes, read_file_notes


def test_what_a_reader_says_is_read_and_shown_safely():
    document = {"format": "lm-eval", "notes": ["a\x1b[2J", 3, "b"], "judge": "score"}
    found = read_file_notes({b"activetest": json.dumps(document).encode()})
    assert found == FileNotes("lm-eval", ("a\\x1b[2J", "b"), "score")


def test_notes_come_before_those_that_are_there_or_behind_them():
    first = add_notes({b"x": b"y"}, ["b"])
    both = add_notes(add_notes(first, ["a"]), ["c"], last=True)
    assert read_file_notes(both).notes == ("a", "b", "c") and dict(both)[b"x"] == b"y"
    assert add_notes(first, []) is first


def test_labels_are_the_columns_that_the_reader_names():
    for labels, found in (([], ()), (["label", 3], ("label",)), ("label", None), (None, None)):
        text = json.dumps({"labels": labels}).encode()
        assert read_file_notes({b"activetest": text}).labels == found


def test_no_more_is_believed_than_is_shown():
    document = {"format": ["x"], "notes": ["n" * 10**5] * 1000, "judge": "j" * 10**4}
    found = read_file_notes({b"activetest": json.dumps(document).encode()})
    assert found.format is found.judge is None
    assert len(found.notes) == 20 and max(map(len, found.notes)) == 500


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b'"x"', b'{"notes": {}}', b"[" * 10**5])
def test_other_metadata_is_no_note(text):
    assert read_file_notes({b"activetest": text}) == FileNotes()
    assert read_file_notes(None) == FileNotes()
