"""The ledger keeps what it was given, all or none, and says when somebody else wrote."""

import sqlite3
from contextlib import closing
from dataclasses import fields, replace

import numpy as np
import pytest

from activetest.errors import StorageError, StudyError
from activetest.ledger.ledger import Answer, Ledger, LedgerMoved
from activetest.ledger.migrations import MIGRATIONS
from activetest.nouns.log import DECLINED, LABELLED, Objective, Round
from activetest.nouns.study_lists import AskedGate, Part, PartDraws, Plan, Target
from tests import makers

GATE = AskedGate("error<=.1", {"metric": "error"}, "<=", 0.1, 0.95, "anytime")


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return makers.new_ledger(tmp_path / "ledger.db")


def a_round(number: int, rows: list[int]) -> Round:
    """A round of one statistic and two groups, with numbers that decimal places cannot hold."""
    rng = np.random.default_rng(number)
    return Round(
        number=number,
        rows=np.array(rows),
        q=rng.random(len(rows)) / 3,
        choices={"metric": "error", "floor": 0.35, "groups": ["a*b"]},
        params={"mode": [1 / 3, -1e-17]},
        statistics=("zero_one",),
        groups=("", "place=tree"),
        imputed=rng.random((len(rows), 1)),
        imputed_sum=rng.random((2, 1)),
        count=np.array([90, 40]),
        objectives=(
            Objective(("tp:1", "fp:1"), (2 / 3, -1e-17), 1 / 7),
            Objective(("zero_one",), (1.0,), rng.random()),
        ),
        fit_round=number,
        parts=(PartDraws(1, len(rows) + 1),),
        targets=(
            Target({"metric": "recall", "class": "a"}, 1 / 3),
            Target({"metric": "f1"}, 2 / 3),
        ),
        looks=(20, 40),
    )


def add(ledger: Ledger, *answers: tuple, source: str = "file") -> None:
    """Answers (id, label) by nobody in particular."""
    answers = [Answer(id, "", LABELLED, label) for id, label in answers]
    ledger.add_answers(answers, source=source, revision=ledger.record().revision)


def draw(ledger: Ledger, number: int, *rows: int) -> None:
    revision = ledger.record().revision
    ledger.record_round(a_round(number, rows), [f"i{row}" for row in rows], revision=revision)


def test_a_round_comes_back_bit_for_bit(ledger):
    first, second = a_round(1, [4, 2]), a_round(2, [9])
    ledger.record_round(first, ["i4", "i2"], revision=0)
    ledger.record_round(second, ["i9"], revision=1)
    again = Ledger(ledger.path).rounds(np.array([4, 2, 9]))
    for given, kept in zip((first, second), again, strict=True):
        for field in fields(Round):
            left, right = getattr(given, field.name), getattr(kept, field.name)
            assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right
    assert [draw.q for draw in ledger.record().draws] == [*first.q, *second.q]
    assert len(ledger.rounds(np.array([4, 2]))) == 1


def test_what_was_computed_from_an_older_revision_is_refused(ledger):
    add(ledger, ("i1", "cat"))
    before = ledger.record()
    with pytest.raises(LedgerMoved):
        ledger.record_round(a_round(1, [4]), ["i4"], revision=before.revision - 1)
    with pytest.raises(LedgerMoved):
        ledger.add_answers([], source="late", revision=before.revision - 1)
    assert ledger.record() == before


def test_a_log_goes_only_into_a_ledger_in_which_nothing_is_written(ledger):
    add(ledger, ("i1", "cat"))
    before = ledger.record()
    with pytest.raises(LedgerMoved):
        ledger.record_log([(a_round(1, [4]), ["i4"])], [], source="log")
    assert ledger.record() == before


def test_the_draws_of_a_log_are_numbered_from_one(ledger):
    rounds = [(a_round(1, [4, 2]), ["i4", "i2"]), (a_round(2, [9]), ["i9"])]
    ledger.record_log(rounds, [Answer("i4", "", LABELLED, "cat")], source="log")
    with closing(sqlite3.connect(ledger.path)) as db, db:
        positions = db.execute("SELECT position FROM draws ORDER BY position").fetchall()
        files = db.execute("SELECT number FROM files").fetchall()
        answers = db.execute("SELECT number FROM answers").fetchall()
    assert (positions, files, answers) == ([(1,), (2,), (3,)], [(1,)], [(1,)])


