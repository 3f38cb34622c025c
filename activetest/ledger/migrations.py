"""The tables of a ledger: numbered migrations, each run once, bring an older ledger up to date.

Numbers count from version 0.3 on. Ledgers of the versions before it are recognised and refused.
"""

import sqlite3

# Marks a file as a ledger of 0.3 or later, in the bytes that SQLite keeps for that: "acts".
APPLICATION = 0x61637473


def migrate(db: sqlite3.Connection) -> None:
    """Bring the schema up to date, inside an open transaction."""
    done = db.execute("PRAGMA user_version").fetchone()[0]
    for migration in MIGRATIONS[done:]:
        migration(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def is_older(db: sqlite3.Connection) -> bool:
    """Whether a version before 0.3 made the tables."""
    query = "SELECT count(*) FROM sqlite_master WHERE name IN ('ingests', 'events')"
    return bool(db.execute(query).fetchone() == (2,))


def _m001_tables(db: sqlite3.Connection) -> None:
    """The tables of version 0.3. What they hold is said in the module tables."""
    _execute(
        db,
        """
        CREATE TABLE meta (number INTEGER PRIMARY KEY, seed INTEGER NOT NULL,
            revision INTEGER NOT NULL, time TEXT);
        CREATE TABLE parts (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, name TEXT NOT NULL,
            address TEXT NOT NULL, format TEXT NOT NULL, fingerprint TEXT NOT NULL,
            rows INTEGER NOT NULL, time TEXT, retired INTEGER);
        CREATE TABLE models (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, name TEXT NOT NULL,
            version TEXT, part INTEGER, source TEXT, fingerprint TEXT NOT NULL, trained INTEGER,
            time TEXT, removed INTEGER);
        CREATE TABLE criteria (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL,
            name TEXT NOT NULL, time TEXT);
        CREATE TABLE raters (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, name TEXT NOT NULL,
            kind TEXT NOT NULL, price REAL, time TEXT);
        CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
        CREATE TABLE rounds (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, time TEXT,
            labels_seen INTEGER NOT NULL, phase INTEGER NOT NULL, fit_round INTEGER,
            fit_labels INTEGER NOT NULL, arrays TEXT, choices INTEGER NOT NULL,
            params INTEGER NOT NULL, record INTEGER NOT NULL, params_numbers BLOB NOT NULL,
            numbers BLOB NOT NULL);
        CREATE TABLE draws (position INTEGER PRIMARY KEY, round INTEGER NOT NULL, id TEXT NOT NULL,
            repeat TEXT, part INTEGER NOT NULL, phase INTEGER NOT NULL, q REAL CHECK (q > 0),
            imputed BLOB NOT NULL);
        CREATE TABLE files (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, source TEXT,
            time TEXT, revision INTEGER NOT NULL, undone INTEGER);
        CREATE TABLE answers (number INTEGER PRIMARY KEY, file INTEGER NOT NULL, id TEXT NOT NULL,
            repeat TEXT, criterion INTEGER NOT NULL, rater INTEGER NOT NULL,
            status INTEGER NOT NULL, value TEXT, price REAL, seconds REAL, time TEXT, comment TEXT);
        CREATE TABLE gates (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL,
            requirement TEXT NOT NULL, expression TEXT NOT NULL, op TEXT NOT NULL,
            threshold REAL NOT NULL, level REAL NOT NULL, interval TEXT NOT NULL,
            source TEXT NOT NULL, conditions TEXT, time TEXT);
        CREATE TABLE plans (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL, budget REAL,
            unit TEXT NOT NULL, looks INTEGER, last_look INTEGER, spending TEXT,
            interval TEXT NOT NULL, level REAL NOT NULL, declined TEXT NOT NULL, time TEXT);
        CREATE TABLE entries (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, of INTEGER,
            data TEXT, hash BLOB NOT NULL)
        """,
    )


def _execute(db: sqlite3.Connection, statements: str) -> None:
    """Run statements inside the open transaction, which executescript would commit."""
    for statement in statements.split(";"):
        db.execute(statement)


MIGRATIONS = [_m001_tables]
