"""doccano: its exports JSONL, JSON and CSV of text classification.

A row is `{"id", "text", "label": [class, ...], "Comments": [...]}` and what else was imported with
the text, whose `id`, if there was one, stands in the place of doccano's own number. Versions before
1.5 call the text `data`, write no comments, and have what was imported in `meta`. In CSV, classes
and comments are joined by #. Rows of other projects mark parts of a text: (start, end, class), or
`entities`. Each annotator has a file of the same rows.

Source: doccano, backend/data_export.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from activetest.errors import ColumnsUnclear
from activetest.formats._answers import (
    flatten,
    has_header,
    read_objects,
    read_table,
    sample_rows,
    take_rows,
)
from activetest.nouns.answer_fields import ID, hint_column
from activetest.nouns.file_head import FileHead

TITLE = "doccano's annotations"
SUFFIXES = (".jsonl", ".json", ".csv")
ANSWERS = True

_TEXTS = {"text", "data", "filename"}
_COMMENTS, _OLD = "Comments", ["id", "data", "label"]


def recognise(head: FileHead) -> bool:
    """Whether this is an export: its first row has all that doccano writes."""
    text = (head.text or "").lstrip()
    if text[:1] not in ("{", "["):
        return has_header(text, _is_export)
    try:
        row, _ = json.JSONDecoder().raw_decode(text[text.find("{") :])
    except (ValueError, RecursionError):
        return False
    if not isinstance(row, dict):
        return False
    answers = row.get("label", row.get("entities"))
    texts = any(isinstance(row.get(name), str) for name in _TEXTS)
    written = isinstance(row.get(_COMMENTS), list) or {*row} <= {*_OLD, "meta"}
    return "id" in row and isinstance(answers, list) and texts and written


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row per text. Raises ColumnsUnclear where `id` may be doccano's own number, LabelError."""
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        rows = [
            # Where a project has no classes, what it has is refused for what it is.
            (place, {"label": row.get("entities")} | flatten(row))
            for place, row in read_objects(content, name, "row")
        ]
    else:
        rows = read_table(content, name, _is_export)
    _check_ids([row for _, row in rows], columns, name)
    yield from take_rows(rows, name, columns)


def _check_ids(rows: list[dict[str, Any]], columns: Mapping[str, str], name: str) -> None:
    """Raises ColumnsUnclear where the ids are whole numbers, as doccano's own are."""
    if "id" in columns or any(ID in row for row in rows):
        return
    if not rows or not all(str(row.get("id")).isdecimal() for row in rows):
        return
    sample = sample_rows(rows)
    raise ColumnsUnclear(
        f"{name}: the ids are whole numbers, which may be doccano's own and not those of the items",
        hint_column("id", "id"),
        {"label": "label"},
        {column: values for column, values in sample.items() if column != "label"},
    )


def _is_export(header: Collection[str]) -> bool:
    names = {*header}
    return [*header] == _OLD or ({"id", "label", _COMMENTS} <= names and bool(_TEXTS & names))
