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
from typing import NamedTuple

from activetest.errors import StorageError, StudyError
from activetest.ledger.arrays import Stored, split, write
from activetest.ledger.migrations import MIGRATIONS, migrate
from activetest.ledger.rounds import draws, rebuilt, texts
from activetest.nouns.log import Round
from activetest.nouns.rows import Array

# A writer holds the lock for milliseconds; whoever waits this long is looking at a stuck machine.
PATIENCE = 60.0
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")


class LedgerMoved(Exception):
    """Somebody wrote since the ledger was read: what follows from it must be computed again."""


class Answer(NamedTuple):
    """What one annotator said about one item; status is LABELLED or DECLINED of `evidence`."""

    id: str
    annotator: str
    status: int
    label: str


class Draw(NamedTuple):
    """One draw: its round, the item's id, and the probability it had, None without."""

    round: int
    id: str
    prob: float | None


class Undone(NamedTuple):
    """The file that was taken back, when it had come, and how many answers it held."""

    source: str
    time: str
    answers: int


@dataclass(frozen=True)
class Record:
    """Everything but the rounds' sums, as of one revision. Items are ids: positions may change.

    draws    in the order drawn
    answers  what counts now, in the order given
    supplied  {id: first round that knew it, None when none did yet} of items that were answered,
             perhaps since taken back, but never drawn
    """

    revision: int
    draws: tuple[Draw, ...]
    answers: tuple[Answer, ...]
    supplied: dict[str, int | None]


class Ledger:
    """The file `ledger.db` of a study.

    Raises StorageError when the disk refuses, StudyError when the file is damaged or too new.
    """

    def __init__(self, path: Path):
        self.path = path
        if not path.is_file():
            raise StudyError(f"{path} is missing", "restore it from a backup: it holds every label")
        self._db = _connect(path)
        version = self._all("PRAGMA user_version")[0][0]
        if version > len(MIGRATIONS):
            hint = "upgrade with: python -m pip install --upgrade activetest"
            raise StudyError(f"{path} is from a newer version of activetest", hint)
        if version == 0:
            raise StudyError(f"{path} is not a ledger", "restore it from a backup")
        if version < len(MIGRATIONS):
            with self._transaction("IMMEDIATE") as db:
                migrate(db)
        query = "SELECT seed, fingerprint, rows FROM meta"
        self.seed, self.fingerprint, self.rows = self._all(query)[0]

    @staticmethod
    def create(path: Path, *, seed: int, fingerprint: str, rows: int) -> "Ledger":
        """A new ledger for a pool of `rows` items."""
        db = _connect(path)
        with _explained(path):
            db.execute("BEGIN IMMEDIATE")
            migrate(db)
            db.execute("INSERT INTO meta VALUES (?, ?, ?, 0, ?)", (seed, fingerprint, rows, _now()))
            db.execute("COMMIT")
        db.close()
        return Ledger(path)

    def record(self) -> Record:
        """What was drawn and what is known, all as of the same moment."""
        with self._transaction("DEFERRED") as db:
            revision = db.execute("SELECT revision FROM meta").fetchone()[0]
            query = "SELECT round, id, q FROM draws ORDER BY position"
            draws = tuple(map(Draw._make, db.execute(query)))
            query = "SELECT id, annotator, status, label FROM answers ORDER BY number"
            answers = tuple(map(Answer._make, db.execute(query)))
            supplied = dict(db.execute(_SUPPLIED))
        return Record(revision, draws, answers, supplied)

    def replaced(self) -> int:
        """Answers that count now and contradict an earlier one by the same annotator."""
        query = (
            "SELECT COUNT(*) FROM answers WHERE EXISTS (SELECT 1 FROM events WHERE "
            "events.id = answers.id AND events.annotator = answers.annotator "
            "AND (events.status, events.label) <> (answers.status, answers.label))"
        )
        return self._all(query)[0][0]

    def rounds(self, rows: Array) -> tuple[Round, ...]:
        """The rounds as recorded, as far as `rows` reaches: (D,) pool position of each draw."""
        query = "SELECT round, q, imputed FROM draws ORDER BY position LIMIT ?"
        drawn: dict[int, list] = {}
        for row, (number, *draw) in zip(rows, self._all(query, len(rows)), strict=True):
            drawn.setdefault(number, []).append((row, *draw))
        query = (
            "SELECT number, learned, knew, arrays, params, choices, statistics, groups, "
            "imputed_sum, count, aims, shares FROM rounds WHERE number <= ? ORDER BY number"
        )
        made: dict[int, Round] = {}
        for number, fit_round, fit_labels, arrays, params, *kept in self._all(
            query, max(drawn, default=0)
        ):
            params = json.loads(params)
            if fit_round is not None:
                params = made[fit_round].params
            elif arrays is not None:
                params = Stored(params, self._arrays, arrays)
            made[number] = rebuilt(number, params, kept, drawn[number])
            made[number] = replace(
                made[number], fit_round=fit_round or number, fit_labels=fit_labels
            )
        return tuple(made.values())

    def surrogates(self) -> set[str]:
        """Names of the surrogates that rounds were drawn with."""
        query = "SELECT DISTINCT json_extract(choices, '$.surrogate') FROM rounds"
        return {name for (name,) in self._all(query)}

    def record_round(self, round: Round, ids: Sequence[str], *, revision: int) -> None:
        """Write a round down, before any of its items is shown.

        A surrogate that learned in an earlier round is kept there. Raises LedgerMoved when anything
        was written after `revision`, which it was computed from.
        """
        fit_round = round.fit_round if 0 < round.fit_round < round.number else None
        plain, arrays = split(round.params if fit_round is None else {})
        drawn = draws(round)
        file = write(arrays, self._arrays) if arrays else None
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
                    *texts(round, plain),
                ),
            )
            db.executemany(
                "INSERT INTO draws (round, id, q, imputed) VALUES (?, ?, ?, ?)",
                ((round.number, id, *draw) for id, draw in zip(ids, drawn, strict=True)),
            )

    def add_answers(self, answers: Sequence[Answer], *, source: str, revision: int) -> None:
        """Write the answers of one file down, all or none; they count from now on.

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

    def undo(self) -> Undone | None:
        """Take the last file back that still counts; None when there is none. Its history stays."""
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
            return Undone(source, time, count.fetchone()[0])

    @property
    def _arrays(self) -> Path:
        """The folder of the surrogates' arrays."""
        return self.path.parent / "rounds"

    @contextmanager
    def _write(self, revision: int) -> Iterator[sqlite3.Connection]:
        """One transaction that moves the revision on from `revision`, or LedgerMoved."""
        with self._transaction("IMMEDIATE") as db:
            query = "UPDATE meta SET revision = revision + 1 WHERE revision = ?"
            if db.execute(query, (revision,)).rowcount != 1:
                raise LedgerMoved
            yield db

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        with _explained(self.path):
            self._db.execute(f"BEGIN {kind}")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _all(self, query: str, *values) -> list[tuple]:
        with _explained(self.path):
            return self._db.execute(query, values).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    with _explained(path):
        db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        db.execute("PRAGMA synchronous = FULL")
    return db


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's errors in the user's words; a broken constraint is our bug and passes through."""
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


# An answer that no round knew and that was taken back leaves no trace; one that a round knew does.
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
