"""Everything that a ledger holds, read in one pass and checked against its hash chain.

Tables are read from beginning to end, in the order of their keys, and no index is believed: what is
known follows from rows whose hashes hold, or from nothing.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from activetest.ledger import chain
from activetest.ledger.chain import Entry

# {table: {column: the types it may hold}}, in the order in which they are hashed.
_WHOLE, _TEXT, _BYTES, _NONE = int, str, bytes, type(None)
TABLES: dict[str, dict[str, tuple[type, ...]]] = {
    "meta": {
        "seed": (_WHOLE,),
        "fingerprint": (_TEXT,),
        "rows": (_WHOLE,),
        "revision": (_WHOLE,),
        "time": (_TEXT, _NONE),
    },
    "texts": {"number": (_WHOLE,), "text": (_TEXT,)},
    "rounds": {
        "number": (_WHOLE,),
        "time": (_TEXT, _NONE),
        "labels_seen": (_WHOLE,),
        "learned": (_WHOLE, _NONE),
        "knew": (_WHOLE,),
        "arrays": (_TEXT, _NONE),
        "choices": (_WHOLE,),
        "params": (_WHOLE,),
        "record": (_WHOLE,),
        "params_numbers": (_BYTES,),
        "numbers": (_BYTES,),
    },
    "draws": {
        "position": (_WHOLE,),
        "round": (_WHOLE,),
        "id": (_TEXT,),
        "q": (float, _NONE),
        "imputed": (_BYTES,),
    },
    "ingests": {
        "number": (_WHOLE,),
        "source": (_TEXT, _NONE),
        "time": (_TEXT, _NONE),
        "revision": (_WHOLE,),
        "undone": (_WHOLE, _NONE),
    },
    "events": {
        "number": (_WHOLE,),
        "ingest": (_WHOLE,),
        "id": (_TEXT,),
        "annotator": (_TEXT,),
        "status": (_WHOLE,),
        "label": (_TEXT,),
    },
    "entries": {
        "number": (_WHOLE,),
        "kind": (_TEXT,),
        "of": (_WHOLE, _NONE),
        "data": (_TEXT, _NONE),
        "hash": (_BYTES,),
    },
}


# What SQLite says of a file that it may not read or write; everything else means damage.
_REFUSED = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY"),
    *("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOLFS", "SQLITE_PROTOCOL"),
    *("SQLITE_INTERRUPT", "SQLITE_NOMEM"),
)


class UnreadableTable(Exception):
    """A table cannot be read; the text says which, and where."""


class StoredRound(NamedTuple):
    """A row of rounds; choices, params and record are numbers of texts."""

    number: int
    time: str | None
    labels_seen: int
    learned: int | None
    knew: int
    arrays: str | None
    choices: int
    params: int
    record: int
    params_numbers: bytes
    numbers: bytes


class StoredDraw(NamedTuple):
    """A row of draws."""

    position: int
    round: int
    id: str
    prob: float | None
    imputed: bytes


class StoredFile(NamedTuple):
    """A row of ingests: a file of labels, and the revision at which it was taken back."""

    number: int
    source: str | None
    time: str | None
    revision: int
    undone: int | None


class StoredAnswer(NamedTuple):
    """A row of events."""

    number: int
    file: int
    id: str
    annotator: str
    status: int
    label: str


class Meta(NamedTuple):
    """The row of meta."""

    seed: int
    fingerprint: str
    rows: int
    revision: int
    time: str | None


@dataclass(frozen=True)
class Contents:
    """The rows of every table, in the order of their keys; texts by their numbers."""

    meta: Meta
    texts: dict[int, str]
    rounds: list[StoredRound]
    draws: list[StoredDraw]
    files: list[StoredFile]
    answers: list[StoredAnswer]
    entries: list[Entry]

    @property
    def head(self) -> bytes:
        """The hash of the last entry: it covers everything that the ledger holds."""
        return self.entries[-1].hash if self.entries else b""

    def list_problems(self) -> Iterator[str]:
        """Where the rows and the chain differ, in words; the first is the place to look at."""
        meta: dict[str, Any] = {}
        uncovered, previous = _Uncovered(self), b""
        for place, entry in enumerate(self.entries, start=1):
            try:
                rows, changed = uncovered.take(entry)
            except (KeyError, TypeError, ValueError, RecursionError):
                yield f"{self._describe(entry)} is not what was recorded"
            else:
                meta |= changed
                found = chain.link(previous, entry.kind, entry.of, entry.data, rows)
                if found != entry.hash or entry.number != place:
                    yield f"{self._describe(entry)} is not what was recorded"
            previous = entry.hash
        for name in uncovered.names():
            yield f"{name} is in no entry of the chain"
        if len({draw.id for draw in self.draws}) < len(self.draws):
            yield "an item is drawn twice"
        for name, value in self.meta._asdict().items():
            if meta.get(name) != value:
                yield f"the {name} of the study is not what was recorded"

    def _describe(self, entry: Entry) -> str:
        """What an entry is about, in words."""
        if entry.kind == chain.ROUND:
            return f"round {entry.of}"
        if entry.kind in (chain.FILE, chain.UNDO):
            name = f"file of labels {entry.of}"
            for file in self.files:
                if file.number == entry.of:
                    name += f" ({file.source!r}, {file.time})"
            return name if entry.kind == chain.FILE else f"the undo of {name}"
        return f"entry {entry.number} of the chain"


class _Uncovered:
    """The rows that no entry has covered so far."""

    def __init__(self, contents: Contents) -> None:
        self.hashes = {number: chain.hash_text(text) for number, text in contents.texts.items()}
        # An entry may be about none of them.
        self.rounds: dict[int | None, StoredRound] = {each.number: each for each in contents.rounds}
        self.files: dict[int | None, StoredFile] = {each.number: each for each in contents.files}
        self.draws: dict[int | None, list[StoredDraw]] = {}
        for draw in contents.draws:
            self.draws.setdefault(draw.round, []).append(draw)
        self.answers: dict[int | None, list[StoredAnswer]] = {}
        for answer in contents.answers:
            self.answers.setdefault(answer.file, []).append(answer)
        self.undone: dict[int | None, int] = {}

    def take(self, entry: Entry) -> tuple[list[Any], dict[str, Any]]:
        """The rows that an entry covers, as they are hashed, and what it says of the table meta.

        Raises KeyError, TypeError or ValueError where they are not there.
        """
        if entry.kind == chain.ROUND:
            round = self.rounds.pop(entry.of)
            rows = [shorten_round(round, self.hashes), *self.draws.pop(round.number, ())]
            return rows, {"revision": round.labels_seen + 1}
        if entry.kind == chain.FILE:
            file = self.files.pop(entry.of)
            if file.undone is not None:
                self.undone[file.number] = file.undone
            return [file[:-1], *self.answers.pop(file.number, ())], {"revision": file.revision}
        data = json.loads(entry.data or "")
        if entry.kind == chain.UNDO:
            if self.undone.pop(entry.of) != data["revision"]:
                raise ValueError
            return [], {"revision": data["revision"]}
        if entry.kind == chain.RESTART:
            return [], {name: data[name] for name in ("seed", "fingerprint", "revision")}
        if entry.kind == chain.STUDY:
            names = ("seed", "fingerprint", "rows", "time")
            return [], {name: data[name] for name in names} | {"revision": 0}
        raise ValueError

    def names(self) -> Iterator[str]:
        """What is left, in words."""
        for number in self.rounds | self.draws:
            yield f"round {number}"
        for number in self.files | self.answers:
            yield f"file of labels {number}"
        for number in self.undone:
            yield f"the undo of file of labels {number}"


def shorten_round(round: StoredRound, hashes: dict[int, str]) -> list[Any]:
    """A row of rounds as it is hashed: with the hashes of its texts. Raises KeyError."""
    return [*round[:6], *(hashes[number] for number in round[6:9]), *round[9:]]


def is_refusal(error: Exception) -> bool:
    """Whether the system refused to read or write, which says nothing about the content."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_REFUSED)