def test_no_item_is_drawn_twice(ledger):
    draw(ledger, 1, 4)
    before = ledger.record()
    for rows in ((5, 4), (5, 5)):
        with pytest.raises(ValueError, match="once"):
            draw(ledger, 2, *rows)
    assert ledger.record() == before


def test_of_two_answers_by_one_annotator_the_later_counts_and_the_earlier_is_kept(ledger):
    add(ledger, ("i1", "cat"), ("i2", "dog"))
    add(ledger, ("i1", "owl"), source="later")
    assert {a.id: a.label for a in ledger.record().answers} == {"i1": "owl", "i2": "dog"}
    with closing(sqlite3.connect(ledger.path)) as db, db:
        values = db.execute("SELECT value FROM answers WHERE id = 'i1' ORDER BY number").fetchall()
    assert values == [('"cat"',), ('"owl"',)]
    assert ledger.undo().source == "later"
    assert {a.id: a.label for a in ledger.record().answers} == {"i1": "cat", "i2": "dog"}


def test_labels_that_were_something_else_before_are_counted(ledger):
    add(ledger, ("i1", "cat"), ("i2", "dog"))
    add(ledger, ("i2", "dog"))
    assert ledger.count_replaced() == 0
    add(ledger, ("i1", "owl"))
    assert ledger.count_replaced() == 1


def test_files_are_taken_back_one_by_one_the_last_first(ledger):
    for number in range(3):
        add(ledger, (f"i{number}", "cat"), source=f"file {number}")
    assert [ledger.undo().source for _ in range(3)] == ["file 2", "file 1", "file 0"]
    assert ledger.undo() is None
    assert ledger.record().answers == ()


def test_the_last_file_that_counts_is_known_and_taken_back_only_at_its_revision(ledger):
    assert ledger.last_file() is None
    add(ledger, ("i1", "cat"), source="first")
    revision = ledger.record().revision
    add(ledger, ("i2", "dog"), ("i3", "owl"), source="second")
    source, answers = ledger.last_file()
    assert (source, [(each.id, each.label) for each in answers]) == (
        "second",
        [("i2", "dog"), ("i3", "owl")],
    )
    with pytest.raises(LedgerMoved):
        ledger.undo(revision=revision)
    assert len(ledger.record().answers) == 3
    assert ledger.undo(revision=ledger.record().revision).source == "second"
    assert ledger.last_file()[0] == "first"


def test_annotators_are_told_apart(ledger):
    answers = [Answer("i1", "ann", LABELLED, "cat"), Answer("i1", "bob", DECLINED, "")]
    ledger.add_answers(answers, source="file", revision=0)
    assert ledger.record().answers == tuple(answers)


def test_of_several_answers_by_one_annotator_the_last_counts(ledger):
    add(ledger, ("i1", "cat"), ("i2", "dog"))
    add(ledger, ("i3", "dog"), ("i1", "dog"))
    labels = [(each.id, each.label) for each in ledger.record().answers]
    assert labels == [("i2", "dog"), ("i3", "dog"), ("i1", "dog")]


def test_a_second_answer_does_not_move_the_round_that_knew_the_first(ledger):
    add(ledger, ("i1", "cat"))
    draw(ledger, 1, 7)
    add(ledger, ("i2", "cat"), ("i1", "dog"))
    assert ledger.record().supplied == {"i1": 1, "i2": None}
    draw(ledger, 2, 8)
    assert [*ledger.record().supplied.items()] == [("i1", 1), ("i2", 2)]


def test_supplied_labels_have_the_first_round_that_knew_them(ledger):
    add(ledger, ("i1", "cat"))
    draw(ledger, 1, 50)
    add(ledger, ("i2", "cat"), ("i50", "dog"))
    assert ledger.record().supplied == {"i1": 1, "i2": None}
    draw(ledger, 2, 51)
    assert ledger.record().supplied == {"i1": 1, "i2": 2}


def test_a_label_that_no_round_knew_leaves_no_trace_when_taken_back(ledger):
    add(ledger, ("i1", "cat"))
    ledger.undo()
    draw(ledger, 1, 50)
    assert ledger.record().supplied == {}


def test_a_label_that_a_round_knew_is_remembered_when_taken_back(ledger):
    add(ledger, ("i1", "cat"))
    draw(ledger, 1, 50)
    ledger.undo()
    draw(ledger, 2, 51)
    record = ledger.record()
    assert record.answers == ()
    assert record.supplied == {"i1": 1}


def test_a_writer_waits_a_minute_for_another(ledger):
    assert ledger._db.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


