"""Label files of any format: our own CSV, and what labelling tools export."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from activetest import catalog
from activetest.errors import ColumnsUnclear, LabelError
from activetest.formats import FAMILY, find_format
from activetest.labels import files
from activetest.labels.files import Edit, Label, merge_repeated
from activetest.labels.values import make_label
from activetest.nouns.encodings import decode_answers
from activetest.nouns.file_head import take_head
from activetest.nouns.foreign_files import find_foreign

# Bytes of a file that tell its format: the first task of an export may hold a long text.
_LOOKED_AT = 2**20
# The format of JSON of no particular program.
_JSON_LINES = "json-lines"
_STEP = (
    "give CSV, JSON Lines or a workbook (.xlsx) with a row per item and the columns id and label"
)


def read_answers(
    path: str | Path,
    *,
    stdin: BinaryIO | None = None,
    edit: Edit | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    notes: list[str] | None = None,
) -> list[Label]:
    """The answers in a file of any format, in order; `-` is standard input. Repeats are merged.

    edit     changes rows before they are merged, see `mapping.make_edit`
    columns  {field: column} where it cannot be known which one is the id, label, annotator or
             status
    notes    gets sentences about what the file does not say, each once

    Raises LabelError, naming file and place, for anything else, and LabelConflict for two different
    answers about one item by one annotator.
    """
    name = files.name_source(path)
    content = files.read_content(path, name, stdin)
    return parse_content(content, name, edit=edit, columns=columns, notes=notes)


def parse_content(
    content: bytes,
    name: str,
    *,
    edit: Edit | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    notes: list[str] | None = None,
) -> list[Label]:
    """The answers of a file whose content is in memory: see read_answers."""
    rows = _parse(content, name, columns, [] if notes is None else notes)
    return merge_repeated(edit(rows) if edit else rows, name)


def find_answer_format(content: bytes, name: str) -> str | None:
    """The format of a file of answers; None for our own CSV, and for what is none."""
    return find_format(take_head(content, name, _LOOKED_AT), "ANSWERS")


def _parse(
    content: bytes, name: str, columns: Mapping[str, str], notes: list[str]
) -> Iterator[Label]:
    """One Label per row. Raises LabelError."""
    format = find_answer_format(content, name)
    if format is None:
        _reject_foreign(content, name)
        text = decode_answers(content, name, form=files.CSV, notes=notes)
        yield from files.parse_rows(text, name, columns)
        return
    try:
        for row in catalog.load(FAMILY, format).read_answers(content, name, columns=columns):
            if "note" in row and row["note"] not in notes:
                notes.append(row["note"])
            yield make_label(row, row["place"], name)
    except ColumnsUnclear:
        # JSON of any program can be read where columns say what is what.
        if format == _JSON_LINES:
            _reject_foreign(content, name)
        raise


def _reject_foreign(content: bytes, name: str) -> None:
    """Raises LabelError for a file of a kind that is not read, naming the kind."""
    if found := find_foreign(content):
        title, step = found
        hint = f"{step}; {_STEP}" if step else _STEP
        raise LabelError(f"{name} is {title}, which is not read", hint)
