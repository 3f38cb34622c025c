"""Files of other programs that are not read: what they are, and which step makes one that is.

They are recognised by their first bytes, whatever their names say.
"""

import re
from typing import NamedTuple

# Bytes that are looked at.
_LOOKED_AT = 2**16
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]*)")


class _Kind(NamedTuple):
    """A kind of file in a sentence, signs of it at the beginning, and a step in its program."""

    title: str
    signs: tuple[str, ...]
    step: str = ""


_XML = (
    _Kind("CVAT's XML", ("<annotations", r"<(?:meta|version|image)\b")),
    _Kind("Pascal VOC's XML", (r"<annotation>", r"<(?:folder|filename|object)>")),
    _Kind("XML of Excel", ("urn:schemas-microsoft-com:office:spreadsheet",), "save it as .xlsx"),
    _Kind("XMI, the XML of UIMA and INCEpTION", ("<xmi:XMI",), "export the annotations as JSON"),
    _Kind("a web page", (r"(?i)<!doctype html|<html\b|<table\b",), "open it in a spreadsheet"),
)
_JSON = (
    _Kind("COCO's JSON", ('"images"', '"annotations"', '"categories"')),
    _Kind("labelme's JSON", ('"shapes"', '"imagePath"')),
    _Kind("JSON of VGG Image Annotator", ('"regions"', '"file_attributes"'), "export it as CSV"),
)
_TEXT = (
    _Kind("CoNLL", (r"\A-DOCSTART-",)),
    _Kind("brat's annotations", (r"\AT\d+\t\S+ \d+ \d+\t",)),
    _Kind("a PDF", (r"\A%PDF-",)),
    _Kind("rich text", (r"\A\{\\rtf",)),
)
# Files that begin with these bytes are no text.
_SPARK = 'write it anew, in Spark with spark.read.format("{}").load(...).write.parquet(...)'
_BYTES = {
    b"\xd0\xcf\x11\xe0": ("an old workbook (.xls), or one with a password", "save it as .xlsx"),
    b"\x1f\x8b": ("compressed with gzip", "unpack it first, with gunzip"),
    b"BZh": ("compressed with bzip2", "unpack it first, with bunzip2"),
    b"\xfd7zXZ": ("compressed with xz", "unpack it first, with unxz"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "unpack it first, with unzstd"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it"),
    b"SQLite format 3": ("a database of SQLite", "export the table as CSV"),
    b"ORC": ("ORC", _SPARK.format("orc")),
    b"Obj\x01": ("Avro", _SPARK.format("avro")),
    b"\x93NUMPY": ("an array of NumPy", "write a table with it as a column, by pandas"),
    b"\x89HDF": ("HDF5", "read it with pandas, and write it with to_parquet"),
    b"\x80\x04\x95": ("a pickle of Python", "load it there, and write it with to_parquet"),
    b"$FL2": ("a file of SPSS", "export it as CSV"),
    b"<stata_dta>": ("a file of Stata", "export it as CSV, by export delimited"),
}
_NUMBERS = b"Index/"
_ZIP, _SHEETS = b"PK\x03\x04", b"mimetypeapplication/vnd.oasis.opendocument"


def find_foreign(content: bytes) -> tuple[str, str] | None:
    """(what it is, the step in its program) of a file that is not read; None where it may be.

    content  the file, or its beginning
    """
    for beginning, found in _BYTES.items():
        if content.startswith(beginning):
            return found
    if content.startswith(_ZIP):
        return _name_archive(content)
    text = content[:_LOOKED_AT].decode("utf-8-sig", "replace").lstrip()
    kinds = _XML if text[:1] == "<" else _JSON if text[:1] in ("{", "[") else _TEXT
    for kind in kinds:
        if all(re.search(sign, text) for sign in kind.signs):
            return kind.title, kind.step
    root = _ROOT.search(text) if text[:1] == "<" else None
    return (f"XML ({root.group(1)})", "") if root else None


def _name_archive(content: bytes) -> tuple[str, str]:
    if _SHEETS in content[:200]:
        return "a workbook of LibreOffice (.ods)", "save it as .xlsx"
    if _NUMBERS in content[:_LOOKED_AT]:
        return "a document of Numbers", "export it as CSV or Excel"
    return "a zip archive", "unpack it"
