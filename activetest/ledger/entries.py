"""Writing to a ledger: rows, and the entry of the hash chain that covers them.

Everything here runs inside the transaction that is open.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from activetest.ledger import chain
from activetest.ledger.contents import (
    StoredAnswer,
    StoredDraw,
    StoredFile,
    StoredRound,
    read_contents,
    read_table,
    shorten_round,
)
from activetest.ledger.rounds import PackedRound


def insert_round(db: sqlite3.Connection, row: Sequence[Any], packed: PackedRound) -> StoredRound:
    """A new row of rounds, and of texts where they are new.

    row  what is in the columns of rounds before `choices`
    """
    known = {text: number for number, text in read_table(db, "texts")}
    for text in packed[:3]:
        if text not in known:
            known[text] = len(known) + 1
            db.execute("INSERT INTO texts VALUES (?, ?)", (known[text], text))
    stored = StoredRound._make([*row, *(known[text] for text in packed[:3]), *packed[3:]])
    places = ", ".join("?" * len(stored))
    db.execute(f"INSERT INTO rounds VALUES ({places})", stored)
    return stored


def append_entry(
    db: sqlite3.Connection,
    previous: bytes,
    kind: str,
    *,
    of: int | None = None,
    data: dict[str, Any] | None = None,
    rows: Sequence[Sequence[Any]] = (),
) -> bytes:
    """A new entry, after the one with the hash `previous`; its hash."""
    text = None if data is None else json.dumps(data)
    found = chain.link(previous, kind, of, text, rows)
    db.execute(
        "INSERT INTO entries (kind, of, data, hash) VALUES (?, ?, ?, ?)", (kind, of, text, found)
    )
    return found


def append_study(
    db: sqlite3.Connection, *, seed: int, fingerprint: str, rows: int, time: str | None
) -> bytes:
    """The first entry."""
    data = {"seed": seed, "fingerprint": fingerprint, "rows": rows, "time": time}
    return append_entry(db, b"", chain.STUDY, data=data)


def append_round(
    db: sqlite3.Connection, previous: bytes, stored: StoredRound, draws: Sequence[StoredDraw]
) -> bytes:
    """The entry of a round whose rows have been inserted."""
    texts = {
        number: chain.hash_text(text)
        for number, text in read_table(db, "texts")
        if number in stored[6:9]
    }
    rows = [shorten_round(stored, texts), *draws]
    return append_entry(db, previous, chain.ROUND, of=stored.number, rows=rows)


def append_file(
    db: sqlite3.Connection, previous: bytes, file: StoredFile, answers: Sequence[StoredAnswer]
) -> bytes:
    """The entry of a file of labels whose rows have been inserted."""
    return append_entry(db, previous, chain.FILE, of=file.number, rows=[file[:-1], *answers])


def append_undo(
    db: sqlite3.Connection, previous: bytes, file: StoredFile, time: str | None
) -> bytes:
    """The entry of a file that was taken back at its revision `undone`."""
    data = {"revision": file.undone, "time": time}
    return append_entry(db, previous, chain.UNDO, of=file.number, data=data)


def append_restart(
    db: sqlite3.Connection,
    previous: bytes,
    *,
    seed: int,
    fingerprint: str,
    revision: int,
    time: str | None,
) -> bytes:
    """The entry of a study that began again, with another seed or fingerprint."""
    data = {"seed": seed, "fingerprint": fingerprint, "revision": revision, "time": time}
    return append_entry(db, previous, chain.RESTART, data=data)


def chain_older(db: sqlite3.Connection) -> None:
    """Chain what a ledger held before there was a chain, in the order of revisions.

    Restarts were not recorded: where one came last, it left its revision. A ledger that is just
    being created has nothing to chain.
    """
    if not read_table(db, "meta"):
        return
    contents = read_contents(db)
    meta = contents.meta
    draws: dict[int, list[StoredDraw]] = {}
    for draw in contents.draws:
        draws.setdefault(draw.round, []).append(draw)
    answers: dict[int, list[StoredAnswer]] = {}
    for answer in contents.answers:
        answers.setdefault(answer.file, []).append(answer)
    writes: list[tuple[int, Any, str]] = [
        *((each.labels_seen + 1, each, chain.ROUND) for each in contents.rounds),
        *((each.revision, each, chain.FILE) for each in contents.files),
        *((each.undone, each, chain.UNDO) for each in contents.files if each.undone is not None),
    ]
    head = append_study(
        db, seed=meta.seed, fingerprint=meta.fingerprint, rows=meta.rows, time=meta.time
    )
    writes.sort(key=lambda write: write[0])
    for _, row, kind in writes:
        if kind == chain.ROUND:
            head = append_round(db, head, row, draws.get(row.number, ()))
        elif kind == chain.FILE:
            head = append_file(db, head, row, answers.get(row.number, ()))
        else:
            head = append_undo(db, head, row, None)
    if meta.revision > (writes[-1][0] if writes else 0):
        append_restart(
            db,
            head,
            seed=meta.seed,
            fingerprint=meta.fingerprint,
            revision=meta.revision,
            time=None,
        )
