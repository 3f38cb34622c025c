"""A study with a question about groups: what the commands take and say."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.render import text
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.status import status
from activetest.study.stored import StoredStudy
from tests.makers import init


def chosen(**wishes) -> Choices:
    init("pool.parquet", seed=1, **wishes)
    return StoredStudy.open().choices


def read_draws_line(capsys, *words: str) -> str:
    assert main(["init", "pool.parquet", *words]) == 0
    (line,) = re.findall("^draws: .*$", capsys.readouterr().out, re.MULTILINE)
    return line


# --- what init settles


def test_a_task_brings_its_groups_its_metric_its_acquisition_and_its_floor(pool_file):
    made = chosen(question="identify")
    assert (made.question, made.groups, made.metric) == ("identify", ("predicted",), "accuracy")
    assert (made.acquisition, made.floor, made.worst) == ("thompson", 0.1, 1)
    assert (made.prior, made.prior_strength, made.rope) == ("informative", None, 0.05)


def test_what_is_said_with_a_task_counts(pool_file):
    wishes = {"groups": ("place", "predicted"), "metric": "error", "floor": 0.2}
    made = chosen(question="estimate", prior="uniform", prior_strength=3.0, **wishes)
    assert (made.groups[0], made.metric, made.floor) == ("place", "error", 0.2)
    assert (made.prior, made.prior_strength) == ("uniform", 3.0)
    optimal = chosen(question="estimate", acquisition="optimal")
    assert (optimal.acquisition, optimal.floor) == ("optimal", Choices.floor)


def test_a_task_can_be_changed_and_taken_away(pool_file):
    assert chosen(groups=("predicted",)).question is None
    made = chosen(question="identify", metric="accuracy", worst=2)
    assert (made.worst, made.acquisition, made.floor) == (2, "thompson", 0.1)
    made = chosen(question="compare", compare="cat,owl", rope=0.1, prior="uniform")
    assert (made.question, made.compare, made.worst) == ("compare", ("cat", "owl"), 1)
    assert chosen(level=0.9).compare == ("cat", "owl")
    made = chosen(question="estimate", metric=["confusion", "error"])
    assert (made.compare, made.rope, made.prior) == ((), Choices.rope, "uniform")
    assert (made.target, made.metric) == ("confusion", "error")
    made = chosen(metric="accuracy")
    assert (made.question, made.target) == ("estimate", "")
    made = chosen(question="none")
    assert (made.question, made.acquisition, made.floor) == (None, "optimal", Choices.floor)
    assert (made.groups, made.prior) == (("predicted",), Choices.prior)


def test_a_confusion_matrix_is_what_estimation_may_be_about(pool_file):
    made = chosen(question="estimate", metric="confusion")
    assert (made.target, made.metric, made.metrics.count("confusion")) == (
        "confusion",
        "accuracy",
        0,
    )


def test_values_to_compare_may_hold_commas(folder):
    places = ["a, b", "c", "a"] * 4
    table = {"id": list(map(str, range(12))), "pred": ["x", "y"] * 6, "place": places}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    assert chosen(question="compare", groups="place", compare="a, b,c").compare == ("a, b", "c")
    assert chosen(compare="c,a").compare == ("c", "a")


def test_hard_labels_have_no_calibration_and_uniform_priors(folder):
    table = {"id": list("abcd"), "pred": ["cat", "dog"] * 2}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    with pytest.raises(ChoiceError, match="needs probabilities"):
        init("pool.parquet", question="identify", metric="ece")
    made = init("pool.parquet", question="identify")
    assert "the pool has no probabilities: priors of groups are uniform" in made.notices
    again = init("pool.parquet", prior="uniform")
    assert not any("priors" in notice for notice in again.notices)


def test_what_columns_may_be_is_said_with_a_question_too(folder):
    codes = [f"code-{row}" for row in range(12)]
    pq.write_table(pa.table({"code": codes, "pred": ["x", "y"] * 6}), folder / "pool.parquet")
    made = init("pool.parquet", question="identify")
    assert "column 'code' is unique: `id='code'` uses it" in made.notices


# --- what it says


def test_init_says_what_is_asked_in_plain_words(pool_file, capsys):
    task = ("--question", "identify", "--worst", "2")
    assert read_draws_line(capsys, *task).endswith(
        "; question: identify the 2 worst groups of predicted by accuracy, floor 0.1"
    )
    task = ("--question", "compare", "--compare", "cat,dog", "--acquisition", "uniform")
    assert read_draws_line(capsys, *task, "--prior", "uniform", "--prior-strength", "4") == (
        "draws: uniform for accuracy, surrogate auto; question: compare cat and dog of "
        "predicted by accuracy, rope 0.05, uniform prior with the weight of 4 labels, floor 0.35"
    )
    task = ("--question", "estimate", "--metric", "confusion", "--acquisition", "thompson")
    assert read_draws_line(capsys, *task, "--prior", "informative", "--prior-strength", "1") == (
        "draws: thompson for confusion, surrogate auto; question: estimate confusion of every "
        "group of predicted, informative prior with the weight of 1 labels, floor 0.1"
    )
    assert read_draws_line(capsys, "--metric", "accuracy,error").endswith(
        ", floor 0.1; groups are judged by accuracy alone"
    )
    assert read_draws_line(capsys, "--question", "none", "--metric", "accuracy") == (
        "draws: optimal for accuracy, surrogate auto"
    )


# --- what the other verbs make of it


def labelled(label_file, count: int, **ways) -> list[str]:
    study = StoredStudy.open()
    ids = [row["id"] for row in next_batch(study, count, **ways).rows]
    ingest(study, label_file(*(f"{item},{('cat', 'dog')[int(item[5:]) % 2]}" for item in ids)))
    return ids


def test_a_change_of_task_keeps_all_labels(pool_file, label_file):
    chosen(question="identify")
    labelled(label_file, 6)
    chosen(question="compare", compare="cat,dog")
    labelled(label_file, 6)
    chosen(question="estimate", metric="ece[3]")
    labelled(label_file, 6)
    chosen(question="none", metric="error", groups=("place",))
    labelled(label_file, 6)
    shown = report(StoredStudy.open())
    assert (shown.counts.labeled, shown.counts.rounds) == (24, 4)
    assert shown.estimates[0].n_labeled == 24
    assert shown.estimates[0].method == "korn-graubard"
    chosen(question="identify", groups=("place", "predicted"), metric="accuracy")
    labelled(label_file, 6)
    assert report(StoredStudy.open(), interval="anytime").estimates[0].method == "betting"


def test_draws_are_shown_again_until_they_are_answered_and_new_ones_beside_them(pool_file):
    chosen(question="identify")
    first = next_batch(StoredStudy.open(), 5)
    assert next_batch(StoredStudy.open(), 5).rows == first.rows
    second = next_batch(StoredStudy.open(), 5, new=True)
    ids = [row["id"] for row in (*first.rows, *second.rows)]
    assert len(set(ids)) == 10
    assert "pending" in status(StoredStudy.open())[1]


def test_batches_that_are_drawn_at_the_same_time_share_no_item(pool_file):
    chosen(question="identify")
    StoredStudy.open().cache()
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: next_batch(StoredStudy.open(), 4, new=True), range(4)))
    ids = [row["id"] for batch in made for row in batch.rows]
    assert len(set(ids)) == 16
    assert sorted(batch.round for batch in made) == [1, 2, 3, 4]


def test_without_a_floor_the_groups_are_the_answer(pool_file, label_file):
    chosen(question="identify", floor=0.0)
    labelled(label_file, 10)
    study = StoredStudy.open()
    shown = report(study)
    assert shown.estimates[0].estimate is None
    reason = "drawn with some selection probabilities equal to 0, and an estimate needs"
    assert reason in shown.estimates[0].reason
    (note,) = (note for note in shown.notes if note.text.startswith("Items drawn with some"))
    assert "equal to 0: 10." in note.text
    assert "`study.change(floor=0.1)`" in note.text
    assert not any("largest score" in note.text for note in shown.notes)
    assert not any("No label has checked" in note.text for note in shown.notes)
    counts, coming = status(study)
    assert (counts.drawn, counts.deterministic) == (0, 10)
    assert coming.endswith(
        "to identify the worst group of predicted by accuracy: thompson, surrogate auto"
    )
    assert "or selection probabilities equal to 0" in text.status(counts, coming, color=False)
    chosen(floor=0.1)
    labelled(label_file, 10)
    again = report(StoredStudy.open())
    assert again.estimates[0].n_labeled == 10
    assert np.isfinite(again.estimates[0].lower)
