"""Records read from a damaged ledger, where from, and how far others are looked for."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.ledger.ledger import Answer, Ledger
from activetest.ledger.rescue import _LARGEST, _find_readable, _opening_copy, rescue_rows
from activetest.nouns.log import LABELLED, Round
from tests import makers


class BrokenRows:
    """Stands for a connection to a table with numbers up to 10^9; some rows cannot be read."""

    def __init__(self, *broken: range) -> None:
        self.broken, self.tried = broken, 0

    def execute(self, query: str, values: tuple[int]) -> "BrokenRows":
        self.tried += 1
        if any(values[0] in each for each in self.broken):
            raise sqlite3.DatabaseError("malformed")
        return self

    def fetchall(self) -> list[tuple[int]]:
        return [(0,)]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 1000, 2**16])
def test_the_first_row_after_those_that_cannot_be_read_is_found(length):
    db = BrokenRows(range(5, 5 + length))
    assert _find_readable(db, "", 5) == max(5 + length, 6)
    assert db.tried < 40


def test_rows_after_a_long_gap_are_given_up():
    assert _find_readable(BrokenRows(range(5, 6 + 2**16)), "", 5) == _LARGEST


@pytest.mark.parametrize("page", [512, 8192, 65536])
def test_a_file_that_was_cut_off_is_as_long_as_it_was_in_the_copy(tmp_path, page):
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size = {page}")
        db.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, text TEXT)")
        db.execute("INSERT INTO kept VALUES (1, ?)", ("x" * 5 * page,))
        db.commit()
    size = path.stat().st_size
    content = path.read_bytes()[: size - page]
    path.write_bytes(content)
    with _opening_copy(path) as db:
        ((_, _, copy),) = db.execute("PRAGMA database_list")
        assert Path(copy).read_bytes() == content + bytes(page)
        assert db.execute("SELECT number FROM kept").fetchall() == [(1,)]
    assert path.read_bytes() == content


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """A round of two items, one of which is labelled."""
    ledger = makers.new_ledger(tmp_path / "ledger.db", seed=1, fingerprint="abc", rows=9)
    drawn = Round(
        number=1,
        rows=np.array([4, 2]),
        q=np.array([0.25, 0.5]),
        choices={},
        params={},
        statistics=(),
        groups=(),
        imputed=np.empty((2, 0)),
        imputed_sum=np.empty((0, 0)),
        count=np.empty(0),
        objectives=(),
        fit_round=1,
    )
    ledger.record_round(drawn, ["i4", "i2"], revision=ledger.record().revision)
    answers = [Answer("i4", "", LABELLED, "cat")]
    ledger.add_answers(answers, source="a.csv", revision=ledger.record().revision)
    return ledger


def test_a_ledger_of_a_version_before_0_3_is_not_read(tmp_path):
    with pytest.raises(StudyError, match=r"before 0\.3") as error:
        rescue_rows(makers.write_older_ledger(tmp_path / "ledger.db"))
    assert "`study.export()`" in error.value.hint


def test_rows_about_a_rater_that_cannot_be_read_name_the_number(ledger):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        db.execute("DELETE FROM raters")
    found = rescue_rows(ledger.path)
    assert [row.annotator for row in found.rows] == ["rater 1", ""]
    assert found.problems


def test_texts_that_are_none_are_written_as_texts(ledger):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        db.execute("UPDATE rounds SET time = NULL")
        db.execute("UPDATE files SET source = NULL, time = CAST('09:30' AS BLOB)")
        db.execute("UPDATE answers SET value = CAST('cat' AS BLOB)")
    found = rescue_rows(ledger.path)
    assert [(row.id, row.round, row.probability) for row in found.rows] == [
        ("i4", 1, 0.25),
        ("i2", 1, 0.5),
    ]
    first, second = found.rows
    assert (first.source, second.time) == ("", "")
    assert (first.time, first.label) == (str(b"09:30"), str(b"cat"))
    assert found.problems
