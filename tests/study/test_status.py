"""Status counts what the ledger holds and says what next would do."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from activetest.nouns.report import Counts
from activetest.study.ingest import ingest
from activetest.study.init import init
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.status import status
from activetest.study.stored import StoredStudy


def test_a_fresh_study_has_everything_to_draw(study):
    assert status(study) == (
        Counts(40, 0, 0, 0, 0, 0, 0, None),
        "next draws from 40 items to estimate error: optimal, surrogate agreement",
    )


def test_every_draw_is_labelled_pending_or_declined_and_supplied_labels_are_apart(
    study, label_file
):
    study.update(replace(study.choices, budget=4))
    first, second, third, last = (row["id"] for row in next_batch(study, 4).rows)
    stranger = next(f"item-{n}" for n in range(40) if f"item-{n}" not in str(study.ledger.record()))
    lines = (f"{first},cat,", f"{second},dog,", f"{third},,declined", f"{stranger},owl,")
    ingest(study, label_file(*lines, header="id,label,status"))
    counts, coming = status(study)
    assert counts == Counts(40, 4, 2, 1, 1, 1, 1, 4, missing=(last,))
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
