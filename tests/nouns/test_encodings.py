"""The text of files of answers, in the encodings that spreadsheets write."""

import pytest

from activetest.errors import LabelError
from activetest.nouns.encodings import decode_answers


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_utf_8_and_utf_16_with_its_mark_are_read(encoding):
    notes = []
    assert decode_answers("Z\u00fcrich".encode(encoding), "name", notes=notes) == "Z\u00fcrich"
    assert notes == []


def test_windows_1252_is_read_and_said_where_that_is_allowed():
    notes = []
    content = "id\na \u2013 b\nZ\u00fcrich\n".encode("cp1252")
    assert decode_answers(content, "name", notes=notes) == content.decode("cp1252")
    assert notes == ["It is not UTF-8 and was read as Windows-1252: check words such as '\u2013'"]
    with pytest.raises(LabelError, match="name, line 2: not UTF-8"):
        decode_answers(content, "name")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a\n\0".encode("utf-16"), "looks like UTF-16"),
        ("ab".encode("utf-16-le"), "looks like UTF-16"),
        (b"\xff\xfea", "looks like UTF-16"),
        (b"a\n\x81", "line 2: not UTF-8"),
        (b"a\xe9\x01", "line 1: not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(content, problem):
    with pytest.raises(LabelError, match=problem) as error:
        decode_answers(content, "name", notes=[])
    assert error.value.hint == "save it as UTF-8"
