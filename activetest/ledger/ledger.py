"""The ledger of a study: what was drawn with which probability, and every label ever given.

Rounds, draws and answers are only ever added. What is known now is derived: of all answers to an
item by one annotator, the latest whose file was not taken back. Every write is one transaction, on
disk when it returns, and moves the revision by one: rounds and files know what came before them.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from activetest.errors import StorageError, StudyError
from activetest.ledger.arrays import StoredParams, split_params, write_arrays
from activetest.ledger.migrations import MIGRATIONS, migrate
from activetest.ledger.rounds import parse_round, serialise_draws, serialise_round
from activetest.ledger.untrusted import check_files, check_schema, restrict
from activetest.nouns.log import Round
from activetest.nouns.rows import Array
from activetest.safe_text import escape_controls

# Seconds to wait for the lock. A writer holds it for milliseconds.
PATIENCE = 60.0
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")


class LedgerMoved(Exception):
    """The ledger has changed since it was read: whatever was computed from it is out of date."""


class Answer(NamedTuple):
    """What one annotator answered about one item; status is LABELLED or DECLINED of nouns.log."""

    id: str
    annotator: str
    status: int
    label: str


class Draw(NamedTuple):
    """One draw: its round, the item's id, and the probability it had, None without."""

    round: int
    id: str
    prob: float | None


class RetractedFile(NamedTuple):
    """A label file that was taken back: its name, when it was ingested, number of answers."""

    source: str
    time: str
    answers: int

    def __str__(self) -> str:
        """One line."""
        count = f"{self.answers:,} answer{'s' * (self.answers != 1)}"
        return escape_controls(f"taken back: {count} of {self.source}, which came at {self.time}")

    def __repr__(self) -> str:
        """One line."""
        return f"<RetractedFile {self}>"


@dataclass(frozen=True)
class Record:
    """Draws and answers as of one revision. Items are ids: pool positions may change.

    draws     in the order drawn
    answers   those that count now, in the order given
    supplied  {id: first round that knew it, None when no round did} of items that were answered
              but never drawn, also where the answer was taken back after a round knew it
    """

    revision: int
    draws: tuple[Draw, ...]
    answers: tuple[Answer, ...]
    supplied: dict[str, int | None]


