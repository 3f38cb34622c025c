"""Status counts what the ledger holds and says what next would do."""

import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import StudyError
from activetest.nouns.report import Counts
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.status import status
from activetest.study.stored import StoredStudy
from tests.makers import init

EVIDENCE = ("2 features do not foretell the model's answers, and change nothing",)


def test_a_fresh_study_has_everything_to_draw(study):
    assert status(study) == (
        Counts(40, 0, 0, 0, 0, 0, 0, 0, 0, None, evidence=EVIDENCE),
        "next draws from 40 items to estimate error: optimal, surrogate auto",
    )


def test_draws_items_and_answers_are_counted_apart(study, label_file):
    """Two annotators of two items, and a declined one."""
    first, second, third, _ = (row["id"] for row in next_batch(study, 4).rows)
    lines = (
        f"{first},cat,,ann",
        f"{first},dog,,bob",
        f"{second},dog,,ann",
        f"{second},dog,,bob",
        f"{third},,declined,bob",
    )
    ingest(study, label_file(*lines, header="id,label,status,annotator"))
    counts = status(study).counts
    assert (counts.draws, counts.drawn, counts.labeled, counts.answers) == (4, 4, 2, 5)


def test_every_draw_is_labelled_pending_or_declined_and_supplied_labels_are_apart(
    study, label_file
):
    study.update(replace(study.choices, budget=4))
    first, second, third, last = (row["id"] for row in next_batch(study, 4).rows)
    stranger = next(f"item-{n}" for n in range(40) if f"item-{n}" not in str(study.ledger.record()))
    lines = (f"{first},cat,", f"{second},dog,", f"{third},,declined", f"{stranger},owl,")
    ingest(study, label_file(*lines, header="id,label,status"))
    counts, coming = status(study)
    assert counts == Counts(40, 4, 4, 2, 1, 1, 1, 4, 1, 4, missing=(last,), evidence=EVIDENCE)
    assert coming == (
        f"1 item without an answer in rounds that have others: {last} (label it, or mark it "
        "status=skipped in the label file); next shows the 1 pending item again; next with "
        "`new=True` draws others"
    )
    next_batch(study, 1, new=True)
    assert status(study)[1].startswith("the budget of 4 labels is used up; 1 item without")


def test_items_are_missing_once_others_of_their_round_or_later_were_answered(study, label_file):
    """A few are named, and all are in the counts."""
    batches = [[row["id"] for row in next_batch(study, 6, new=True).rows] for _ in range(3)]
    assert status(study).counts.missing == ()
    ingest(study, label_file(f"{batches[1][3]},cat"))
    missing = (*batches[0], *batches[1][:3], *batches[1][4:])
    assert status(study).counts.missing == missing
    named = f"11 items without an answer in rounds that have others: {', '.join(missing[:3])} and "
    assert status(study).sentence.startswith(f"{named}8 more (label them, or mark them status=")


def test_the_rounds_are_those_of_the_last_draw(study):
    next_batch(study, 3)
    next_batch(study, 1, new=True)
    assert status(study)[0].rounds == 2


def test_a_pool_that_is_used_up_is_said_to_be(study, label_file):
    ingest(study, label_file(*(f"item-{row},cat" for row in range(40))))
    assert status(study)[1].startswith("nothing is left to draw")


def test_status_needs_no_pool(study, folder):
    (folder / "pool.parquet").unlink()
    assert status(study)[0].n_pool == 40


@pytest.mark.parametrize("selection", ["draw", "top"])
def test_next_draws_from_the_items_that_can_change_the_metric(study, label_file, selection):
    choices = replace(study.choices, selection=selection)
    study.update(replace(choices, metric="precision[cat]", metrics=("precision[cat]",)))
    predicted = [row["id"] for row in pq.read_table("pool.parquet").to_pylist() if is_cat(row)]
    assert 4 < len(predicted) < 40
    how = "draws from" if selection == "draw" else "takes the largest scores of"
    assert status(study).sentence.startswith(f"next {how} {len(predicted)} items to estimate")
    others = [f"item-{row}" for row in range(40) if f"item-{row}" not in predicted]
    ingest(study, label_file(*(f"{id},cat" for id in (*others[:3], *predicted[:2]))))
    assert status(study).sentence.startswith(f"next {how} {len(predicted) - 2} items to estimate")
    ingest(study, label_file(*(f"{id},cat" for id in predicted)))
    assert status(study).sentence == (
        "nothing is left to draw: no other item can change precision[cat]"
    )
    study.update(replace(choices, metric="error", metrics=("error",)))
    assert f"{len(others) - 3} items to estimate error" in status(study).sentence


def test_next_draws_from_the_items_that_count(folder, write_pool):
    write_pool(folder / "pool.parquet", 90, seed=5)
    table = pq.read_table("pool.parquet")
    pq.write_table(table.append_column("visits", pa.array([0, 1, 4] * 30)), "pool.parquet")
    init("pool.parquet", seed=1, weight="visits")
    assert status(StoredStudy.open()).sentence.startswith("next draws from 60 items to estimate")


