"""Every value of a ledger is in its hash chain: none can change and still be believed."""

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import pytest

from activetest.errors import StorageError, StudyError
from activetest.ledger import chain
from activetest.ledger import ledger as ledgers
from activetest.ledger.contents import read_contents
from activetest.ledger.inspection import inspect_ledger
from activetest.ledger.ledger import Answer, Ledger, OtherVersion
from activetest.ledger.migrations import MIGRATIONS
from activetest.ledger.tables import (
    ROWS,
    TABLES,
    StoredAnswer,
    StoredCriterion,
    StoredDraw,
    StoredFile,
    StoredGate,
    StoredModel,
    StoredPart,
    StoredPlan,
    StoredRater,
)
from activetest.ledger.untrusted import _expected_schema
from activetest.nouns.log import LABELLED, Objective, Round
from activetest.nouns.study_lists import AskedGate, Plan
from tests import makers


def make_round(number: int, rows: list[int], size: int = 12) -> Round:
    """A round of a pool with ten classes, with as many numbers as the default surrogate has."""
    rng = np.random.default_rng(number)
    half = rng.normal(size=(size, size))
    params = {"mode": rng.normal(size=size).tolist(), "covariance": (half @ half.T).tolist()}
    return Round(
        number=number,
        rows=np.array(rows),
        q=rng.random(len(rows)) / 3,
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


def answer(
    ledger: Ledger, *labels: tuple[str, str], source: str = "a.csv", annotator: str = "ann"
) -> None:
    answers = [Answer(id, annotator, LABELLED, label) for id, label in labels]
    ledger.add_answers(answers, source=source, revision=ledger.record().revision)


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    """A restart, two rounds, three files, the last of which was taken back, a gate and a plan."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    ledger = makers.new_ledger(path)
    ledger.restart(seed=8, fingerprint="abd", revision=0)
    record(ledger, 1, 4, 2)
    answer(ledger, ("i4", "cat"), ("i2", "dog"))
    record(ledger, 2, 9)
    answer(ledger, ("i9", "owl"), ("i4", "dog"), source="b.csv", annotator="bob")
    answer(ledger, ("i9", "cat"), source="c.csv")
    ledger.undo()
    expression = {"metric": "recall", "class": "cat"}
    ledger.record_gates(
        [AskedGate("recall[cat]>=.8", expression, ">=", 0.8, 0.95, "fixed", "report", {"bound": 1})]
    )
    ledger.record_plan(Plan(40.0, "labels", 5, 40, "cubic", "sequential"))
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
    assert kinds == [
        *("study", "restart", "round", "file", "round", "file", "file", "undo", "gate", "plan")
    ]
    before = ledger.hashes
    answer(ledger, ("i9", "cow"))
    assert ledger.hashes[:-1] == before
    assert Ledger(ledger.path).hashes == ledger.hashes


def test_a_hash_is_what_the_documentation_says(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        (time,) = db.execute("SELECT time FROM files WHERE number = 2").fetchone()
    common = {"criterion": 1, "file": 2, "status": 1, "rater": 3}
    rows = [
        ["answers", common | {"id": "i9", "number": 3, "value": '"owl"'}],
        ["answers", common | {"id": "i4", "number": 4, "value": '"dog"'}],
        ["files", {"entry": 6, "number": 2, "revision": 5, "source": "b.csv", "time": time}],
        ["raters", {"entry": 6, "kind": "people", "name": "bob", "number": 3, "time": time}],
    ]
    rows = [[table, dict(sorted(row.items()))] for table, row in rows]
    text = json.dumps(["file", 2, None, rows], separators=(",", ":"))
    content = bytes.fromhex(ledger.hashes[4]) + text.encode("ascii")
    assert ledger.hashes[5] == hashlib.sha256(content).hexdigest()


def test_what_later_entries_change_is_in_their_data(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        query = "SELECT data FROM entries WHERE kind IN ('restart', 'undo') ORDER BY number"
        restart, undo = (json.loads(data) for (data,) in db.execute(query))
    fingerprints = {name: {"1": {"fingerprint": "abd"}} for name in ("parts", "models")}
    assert restart["set"] == {"meta": {"1": {"seed": 8}}} | fingerprints
    assert undo["set"] == {"files": {"3": {"undone": 7}}}


def test_what_is_no_value_of_a_ledger_has_no_hash():
    with pytest.raises(TypeError, match="int64 is no value"):
        chain.write_rows("raters", [StoredRater(np.int64(1), 1, "a", "person", None, "")], {})


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
        type(None): lambda: {str: "a", int: 1, float: 0.5}[TABLES[table][column][0]],
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
    change(ledger, "UPDATE answers SET value = '\"cow\"' WHERE number = 3")
    with pytest.raises(StudyError, match=r"damaged: file of labels 2 \('b.csv'"):
        Ledger(ledger.path).record()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE gates SET threshold = .7", r"gate 1 \('recall\[cat\]>=.8'\) is not"),
        ("UPDATE gates SET requirement = 'recall[cat]>=.7'", "gate 1 .* is not"),
        ("UPDATE plans SET budget = 400", "plan 1 is not"),
        ("UPDATE parts SET rows = 90", r"the beginning of the study \(.*part 1 \('pool'\)"),
        ("UPDATE parts SET fingerprint = 'abc'", r"the fingerprint of part 1 \('pool'\) is not"),
        ("UPDATE parts SET retired = 3", r"the retirement of part 1 \('pool'\) is not"),
        ("UPDATE models SET name = 'mine'", r"the beginning of the study \(.*model 1"),
        ("UPDATE criteria SET name = 'tone'", r"the beginning of the study \(criterion 1"),
        ("UPDATE raters SET name = 'cid' WHERE number = 3", "file of labels 2 .* with rater 3"),
        ("UPDATE raters SET price = 2 WHERE number = 1", r"the beginning of the study \(.*rater 1"),
        ("UPDATE answers SET rater = 2 WHERE number = 3", r"file of labels 2 \('b.csv'"),
        ("UPDATE meta SET seed = 7", "the seed of the study is not"),
        ("DELETE FROM gates", "gate 1 is not"),
        ("DELETE FROM plans", "plan 1 is not"),
        ("UPDATE plans SET entry = 77", "plan 1 is not"),
        ("INSERT INTO raters VALUES (4, 99, 'eve', '', 1, '')", r"rater 4 \('eve'\) is in no"),
    ],
)  # fmt: skip
def test_damage_is_found_and_named(ledger, statement, named):
    change(ledger, statement)
    with pytest.raises(StudyError, match=f"damaged: {named}"):
        Ledger(ledger.path).record()


@pytest.fixture
def later_version(monkeypatch):
    """As if a version to come, which has a column more in every table, opened ledgers."""

    def add_columns(db):
        for table in TABLES:
            db.execute(f"ALTER TABLE {table} ADD COLUMN added TEXT")

    for module in ("migrations", "ledger", "untrusted"):
        monkeypatch.setattr(f"activetest.ledger.{module}.MIGRATIONS", [*MIGRATIONS, add_columns])
    yield
    _expected_schema.cache_clear()


@pytest.mark.usefixtures("later_version")
def test_an_older_ledger_that_may_only_be_read_is_migrated_in_memory(
    content, tmp_path, monkeypatch
):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    connect = ledgers._connect

    def connect_for_reading(path):
        db = connect(path)
        # Read-only to SQLite, as a file without the right to write is; root has that right.
        db.execute("PRAGMA query_only = ON")
        return db

    monkeypatch.setattr(ledgers, "_connect", connect_for_reading)
    ledger = Ledger(path)
    assert ledger.seed == 8 and len(ledger.record().draws) == 3
    with closing(sqlite3.connect(path)) as db:
        entries = db.execute("SELECT hash FROM entries ORDER BY number").fetchall()
    assert ledger.hashes == [found.hex() for (found,) in entries]
    with pytest.raises(StorageError, match="cannot write"):
        ledger.undo()
    assert path.read_bytes() == content


def test_a_later_column_that_is_empty_changes_no_hash_and_nothing_that_is_read(
    ledger, content, request
):
    """As a version to come may add it to every table."""

    def tell(ledger: Ledger) -> tuple:
        rounds = ledger.rounds(np.array([4, 2, 9]))
        kept = [(dict(each.params), each.imputed.tolist(), each.objectives) for each in rounds]
        said = ledger.record(), ledger.hashes, ledger.gates(), ledger.plan(), ledger.list_log()
        return *said, kept

    told = tell(ledger)
    request.getfixturevalue("later_version")
    later = Ledger(ledger.path)
    assert ledger.path.read_bytes() != content
    assert tell(later) == told
    answer(later, ("i9", "cow"))
    assert Ledger(ledger.path).hashes[:-1] == told[1]
    # Rows that have the column as well, which that version reads.
    for table, kind in ROWS.items():
        wider = NamedTuple(f"Later_{table}", [(name, Any) for name in (*kind._fields, "added")])
        with closing(sqlite3.connect(ledger.path)) as db:
            (row,) = db.execute(f"SELECT * FROM {table} LIMIT 1")
        hashes = dict.fromkeys(range(99), "0f")
        (expected,) = chain.write_rows(table, [kind._make(row[:-1])], hashes)
        later = [wider._make(row), wider._make([*row[:-1], "x"])]
        empty, filled = chain.write_rows(table, later, hashes)
        assert empty == expected
        content = json.loads(filled)[1]
        assert content == json.loads(expected)[1] | {"added": "x"}
        assert [*content] == sorted(content)


def test_rows_are_hashed_as_json_writes_them():
    """Whatever columns have in common, and whatever is in them."""
    texts = ("a", 'b"\n', "%s%%", "\u00fc\udcff", "\x00", "a")
    floats = (0.1, 1e300, -0.0, 0.0, None, 2.0)
    bytes_ = (b"", b"\xff\x00", b"%", b"a", b"b", b"c")
    rows = [
        StoredDraw(place, 1, text, None, 1, 1, q, imputed)
        for place, (text, q, imputed) in enumerate(zip(texts, floats, bytes_, strict=True), 1)
    ]
    percents = [each._replace(id=f"{each.position}%d", repeat="%s", q=0.5) for each in rows]
    for several in (rows, percents, rows[:4], rows[:1], [rows[4]] * 2):
        expected = [
            [
                "draws",
                {
                    name: {"bytes": value.hex()} if isinstance(value, bytes) else value
                    for name, value in sorted(row._asdict().items())
                    if value is not None
                },
            ]
            for row in several
        ]
        found = chain.write_rows("draws", several, {})
        assert found == [json.dumps(row, separators=(",", ":")) for row in expected]


def test_an_entry_of_an_unknown_kind_is_from_a_newer_version(ledger):
    """Its rows are in the chain like all others, so that it is told from damage."""
    row = StoredRater(4, 11, "judge", "program", 0.02, "")
    named = chain.write_rows("raters", [row], {})
    head = chain.link(bytes.fromhex(ledger.hashes[-1]), "hire", 4, None, named)
    change(ledger, "INSERT INTO raters VALUES (?, ?, ?, ?, ?, ?)", *row)
    change(ledger, "INSERT INTO entries VALUES (11, 'hire', 4, NULL, ?)", head)
    # It may advance the revision as well.
    change(ledger, "UPDATE meta SET revision = revision + 1")
    content = ledger.path.read_bytes()
    with pytest.raises(StudyError) as error:
        Ledger(ledger.path).record()
    assert error.value.problem == (
        f"{ledger.path} is from a newer version of activetest: it has an entry of the kind 'hire'"
    )
    assert "upgrade" in error.value.hint
    assert ledger.path.read_bytes() == content
    with pytest.raises(OtherVersion, match="newer version .* 'hire'"):
        inspect_ledger(ledger.path)
    change(ledger, "UPDATE raters SET name = 'eve' WHERE number = 4")
    with pytest.raises(StudyError, match="damaged: entry 11 of the chain"):
        Ledger(ledger.path).record()


FILE = StoredFile(4, 11, "d.csv", "", 8, None)
ANSWER = StoredAnswer(6, 4, "i1", None, 1, 1, 1, '"cat"', None, None, None, None)
GATE = StoredGate(2, 11, "f1>=1", "{}", ">=", 1.0, 0.95, "fixed", "report", None, "")
DRAW = StoredDraw(9, 3, "i7", None, 1, 1, 0.5, b"")
RATER = StoredRater(4, 11, "eve", "people", None, "")
PART = StoredPart(2, 11, "later", "b.parquet", "parquet", "abe", 9, "", None)
MODEL = StoredModel(2, 11, "challenger", None, None, None, "abe", None, "", None)
PLAN = StoredPlan(2, 11, 40.0, "labels", None, None, None, "fixed", 0.95, "wrong", "")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ({"answers": [ANSWER._replace(value="[1")]}, "a value that is none"),
        ({"answers": [ANSWER._replace(value="true")]}, "a value that is none"),
        ({"answers": [ANSWER._replace(value="NaN")]}, "a value that is none"),
        ({"answers": [ANSWER._replace(value="1e999")]}, "a value that is none"),
        ({"answers": [ANSWER._replace(rater=9)]}, "a rater that is not there"),
        ({"gates": [GATE._replace(expression="[1]")]}, "gate 2 .* does not say what is asked"),
        ({"gates": [GATE._replace(conditions="{")]}, "gate 2 .* does not say what is asked"),
        ({"draws": [DRAW._replace(round=2, part=3)]}, "a part that is not there"),
        ({"draws": [DRAW._replace(round=2, position=2**63 - 1)]}, "draws has a number out of"),
        ({"draws": [DRAW._replace(round=1, position=2**53)]}, "are among those of another one"),
        ({"draws": [DRAW._replace(round=2, position=-(2**63))]}, "draws has a number out of"),
        ({"gates": [GATE._replace(number=2**63 - 1)]}, "gates has a number out of range"),
        ({"raters": [RATER._replace(number=-1)]}, "raters has a number out of range"),
    ],
)
def test_what_is_none_is_named_though_its_hash_holds(ledger, rows, problem):
    """A ledger that somebody else wrote, with all hashes computed again."""
    with pytest.raises(StudyError, match=problem), ledger._append() as (writer, _):
        writer.append(chain.FILE, of=4, rows={"files": [FILE], **rows})
        problems = list(read_contents(ledger._db).list_problems())
        raise StudyError("; ".join(problems), "")


@pytest.mark.parametrize(
    ("rows", "newer"),
    [
        ({"draws": [DRAW._replace(repeat="2")]}, "a repeat of an item"),
        ({"draws": [DRAW._replace(phase=2)]}, "a round of a second phase"),
        ({"answers": [ANSWER._replace(repeat="2")]}, "a repeat of an item"),
        ({"answers": [ANSWER._replace(criterion=2)]}, "an answer by a second criterion"),
        ({"answers": [ANSWER._replace(price=0.1)]}, "a price of an answer"),
        ({"answers": [ANSWER._replace(value='["cat", "owl"]')]}, "an answer of several classes"),
        ({"answers": [ANSWER._replace(value='{"x": 1.0}')]}, "an answer of several classes"),
        ({"raters": [RATER._replace(kind="program")]}, "a rater of the kind 'program'"),
        ({"raters": [RATER._replace(price=0.1)]}, "a price of an answer"),
        ({"models": [MODEL._replace(version="2")]}, "a version, a part or a removal of a model"),
        ({"models": [MODEL._replace(part=1)]}, "a version, a part or a removal of a model"),
        ({"models": [MODEL._replace(removed=9)]}, "a version, a part or a removal of a model"),
        ({"criteria": [StoredCriterion(2, 11, "tone", "")]}, "a second criterion"),
        ({"plans": [PLAN]}, "a plan by which declined items count as 'wrong'"),
    ],
)
def test_what_only_a_newer_version_records_is_not_misread(ledger, rows, newer):
    """The room for it is there, in entries of the kinds that there are, and no hash is wrong."""
    with ledger._append() as (writer, contents):
        if "draws" in rows:
            rows = {**rows, "rounds": [contents.rounds[-1]._replace(number=3, entry=11)]}
        changes = {
            table: {2: {"fingerprint": "abe"}} for table in ("parts", "models") if table in rows
        }
        if "models" in rows:
            changes["models"][2] |= {"removed": rows["models"][0].removed}
        writer.append(chain.FILE, of=4, rows={"files": [FILE], **rows}, changes=changes)
    with pytest.raises(StudyError, match="from a newer version") as error:
        Ledger(ledger.path).record()
    assert newer in error.value.problem
    assert "upgrade" in error.value.hint
    with pytest.raises(OtherVersion, match="from a newer version") as error:
        inspect_ledger(ledger.path)
    assert newer in error.value.problem


def test_a_seed_below_zero_is_damage(ledger):
    with ledger._append() as (writer, _):
        writer.append(chain.RESTART, changes={"meta": {1: {"seed": -5}}}, time="")
    with pytest.raises(StudyError, match="damaged: the seed is below zero"):
        Ledger(ledger.path).record()


@pytest.mark.parametrize("column", ["seed", "revision"])
@pytest.mark.parametrize("number", [-(2**63), -1, 2**53, 2**63 - 1, 1e20, "one", b"1"])
def test_a_number_of_the_study_that_is_none_is_damage_to_every_reader(ledger, column, number):
    change(ledger, f"UPDATE meta SET {column} = ?", number)
    with pytest.raises(StudyError, match="damaged: "):
        Ledger(ledger.path).record()
    assert inspect_ledger(ledger.path).problems
    with pytest.raises(StudyError, match="damaged: "):
        answer(Ledger(ledger.path), ("i9", "cat"))


def test_an_undo_cannot_be_taken_out_of_the_table(ledger):
    change(ledger, "UPDATE files SET undone = NULL WHERE number = 3")
    with pytest.raises(StudyError, match="the undo of file of labels 3"):
        Ledger(ledger.path).record()


def test_nothing_is_added_to_a_damaged_ledger(ledger):
    revision = ledger.record().revision
    change(ledger, "UPDATE answers SET value = '\"cow\"' WHERE number = 3")
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

    monkeypatch.setattr("activetest.ledger.entries.chain.link", fail)
    with pytest.raises(OSError, match="no more"):
        answer(ledger, ("i9", "cow"))
    monkeypatch.undo()
    assert Ledger(ledger.path).record() == before


# --- many rounds


def test_a_round_of_one_item_takes_little_space(tmp_path):
    ledger = makers.new_ledger(tmp_path / "ledger.db", rows=1000)
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
