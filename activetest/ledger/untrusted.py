"""Checks before SQLite uses a ledger: a study folder may come from somebody else.

SQLite does what a database file says: triggers run on every write, constraints may drop rows
silently, and a journal may name a file that SQLite removes when it rolls back. A ledger of ours has
none of these, so a file that has any is refused before it is read or written.
"""

import os
import re
import sqlite3
import sys
from functools import cache
from pathlib import Path

from activetest.errors import StudyError
from activetest.ledger.migrations import MIGRATIONS

# Suffixes of the files that SQLite keeps with a database.
COMPANIONS = ("", "-journal", "-wal", "-shm")
# The last bytes of a journal that names a file: the one of a transaction over several databases.
_NAMES_A_FILE = bytes.fromhex("d9d505f920a163d7")
# Tables that SQLite itself makes: whoever ran ANALYZE has them.
_OF_SQLITE = {"sqlite_stat1", "sqlite_stat4"}
_HINT = "restore ledger.db from a backup, or get the study folder again from where it is from"


def check_files(path: Path) -> None:
    """Raises StudyError where opening the ledger at `path` would touch files elsewhere.

    A link leads to another file, and a journal may name one.
    """
    for suffix in COMPANIONS:
        file = path.with_name(path.name + suffix)
        if file.is_symlink():
            raise StudyError(
                f"{file} is a link, and what the study records would be written elsewhere",
                "put the file itself in its place",
            )
    journal = path.with_name(f"{path.name}-journal")
    if _read_end(journal) == _NAMES_A_FILE:
        raise StudyError(
            f"{journal} names another file, which would be removed: no ledger leaves such a "
            "journal",
            _HINT,
        )


def restrict(db: sqlite3.Connection) -> None:
    """Let the schema of a database call no function that does more than compute."""
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    if sys.version_info >= (3, 12):
        # No statement can change the schema's own table.
        db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)


def check_schema(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Raises StudyError where a ledger of this version is anything but the tables it should be."""
    expected, found = _expected_schema(version), _read_schema(db)
    if found == expected:
        return
    differing = sorted({name for _, name, _ in found ^ expected})
    raise StudyError(
        f"{path} is no ledger as activetest writes it: {differing[0]!r} is not what it should be",
        _HINT,
    )


@cache
def _expected_schema(version: int) -> frozenset[tuple[str, str, str]]:
    """The schema after the first `version` migrations."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for migration in MIGRATIONS[:version]:
            migration(db)
        return _read_schema(db)
    finally:
        db.close()


def _read_schema(db: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """(type, name, statement) of all there is, but for spaces and quotation marks."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return frozenset(
        (str(kind), str(name), re.sub(r'[\s"]+', " ", str(statement)).strip())
        for kind, name, statement in rows
        if not (kind == "table" and name in _OF_SQLITE)
    )


def _read_end(path: Path) -> bytes:
    """The last bytes of a file, as many as _NAMES_A_FILE; none where there is no file."""
    try:
        with open(path, "rb") as file:
            file.seek(-len(_NAMES_A_FILE), os.SEEK_END)
            return file.read()
    except OSError:
        # Missing, shorter, or nothing that can be read: then SQLite cannot read it either.
        return b""