@pytest.mark.parametrize("choices", [{"metric": "precision[cat]"}, {"weight": "visits"}])
def test_no_number_is_given_where_the_pool_is_gone_that_would_tell(folder, write_pool, choices):
    write_pool(folder / "pool.parquet", 90, seed=5)
    table = pq.read_table("pool.parquet")
    pq.write_table(table.append_column("visits", pa.array([0, 1, 4] * 30)), "pool.parquet")
    init("pool.parquet", seed=1, **choices)
    (folder / "pool.parquet").unlink()
    assert "; next draws to estimate " in status(StoredStudy.open()).sentence


def test_money_is_not_counted_where_the_pool_with_the_prices_is_gone(folder, write_pool):
    write_pool(folder / "pool.parquet", 90, seed=5)
    table = pq.read_table("pool.parquet")
    pq.write_table(table.append_column("cents", pa.array([100] * 90)), "pool.parquet")
    init("pool.parquet", seed=1, price="cents", budget=300)
    study = StoredStudy.open()
    next_batch(study, 4)
    assert status(study).sentence.startswith("the budget of 300 is used up; next shows")
    (folder / "pool.parquet").unlink()
    counts, sentence = status(study)
    assert counts.spent is None and "budget" not in sentence


def is_cat(row):
    return max(("cat", "dog", "owl"), key=lambda name: row[f"prob_{name}"]) == "cat"


def test_all_metrics_that_draws_aim_at_are_named(study):
    study.update(replace(study.choices, metric="error", also=("accuracy", "f1[cat]")))
    assert "to estimate error, accuracy and f1[cat]: optimal" in status(study).sentence


def test_a_pool_that_is_gone_is_said_to_be(study, folder):
    assert "missing" not in status(study).sentence
    (folder / "pool.parquet").rename(folder / "other.parquet")
    sentence = status(study).sentence
    assert sentence.startswith(f"the pool is missing, there is no {folder / 'pool.parquet'}; next ")


def test_what_a_terminal_would_obey_in_the_id_of_a_missing_item_is_escaped(folder, label_file):
    ids = [f"item\x1b[2J{row}" for row in range(30)]
    pq.write_table(pa.table({"id": ids, "pred": ["a", "b"] * 15}), "pool.parquet")
    init("pool.parquet", seed=1)
    study = StoredStudy.open()
    drawn = [row["id"] for row in next_batch(study, 20).rows]
    answers = dict.fromkeys(drawn[1:], "a")
    ingest(study, answers)
    assert status(study).counts.missing == (drawn[0],)
    shown = [str(status(study)), str(report(study))]
    for text in shown:
        assert "\x1b" not in text and "\\x1b[2J" in text


def test_prices_are_looked_up_without_what_surrogates_need(folder, write_pool, label_file):
    """A file beside the pool that is gone keeps nobody from counting what was spent."""
    write_pool(folder / "pool.parquet", 40)
    table = pq.read_table("pool.parquet")
    pq.write_table(table.append_column("cents", pa.array([7.0] * 40)), "pool.parquet")
    train = table.select(["x1", "x2"]).append_column("label", pa.array(["cat", "dog"] * 20))
    pq.write_table(train, "train.parquet")
    init("pool.parquet", seed=1, price="cents", train="train.parquet", surrogate="forest")
    ingest(StoredStudy.open(), label_file("item-1,cat", "item-5,dog"))
    (folder / "train.parquet").unlink()
    shutil.rmtree(folder / ".activetest" / "cache")
    assert status(StoredStudy.open()).counts.spent == 14


def test_the_next_look_of_sequential_gates_is_named(begin_study, label_draws):
    study = begin_study(budget=40, looks=4)
    assert status(study).sentence.endswith("; look 1 of 4 after 10 more labels")
    label_draws(study, 12)
    assert status(study).sentence.endswith("; look 2 of 4 after 8 more labels")
    next_batch(study, 9)
    assert status(study).sentence.endswith("; look 2 of 4 after 8 more labels")
    label_draws(study, 9)
    label_draws(study, 19)
    over = "; the last look of sequential gates is past: a gate that it left undecided stays so, "
    over += "unless every item gets a label (see the page on gates)"
    assert status(study).sentence.endswith(over)


def test_labels_that_came_before_the_first_draw_are_no_draws_of_any_look(
    begin_study, label_draws, label_file
):
    """30 of 90 items can be drawn: the last look is after these, and is exact."""
    study = begin_study(budget=40, looks=4)
    ingest(study, label_file(*(f"item-{row},cat" for row in range(60))))
    assert status(study).sentence.endswith("; look 1 of 4 after 8 more labels")
    label_draws(study, 10)
    assert status(study).sentence.endswith("; look 2 of 4 after 5 more labels")
    drawn = {draw.id for draw in study.ledger.record().draws}
    free = [row for row in range(60, 90) if f"item-{row}" not in drawn]
    ingest(study, label_file(*(f"item-{row},cat" for row in free[:1])))
    assert status(study).sentence.endswith("; look 2 of 4 after 5 more labels")
    ingest(study, label_file(*(f"item-{row},cat" for row in free)))
    assert "look" not in status(study).sentence


def test_recorded_looks_that_nobody_planned_stop_status(begin_study, label_draws, monkeypatch):
    """A ledger may come from anybody; as many looks as it names take no memory."""
    study = begin_study(budget=40)
    label_draws(study, 10)
    forged = replace(study.choices, looks=10**15)
    monkeypatch.setattr(type(study.ledger), "first_choices", lambda ledger: forged)
    with pytest.raises(StudyError, match="cannot be planned"):
        status(study)
