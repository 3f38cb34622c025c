"""Files that hold answers and are not read: what they are, and which step makes one that is.

They are recognised by their first bytes, whatever their names say.
"""

import re
from typing import NamedTuple

from activetest.errors import LabelError

# Bytes that are looked at.
_LOOKED_AT = 2**16
_STEP = (
    "give CSV, JSON Lines or a workbook (.xlsx) with a row per item and the columns id and label"
)
_ROOT = re.compile(r"<([A-Za-z_][\w.:-]*)")


class _Kind(NamedTuple):
    """What a file is in a sentence, what its beginning has, and what to do in its program."""

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
# What begins with these bytes is no text.
_BYTES = {
    b"\xd0\xcf\x11\xe0": ("an old workbook (.xls), or one with a password", "save it as .xlsx"),
    b"\x1f\x8b": ("compressed with gzip", "unpack it"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it"),
    b"SQLite format 3": ("a database of SQLite", ""),
}
_NUMBERS = b"Index/"
_ZIP, _SHEETS = b"PK\x03\x04", b"mimetypeapplication/vnd.oasis.opendocument"


def reject_foreign(content: bytes, name: str) -> None:
    """Raises LabelError for a file of a kind that is not read, naming the kind."""
    for beginning, (title, step) in _BYTES.items():
        if content.startswith(beginning):
            raise _refuse(name, title, step)
    if content.startswith(_ZIP) and _SHEETS in content[:200]:
        raise _refuse(name, "a workbook of LibreOffice (.ods)", "save it as .xlsx")
    if content.startswith(_ZIP) and _NUMBERS in content[:_LOOKED_AT]:
        raise _refuse(name, "a document of Numbers", "export it as CSV or Excel")
    if content.startswith(_ZIP):
        raise _refuse(name, "a zip archive", "unpack it")
    text = content[:_LOOKED_AT].decode("utf-8-sig", "replace").lstrip()
    kinds = _XML if text[:1] == "<" else _JSON if text[:1] in ("{", "[") else _TEXT
    for kind in kinds:
        if all(re.search(sign, text) for sign in kind.signs):
            raise _refuse(name, kind.title, kind.step)
    if text[:1] == "<" and (root := _ROOT.search(text)):
        raise _refuse(name, f"XML ({root.group(1)})", "")


def _refuse(name: str, title: str, step: str) -> LabelError:
    return LabelError(
        f"{name} is {title}, which is not read", f"{step}; {_STEP}" if step else _STEP
    )
