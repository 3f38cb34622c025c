"""Every value of a ledger is in its hash chain: none can change and still be believed."""

import hashlib
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.ledger import chain
from activetest.ledger.contents import TABLES
from activetest.ledger.ledger import Answer, Ledger
from activetest.nouns.log import LABELLED, Objective, Round


def make_round(number: int, rows: list[int], size: int = 12) -> Round:
    """A round of a pool with ten classes, with as many numbers as the default surrogate has."""
    rng = np.random.default_rng(number)
    half = rng.normal(size=(size, size))
    params = {"mode": rng.normal(size=size).tolist(), "covariance": (half @ half.T).tolist()}
    return Round(
        number=number,
        rows=np.array(rows),
        prob=rng.random(len(rows)) / 3,
        choices={"metric": "error", "surrogate": "agreement", "groups": ["place"] * 20},
        params=params | {"cost": rng.random((2, 10)).tolist()},
        statistics=("zero_one", "log_loss", "brier"),
        groups=("", "place=tree"),
        imputed=rng.random((len(rows), 3)),
        imputed_sum=rng.random((2, 3)),
        count=np.array([90 - number, 40]),
        objectives=(Objective(("zero_one",), (1.0,), rng.random()),),
        fit_round=number,
    )


def record(ledger: Ledger, number: int, *rows: int) -> None:
    revision = ledger.record().revision
    ledger.record_round(make_round(number, [*rows]), [f"i{row}" for row in rows], revision=revision)


