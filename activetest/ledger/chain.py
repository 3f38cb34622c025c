"""The hash chain of a ledger: every write is an entry, whose hash covers it and all before it.

hash = SHA-256 of the previous hash and the JSON (ASCII, no spaces) of [kind, of, data, rows], where
rows are all rows that the entry wrote, bytes as {"bytes": hexadecimal digits}, and the first hash
follows nothing. The kinds:

study    the ledger was created                           data: seed, fingerprint, rows, time
restart  seed or fingerprint changed, before any draw     data: seed, fingerprint, revision, time
round    `of` is its number                               rows: the round, then its draws
file     `of` is the number of a file of labels           rows: the file, then its answers
undo     the file `of` was taken back                     data: revision, time

Where several numbers of a round stand in a text of their own, which rounds share, the row that is
hashed has the SHA-256 of the text. A ledger of an older version is chained when it is migrated.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

STUDY, RESTART, ROUND, FILE, UNDO = "study", "restart", "round", "file", "undo"


class Entry(NamedTuple):
    """One write: what it was, which round or file it was about, more in JSON, and its hash."""

    number: int
    kind: str
    of: int | None
    data: str | None
    hash: bytes


def _write_bytes(value: Any) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} is no value of a ledger")
    return {"bytes": value.hex()}


_write = json.JSONEncoder(separators=(",", ":"), default=_write_bytes).encode


def link(
    previous: bytes, kind: str, of: int | None, data: str | None, rows: Sequence[Sequence[Any]]
) -> bytes:
    """The hash of an entry that follows the entry with the hash `previous`."""
    content = _write([kind, of, data, rows]).encode("ascii")
    return hashlib.sha256(previous + content).digest()


def hash_text(text: str) -> str:
    """What stands for a text in a row that is hashed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
