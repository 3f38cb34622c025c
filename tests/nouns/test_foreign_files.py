"""Files of other programs that are named where they are not read."""

import json

import pytest

from activetest.errors import LabelError
from activetest.labels import exports
from activetest.nouns.foreign_files import find_foreign

CVAT = '<?xml version="1.0"?>\n<annotations><version>1.1</version><image id="0"/></annotations>'


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (CVAT, "CVAT's XML"),
        ("\ufeff  <annotation><folder>a</folder></annotation>", "Pascal VOC's XML"),
        ('<?xml version="1.0"?><rows><row id="a"/></rows>', "XML (rows)"),
        ('<xmi:XMI xmlns:xmi="x"/>', "XMI"),
        ("<!DOCTYPE html><table><tr><td>id</td></tr></table>", "a web page"),
        ("<html><table></table></html>", "a web page"),
        ("-DOCSTART- -X- O\n", "CoNLL"),
        ("T1\tdog 0 3\ta dog\n", "brat's annotations"),
        ("%PDF-1.7\n", "a PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old workbook (.xls)"),
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"PK\x03\x04" + b"\0" * 40, "a zip archive"),
        (
            b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "a workbook of LibreOffice (.ods)",
        ),
        (b"PK\x03\x04" + b"\0" * 26 + b"Index/Document.iwa", "a document of Numbers"),
        (b"SQLite format 3\0", "a database"),
        (b"ORC\x08\x03", "ORC"),
        (b"Obj\x01\x04", "Avro"),
        (b"\x93NUMPY\x01\x00", "an array of NumPy"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\x80\x04\x95\x05", "a pickle of Python"),
        (b"$FL2@(#) SPSS", "a file of SPSS"),
        (b"<stata_dta><header>", "a file of Stata"),
        (json.dumps({"images": [{"id": 1}], "annotations": [], "categories": []}), "COCO's JSON"),
        (json.dumps({"shapes": [], "imagePath": "a.png"}), "labelme's JSON"),
    ],
)
def test_what_is_not_read_is_named_with_what_is(content, named):
    content = content if isinstance(content, bytes) else content.encode()
    with pytest.raises(LabelError) as error:
        exports.parse_content(content, "labels.csv")
    assert error.value.problem.startswith(f"labels.csv is {named}")
    assert error.value.hint.endswith("the columns id and label")
    assert "`" not in error.value.hint


@pytest.mark.parametrize(
    "content", ["id,label\n<b>,cat\n", '{"id": "a", "label": "x"}', "", "T1,x\n"]
)
def test_what_may_be_answers_is_not_named(content):
    assert find_foreign(content.encode()) is None


def test_an_answer_may_be_called_as_other_programs_call_things():
    text = json.dumps({"images": 1, "annotations": 2, "categories": 3, "id": "a", "label": "x"})
    assert exports.parse_content(text.encode(), "x")[0].label == "x"
