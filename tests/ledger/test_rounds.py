"""Contents of rounds in the ledger: picks, arrays, and surrogates that were not fitted again."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from activetest.errors import StorageError, StudyError
from activetest.ledger.ledger import Ledger, LedgerMoved
from activetest.nouns.log import Allocation, ArmAllocation, Objective, Round
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests import makers
from tests.makers import init

ARRAYS = {
    "leaves": np.linspace(0, 1, 7, dtype=np.float32).reshape(7, 1),
    "codes": np.arange(5, dtype=np.int16),
    "names": np.array(["cat", "dög"]),
    "nothing": np.empty((0, 3)),
    "one": np.array(1 / 3),
    "across": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}
PLAIN = {"outputs": True, "scale": 1 / 3, "sizes": [3, 4], "file": "a name"}


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return makers.new_ledger(tmp_path / "ledger.db")


def a_round(number: int, rows: list[int], **changes) -> Round:
    fields = {
        "number": number,
        "rows": np.array(rows),
        "q": np.full(len(rows), 0.25),
        "choices": {"metric": "error"},
        "params": PLAIN | ARRAYS,
        "statistics": ("zero_one",),
        "groups": ("",),
        "imputed": np.full((len(rows), 1), 0.5),
        "imputed_sum": np.array([[9.5]]),
        "count": np.array([90]),
        "objectives": (Objective(("zero_one",), (1.0,), 0.1),),
        "fit_round": number,
    }
    return Round(**fields | changes)


def write(ledger: Ledger, *rounds: Round) -> tuple[Round, ...]:
    """The rounds, as they come back from the disk."""
    for each in rounds:
        ids = [f"i{row}" for row in each.rows]
        ledger.record_round(each, ids, revision=ledger.record().revision)
    rows = np.concatenate([each.rows for each in rounds])
    return Ledger(ledger.path).rounds(rows)


def files(ledger: Ledger) -> list:
    return sorted((ledger.path.parent / "rounds").glob("*"))


def same(params, others) -> None:
    assert set(params) == set(others)
    for name, value in others.items():
        if isinstance(value, np.ndarray):
            assert params[name].dtype == value.dtype, name
            np.testing.assert_array_equal(params[name], value)
        else:
            assert params[name] == value, name


# --- arrays


def test_parameters_come_back_with_every_array_as_it_was(ledger):
    (again,) = write(ledger, a_round(1, [4, 2]))
    same(again.params, PLAIN | ARRAYS)
    assert len(again.params) == len(PLAIN | ARRAYS)


def test_parameters_without_arrays_need_no_file(ledger):
    (again,) = write(ledger, a_round(1, [4], params=PLAIN))
    assert again.params == PLAIN
    assert files(ledger) == []


def test_rounds_that_learned_the_same_share_one_file(ledger):
    first, second, third = write(
        ledger,
        a_round(1, [4]),
        a_round(2, [5]),
        a_round(3, [6], params={"leaves": np.ones(3)}),
    )
    assert len(files(ledger)) == 2
    same(second.params, first.params)
    same(third.params, {"leaves": np.ones(3)})


@pytest.mark.parametrize("harm", ["missing", "cut off", "altered", "another file", "a folder"])
def test_a_file_that_is_not_what_it_was_is_found_out_when_somebody_looks(ledger, harm):
    write(ledger, a_round(1, [4]), a_round(2, [5], params={"leaves": np.ones(3)}))
    with closing(sqlite3.connect(ledger.path)) as db, db:
        ((name,),) = db.execute("SELECT arrays FROM rounds WHERE number = 1").fetchall()
    path = ledger.path.parent / "rounds" / name
    (another,) = (file for file in files(ledger) if file != path)
    content = path.read_bytes()
    path.unlink()
    if harm == "cut off":
        path.write_bytes(content[:-20])
    elif harm == "altered":
        path.write_bytes(content.replace(b"\x00\x00\x80\x3f", b"\x00\x00\x00\x3f"))
    elif harm == "another file":
        path.write_bytes(another.read_bytes())
    elif harm == "a folder":
        path.mkdir()
    # Nobody has to read what nobody asks for.
    first, second = Ledger(ledger.path).rounds(np.array([4, 5]))
    assert first.imputed.tolist() == [[0.5]]
    same(second.params, {"leaves": np.ones(3)})
    with pytest.raises(StudyError, match=name) as error:
        first.params["leaves"]
    assert "backup" in error.value.hint


def test_files_of_rounds_that_were_never_committed_do_no_harm(ledger):
    with pytest.raises(LedgerMoved):
        ledger.record_round(a_round(1, [4]), ["i4"], revision=99)
    (left,) = files(ledger)
    left.write_bytes(b"half of")
    (left.parent / f".{left.name}.0a0a.tmp").write_bytes(b"less")
    (again,) = write(ledger, a_round(1, [4]))
    same(again.params, PLAIN | ARRAYS)


def test_arrays_of_objects_are_refused_before_anything_is_written(ledger):
    odd = {"odd": np.array([{}, None], dtype=object)}
    with pytest.raises(ValueError, match="objects"):
        write(ledger, a_round(1, [4], params=odd))
    assert files(ledger) == []
    assert ledger.record().draws == ()


def test_a_report_of_what_rounds_recorded_needs_no_file(folder, write_pool, label_file):
    write_pool(folder / "pool.parquet", 40)
    init("pool.parquet", seed=1, surrogate="linear")
    for _ in range(2):
        ids = [row["id"] for row in next_batch(StoredStudy.open(), 5).rows]
        ingest(StoredStudy.open(), label_file(*(f"{item},cat" for item in ids)))
    whole = report(StoredStudy.open())
    assert report(StoredStudy.open(), metrics=("f1[dog]",)).estimates[0].n_labeled == 10
    shutil.rmtree(folder / ".activetest" / "rounds")
    assert report(StoredStudy.open()) == whole
    with pytest.raises(StudyError, match=r"rounds/[0-9a-f]+\.npz is missing"):
        report(StoredStudy.open(), metrics=("f1[dog]",))


def test_where_no_file_can_be_written_no_round_is(ledger):
    (ledger.path.parent / "rounds").write_text("not a folder")
    with pytest.raises(StorageError, match="rounds"):
        write(ledger, a_round(1, [4]))
    assert ledger.record().draws == ()


def test_a_surrogate_that_was_not_fitted_again_is_kept_once(ledger):
    first, second, third = write(
        ledger, a_round(1, [4]), a_round(2, [5], fit_round=1), a_round(3, [6])
    )
    assert [each.fit_round for each in (first, second, third)] == [1, 1, 3]
    assert second.params is first.params
    with closing(sqlite3.connect(ledger.path)) as db, db:
        kept = db.execute(
            "SELECT fit_round, text = '{}', arrays IS NULL FROM rounds JOIN texts ON "
            "params = texts.number ORDER BY rounds.number"
        ).fetchall()
    assert kept == [(None, 0, 0), (1, 1, 1), (None, 0, 0)]


# --- picks


def test_a_pick_has_no_probability(ledger):
    drawn, deterministic = a_round(1, [4, 2]), a_round(2, [5], q=np.array([np.nan]))
    again = write(ledger, drawn, deterministic)
    assert [each.deterministic for each in again] == [False, True]
    assert np.isnan(again[1].q).all()
    assert [draw.q for draw in ledger.record().draws] == [0.25, 0.25, None]


@pytest.mark.parametrize("prob", [[0.5, np.nan], [0.5, 0.0], [0.5, -0.1]])
def test_a_draw_without_a_probability_above_zero_is_refused(ledger, prob):
    with pytest.raises((ValueError, sqlite3.IntegrityError)):
        write(ledger, a_round(1, [4, 2], q=np.array(prob)))
    assert ledger.record().draws == ()


# --- rounds that chose between groups


def test_explored_arms_come_back_bit_for_bit(ledger):
    arms = (("F", "17-28"), ("M", "ö"))
    first = ArmAllocation(("sex", "age"), arms, (1 / 7, 1e-17), 1 / 3, True)
    none = ArmAllocation(("sex", "age"), (), (), 0.01, False)
    other = replace(first, arms=(arms[1], arms[0]), certain=False)
    allocations = [first, none, other]
    rounds = [
        a_round(number, [number], allocation=each) for number, each in enumerate(allocations, 1)
    ]
    assert [each.allocation for each in write(ledger, *rounds)] == allocations


def test_allocations_come_back_bit_for_bit(ledger):
    allocation = Allocation("place*kind", ("edges", 0.0, 1 / 3, 1.0), (1 / 7, 0.0, 1e-17))
    plain = {"q": np.array([np.nan]), "allocation": Allocation("place", (), (0.5, 0.0))}
    rounds = a_round(1, [4, 2], allocation=allocation), a_round(2, [5], **plain), a_round(3, [6])
    again = write(ledger, *rounds)
    assert [each.allocation for each in again] == [allocation, plain["allocation"], None]
    assert [each.deterministic for each in again] == [False, True, False]


@pytest.mark.parametrize(
    ("rounds", "problem"),
    [
        ([a_round(1, [1], imputed=np.full((1, 2), 0.5))], "cannot reshape"),
        ([a_round(1, [1], objectives=())], "no objectives"),
        ([a_round(2, [1]), a_round(1, [2])], "among those of another"),
    ],
)
def test_a_round_that_no_study_draws_is_damage(ledger, rounds, problem):
    """The ledger may be from elsewhere, and its hashes may hold."""
    with pytest.raises(StudyError, match=f"damaged: .*{problem}"):
        write(ledger, *rounds)
