"""Labels come in whole files or not at all, and the same file twice counts once."""

import io
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import LabelConflict, LabelError
from activetest.labels.annotators import resolve_answers
from activetest.study.ingest import ingest, undo
from activetest.study.init import init
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy


def known(study: StoredStudy) -> dict[str, str]:
    return {id: label for id, (_, label) in resolve_answers(study.ledger.record().answers).items()}


def test_answers_are_counted_by_what_they_are(study, label_file):
    first, second, third = (row["id"] for row in next_batch(study, 3).rows)
    stranger = next(
        f"item-{row}" for row in range(40) if f"item-{row}" not in (first, second, third)
    )
    lines = (f"{first},cat,", f"{second},,skipped", f"{third},,", f"{stranger},dog,")
    path = label_file(*lines, header="id,label,status")
    done = ingest(study, path)
    assert (done.new, done.declined, done.blank, done.supplied, done.pending) == (3, 1, 1, 1, 1)
    assert str(done) == (
        f"{path}: 3 new, 1 declined, 1 of items that were never drawn, 1 still blank; "
        "1 item pending"
    )
    assert known(study) == {first: "cat", second: "", stranger: "dog"}


def test_the_same_file_twice_is_the_same_as_once(study, label_file):
    path = label_file("item-1,cat", "item-2,dog")
    ingest(study, path)
    before = study.ledger.record()
    again = ingest(study, path)
    assert (again.new, again.unchanged) == (0, 2)
    assert study.ledger.record() == before


def test_a_dry_run_counts_and_writes_nothing(study, label_file):
    before = study.ledger.record()
    done = ingest(study, label_file("item-1,cat"), dry_run=True)
    assert (done.new, done.dry_run) == (1, True)
    assert "nothing was written" in str(done)
    assert study.ledger.record() == before


def test_standard_input_is_a_file_like_any_other(study):
    done = ingest(study, "-", stdin=io.BytesIO(b"\xef\xbb\xbfid,label\r\nitem-1,cat\r\n"))
    assert (done.source, done.new) == ("standard input", 1)


def test_a_changed_label_is_a_conflict_unless_it_shall_replace(study, label_file):
    ingest(study, label_file("item-1,cat", "item-2,dog"))
    path = label_file("item-3,owl", "item-1,dog", name="second.csv")
    with pytest.raises(
        LabelConflict,
        match="second.csv, line 3: id 'item-1' is labelled 'dog', and was labelled 'cat'",
    ) as error:
        ingest(study, path)
    assert "`replace=True`" in error.value.hint
    with pytest.raises(LabelConflict):
        ingest(study, path, dry_run=True)
    assert known(study) == {"item-1": "cat", "item-2": "dog"}
    done = ingest(study, path, replace=True)
    assert (done.new, done.replaced) == (1, 1)
    assert known(study) == {"item-1": "dog", "item-2": "dog", "item-3": "owl"}


def test_what_was_replaced_stays_in_the_history_and_can_come_back(study, label_file):
    ingest(study, label_file("item-1,cat"))
    ingest(study, label_file("item-1,dog", name="second.csv"), replace=True)
    with sqlite3.connect(study.ledger.path) as db:
        events = db.execute(
            "SELECT source, label FROM events JOIN ingests ON ingest = ingests.number"
        )
        assert [label for _, label in events] == ["cat", "dog"]
    undone = undo(study)
    assert (undone.source.endswith("second.csv"), undone.answers) == (True, 1)
    assert known(study) == {"item-1": "cat"}
    undo(study)
    assert known(study) == {}
    with pytest.raises(LabelError, match="no file of labels to take back"):
        undo(study)


def test_declining_what_was_labelled_is_a_conflict_too(study, label_file):
    ingest(study, label_file("item-1,cat"))
    path = label_file("item-1,,declined", header="id,label,status", name="second.csv")
    with pytest.raises(LabelConflict, match="declined, and was labelled 'cat'"):
        ingest(study, path)


def test_another_annotator_does_not_contradict(study, label_file):
    ingest(study, label_file("item-1,cat,ann", header="id,label,annotator"))
    ingest(study, label_file("item-1,dog,bob", "item-1,dog,eve", header="id,label,annotator"))
    assert known(study) == {"item-1": "dog"}


