"""The tables of a ledger: numbered migrations, each run once, bring an older ledger up to date.

Numbers count from version 0.3 on. Ledgers of the versions before it are recognised and refused.
"""

import sqlite3

from activetest.ledger.tables import TABLES

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
    """The tables of version 0.3, which are those of the module tables.

    A migration that adds a column to them has to leave it out here.
    """
    for table, columns in TABLES.items():
        key, *others = columns
        stated = [f"{key} INTEGER PRIMARY KEY"]
        for name in others:
            kind, *empty = columns[name]
            check = _CHECKS.get((table, name), "" if empty else " NOT NULL")
            stated.append(f"{name} {_KINDS[kind]}{check}")
        db.execute(f"CREATE TABLE {table} ({', '.join(stated)})")


# SQLite's names of the types of columns, and its checks besides.
_KINDS = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
_CHECKS = {("draws", "q"): " CHECK (q > 0)"}
MIGRATIONS = [_m001_tables]
