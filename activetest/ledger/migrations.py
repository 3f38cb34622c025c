"""The tables of a ledger, and how an older ledger gets them: numbered migrations, each run once."""

import json
import sqlite3


def migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, inside an open transaction."""
    done = db.execute("PRAGMA user_version").fetchone()[0]
    for migration in MIGRATIONS[done:]:
        migration(db)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _m001_rounds_draws_and_labels(db: sqlite3.Connection) -> None:
    """`labels_seen` is the revision a round was computed from: it knew all files that counted then.

    `ingests.revision` and `undone` are the writes that supplied a file in and took it back. In the
    view, SQLite takes the other columns from the row that holds the maximum.
    """
    for statement in [
        "\n        CREATE TABLE meta (seed INTEGER, fingerprint TEXT, rows INTEGER, revision INTEGER,\n            time TEXT)",
        "\n        CREATE TABLE rounds (number INTEGER PRIMARY KEY, time TEXT, labels_seen INTEGER,\n            choices TEXT, params TEXT, statistics TEXT, groups TEXT, imputed_sum TEXT, count TEXT,\n            doubt TEXT)",
        "\n        CREATE TABLE draws (position INTEGER PRIMARY KEY,\n            round INTEGER NOT NULL REFERENCES rounds, id TEXT NOT NULL UNIQUE,\n            q REAL NOT NULL CHECK (q > 0), imputed TEXT)",
        "\n        CREATE TABLE ingests (number INTEGER PRIMARY KEY, source TEXT, time TEXT, revision INTEGER,\n            undone INTEGER)",
        "\n        CREATE TABLE events (number INTEGER PRIMARY KEY,\n            ingest INTEGER NOT NULL REFERENCES ingests, id TEXT NOT NULL, annotator TEXT NOT NULL,\n            status INTEGER NOT NULL, label TEXT NOT NULL)",
        "\n        CREATE INDEX events_of_items ON events (id, annotator)",
        "\n        CREATE VIEW answers AS\n            SELECT MAX(events.number) AS number, id, annotator, status, label\n            FROM events JOIN ingests ON ingests.number = ingest\n            WHERE undone IS NULL GROUP BY id, annotator\n    ",
    ]:
        db.execute(statement)


def _m002_aims_of_rounds(db: sqlite3.Connection) -> None:
    """Rounds say what they aimed at; sums that only variances needed are not kept any more."""
    db.execute("ALTER TABLE rounds RENAME COLUMN doubt TO aims")
    db.execute("UPDATE rounds SET aims = '[]'")


def _m003_picks_and_arrays(db: sqlite3.Connection) -> None:
    """Items deterministic by the largest score have no q. Rounds say whose surrogate they used: `learned`
    is the number of the round that fitted it, NULL for their own, and `knew` the number of labels
    it knew; `arrays` is the file of its
    arrays, NULL without any. Floors meant something else in older rounds: totals of their scores do
    not give the strengths that rows had any more.
    """
    # SQLite can only take a NOT NULL away by making the table again.
    for statement in [
        "\n        CREATE TABLE draws_or_picks (position INTEGER PRIMARY KEY,\n            round INTEGER NOT NULL REFERENCES rounds, id TEXT NOT NULL UNIQUE,\n            q REAL CHECK (q > 0), imputed TEXT)",
        "\n        INSERT INTO draws_or_picks SELECT position, round, id, q, imputed FROM draws",
        "\n        DROP TABLE draws",
        "\n        ALTER TABLE draws_or_picks RENAME TO draws",
        "\n        ALTER TABLE rounds ADD COLUMN learned INTEGER",
        "\n        ALTER TABLE rounds ADD COLUMN knew INTEGER NOT NULL DEFAULT 0",
        "\n        ALTER TABLE rounds ADD COLUMN arrays TEXT\n    ",
    ]:
        db.execute(statement)
    for number, objectives in db.execute("SELECT number, aims FROM rounds").fetchall():
        forgotten = [objective | {"total": None} for objective in json.loads(objectives)]
        query = "UPDATE rounds SET aims = ? WHERE number = ?"
        db.execute(query, (json.dumps(forgotten), number))


def _m004_shares_of_groups(db: sqlite3.Connection) -> None:
    """Rounds that chose between groups say how likely the rows of each were; NULL in all others.

    Draws of theirs may have no q either: where other rows had no chance.
    """
    db.execute("ALTER TABLE rounds ADD COLUMN shares TEXT")


MIGRATIONS = [
    _m001_rounds_draws_and_labels,
    _m002_aims_of_rounds,
    _m003_picks_and_arrays,
    _m004_shares_of_groups,
]
