"""A ledger that somebody else wrote: whatever is in it, nothing but our tables is used."""

import os
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from activetest.errors import StudyError
from activetest.ledger import untrusted
from activetest.ledger.ledger import Answer, Ledger
from activetest.ledger.migrations import MIGRATIONS, migrate
from activetest.nouns.log import LABELLED
from tests import makers


@pytest.fixture
def path(tmp_path) -> Path:
    """An empty ledger."""
    path = tmp_path / "study" / "ledger.db"
    path.parent.mkdir()
    makers.new_ledger(path, seed=1, fingerprint="abc", rows=100)
    return path


def add_label(path: Path) -> None:
    """Give an answer to a ledger."""
    ledger = Ledger(path)
    revision = ledger.record().revision
    ledger.add_answers([Answer("i1", "", LABELLED, "cat")], source="file", revision=revision)


# Each of these has SQLite do or drop something that nobody asked for.
HOSTILE = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
    "a trigger on a view": (
        "CREATE VIEW v AS SELECT * FROM answers; "
        "CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN DELETE FROM draws; END"
    ),
    "a view": "CREATE VIEW mine AS SELECT load_extension('x')",
    "a table": "CREATE TABLE more (x)",
    "an index that computes": "CREATE INDEX i ON answers (hex(value))",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
    "rows that are dropped": (
        "DROP TABLE criteria; CREATE TABLE criteria (number INTEGER PRIMARY KEY, entry INTEGER NOT "
        "NULL, name TEXT NOT NULL UNIQUE ON CONFLICT IGNORE, time TEXT)"
    ),
    "a column": "ALTER TABLE meta ADD COLUMN more TEXT",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_schema_that_is_not_ours_is_refused_and_left_alone(path, name):
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(HOSTILE[name])
    content = path.read_bytes()
    with pytest.raises(StudyError, match=r"no ledger as activetest writes it"):
        Ledger(path)
    assert path.read_bytes() == content


def test_whoever_had_sqlite_analyse_the_tables_can_go_on(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ANALYZE")
    add_label(path)
    assert len(Ledger(path).record().answers) == 1


def test_quotation_marks_and_spaces_of_other_versions_of_sqlite_do_not_matter(path):
    assert untrusted._expected_schema(len(MIGRATIONS))
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    changed = db.execute(
        "UPDATE sqlite_master SET sql = replace(replace(sql, ' (', '  ('), '\"', '')"
    )
    assert changed.rowcount > 4
    db.commit()
    db.close()
    add_label(path)


def test_a_schema_may_call_no_function_that_does_more_than_compute(path):
    ledger = Ledger(path)
    db = ledger._db
    assert db.execute("PRAGMA trusted_schema").fetchone() == (0,)
    assert db.execute("PRAGMA cell_size_check").fetchone() == (1,)


@pytest.mark.skipif(os.name == "nt", reason="only some users may make links on Windows")
@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
def test_a_link_to_another_file_is_not_followed(path, suffix):
    """SQLite writes a journal to where a link of its name leads."""
    target = path.parent.parent / "mine"
    target.write_bytes(path.read_bytes() if not suffix else bytes(4096))
    path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.with_name(path.name + suffix).symlink_to(target)
    content = target.read_bytes()
    with pytest.raises(StudyError, match="is a link"):
        Ledger(path)
    assert target.read_bytes() == content


def write_journal(path: Path, named: Path | None) -> None:
    """Leave the journal of a killed transaction, which names a file to remove."""
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 1')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "query = 'INSERT INTO files (entry, source, revision) VALUES (1, ?, 1)'\n"
        "for _ in range(2000):\n"
        "    db.execute(query, ('x' * 500,))\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    journal = path.with_name(f"{path.name}-journal")
    assert journal.stat().st_size
    if named is not None:
        name = os.fsencode(named)
        checksum = sum(byte if byte < 128 else byte - 256 for byte in name) & 0xFFFFFFFF
        with open(journal, "ab") as file:
            file.write(struct.pack(">I", 2**30 // 4096 + 1) + name)
            file.write(struct.pack(">II", len(name), checksum) + untrusted._NAMES_A_FILE)


def test_a_journal_that_names_a_file_removes_nothing(path, tmp_path):
    """SQLite takes it for the journal of several databases, and removes it after a rollback."""
    mine = tmp_path / "labels.csv"
    mine.write_text("id,label\ni1,cat\n")
    write_journal(path, mine)
    with pytest.raises(StudyError, match="names another file"):
        Ledger(path)
    assert mine.exists()


def test_the_journal_of_a_killed_program_is_rolled_back(path):
    content = path.read_bytes()
    write_journal(path, None)
    assert path.read_bytes() != content
    add_label(path)
    assert len(Ledger(path).record().answers) == 1


def test_migrations_of_an_empty_file_give_the_schema_that_is_expected(tmp_path):
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db:
        migrate(db)
        untrusted.check_schema(db, tmp_path / "ledger.db", len(MIGRATIONS))
