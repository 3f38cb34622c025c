"""The tables of a ledger: numbered migrations, each run once, bring an older ledger up to date."""

import json
import sqlite3

from activetest.ledger.entries import chain_older, insert_round
from activetest.ledger.rounds import PARTS, pack_imputed, pack_round


def migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, inside an open transaction."""
    done = db.execute("PRAGMA user_version").fetchone()[0]
    for migration in MIGRATIONS[done:]:
        migration(db)
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _m001_rounds_draws_and_labels(db: sqlite3.Connection) -> None:
    """`labels_seen` is the revision a round was computed from: it knew all files that counted then.

    `ingests.revision` and `undone` are the revisions at which a file came in and was taken back. In
    the view, SQLite takes the other columns from the row that holds the maximum.
    """
    _execute(
        db,
        """
        CREATE TABLE meta (seed INTEGER, fingerprint TEXT, rows INTEGER, revision INTEGER,
            time TEXT);
        CREATE TABLE rounds (number INTEGER PRIMARY KEY, time TEXT, labels_seen INTEGER,
            choices TEXT, params TEXT, statistics TEXT, groups TEXT, imputed_sum TEXT, count TEXT,
            doubt TEXT);
        CREATE TABLE draws (position INTEGER PRIMARY KEY,
            round INTEGER NOT NULL REFERENCES rounds, id TEXT NOT NULL UNIQUE,
            q REAL NOT NULL CHECK (q > 0), imputed TEXT);
        CREATE TABLE ingests (number INTEGER PRIMARY KEY, source TEXT, time TEXT, revision INTEGER,
            undone INTEGER);
        CREATE TABLE events (number INTEGER PRIMARY KEY,
            ingest INTEGER NOT NULL REFERENCES ingests, id TEXT NOT NULL, annotator TEXT NOT NULL,
            status INTEGER NOT NULL, label TEXT NOT NULL);
        CREATE INDEX events_of_items ON events (id, annotator);
        CREATE VIEW answers AS
            SELECT MAX(events.number) AS number, id, annotator, status, label
            FROM events JOIN ingests ON ingests.number = ingest
            WHERE undone IS NULL GROUP BY id, annotator
        """,
    )


def _m002_aims_of_rounds(db: sqlite3.Connection) -> None:
    """Rounds record their objectives; sums that only variances needed are dropped."""
    db.execute("ALTER TABLE rounds RENAME COLUMN doubt TO aims")
    db.execute("UPDATE rounds SET aims = '[]'")


def _m003_picks_and_arrays(db: sqlite3.Connection) -> None:
    """Items that were picked by the largest score have no q; surrogates may be kept for rounds.

    `learned` is the number of the round that fitted a round's surrogate, NULL for its own, and
    `knew` the number of labels it was fitted to; `arrays` is the file of its arrays, NULL without
    any. Floors meant something else in older rounds: the totals of their scores do not give the
    weights of rows any more.
    """
    # SQLite can only remove a NOT NULL by making the table again.
    _execute(
        db,
        """
        CREATE TABLE draws_or_picks (position INTEGER PRIMARY KEY,
            round INTEGER NOT NULL REFERENCES rounds, id TEXT NOT NULL UNIQUE,
            q REAL CHECK (q > 0), imputed TEXT);
        INSERT INTO draws_or_picks SELECT position, round, id, q, imputed FROM draws;
        DROP TABLE draws;
        ALTER TABLE draws_or_picks RENAME TO draws;
        ALTER TABLE rounds ADD COLUMN learned INTEGER;
        ALTER TABLE rounds ADD COLUMN knew INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE rounds ADD COLUMN arrays TEXT
        """,
    )
    for number, objectives in db.execute("SELECT number, aims FROM rounds").fetchall():
        forgotten = [objective | {"total": None} for objective in json.loads(objectives)]
        query = "UPDATE rounds SET aims = ? WHERE number = ?"
        db.execute(query, (json.dumps(forgotten), number))


def _m004_shares_of_groups(db: sqlite3.Connection) -> None:
    """Rounds that chose between groups record the weight of the rows of each; NULL in all others.

    Their draws may have no q either: where other rows could not be drawn.
    """
    db.execute("ALTER TABLE rounds ADD COLUMN shares TEXT")


def _m005_chain_and_numbers(db: sqlite3.Connection) -> None:
    """Every write is an entry of a hash chain, and a round is as small as what is new in it.

    See the modules chain and packing. What rounds share are `texts`, and their numbers are bytes.
    Nothing is looked up by an index any more: what is known follows from whole tables, see
    contents. Entries of an older ledger are in the order of their revisions.
    """
    old = db.execute(
        "SELECT number, time, labels_seen, learned, knew, arrays, choices, params, statistics, "
        "groups, imputed_sum, count, aims, shares FROM rounds ORDER BY number"
    ).fetchall()
    draws = db.execute("SELECT position, round, id, q, imputed FROM draws ORDER BY position")
    drawn = [(*draw, pack_imputed(json.loads(imputed))) for *draw, imputed in draws.fetchall()]
    _execute(
        db,
        """
        DROP VIEW answers;
        DROP INDEX events_of_items;
        DROP TABLE draws;
        DROP TABLE rounds;
        CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE rounds (number INTEGER PRIMARY KEY, time TEXT, labels_seen INTEGER NOT NULL,
            learned INTEGER, knew INTEGER NOT NULL, arrays TEXT, choices INTEGER NOT NULL,
            params INTEGER NOT NULL, record INTEGER NOT NULL, params_numbers BLOB NOT NULL,
            numbers BLOB NOT NULL);
        CREATE TABLE draws (position INTEGER PRIMARY KEY, round INTEGER NOT NULL,
            id TEXT NOT NULL, q REAL CHECK (q > 0), imputed BLOB NOT NULL);
        CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, of INTEGER,
            data TEXT, hash BLOB NOT NULL)
        """,
    )
    for *row, choices, params, statistics, groups, imputed_sum, count, aims, shares in old:
        texts = (statistics, groups, imputed_sum, count, aims, shares)
        parts = (None if text is None else json.loads(text) for text in texts)
        record = dict(zip(PARTS, parts, strict=True))
        insert_round(db, row, pack_round(json.loads(choices), json.loads(params), record))
    db.executemany("INSERT INTO draws VALUES (?, ?, ?, ?, ?)", drawn)
    chain_older(db)


def _m006_rounds_of_some_items(db: sqlite3.Connection) -> None:
    """The tables stay as they are, but rounds may have drawn from a part of the items.

    So they did where other items cannot change the metric (`drawn_from` in the record of a round),
    and where items have weights. A program that took their probabilities for those of draws from
    all items would estimate something else: it refuses a ledger of this number.
    """


def _execute(db: sqlite3.Connection, statements: str) -> None:
    """Run statements inside the open transaction, which executescript would commit."""
    for statement in statements.split(";"):
        db.execute(statement)


MIGRATIONS = [
    _m001_rounds_draws_and_labels,
    _m002_aims_of_rounds,
    _m003_picks_and_arrays,
    _m004_shares_of_groups,
    _m005_chain_and_numbers,
    _m006_rounds_of_some_items,
]