class Ledger:
    """The file `ledger.db` of a study.

    Raises StorageError when the disk refuses, StudyError when the file is damaged or too new.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise StudyError(f"{path} is missing", "restore it from a backup: it holds every label")
        check_files(path)
        self._db = _connect(path)
        with self._transaction("DEFERRED") as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > len(MIGRATIONS):
                hint = "upgrade with: python -m pip install --upgrade activetest"
                raise StudyError(f"{path} is from a newer version of activetest", hint)
            if version == 0:
                raise StudyError(f"{path} is not a ledger", "restore it from a backup")
            check_schema(db, path, version)
        if version < len(MIGRATIONS):
            with self._transaction("IMMEDIATE") as db:
                migrate(db)
        query = "SELECT seed, fingerprint, rows FROM meta"
        self.seed, self.fingerprint, self.rows = self._fetch(query)[0]

    @staticmethod
    def create(path: Path, *, seed: int, fingerprint: str, rows: int) -> "Ledger":
        """A new ledger for a pool of `rows` items."""
        db = _connect(path)
        with _raising_study_errors(path):
            db.execute("BEGIN IMMEDIATE")
            migrate(db)
            db.execute("INSERT INTO meta VALUES (?, ?, ?, 0, ?)", (seed, fingerprint, rows, _now()))
            db.execute("COMMIT")
        db.close()
        return Ledger(path)

    def record(self) -> Record:
        """What was drawn and what is known, all as of the same revision."""
        with self._transaction("DEFERRED") as db:
            revision = db.execute("SELECT revision FROM meta").fetchone()[0]
            query = "SELECT round, id, q FROM draws ORDER BY position"
            draws = tuple(map(Draw._make, db.execute(query)))
            query = "SELECT id, annotator, status, label FROM answers ORDER BY number"
            answers = tuple(map(Answer._make, db.execute(query)))
            supplied = dict(db.execute(_SUPPLIED))
        return Record(revision, draws, answers, supplied)

    def count_replaced(self) -> int:
        """Answers that count now and contradict an earlier one by the same annotator."""
        query = (
            "SELECT COUNT(*) FROM answers WHERE EXISTS (SELECT 1 FROM events WHERE "
            "events.id = answers.id AND events.annotator = answers.annotator "
            "AND (events.status, events.label) <> (answers.status, answers.label))"
        )
        return self._fetch(query)[0][0]

    def rounds(self, rows: Array) -> tuple[Round, ...]:
        """The rounds as recorded, as far as `rows` reaches: (D,) the pool position of each draw."""
        query = "SELECT round, q, imputed FROM draws ORDER BY position LIMIT ?"
        drawn: dict[int, list] = {}
        for row, (number, *draw) in zip(rows, self._fetch(query, len(rows)), strict=True):
            drawn.setdefault(number, []).append((row, *draw))
        query = (
            "SELECT number, learned, knew, arrays, params, choices, statistics, groups, "
            "imputed_sum, count, aims, shares FROM rounds WHERE number <= ? ORDER BY number"
        )
        rounds: dict[int, Round] = {}
        for number, fit_round, fit_labels, arrays, plain, *texts in self._fetch(
            query, max(drawn, default=0)
        ):
            params: Any = json.loads(plain)
            if fit_round is not None:
                params = rounds[fit_round].params
            elif arrays is not None:
                params = StoredParams(params, self._arrays_folder, arrays)
            recorded = parse_round(number, params, texts, drawn[number])
            rounds[number] = replace(recorded, fit_round=fit_round or number, fit_labels=fit_labels)
        return tuple(rounds.values())

    def surrogates(self) -> set[str]:
        """Names of the surrogates that rounds were drawn with."""
        query = "SELECT DISTINCT json_extract(choices, '$.surrogate') FROM rounds"
        return {name for (name,) in self._fetch(query)}

    def record_round(self, round: Round, ids: Sequence[str], *, revision: int) -> None:
        """Record a round, before any of its items is shown.

        The parameters of a surrogate that was fitted in an earlier round are kept there. Raises
        LedgerMoved when anything was written after `revision`, which the round was computed from.
        """
        fit_round = round.fit_round if 0 < round.fit_round < round.number else None
        plain, arrays = split_params(round.params if fit_round is None else {})
        drawn = serialise_draws(round)
        file = write_arrays(arrays, self._arrays_folder) if arrays else None
        with self._write(revision) as db:
            db.execute(
                "INSERT INTO rounds (number, time, labels_seen, learned, knew, arrays, params, "
                "choices, statistics, groups, imputed_sum, count, aims, shares) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    round.number,
                    _now(),
                    revision,
                    fit_round,
                    round.fit_labels,
                    file,
                    *serialise_round(round, plain),
                ),
            )
            db.executemany(
                "INSERT INTO draws (round, id, q, imputed) VALUES (?, ?, ?, ?)",
                ((round.number, id, *draw) for id, draw in zip(ids, drawn, strict=True)),
            )

    def add_answers(self, answers: Sequence[Answer], *, source: str, revision: int) -> None:
        """Record the answers of one file, all or none; they count from now on.

        Raises LedgerMoved when anything was written after `revision`, which they were checked with.
        """
        with self._write(revision) as db:
            ingest = db.execute(
                "INSERT INTO ingests (source, time, revision) VALUES (?, ?, ?)",
                (source, _now(), revision + 1),
            ).lastrowid
            db.executemany(
                "INSERT INTO events (ingest, id, annotator, status, label) VALUES (?, ?, ?, ?, ?)",
                ((ingest, *answer) for answer in answers),
            )

    def undo(self) -> RetractedFile | None:
        """Take back the last file that still counts; None when there is none. Its history stays."""
        with self._transaction("IMMEDIATE") as db:
            query = "SELECT number, source, time FROM ingests WHERE undone IS NULL "
            last = db.execute(query + "ORDER BY number DESC LIMIT 1").fetchone()
            if last is None:
                return None
            number, source, time = last
            db.execute("UPDATE meta SET revision = revision + 1")
            query = "UPDATE ingests SET undone = (SELECT revision FROM meta) WHERE number = ?"
            db.execute(query, (number,))
            count = db.execute("SELECT COUNT(*) FROM events WHERE ingest = ?", (number,))
            return RetractedFile(source, time, count.fetchone()[0])

    def restart(self, *, seed: int, fingerprint: str, revision: int) -> None:
        """Set another seed and another fingerprint of the pool, before anything is drawn.

        Raises StudyError when anything was written after `revision`, or drawn before it.
        """
        try:
            with self._write(revision) as db:
                if db.execute("SELECT COUNT(*) FROM rounds").fetchone()[0]:
                    raise LedgerMoved
                db.execute("UPDATE meta SET seed = ?, fingerprint = ?", (seed, fingerprint))
        except LedgerMoved as error:
            raise StudyError(
                "items were drawn or labels were added meanwhile", "try again"
            ) from error
        self.seed, self.fingerprint = seed, fingerprint

    @property
    def _arrays_folder(self) -> Path:
        """The folder of the surrogates' arrays."""
        return self.path.parent / "rounds"

    @contextmanager
    def _write(self, revision: int) -> Iterator[sqlite3.Connection]:
        """A transaction that advances the revision by one. Raises LedgerMoved if it has moved."""
        with self._transaction("IMMEDIATE") as db:
            query = "UPDATE meta SET revision = revision + 1 WHERE revision = ?"
            if db.execute(query, (revision,)).rowcount != 1:
                raise LedgerMoved
            yield db

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        with _raising_study_errors(self.path):
            self._db.execute(f"BEGIN {kind}")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _fetch(self, query: str, *values: Any) -> list[tuple]:
        """All rows of a query."""
        with _raising_study_errors(self.path):
            return self._db.execute(query, values).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    with _raising_study_errors(path):
        db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        # FULL leaves out the folder that held the journal: a power cut would take a commit back.
        db.execute("PRAGMA synchronous = EXTRA")
        restrict(db)
    return db


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _raising_study_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a StudyError; a broken constraint is a bug and passes through."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorname", None)
        if code is None or isinstance(error, sqlite3.IntegrityError):
            raise
        if code.startswith(_DAMAGED):
            raise StudyError(f"{path} is damaged: {error}", "restore it from a backup") from error
        raise StorageError(
            f"cannot write {path}: {error}",
            "free some space, or see who may write there; nothing that was recorded is lost",
        ) from error


# Answers that were taken back are left out, unless a round knew them.
_SUPPLIED = """
WITH seen AS (
    SELECT ingests.number, undone, MIN(rounds.number) AS round
    FROM ingests LEFT JOIN rounds
    ON labels_seen >= revision AND (undone IS NULL OR labels_seen < undone)
    GROUP BY ingests.number
)
SELECT id, MIN(seen.round) FROM events JOIN seen ON seen.number = ingest
WHERE (undone IS NULL OR seen.round IS NOT NULL) AND id NOT IN (SELECT id FROM draws)
GROUP BY id ORDER BY MIN(events.number)
"""
