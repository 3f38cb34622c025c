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
part     the population grew by a part           rows: the part `of`
retire   sets the revision at which the part `of` left the population

All but the first, gates, plans and models advance the revision of the study by one.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

from activetest.ledger.tables import CHANGING, SHARED

STUDY, RESTART, ROUND, FILE, UNDO = "study", "restart", "round", "file", "undo"
GATE, PLAN, MODEL, PART, RETIRE = "gate", "plan", "model", "part", "retire"
KINDS = (STUDY, RESTART, ROUND, FILE, UNDO, GATE, PLAN, MODEL, PART, RETIRE)
# The kinds that advance the revision.
MOVING = (RESTART, ROUND, FILE, UNDO, PART, RETIRE)


def _write_bytes(value: Any) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no value of a ledger")
    return {"bytes": value.hex()}


_write = json.JSONEncoder(separators=(",", ":"), default=_write_bytes).encode


def link(
    previous: bytes, kind: str, of: int | None, data: str | None, rows: Iterable[str]
) -> bytes:
    """The hash of an entry that follows the entry with the hash `previous`; rows of write_rows."""
    found = hashlib.sha256(previous + _write([kind, of, data])[:-1].encode("ascii"))
    found.update(f",[{','.join(rows)}]]".encode("ascii"))
    return found.digest()


def write_rows(table: str, rows: Sequence[Any], hashes: Mapping[int, str]) -> list[str]:
    """The JSON of rows as they are hashed: [table, {column: value}] each.

    rows    named tuples of one of the types in tables
    hashes  {number: hash} of the texts

    Raises KeyError where a text is missing, TypeError for a value that no ledger holds.
    """
    columns = dict(zip(rows[0]._fields, zip(*rows, strict=True), strict=True))
    for column in SHARED.get(table, ()):
        columns[column] = tuple(hashes[number] for number in columns[column])
    for column in CHANGING.get(table, ()):
        del columns[column]
    template, varying, optional = "", list[Iterable[str]](), False
    for name, values in sorted(columns.items()):
        kinds = set(map(type, values))
        if type(None) in kinds and len(kinds) > 1:
            template, optional = template + "%s", True
            present = [each for each in values if each is not None]
            texts = iter(_write_values(present, kinds - {type(None)}))
            varying.append(["" if each is None else f'"{name}":{next(texts)},' for each in values])
        elif kinds <= {int, str} and values.count(values[0]) == len(values):
            template += f'"{name}":{_write(values[0])},'.replace("%", "%%")
        elif kinds != {type(None)}:
            template += f'"{name}":%s,'
            varying.append(_write_values(values, kinds))
    found = zip(*varying, strict=True) if varying else [()] * len(rows)
    if optional:
        # The last comma goes, whichever field it follows.
        return [f'["{table}",{{{(template % each)[:-1]}}}]' for each in found]
    return list(map(f'["{table}",{{{template[:-1]}}}]'.__mod__, found))


def _write_values(values: Sequence[Any], kinds: set[type]) -> Iterable[str]:
    """The JSON of each value of a column; none is None."""
    if kinds == {str}:
        return map(encode_basestring_ascii, values)
    if kinds == {bytes}:
        return map('{"bytes":"%s"}'.__mod__, map(bytes.hex, values))
    if kinds <= {int, float}:
        # At once: no number has a comma.
        return _write(values)[1:-1].split(",")
    return map(_write, values)


def hash_text(text: str) -> str:
    """Hash that stands for a text in a row that is hashed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