def read_contents(db: sqlite3.Connection) -> Contents:
    """All rows, in the transaction that is open.

    Raises UnreadableTable where SQLite cannot read a table, or a value is of another type.
    """
    tables = {name: read_table(db, name) for name in TABLES}
    meta = [Meta(*row) for row in tables["meta"]]
    if len(meta) != 1:
        raise UnreadableTable(f"the table meta has {len(meta)} rows")
    return Contents(
        meta[0],
        dict(tables["texts"]),
        [StoredRound(*row) for row in tables["rounds"]],
        [StoredDraw(*row) for row in tables["draws"]],
        [StoredFile(*row) for row in tables["ingests"]],
        [StoredAnswer(*row) for row in tables["events"]],
        [Entry(*row) for row in tables["entries"]],
    )


def read_table(db: sqlite3.Connection, name: str) -> list[tuple]:
    """The rows of one of TABLES, in the order of their keys. Raises UnreadableTable."""
    columns = TABLES[name]
    rows: list[tuple] = []
    try:
        query = f"SELECT {', '.join(columns)} FROM {name} NOT INDEXED ORDER BY rowid"
        for row in db.execute(query):
            rows.append(row)
    except (sqlite3.DatabaseError, OverflowError) as error:
        if is_refusal(error):
            raise
        after = f" after {next(iter(columns))} {rows[-1][0]}" if rows else ""
        raise UnreadableTable(f"the table {name} cannot be read{after}: {error}") from error
    for column, (title, types) in zip(zip(*rows, strict=True), columns.items(), strict=False):
        if not set(map(type, column)) <= set(types):
            place = next(place for place, value in enumerate(column) if type(value) not in types)
            raise UnreadableTable(
                f"the {title} in row {place + 1} of the table {name} is no {types[0].__name__}"
            )
    return rows
