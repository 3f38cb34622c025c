"""Label files as people make them."""

import contextlib
import csv
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.errors import LabelConflict, LabelError
from activetest.labels import exports, files
from activetest.labels.files import Label
from activetest.nouns.log import DECLINED, LABELLED, PENDING


def read(text: str | bytes) -> list[Label]:
    content = text.encode() if isinstance(text, str) else text
    return exports.read_answers("-", stdin=io.BytesIO(content))


def test_a_row_says_who_labelled_which_item_how():
    rows = read("id,label,annotator,status\na,cat,ann,\nb,,bob,declined\nc,,,skipped\nd,,,\n")
    assert rows == [
        Label("line 2", "a", "ann", LABELLED, "cat"),
        Label("line 3", "b", "bob", DECLINED, ""),
        Label("line 4", "c", "", DECLINED, ""),
        Label("line 5", "d", "", PENDING, ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "id,label\na,cat\n",
        "\ufeffid,label\r\na,cat\r\n",
        "id,label\ra,cat\r",
        "label,id\ncat,a",
        '"id","label"\n"a","cat"\n\n\n',
        "\n id , label \na, cat \n",
        "id,label,pixel_1\na,cat,0.5\n",
        "id,label,status\na,cat,Labelled\n",
        "id;label\na;cat\n",
        "\ufeffid;label\r\na;cat\r\n",
        '"id";"label"\n"a";"cat"\n',
        "\n id ; label ;text\na;cat ;one, two\n",
        'label;id;text\ncat;a;"one; ""two""\n, three"\n',
        "id;label;a,b\na;cat;1\n",
        "id\tlabel\na\tcat\n",
        "id|label\na|cat\n",
        "ID,Label\na,cat\n",
        "sep=;\r\nid;label\r\na;cat\r\n",
        "sep=\t\nid\tlabel\na\tcat\n",
        "Batch 3 of the audit\n\nid,label,,\na,cat,,\n,,,\n",
        "# by anna, on Monday\nid;label\na;cat\n;\n",
        "id,label,note,note\na,cat,x,y\n",
        "id,label\na,cat,,\n",
        "id,label\na,cat\n".encode("utf-16"),
        *(f"id,label,status\na,cat,{word}\n" for word in ("Done", "APPROVED", "validated")),
        f"id,label,text\na,cat,{'word ' * 40_000}\n",
    ],
)
def test_all_of_these_say_the_same(text):
    assert [(row.id, row.label, row.status) for row in read(text)] == [("a", "cat", LABELLED)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "standard input is empty"),
        ("\n\n", "standard input is empty"),
        ("item;label\na;cat\n", "no column 'id'; it has item, label"),
        ("id;label\na;cat\nb;dog;owl\n", "line 3: 3 fields, and the header has 2"),
        ("item,label\na,cat\n", "no column 'id'; it has item, label"),
        ("id,answer\na,cat\n", "no column 'label'"),
        ("a,cat\n", "no column 'id'"),
        ("id,label,label\na,cat,cat\n", "two columns are called 'label'"),
        ("id,label\na,cat\nb,dog,owl\n", "line 3: 3 fields, and the header has 2"),
        ("id,label\na\n", "line 2: 1 fields"),
        ("id,label\n,cat\n", "line 2: the id is empty"),
        ("id,label,status\na,cat,lost\n", "line 2: 'lost' is no status"),
        ("id,label,status\na,cat,in progress\n", "line 2: in progress, but there is a label"),
        ("a title\nid,label\na,cat\nb\n", "line 4: 1 fields, and the header has 2"),
        ("sep=;\nid;label\na;cat\nb\n", "line 4: 1 fields, and the header has 2"),
        ("id,label,status\na,,labelled\n", "line 2: labelled, but the label is empty"),
        ("id,label,status\na,cat,declined\n", "line 2: declined, but there is a label"),
        ('id,label\na,"cat\n', "line 2: unexpected end of data"),
        (b"id,label\na,cat\nb,\x81\n", "line 3: not UTF-8"),
        (b"id,label\na,cat\nb,\xe9\0\n", "line 3: not UTF-8"),
        ("id,label\na,cat\0\n".encode("utf-16"), "standard input looks like UTF-16"),
        ("id,label\na,cat\n".encode("utf-16-le"), "standard input looks like UTF-16"),
        ("id,label\na,cat\n".encode("utf-16-be"), "standard input looks like UTF-16"),
        ("  \n\t\n", "standard input is empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, problem):
    with pytest.raises(LabelError) as error:
        read(text)
    assert problem in error.value.problem
    assert error.value.hint


def test_two_columns_whose_names_differ_in_capitals_are_no_column_of_the_name():
    with pytest.raises(LabelError, match="no column 'id'; it has ID, Id, label"):
        read("ID,Id,label\na,b,cat\n")
    assert read("ID,id,label\na,b,cat\n")[0].id == "b"


def test_a_word_of_another_tool_in_the_status_says_nothing_of_a_row_without_a_label():
    rows = read("id,label,status\na,,Done\nb,,In progress\nc,,skipped\n")
    assert [row.status for row in rows] == [PENDING, PENDING, DECLINED]


def test_a_status_that_means_something_else_is_left_out_as_the_hint_says():
    text = "id,label,status\na,cat,Cancelled\nb,,shipped\n"
    with pytest.raises(LabelError, match="'cancelled' is no status") as error:
        read(text)
    assert "`columns={'status': ''}` leaves it out" in error.value.hint
    rows = files.parse_rows(text, "name", {"status": ""})
    assert [(row.label, row.status) for row in rows] == [("cat", LABELLED), ("", PENDING)]


def test_what_is_not_utf_8_is_read_as_windows_does_and_said():
    notes = []
    content = "id,label\na,Z\u00fcrich\nb,\u20ac 5\n".encode("cp1252")
    rows = exports.parse_content(content, "name", notes=notes)
    assert [row.label for row in rows] == ["Z\u00fcrich", "\u20ac 5"]
    assert notes == [
        "It is not UTF-8 and was read as Windows-1252: check words such as 'Z\u00fcrich'"
    ]


def test_only_the_header_decides_what_separates_columns():
    assert read("id,label\na;1,cat;dog\n")[0][1::3] == ("a;1", "cat;dog")
    assert read("id;label\na,1;cat,dog\n")[0][1::3] == ("a,1", "cat,dog")
    assert read('id;label\n"a;1";"cat;dog"\n')[0][1::3] == ("a;1", "cat;dog")
    with pytest.raises(LabelError) as error:
        read("id;label\na;cat;dog\n")
    assert error.value.hint == "quote labels that hold a semicolon"


def test_a_row_said_twice_counts_once_and_a_blank_one_contradicts_nothing():
    rows = read("id,label\na,\na,cat\na,cat\na,\nb,\nb,\n")
    assert [(row.id, row.label) for row in rows] == [("a", "cat"), ("b", "")]


def test_two_labels_for_one_item_are_a_conflict_that_names_both_lines():
    with pytest.raises(
        LabelConflict, match="'a' is labelled 'cat' in line 2 and labelled 'dog' in line 4"
    ):
        read("id,label\na,cat\nb,cat\na,dog\n")


def test_two_annotators_may_differ():
    assert len(read("id,label,annotator\na,cat,ann\na,dog,bob\n")) == 2


def test_a_file_that_is_not_there_or_is_a_folder_is_a_label_error(tmp_path):
    with pytest.raises(LabelError, match="there is no file"):
        exports.read_answers(tmp_path / "labels.csv")
    with pytest.raises(LabelError, match="is a folder"):
        exports.read_answers(tmp_path)


_words = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)


@given(st.dictionaries(_words, _words.map(str.strip).filter(bool), min_size=1))
def test_whatever_a_csv_writer_wrote_is_read_back(answers):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("id", "label"), *answers.items()])
    assert {row.id: row.label for row in read(text.getvalue())} == answers


@given(st.binary())
def test_no_bytes_are_worse_than_a_label_error(content):
    with contextlib.suppress(LabelError):
        read(b"id,label\n" + content)


@pytest.mark.skipif(os.name != "posix", reason="devices have no paths")
@pytest.mark.parametrize("device", ["/dev/null", "/dev/full"])
def test_a_device_is_no_file_of_labels(device):
    # /dev/zero has no end, and would be read until the memory is full.
    with pytest.raises(LabelError, match=f"{device} is a device") as caught:
        exports.read_answers(device)
    assert caught.value.hint


@pytest.mark.skipif(os.name != "posix", reason="pipes have no paths")
def test_labels_may_come_through_a_pipe():
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as file:
        file.write("id,label\na,cat\n")
    with open(reading, "rb"):
        assert [row.id for row in exports.read_answers(f"/dev/fd/{reading}")] == ["a"]