@pytest.mark.parametrize(
    ("lines", "problem", "hint"),
    [
        (["item-1,cat", "item-2,dgo"], "line 3: label 'dgo' of id 'item-2'", "did you mean 'dog'?"),
        (["item-1,cat", "item-2,7"], "line 3: label '7' of id 'item-2'", "cat, dog, owl"),
        (["item-1,cat", "item-99,dog"], "line 3: id 'item-99' is not in the pool", "'item-0'"),
        (
            ["x,cat", "y,dog"],
            ": 2 ids are not in the pool: 'x' (line 2), 'y' (line 3)",
            "another study",
        ),
        (
            [f"x{row},cat" for row in range(7)],
            ": 7 ids are not in the pool: 'x0' (line 2), 'x1' (line 3), 'x2' (line 4), "
            "'x3' (line 5), 'x4' (line 6) and 2 more",
            "another study",
        ),
        (
            ["item-1,cat", "item-2,dgo", "item-3,cow"],
            ": some labels are not classes: 'dgo' of id 'item-2' (line 3), 'cow' of id 'item-3' "
            "(line 4)",
            "did you mean 'dog'?",
        ),
        (
            [f"item-{row},cow{row}" for row in range(6)],
            "'cow4' of id 'item-4' (line 6) and more",
            "cat, dog, owl",
        ),
        (["item-1,cat", "item-1,dog"], "'cat' in line 2 and labelled 'dog' in line 3", "annotator"),
    ],
)
def test_a_bad_row_keeps_the_whole_file_out(study, label_file, lines, problem, hint):
    before = study.ledger.record()
    with pytest.raises(LabelError) as error:
        ingest(study, label_file(*lines))
    assert problem in error.value.problem
    assert hint in error.value.hint
    assert study.ledger.record() == before


@pytest.fixture
def other_study(folder):
    """A study of a pool with the columns given."""

    def make(**columns) -> StoredStudy:
        pq.write_table(pa.table(columns), folder / "pool.parquet")
        init("pool.parquet", seed=1)
        return StoredStudy.open()

    return make


def test_labels_of_a_regression_pool_are_numbers(other_study, label_file):
    study = other_study(id=[1, 2, 3, 4], pred=[0.5, 1.5, 2.5, 3.5])
    ingest(study, label_file("1,3", "2,-1e3"))
    assert ingest(study, label_file("1,3.0", "2,-1000")).unchanged == 2
    assert study.log(study.cache()).supplied_labels.tolist() == [3, -1000]
    for label in ("cat", "nan", "inf", "1,5"):
        with pytest.raises(LabelError):
            ingest(study, label_file(f"3,{label}"))
    with pytest.raises(LabelError, match="'1e100' of id '3' is too large"):
        ingest(study, label_file("3,1e100"))


def test_labels_outside_the_predicted_classes_are_simply_wrong(other_study, label_file):
    study = other_study(id=["a", "b", "c"], pred=["cat", "dog", "cat"])
    done = ingest(study, label_file("a,cat", "b,unicorn"))
    assert done.outside == ("unicorn",)
    assert "some of a class that the model never predicts ('unicorn')" in str(done)
    assert str(done).endswith(
        "Labels of a class that the model never predicts count as its mistakes"
    )
    assert ingest(study, label_file("a,cat", "b,unicorn")).outside == ()
    assert study.log(study.cache()).supplied_labels.tolist() == [0, -1]


@pytest.mark.parametrize("word", ["declined", "Skipped", "unclear", "N/A"])
def test_a_word_for_no_label_is_no_silent_mistake(other_study, label_file, word):
    study = other_study(id=["a", "b", "c"], pred=["cat", "dog", "cat"])
    path = label_file(f"a,{word}", "b,dog")
    sentence = f"where {word!r} is no class, leave the label empty and write declined in the column"
    assert sentence in str(ingest(study, path, dry_run=True))
    ingest(study, path)
    path = label_file("a,,declined", "b,dog,", header="id,label,status")
    done = ingest(study, path, replace=True)
    assert done.declined == 1 and "mistakes" not in str(done)


def test_row_numbers_are_ids_where_there_are_none(other_study, label_file):
    study = other_study(score=np.linspace(0.1, 0.9, 5))
    ingest(study, label_file("3,1", "0,0"))
    assert study.log(study.cache()).supplied_rows.tolist() == [3, 0]
    with pytest.raises(LabelError, match="id '5' is not in the pool"):
        ingest(study, label_file("5,1"))
