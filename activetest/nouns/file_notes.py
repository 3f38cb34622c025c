"""What the reader of a file says about it, in the metadata of its Parquet copy.

Anybody may have written such metadata: it is believed to be text, and no more of it than is shown.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activetest.nouns.class_names import OURS
from activetest.system.safe_text import escape_controls

_MOST, _LONGEST = 20, 500


@dataclass(frozen=True)
class FileNotes:
    """What is known of a file besides its columns.

    format  the file format; None where the file is a table of any program
    notes   sentences: what was left out, and what became one
    judge   the column of a grader's verdicts; None where there is none
    labels  the columns that hold labels; None where nothing but their names says so
    """

    format: str | None = None
    notes: tuple[str, ...] = ()
    judge: str | None = None
    labels: tuple[str, ...] | None = None


def read_file_notes(metadata: Mapping[bytes, bytes] | None) -> FileNotes:
    """The notes in the metadata of an Arrow or Parquet schema.

    >>> read_file_notes({b"activetest": b'{"notes": ["2 samples are left out"]}'}).notes
    ('2 samples are left out',)
    """
    found = _read_document(metadata)
    return FileNotes(
        _read_name(found.get("format")),
        tuple(escape_controls(each[:_LONGEST]) for each in _list_notes(found)[:_MOST]),
        _read_name(found.get("judge")),
        _read_names(found.get("labels")),
    )


def add_notes(
    metadata: Mapping[bytes, bytes] | None, notes: Sequence[str], *, last: bool = False
) -> Mapping[bytes, bytes] | None:
    """The metadata with these notes before those that it has, or behind them."""
    if not notes:
        return metadata
    document = _read_document(metadata)
    known = _list_notes(document)
    document["notes"] = [*known, *notes] if last else [*notes, *known]
    return {**(metadata or {}), OURS: json.dumps(document).encode("ascii")}


def _read_document(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    try:
        found = json.loads((metadata or {}).get(OURS, b"null"))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _list_notes(document: Mapping[str, Any]) -> list[str]:
    notes = document.get("notes")
    return [each for each in notes if isinstance(each, str)] if isinstance(notes, list) else []


def _read_name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST else None


def _read_names(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(name for name in map(_read_name, value[:_MOST]) if name is not None)
