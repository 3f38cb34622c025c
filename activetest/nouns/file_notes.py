"""What the reader of a file says about it, in the metadata of its Parquet copy.

Anybody may have written such metadata: it is believed to be text, and no more of it than is shown.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from activetest.safe_text import escape_controls

_KEY = b"activetest"
_MOST, _LONGEST = 20, 500


@dataclass(frozen=True)
class FileNotes:
    """What is known of a file besides its columns.

    format  the file format; None where the file is a table of any program
    notes   sentences: what was left out, and what became one
    judge   the column of a grader's verdicts; None where there is none
    """

    format: str | None = None
    notes: tuple[str, ...] = ()
    judge: str | None = None


def read_file_notes(metadata: Mapping[bytes, bytes] | None) -> FileNotes:
    """The notes in the metadata of an Arrow or Parquet schema.

    >>> read_file_notes({b"activetest": b'{"notes": ["2 samples are left out"]}'}).notes
    ('2 samples are left out',)
    """
    try:
        found = json.loads((metadata or {}).get(_KEY, b"null"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return FileNotes()
    notes = found.get("notes")
    texts = [each for each in notes if isinstance(each, str)] if isinstance(notes, list) else []
    return FileNotes(
        _read_name(found.get("format")),
        tuple(escape_controls(each[:_LONGEST]) for each in texts[:_MOST]),
        _read_name(found.get("judge")),
    )


def add_file_note(metadata: Mapping[bytes, bytes] | None, note: str) -> dict[bytes, bytes]:
    """The metadata with one more note, before the others."""
    try:
        found = json.loads((metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        found = {}
    document = found if isinstance(found, dict) else {}
    notes = document.get("notes")
    document["notes"] = [note, *(notes if isinstance(notes, list) else [])]
    return {**(metadata or {}), _KEY: json.dumps(document).encode("ascii")}


def _read_name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST else None
