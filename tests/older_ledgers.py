"""Ledgers as earlier versions wrote them."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from activetest.ledger.migrations import MIGRATIONS
from activetest.ledger.packing import decompress_matrices, unpack_numbers
from activetest.nouns.report import Report

_TABLES = ("meta", "rounds", "draws", "ingests", "events")


def forget_note(report: Report) -> Report:
    """The report without the note that an earlier version drew the rounds, which it has to have."""
    notes = [note for note in report.notes if "drawn by an earlier version" not in note.text]
    assert len(notes) == len(report.notes) - 1
    return replace(report, notes=tuple(notes))


def rewrite_ledger(path: Path, version: int) -> None:
    """Turn a ledger of today into one of an earlier version, with all that version could hold."""
    with closing(sqlite3.connect(path)) as db:
        texts = dict(db.execute("SELECT number, text FROM texts"))
        rounds = [_unpack_round(row, texts) for row in db.execute("SELECT * FROM rounds")]
        draws = [
            (*row, json.dumps(np.frombuffer(imputed, "<f8").tolist()))
            for *row, imputed in db.execute("SELECT * FROM draws ORDER BY position")
        ]
        rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLES}
    path.unlink()
    with closing(sqlite3.connect(path)) as db, db:
        for migration in MIGRATIONS[:version]:
            migration(db)
        db.execute(f"PRAGMA user_version = {version}")
        for name in ("meta", "ingests", "events"):
            for row in rows[name]:
                db.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        columns = [column for _, column, *_ in db.execute("PRAGMA table_info(rounds)")]
        for entries in rounds:
            entries["doubt"] = "[[[0.0]]]"
            values = [entries[column] for column in columns]
            db.execute(f"INSERT INTO rounds VALUES ({', '.join('?' * len(values))})", values)
        db.executemany("INSERT INTO draws VALUES (?, ?, ?, ?, ?)", draws)


def _unpack_round(row: tuple, texts: dict[int, str]) -> dict:
    """The columns of a round as texts of JSON."""
    *shared, choices, params, record, packed, numbers = row
    names = ("number", "time", "labels_seen", "learned", "knew", "arrays")
    structure = json.loads(texts[params])
    values = unpack_numbers(structure, decompress_matrices(structure, packed))
    parts = unpack_numbers(json.loads(texts[record]), numbers)
    parts = {name: None if part is None else json.dumps(part) for name, part in parts.items()}
    return {
        **dict(zip(names, shared, strict=True)),
        "choices": texts[choices],
        "params": json.dumps(values),
        **parts,
    }
