"""Everything that can be wrong with a ledger and the files of its rounds, listed."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from activetest.errors import StudyError
from activetest.ledger.arrays import check_arrays, list_files
from activetest.ledger.contents import Contents, read_contents
from activetest.ledger.ledger import Ledger, OtherVersion, call_newer

# Messages of SQLite about one file.
_MOST = 20


@dataclass(frozen=True)
class Inspection:
    """Result of an inspection.

    contents  None where they cannot be read
    problems  sentences about the ledger; none when all is well
    files     sentences about the files of rounds
    """

    contents: Contents | None
    problems: tuple[str, ...]
    files: tuple[str, ...] = ()


def inspect_ledger(path: Path) -> Inspection:
    """Check the file by SQLite's own rules, its chain of hashes, and the files of its rounds.

    Raises OtherVersion for a ledger that is not damaged, and that this version does not read.
    """
    try:
        ledger = Ledger(path)
    except OtherVersion:
        raise
    except StudyError as error:
        return Inspection(None, (error.problem,))
    problems: list[str] = []
    try:
        with ledger, ledger.reading() as db:
            try:
                rows = db.execute(f"PRAGMA integrity_check({_MOST})").fetchall()
                problems += [str(text) for (text,) in rows if text != "ok"]
            except sqlite3.DatabaseError as error:
                problems.append(str(error))
            contents = read_contents(db)
    except StudyError as error:
        return Inspection(None, (*problems, error.problem))
    problems += contents.list_problems()
    if contents.newer:
        newer = call_newer(path, contents.newer)
        if not problems:
            raise newer
        problems.append(newer.problem)
    return Inspection(contents, tuple(problems), tuple(_check_files(contents, path)))


def _check_files(contents: Contents, path: Path) -> Iterator[str]:
    """Problems of the files of rounds."""
    names = {
        name: each.number
        for each in reversed(contents.rounds)
        if each.arrays
        for name in list_files(each.arrays)
    }
    for name, number in reversed(names.items()):
        try:
            check_arrays(path.parent / "rounds", name)
        except StudyError as error:
            yield f"{error.problem} (of round {number})"
