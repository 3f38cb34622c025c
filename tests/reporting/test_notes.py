"""Which notes a report has, and how much each of them matters."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.ledger.ledger import Answer
from activetest.nouns.log import LABELLED
from activetest.nouns.report import Note, Weight, sort_notes
from activetest.study.ingest import ingest
from activetest.study.init import init
from activetest.study.report import report
from activetest.study.stored import StoredStudy

COSTLY = "log-loss"


@pytest.fixture
def labelled(study, label_draws) -> StoredStudy:
    """A study of the error with 20 labels."""
    label_draws(study, 20)
    return study


def texts(shown) -> str:
    return " ".join(map(str, shown.notes))


def weigh(shown, beginning: str) -> Weight:
    """The weight of the note that begins like this."""
    (note,) = (note for note in shown.notes if note.text.startswith(beginning))
    return note.weight


def test_a_report_has_the_metrics_that_the_study_aims_at_and_no_others(labelled):
    assert COSTLY in labelled.choices.metrics
    assert {row.metric for row in report(labelled).estimates} == {"error"}
    labelled.update(replace(labelled.choices, metric="accuracy", also=("recall[cat]",)))
    shown = report(labelled)
    overall = [(row.metric, row.class_name) for row in shown.estimates if row.group is None]
    assert overall == [("accuracy", None)] * 2 + [("recall", "cat")] * 2
    assert {row.metric for row in shown.estimates if row.group} == {"accuracy"}


def test_what_is_not_shown_is_not_warned_about(labelled):
    assert COSTLY not in texts(report(labelled)).lower()
    shown = report(labelled, metrics=("error", COSTLY))
    assert f"the interval of {COSTLY}" in texts(shown)
    assert "in nats" in texts(shown)


@pytest.fixture
def hard(folder) -> StoredStudy:
    """A study of 40 hard labels, a quarter of which is each of four classes."""
    names = ["1", "2", "3", "neutral"]
    ids = [f"i{row}" for row in range(40)]
    pq.write_table(
        pa.table({"id": ids, "pred": [names[row % 4] for row in range(40)]}), "pool.parquet"
    )
    init("pool.parquet", seed=1)
    return StoredStudy.open()


@pytest.mark.parametrize(
    ("labels", "count", "names", "weight"),
    [
        # at least half of the labels
        (["x"] * 2 + ["1", "2"], "2 of 4", "'x'", Weight.INVALID),
        # one that a class equals by now, or in another spelling
        (["x"] + ["1"] * 5, "1 of 6", "'x'", Weight.FACT),
        (["1.0"] + ["1"] * 5, "1 of 6", "'1.0'", Weight.INVALID),
        (["Neutral"] + ["1"] * 5, "1 of 6", "'Neutral'", Weight.INVALID),
        (["N/A"] + ["1"] * 5, "1 of 6", "'N/A'", Weight.LIMITED),
        (["u", "v", "w", "x"] + ["1"] * 6, "4 of 10", "'u', 'v', 'w', ...", Weight.FACT),
    ],
)
def test_labels_that_are_no_class_are_noted(hard, labels, count, names, weight):
    # As the ledger of an earlier version has them.
    answers = [Answer(f"i{row}", "", LABELLED, label) for row, label in enumerate(labels)]
    hard.ledger.add_answers(answers, source="labels.csv", revision=0)
    shown = report(hard)
    beginning = f"Labels of no class that the model predicts: {count} ({names})."
    assert weigh(shown, beginning) == weight
    remedy = "with `study.undo()` (the last file first) and ingest it again, with `map`"
    assert (remedy in texts(shown)) == (weight == Weight.INVALID)


def test_labels_that_are_classes_are_not_noted(hard):
    assert "no class" not in texts(report(hard))
    ingest(hard, {f"i{row}": "1.0" for row in range(4)})
    assert "no class" not in texts(report(hard))


def test_the_numbers_of_a_metric_do_not_depend_on_how_many_are_shown(labelled):
    choices = labelled.choices
    every = report(labelled, metrics=tuple(dict.fromkeys((choices.metric, *choices.metrics))))
    alone = report(labelled)
    assert {row.estimator for row in alone.estimates} == {"doubly-robust", "ase"}
    for row in alone.estimates:
        assert row in every.estimates


def test_the_estimators_that_were_named_are_part_of_a_report(labelled):
    assert report(labelled).estimators == ()
    assert report(labelled, estimators=("ase",)).estimators == ("ase",)


def test_what_may_be_wrong_comes_first_and_facts_come_last():
    notes = [Note(weight.name, weight) for weight in Weight]
    shown = sort_notes([*notes, Note("another answer", Weight.ANSWER), Note("another fact")])
    names = ["ANSWER", "another answer", "INVALID", "UNSTABLE", "WIDE", "LIMITED", "FACT"]
    assert [note.text for note in shown] == [*names, "another fact"]
    assert [note.text for note in shown if note.is_caution] == names[2:-1]


def test_a_label_that_was_replaced_outweighs_few_errors(study, label_draws, label_file):
    label_draws(study, 20, lambda row, code: code)
    first = study.ledger.record().draws[0].id
    ingest(study, label_file(f"{first},owl", name="other.csv"), replace=True)
    shown = report(study, requirements=("error<=0.9",))
    assert weigh(shown, "Labels replaced: 1.") == Weight.INVALID
    assert weigh(shown, "Only 1 error found") == Weight.WIDE
    assert [note.weight for note in shown.notes] == sorted(
        (note.weight for note in shown.notes), reverse=True
    )


def test_a_first_round_that_is_not_complete_outweighs_what_the_labels_are_about(
    study, label_draws, label_file
):
    from activetest.study.next import next_batch

    ids = [row["id"] for row in next_batch(study, 10).rows]
    stranger = next(f"item-{row}" for row in range(40) if f"item-{row}" not in ids)
    lines = (*(f"{item},cat," for item in ids[:4]), f"{ids[4]},,declined", f"{stranger},cat,")
    ingest(study, label_file(*lines, header="id,label,status"))
    shown = report(study)
    assert weigh(shown, "5 of the 10 items of round 1 have no label yet") == Weight.INVALID
    assert weigh(shown, "Items declined: 1.") == Weight.LIMITED
    assert weigh(shown, "Labels that you supplied") == Weight.LIMITED


def test_labels_that_wait_for_a_round_are_a_caution(study, label_draws, label_file):
    from activetest.study.next import next_batch

    label_draws(study, 10)
    rows = next_batch(study, 8).rows
    ingest(study, label_file(*(f"{row['id']},cat" for row in rows[:2])))
    assert weigh(report(study), "Labels that the estimates do not use yet: 2,") == Weight.WIDE
    missing = [row["id"] for row in rows[2:]]
    advice = f"Without an answer: {', '.join(missing[:3])} and 3 more. Label them "
    assert advice in texts(report(study))


def test_a_missing_answer_is_named_and_counts_as_the_surrogate_expects(study, label_file):
    from activetest.study.next import next_batch

    rows = next_batch(study, 20).rows
    lines = [f"{row['id']},cat" for row in rows]
    ingest(study, label_file(*lines[:7], *lines[8:]))
    shown = report(study, metrics=("error", COSTLY))
    assert weigh(shown, "1 item has no label among the draws that the est") == Weight.WIDE
    assert f"Without an answer: {rows[7]['id']}. Label it (`study.next()` shows" in texts(shown)
    assert "mark it status=skipped in the label file." in texts(shown)
    assert weigh(shown, f"{COSTLY}: only labels before the first missing a") == Weight.INVALID
    assert "Their intervals hold only if the easy items were not" in texts(shown)
    assert [row.n_labeled for row in shown.estimates[::2][:2]] == [19, 7]
    assert "do not use yet" not in texts(shown)


def test_one_draw_with_much_weight_is_a_caution(study, label_draws):
    study.update(replace(study.choices, floor=0.001, power=8.0))
    label_draws(study, 3)
    (found,) = (note for note in report(study).notes if note.text.startswith("One draw has"))
    assert found.weight == Weight.UNSTABLE
    assert "A higher `floor` prevents this." in found.text


def test_top_scores_are_a_caution_until_there_are_draws(study, label_draws):
    study.update(replace(study.choices, selection="top"))
    label_draws(study, 5)
    assert weigh(report(study), "Items chosen by the largest score") == Weight.WIDE
    study.update(replace(study.choices, selection="draw"))
    label_draws(study, 5)
    assert weigh(report(study), "Items chosen by the largest score") == Weight.FACT


def test_what_was_requested_is_an_answer_and_no_caution(labelled):
    shown = report(labelled, half_width=0.01, differences=("place",), groups=("place",))
    assert weigh(shown, "The interval of error needs about") == Weight.ANSWER
    assert shown.notes[0].weight == Weight.ANSWER


def test_groups_that_cannot_be_compared_yet_are_an_answer(study, label_draws):
    label_draws(study, 4)
    shown = report(study, differences=("place",))
    assert weigh(shown, "No two groups of place have enough labels") == Weight.ANSWER


def test_intervals_of_another_kind_and_units_are_the_least(labelled):
    shown = report(labelled, interval="posterior", metrics=(COSTLY,))
    assert weigh(shown, "The intervals of groups are fixed intervals") == Weight.LIMITED
    assert weigh(shown, "Log-loss is in nats") == Weight.FACT
    capped = report(labelled, metrics=(COSTLY,), bound=8.0)
    assert weigh(capped, "Losses that have no bound") == Weight.FACT


@pytest.mark.parametrize(
    ("metric", "missing"),
    [("log-loss", "Rare large losses"), ("recall[owl]", "Rare mistakes")],
)
def test_what_may_be_missing_from_a_sample_is_what_the_metric_counts(metric, missing, labelled):
    shown = report(labelled, metrics=(metric,))
    assert not all(row.reliable for row in shown.estimates)
    assert f"{missing} may not have been sampled yet" in texts(shown)


def test_supplied_labels_are_noted_only_where_there_are_some(labelled):
    assert "Labels that you supplied" not in texts(report(labelled, interval="fixed"))
