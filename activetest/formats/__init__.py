"""Files of other programs, read and written: a file here is a format, and its name the format's.

A file of this family states at its head what it is and which of the functions below it has:

    TITLE       what people are told it is, as "JSON Lines"
    SUFFIXES    usual endings of its files, such as (".jsonl", ".ndjson"); the content decides
    PRECEDENCE  where several formats recognise a file, the highest number wins: 0, where nothing
                is said, of the files of one program; less of tables that any program writes
    POOL        it has read_pool
    GRADED      read_pool takes the column of a judge, too, and there is read_folder
    ANSWERS     it has read_answers
    TASKS       it has write_tasks and list_columns
    CONFIG      it has write_config

    recognise(head: FileHead) -> bool
        Whether a file is of this format, by its content. Cheap, and never raises.
    read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]
        The rows, as tables of one schema, of which there is at least one. `id` is a column that
        stays text. With GRADED there is `judge: str | None = None`: the column of grades without
        which an item is left out, by default that of the first grader. Raises PoolError, naming the
        file and the place in it.
    read_folder(files: Sequence[Path], folder: Path, *, judge) -> Iterator[pa.Table]
        With GRADED: the rows of logs in one folder, each of a task of its own. is_part(head), where
        there is one, tells files of the program that are no logs. Raises PoolError.
    read_answers(content: bytes, name: str, *, columns: Mapping[str, str]) -> Iterator[dict]
        Answers of annotators: place ("line 3"), id and label, and annotator and status where there
        are some. Values are text, numbers, true/false or None. `columns` says {field: column} where
        that cannot be known. A `note` is a sentence about what the file does not say. Raises
        LabelError, naming the file and the place in it.
    write_tasks(rows, columns, *, orders: Sequence[int], classes: Sequence[str]) -> bytes
        A batch as a file that annotators get: its rows and columns, the place of each item in the
        order of drawing, and the classes.
    list_columns(content: bytes, name: str) -> set[str]
        The columns that tasks show. Raises LabelError for what write_tasks did not write.
    write_config(columns: Sequence[str], classes: Sequence[str]) -> str
        What the tool needs to know to show such tasks and to offer the classes.

The notes of a reader about a file stand in the schema's metadata under the key `activetest`,
as JSON, of which all but the format may be missing:

    {"format": name, "notes": [sentence, ...], "judge": column, "labels": [column, ...],
     "classes": {column: [name, ...]}}
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from activetest import catalog
from activetest.nouns.class_names import OURS, load_metadata
from activetest.nouns.file_head import FileHead
from activetest.system.safe_text import escape_controls

FAMILY = "formats"
# Notes that are believed and letters of each: anybody may have written such metadata.
_MOST, _LONGEST = 20, 500


def find_format(head: FileHead, *what: str) -> str | None:
    """The format of a file, by its content; None where no format of that kind recognises it.

    what  POOL or ANSWERS, or both: what may be read from it; default: POOL
    """
    return next(list_formats(head, *what), None)


def list_formats(head: FileHead, *what: str) -> Iterator[str]:
    """All formats that recognise a file, the most specific first; what as for find_format."""
    names = [
        name
        for name in catalog.names(FAMILY)
        if any(catalog.fact(FAMILY, name, each) for each in what or ("POOL",))
    ]
    names.sort(key=lambda name: -(catalog.fact(FAMILY, name, "PRECEDENCE") or 0))
    return (name for name in names if catalog.load(FAMILY, name).recognise(head))


def find_suffixes(what: str = "POOL") -> tuple[str, ...]:
    """The usual endings of files of all formats that can be read."""
    names = [name for name in catalog.names(FAMILY) if catalog.fact(FAMILY, name, what)]
    found = (catalog.fact(FAMILY, name, "SUFFIXES") or () for name in names)
    return tuple(dict.fromkeys(suffix for suffixes in found for suffix in suffixes))


@dataclass(frozen=True)
class FileNotes:
    """Facts about a file besides its columns.

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
    found = _get_document(metadata)
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
    document = _get_document(metadata)
    known = _list_notes(document)
    document["notes"] = [*known, *notes] if last else [*notes, *known]
    return {**(metadata or {}), OURS: json.dumps(document).encode("ascii")}


def _get_document(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    found = load_metadata(metadata, OURS)
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