def test_every_write_takes_its_lock_before_it_reads(ledger):
    """Two that read first and write then would each wait for the other."""
    statements: list[str] = []
    ledger._db.set_trace_callback(statements.append)
    answers = [Answer("i3", "", LABELLED, "a")]
    writes = [
        lambda revision: ledger.restart(seed=1, fingerprint="b", revision=revision),
        lambda revision: ledger.record_round(a_round(1, [3]), ["i3"], revision=revision),
        lambda revision: ledger.add_answers(answers, source="file", revision=revision),
        lambda revision: ledger.undo(),
        lambda revision: ledger.record_gates([GATE]),
        lambda revision: ledger.record_plan(Plan(budget=40)),
    ]
    for write in writes:
        revision = ledger.record().revision
        statements.clear()
        write(revision)
        begins = [each for each in statements if each.startswith("BEGIN")]
        assert begins[-1] == "BEGIN IMMEDIATE"
    statements.clear()
    ledger.record()
    assert [each for each in statements if each.startswith("BEGIN")] == ["BEGIN DEFERRED"]


def test_a_full_disk_is_a_storage_error_and_changes_nothing(ledger):
    draw(ledger, 1, 1, 2)
    before = ledger.record()
    pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
    ledger._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="full"):
        add(ledger, *((f"i{row}" * 10, "cat") for row in range(2000)))
    assert ledger.record() == before
    assert Ledger(ledger.path).record() == before


def test_a_folder_that_takes_no_journal_is_a_storage_error(ledger):
    (ledger.path.parent / "ledger.db-journal").mkdir()
    with pytest.raises(StorageError, match="ledger.db"):
        add(ledger, ("i1", "cat"))


@pytest.mark.parametrize("where", ["below-a-file", "nowhere"])
def test_a_ledger_cannot_be_made_where_no_folder_is(where, tmp_path):
    (tmp_path / "below-a-file").write_text("not a folder")
    with pytest.raises(StorageError):
        makers.new_ledger(tmp_path / where / "ledger.db", seed=1, fingerprint="a", rows=1)


def test_a_ledger_of_a_version_before_0_3_is_refused_in_one_sentence_and_left_alone(tmp_path):
    path = makers.write_older_ledger(tmp_path / "ledger.db")
    content = path.read_bytes()
    with pytest.raises(StudyError) as error:
        Ledger(path)
    assert error.value.problem == f"{path} is from a version of activetest before 0.3"
    assert "`study.export()`" in error.value.hint and "from_draws" in error.value.hint
    assert path.read_bytes() == content