def answer(ledger: Ledger, *labels: tuple[str, str], source: str = "a.csv") -> None:
    answers = [Answer(id, "ann", LABELLED, label) for id, label in labels]
    ledger.add_answers(answers, source=source, revision=ledger.record().revision)


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    """A restart, two rounds, three files, the last of which was taken back."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    ledger = Ledger.create(path, seed=7, fingerprint="abc", rows=100)
    ledger.restart(seed=8, fingerprint="abd", revision=0)
    record(ledger, 1, 4, 2)
    answer(ledger, ("i4", "cat"), ("i2", "dog"))
    record(ledger, 2, 9)
    answer(ledger, ("i9", "owl"), ("i4", "dog"), source="b.csv")
    answer(ledger, ("i9", "cat"), source="c.csv")
    ledger.undo()
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path, content) -> Ledger:
    """A ledger with this content."""
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    return Ledger(path)


def change(ledger: Ledger, statement: str, *values) -> None:
    """Run a statement as somebody else."""
    with closing(sqlite3.connect(ledger.path)) as db, db:
        assert db.execute(statement, values).rowcount


def test_every_write_appends_to_the_chain(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        kinds = [kind for (kind,) in db.execute("SELECT kind FROM entries ORDER BY number")]
    assert kinds == ["study", "restart", "round", "file", "round", "file", "file", "undo"]
    before = ledger.hashes
    answer(ledger, ("i9", "cow"))
    assert ledger.hashes[:-1] == before
    assert Ledger(ledger.path).hashes == ledger.hashes


def test_a_hash_is_what_the_documentation_says(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        (time,) = db.execute("SELECT time FROM ingests WHERE number = 2").fetchone()
    rows = [[2, "b.csv", time, 5], [3, 2, "i9", "ann", 1, "owl"], [4, 2, "i4", "ann", 1, "dog"]]
    text = json.dumps(["file", 2, None, rows], separators=(",", ":"))
    content = bytes.fromhex(ledger.hashes[4]) + text.encode("ascii")
    assert ledger.hashes[5] == hashlib.sha256(content).hexdigest()


def test_what_is_no_value_of_a_ledger_has_no_hash():
    with pytest.raises(TypeError, match="int64 is no value"):
        chain.link(b"", chain.ROUND, 1, None, [[np.int64(1)]])


COLUMNS = [(table, column) for table, columns in TABLES.items() for column in columns]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_no_value_can_change(ledger, table, column):
    """Of the last row of each table, to a value of the same type where there is one."""
    with closing(sqlite3.connect(ledger.path)) as db:
        query = f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL"
        row, value = db.execute(f"{query} ORDER BY rowid DESC").fetchone() or (1, None)
    changed = {
        int: lambda: value + 1,
        float: lambda: np.nextafter(value, 1),
        str: lambda: value[:-1] + chr(ord(value[-1]) ^ 1),
        bytes: lambda: value[:-1] + bytes([value[-1] ^ 1]),
        type(None): lambda: 1,
    }[type(value)]()
    change(ledger, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed, row)
    for refused in (Ledger(ledger.path).record, ledger.record):
        with pytest.raises(StudyError, match="is damaged") as error:
            refused()
        assert "study.verify()" in error.value.hint


@pytest.mark.parametrize("table", [table for table in TABLES if table != "meta"])
def test_no_row_can_go_or_come_twice(ledger, table):
    place = f"rowid = (SELECT MIN(rowid) FROM {table})"
    with closing(sqlite3.connect(ledger.path)) as db:
        row = db.execute(f"SELECT * FROM {table} WHERE {place}").fetchone()
    change(ledger, f"DELETE FROM {table} WHERE {place}")
    with pytest.raises(StudyError, match="is damaged"):
        Ledger(ledger.path).record()
    places = ", ".join("?" * len(row))
    change(ledger, f"INSERT INTO {table} VALUES ({places})", *row)
    assert Ledger(ledger.path).record() == Ledger(ledger.path).record()
    change(ledger, f"INSERT INTO {table} VALUES ({places})", 99, *row[1:])
    if table != "texts":
        with pytest.raises(StudyError, match="is damaged"):
            Ledger(ledger.path).record()


def test_what_is_damaged_is_located(ledger):
    change(ledger, "UPDATE draws SET q = q / 2 WHERE round = 2")
    with pytest.raises(StudyError, match=r"damaged: round 2 is not what was recorded"):
        Ledger(ledger.path).record()
    change(ledger, "UPDATE draws SET q = q * 2 WHERE round = 2")
    change(ledger, "UPDATE events SET label = 'cow' WHERE number = 3")
    with pytest.raises(StudyError, match=r"damaged: file of labels 2 \('b.csv'"):
        Ledger(ledger.path).record()


def test_an_undo_cannot_be_taken_out_of_the_table(ledger):
    change(ledger, "UPDATE ingests SET undone = NULL WHERE number = 3")
    with pytest.raises(StudyError, match="the undo of file of labels 3"):
        Ledger(ledger.path).record()


def test_nothing_is_added_to_a_damaged_ledger(ledger):
    revision = ledger.record().revision
    change(ledger, "UPDATE events SET label = 'cow' WHERE number = 3")
    content = ledger.path.read_bytes()
    for write in (
        lambda: ledger.add_answers([], source="x", revision=revision),
        lambda: ledger.record_round(make_round(3, [5]), ["i5"], revision=revision),
        ledger.undo,
    ):
        with pytest.raises(StudyError, match="damaged"):
            write()
    assert ledger.path.read_bytes() == content


def test_a_chain_that_is_not_complete_takes_its_rows_along(ledger, monkeypatch):
    """The entry and what it covers are one transaction."""
    before = ledger.record()

    def fail(*_, **__):
        raise OSError("no more")

    monkeypatch.setattr("activetest.ledger.entries.append_entry", fail)
    with pytest.raises(OSError, match="no more"):
        answer(ledger, ("i9", "cow"))
    monkeypatch.undo()
    assert Ledger(ledger.path).record() == before


# --- many rounds


def test_a_round_of_one_item_takes_little_space(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db", seed=7, fingerprint="abc", rows=1000)
    sizes = []
    for number in range(1, 41):
        record(ledger, number, number)
        answer(ledger, (f"i{number}", "cat"))
        sizes.append(ledger.path.stat().st_size)
    assert sizes[-1] - sizes[9] < 30 * 1700


def test_what_nobody_looks_at_is_not_unpacked(ledger, monkeypatch):
    def fail(*_):
        raise AssertionError("unpacked")

    monkeypatch.setattr("activetest.ledger.rounds.decompress_matrices", fail)
    rounds = Ledger(ledger.path).rounds(np.array([4, 2, 9]))
    assert [each.choices is rounds[0].choices for each in rounds] == [True, True]
    assert [each.statistics is rounds[0].statistics for each in rounds] == [True, True]
    with pytest.raises(AssertionError, match="unpacked"):
        rounds[0].params["mode"]
