"""Readable parts of a damaged ledger, row by row, and what cannot be read."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activetest.errors import StudyError
from activetest.ledger import chain
from activetest.ledger.contents import (
    GivenAnswer,
    UnreadableTable,
    is_refusal,
    parse_label,
    read_contents,
)
from activetest.ledger.history import Draw, LoggedRow, list_rows
from activetest.ledger.ledger import check_version
from activetest.ledger.migrations import is_older
from activetest.ledger.tables import TABLES, StoredFile
from activetest.ledger.untrusted import COMPANIONS, check_files, restrict
from activetest.nouns.log import DECLINED, LABELLED

# Errors of reading a damaged row.
_UNREADABLE = (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError)
# How far beyond the last row that can be read others are looked for.
_BEYOND = 2**16
_LARGEST = 2**62
# Bytes that the end of a file may lack, besides half of them.
_PADDING = 2**26


@dataclass(frozen=True)
class Recovered:
    """The rows that could be read, and sentences about what could not or is not as recorded."""

    rows: list[LoggedRow]
    problems: tuple[str, ...]


def rescue_rows(path: Path) -> Recovered:
    """Every draw and answer of a ledger that can still be read.

    The file is not changed. Raises StudyError where nothing can be read, or a version before 0.3
    wrote it.
    """
    if not path.is_file():
        raise StudyError(f"{path} is missing", "restore it from a backup: it holds every label")
    check_files(path)
    problems: list[str] = []
    try:
        with _opening_copy(path) as db:
            if is_older(db):
                check_version(db, path)
            times: dict[int, str] = {}
            for number, time in _read(db, "rounds", ("number", "time"), problems):
                times[number] = _to_text(time)
            drawn = _read(db, "draws", ("position", "round", "id", "q"), problems)
            files = [
                StoredFile(number, 0, _to_text(source), _to_text(time), 0, undone)
                for number, source, time, undone in _read(
                    db, "files", ("number", "source", "time", "undone"), problems
                )
            ]
            files += _list_taken_back(db, {file.number for file in files})
            raters = dict(_read(db, "raters", ("number", "name"), problems))
            of_answers = ("number", "file", "id", "rater", "status", "value")
            answers = [
                GivenAnswer(
                    number,
                    file,
                    _to_text(id),
                    _to_text(raters.get(rater, f"rater {rater}")),
                    status,
                    _read_label(value),
                )
                for number, file, id, rater, status, value in _read(
                    db, "answers", of_answers, problems
                )
                if status in (LABELLED, DECLINED)
            ]
            problems += _compare_with_chain(db)
    except sqlite3.DatabaseError as error:
        raise StudyError(
            f"nothing can be read of {path}: {error}", "restore it from a backup"
        ) from error
    draws = [
        Draw(_to_text(id), number, q if isinstance(q, float) else None)
        for _, number, id, q in drawn
        if isinstance(number, int)
    ]
    rows = list_rows(draws, times, files, answers)
    if not rows and problems:
        raise StudyError(f"nothing can be read of {path}: {problems[0]}", "restore a backup")
    return Recovered(rows, tuple(problems))


@contextmanager
def _opening_copy(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the ledger, as long as its first page states: SQLite refuses a shorter one.

    SQLite's steps to read a file, such as rolling back a journal, are done to the copy.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for suffix in COMPANIONS:
            file = path.with_name(path.name + suffix)
            if file.is_file():
                shutil.copyfile(file, copy.with_name(file.name))
        with open(copy, "rb+") as content:
            header = content.read(32)
            size, pages = (int.from_bytes(header[at]) for at in (slice(16, 18), slice(28, 32)))
            # 65,536 does not fit into two bytes.
            stated = (2**16 if size == 1 else size) * pages
            if path.stat().st_size < stated <= 2 * path.stat().st_size + _PADDING:
                content.truncate(stated)
        db = sqlite3.connect(copy, isolation_level=None)
        with closing(db):
            restrict(db)
            db.text_factory = lambda text: text.decode("utf-8", "replace")
            yield db


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _read_label(value: Any) -> str:
    """The label of an answer; what is no value of an answer as it is."""
    try:
        return parse_label(value)
    except (TypeError, ValueError, RecursionError):
        return _to_text(value)


def _read(
    db: sqlite3.Connection, table: str, columns: Sequence[str], problems: list[str]
) -> list[tuple]:
    """The rows of a table that can be read; what cannot is added to the problems."""
    query = f"SELECT rowid, {', '.join(columns)} FROM {table} NOT INDEXED WHERE rowid >= ?"
    rows: list[tuple] = []
    gaps: list[str] = []
    reason, first = "", -_LARGEST
    while first < _LARGEST:
        try:
            for row in db.execute(f"{query} ORDER BY rowid", (first,)):
                rows.append(row)
            break
        except _UNREADABLE as error:
            if is_refusal(error):
                raise
            reason = reason or str(error)
        first = rows[-1][0] + 1 if rows else 1
        after = _find_readable(db, query, first)
        gaps.append(f"{first} to {after - 1}" if after < _LARGEST else f"{first} and beyond")
        first = after
    if gaps:
        where = ", ".join(gaps[:5]) + " and more" * (len(gaps) > 5)
        count = f"{len(rows):,} rows were read"
        problems.append(f"the table {table}: rows {where} cannot be read ({reason}); {count}")
    return [row[1:] for row in rows]


def _find_readable(db: sqlite3.Connection, query: str, first: int) -> int:
    """The number from which on rows can be read again, after `first`; _LARGEST where none can."""

    def can_read(number: int) -> bool:
        try:
            return bool(db.execute(f"{query} ORDER BY rowid LIMIT 1", (number,)).fetchall())
        except _UNREADABLE:
            return False

    step = 1
    while not can_read(first + step):
        step *= 2
        if step > _BEYOND:
            return _LARGEST
    # Somewhere in the last step: rows before it cannot be read.
    low, high = first + step // 2, first + step
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if can_read(middle) else (middle, high)
    return high


def _list_taken_back(db: sqlite3.Connection, known: set[int]) -> list[StoredFile]:
    """The files, not among those known, that were taken back by what can be read of the chain."""
    entries = _read(db, "entries", ("kind", "of"), [])
    return [
        StoredFile(number, 0, None, None, 0, 0)
        for kind, number in entries
        if kind == chain.UNDO and number not in known
    ]


def _compare_with_chain(db: sqlite3.Connection) -> list[str]:
    """Readable contents that are not what was recorded; nothing where a table is missing."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if not set(TABLES) <= names:
        return []
    try:
        return [*read_contents(db).list_problems()]
    except UnreadableTable as error:
        return [f"what was read cannot be compared with the chain of hashes: {error}"]