def test_a_ledger_from_a_newer_version_is_refused_and_left_alone(ledger):
    with closing(sqlite3.connect(ledger.path)) as db, db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    content = ledger.path.read_bytes()
    with pytest.raises(StudyError, match="newer version") as error:
        Ledger(ledger.path)
    assert "upgrade" in error.value.hint
    assert ledger.path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_a_file_that_is_no_ledger_is_refused(tmp_path, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(StudyError, match="ledger.db"):
        Ledger(path)


def test_a_torn_ledger_is_called_damaged(ledger):
    draw(ledger, 1, *range(90))
    content = bytearray(ledger.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    ledger.path.write_bytes(content)
    with pytest.raises(StudyError, match="damaged"):
        Ledger(ledger.path).record()


def test_a_ledger_that_is_missing_is_not_made_anew(tmp_path):
    with pytest.raises(StudyError, match="missing"):
        Ledger(tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_commit_waits_for_the_folder_of_its_journal(ledger):
    extra = 3  # of PRAGMA synchronous; less lets a power cut take a commit back
    assert ledger._db.execute("PRAGMA synchronous").fetchone() == (extra,)


# --- answers, raters, gates and plans


def read(ledger: Ledger, query: str) -> list[tuple]:
    """Rows as SQLite has them."""
    with closing(sqlite3.connect(ledger.path)) as db:
        return db.execute(query).fetchall()


def test_the_value_of_an_answer_is_a_text_for_a_class_and_a_number_for_a_number(ledger):
    declined = Answer("i3", "", DECLINED, "")
    answers = [Answer("i1", "", LABELLED, "2.5"), Answer("i2", "", LABELLED, 'a "b" ö'), declined]
    ledger.add_answers(answers, source="classes", revision=0)
    numbers = [Answer(f"n{label}", "", LABELLED, label) for label in ("2.5", "1e+16", "-0.0")]
    ledger.add_answers(numbers, source="numbers", revision=1, numeric=True)
    values = [value for (value,) in read(ledger, "SELECT value FROM answers ORDER BY number")]
    assert values == ['"2.5"', '"a \\"b\\" \\u00f6"', None, "2.5", "1e+16", "-0.0"]
    assert ledger.record().answers == (*answers, *numbers)
    assert Ledger(ledger.path).record().answers == (*answers, *numbers)


def test_a_rater_is_recorded_with_the_first_file_that_names_them(ledger):
    for source, names in (("a", ["", "ann"]), ("b", ["ann"]), ("c", ["bob", "ann", "cid"])):
        answers = [Answer("i1", name, LABELLED, "cat") for name in names]
        ledger.add_answers(answers, source=source, revision=ledger.record().revision)
    found = read(ledger, "SELECT number, entry, name, kind FROM raters ORDER BY number")
    assert found == [
        (1, 1, "", "people"),
        (2, 2, "ann", "people"),
        (3, 4, "bob", "people"),
        (4, 4, "cid", "people"),
    ]
    given = read(ledger, "SELECT file, rater FROM answers ORDER BY number")
    assert given == [(1, 1), (1, 2), (2, 2), (3, 3), (3, 2), (3, 4)]


def test_a_study_begins_with_one_part_one_model_one_criterion_and_one_rater(tmp_path):
    part = Part("pool", "../data/pool.csv", "csv", "abc", 100)
    ledger = Ledger.create(tmp_path / "ledger.db", seed=7, part=part, plan=Plan(budget=40))
    for table, expected in {
        "parts": (1, 1, "pool", "../data/pool.csv", "csv", "abc", 100),
        "models": (1, 1, "model"),
        "criteria": (1, 1, "label"),
        "raters": (1, 1, "", "people"),
    }.items():
        ((*row,),) = read(ledger, f"SELECT * FROM {table}")
        assert tuple(row[: len(expected)]) == expected
    assert ledger.plan() == Plan(budget=40.0)
    assert (ledger.fingerprint, ledger.rows, ledger.seed) == ("abc", 100, 7)


def test_gates_and_plans_come_back_and_move_no_revision(ledger):
    before, hashes = ledger.record(), ledger.hashes
    asked = {"requirement": "recall[a]@b=c>=.8", "source": "study.toml"}
    other = replace(
        GATE, expression={"metric": "recall", "class": "a", "group": {"b": "c"}}, op=">=", **asked
    )
    whole = replace(GATE, conditions={"population": True, "cluster": "user"})
    ledger.record_gates([GATE, other, whole])
    ledger.record_plan(Plan(budget=40, looks=5, last_look=40, spending="cubic"))
    for each in (ledger, Ledger(ledger.path)):
        assert each.gates() == (GATE, other, whole)
        assert each.plan() == Plan(40.0, "labels", 5, 40, "cubic")
        assert each.record() == before and each.hashes[: len(hashes)] == hashes
    # Results computed from that revision are still up to date.
    ledger.record_round(a_round(1, [4]), ["i4"], revision=before.revision)


def test_a_gate_is_recorded_once_however_it_is_written_and_whoever_asks(ledger):
    ledger.record_gates([GATE])
    hashes = ledger.hashes
    again = replace(GATE, requirement="error <= 0.10", source="study.toml")
    ledger.record_gates([GATE, again])
    Ledger(ledger.path).record_gates([again])
    assert ledger.hashes == hashes
    changes = {"level": 0.9}, {"interval": "fixed"}, {"threshold": 0.2}, {"op": ">="}
    others = [replace(GATE, **each) for each in changes]
    ledger.record_gates(others)
    assert ledger.gates() == (GATE, *others)


def test_a_plan_is_recorded_only_where_it_changes(ledger):
    plan = Plan(budget=40)
    ledger.record_plan(plan)
    hashes = ledger.hashes
    ledger.record_plan(Plan(budget=40.0))
    ledger.record_round(a_round(1, [4]), ["i4"], revision=0, plan=plan)
    assert len(ledger.hashes) == len(hashes) + 1
    ledger.record_round(a_round(2, [5]), ["i5"], revision=1, plan=Plan(budget=50))
    assert [kind for (kind,) in read(ledger, "SELECT kind FROM entries ORDER BY number")] == [
        *("study", "plan", "round", "plan", "round")
    ]
    ledger.record_plan(plan)
    assert ledger.plan() == plan and len(read(ledger, "SELECT * FROM plans")) == 3


def test_a_closed_ledger_reads_nothing(tmp_path):
    with makers.new_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.seed == 7
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        ledger.record()
