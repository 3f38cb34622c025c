"""The hash chain of a ledger: every write is an entry, whose hash covers it and all before it.

hash = SHA-256 of the previous hash and the JSON (ASCII, no spaces) of [kind, of, data, rows], where
rows are all rows that the entry wrote, by the names of their tables and then by their keys, and the
first hash follows nothing. A row is [table, {column: value}]: without columns that hold nothing,
sorted by name, bytes as {"bytes": hexadecimal digits}, and in the place of the number of a shared
text the SHA-256 of the text. So a column that a later version adds changes no hash. Columns that
later entries change are left out: the data of an entry, which is JSON, has under "set" what it
changed, {table: {key: {column: value}}}. The kinds:

study    the study began: its first part, model, criterion and rater; sets seed and time
restart  sets another seed or fingerprint, before any draw
round    `of` is its number                      rows: the round and its draws
file     `of` is the number of a file of labels  rows: the file, its answers, raters that are new
undo     sets the revision at which the file `of` was taken back
gate     a gate was asked for                    rows: the gate `of`
plan     something was planned                   rows: the plan `of`
model    a further model came                    rows: the model `of`

All but the first, gates, plans and models advance the revision of the study by one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from activetest.ledger.tables import CHANGING, SHARED

STUDY, RESTART, ROUND, FILE, UNDO = "study", "restart", "round", "file", "undo"
GATE, PLAN, MODEL = "gate", "plan", "model"
KINDS = (STUDY, RESTART, ROUND, FILE, UNDO, GATE, PLAN, MODEL)
# The kinds that advance the revision.
MOVING = (RESTART, ROUND, FILE, UNDO)


def _write_bytes(value: Any) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no value of a ledger")
    return {"bytes": value.hex()}


_write = json.JSONEncoder(separators=(",", ":"), default=_write_bytes).encode


def link(
    previous: bytes, kind: str, of: int | None, data: str | None, rows: Sequence[Sequence[Any]]
) -> bytes:
    """The hash of an entry that follows the entry with the hash `previous`; rows of name_row."""
    content = _write([kind, of, data, rows]).encode("ascii")
    return hashlib.sha256(previous + content).digest()


def name_rows(
    table: str, rows: Sequence[Any], hashes: Mapping[int, str]
) -> list[tuple[str, dict[str, Any]]]:
    """Rows as they are hashed: [table, {column: value}] each.

    rows    named tuples of one of the types in tables
    hashes  {number: hash} of the texts

    Raises KeyError where a text is missing.
    """
    left_out = CHANGING.get(table, ())
    places = {
        name: place
        for place, name in enumerate(rows[0]._fields)
        if name not in left_out and any(row[place] is not None for row in rows)
    }
    names = sorted(places)
    pick = itemgetter(*(places[name] for name in names))
    found = [dict(zip(names, pick(row), strict=True)) for row in rows]
    if any(None in each.values() for each in found):
        found = [
            {name: value for name, value in each.items() if value is not None} for each in found
        ]
    for column in SHARED.get(table, ()):
        for each in found:
            each[column] = hashes[each[column]]
    return [(table, each) for each in found]


def hash_text(text: str) -> str:
    """Hash that stands for a text in a row that is hashed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
