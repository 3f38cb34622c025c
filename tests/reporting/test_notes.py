"""Notes of a report, and how much each of them matters."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import NotEstimable
from activetest.estimation.planning import plan_half_width
from activetest.estimation.view import build_view
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.ledger.ledger import Answer
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, METHODS, Log, Round
from activetest.nouns.quantity import Quantity, Saving, SavingKind
from activetest.nouns.report import EstimateRow, Gate, Note, Weight, sort_notes
from activetest.reporting import notes
from activetest.study.ingest import ingest
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from tests.makers import init

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
    of_groups = [row.metric for row in shown.estimates if row.group]
    assert set(of_groups) == {"accuracy", "recall"} and of_groups[0] == "accuracy"


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
    shown = report(study, require=("error<=0.9",))
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
    assert weigh(shown, "The interval of error needs") == Weight.ANSWER
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


# --- of rows alone


def row(
    method="korn-graubard",
    *,
    metric="error",
    estimator="doubly-robust",
    estimate=0.2,
    lower=0.1,
    upper=0.3,
    bought=100,
    random=None,
    share=None,
    **fields,
) -> EstimateRow:
    """A row of a report, of the whole pool unless fields say otherwise."""
    saving = Saving(bought, random, SavingKind.NONE if random is None else SavingKind.ABOUT)
    found = EstimateRow(
        quantity=Quantity(estimate, lower, upper, 0.95, method, saving=saving),
        metric=metric,
        class_name=None,
        estimator=estimator,
        n_labeled=100,
        n_pool=1000,
        group=fields.pop("group", None),
        max_weight_share=share,
    )
    return replace(found, **fields)


BARN, TREE = {"place": "barn"}, {"place": "tree"}


def test_which_intervals_hold_for_one_look_is_said_where_others_are_of_another_kind():
    whole, group = row(), row("group-beta", group=BARN)
    apart = row("group-t", group=BARN, against=TREE)

    def kinds(kind, *rows, compared=()) -> str:
        return texts_of(notes.note_kinds(kind, compared, rows))

    assert kinds("posterior", whole) == kinds("anytime", whole, group) == ""
    assert kinds("fixed", whole, group, apart) == ""
    only = "are fixed intervals: they hold for one look."
    assert kinds("posterior", whole, group) == f"The intervals of groups {only}"
    assert kinds("posterior", whole, apart) == f"The intervals of differences {only}"
    assert kinds("anytime", group, apart) == f"The intervals of differences {only}"
    both = f"The intervals of groups and differences {only}"
    assert kinds("posterior", group, apart) == both
    none = "No two groups of shift have enough labels to be compared yet."
    assert kinds("fixed", apart, compared=("place", "shift")) == none


def texts_of(found) -> str:
    return " ".join(note.text for note in found)


@pytest.mark.parametrize(
    ("settings", "models", "aim"),
    [
        ({}, (), ""),
        ({"draw_for": ("difference",)}, (), "comparing models"),
        ({"draw_for": ("difference", "error")}, (), ""),
        ({"draw_for": ("error(v2)-error(v1)",)}, ("v2",), "comparing models"),
        ({"draw_for": ("error(v2)-error(v1)",)}, ("v2", "v1"), ""),
        ({"acquisition": "thompson"}, (), "comparing groups"),
    ],
)
def test_draws_that_are_for_other_numbers_have_an_aim(settings, models, aim):
    choices = Choices("error", ("error",), **settings)
    assert notes._name_other_aim(choices, row(models=models)) == aim


@pytest.mark.parametrize("between", [False, True])
def test_draws_that_saved_nothing_are_noted_once_there_are_labels_to_tell(between):
    def doubts(minority, random, **fields):
        shown = row(random=random, **fields)
        return list(notes._describe_doubts(shown, minority, "comparing groups" * between))

    (found,) = doubts(30, 80.4)
    assert "100 labels are as good as 80 random ones" in found.text
    assert found.weight == (Weight.FACT if between else Weight.LIMITED)
    assert ("comparing groups" in found.text) == between
    assert ("not saved labels so far" in found.text) == (not between)
    # As good, better, not known, and too early.
    assert doubts(30, 100.0) == doubts(30, 150.0) == doubts(30, None) == doubts(9.9, 80.0) == []
    assert len(doubts(notes.RARE, 80.0)) == 1


def test_an_interval_is_wide_while_the_rarer_outcome_has_fewer_than_five_labels():
    def doubts(minority, **fields) -> str:
        return texts_of(notes._describe_doubts(row(**fields), minority, ""))

    end = " found so far, so the interval is deliberately wide."
    assert doubts(5) == doubts(1, method="delta-beta") == ""
    assert doubts(4.9) == f"Only 5 errors{end}"
    assert doubts(1) == f"Only 1 error{end}"
    assert doubts(0.2) == f"No error{end}"
    # Right predictions are the rarer outcome where most predictions are wrong.
    assert doubts(2, estimate=0.6) == f"Only 2 right predictions{end}"
    assert doubts(2, metric="accuracy") == f"Only 2 right predictions{end}"
    assert doubts(2, metric="accuracy", estimate=0.6) == f"Only 2 errors{end}"
    assert doubts(1, metric="top-2-error") == f"Only 1 label of the rarer outcome{end}"
    assert doubts(2, metric="top-2-error") == f"Only 2 labels of the rarer outcome{end}"


def test_a_draw_with_more_than_a_quarter_of_the_weight_is_noted():
    def doubts(share):
        return list(notes._describe_doubts(row(share=share), 30, ""))

    assert doubts(None) == doubts(0.25) == []
    (found,) = doubts(0.26)
    assert found.text.startswith("One draw has 26% of the weight")
    assert found.weight == Weight.UNSTABLE


def test_a_surrogate_outside_the_interval_is_noted():
    def disagreements(*rows) -> str:
        return texts_of(notes._describe_disagreements(rows, "ase"))

    for view, outside in ((0.1, False), (0.3, False), (0.099, True), (0.31, True)):
        own = row("credible", estimator="ase", estimate=view, lower=0, upper=1)
        found = disagreements(row(), own)
        assert (f"lies outside the interval for error ({view:.3g}):" in found) == outside
        assert bool(found) == outside
    # Of another metric, or without a number, it says nothing.
    own = row("credible", estimator="ase", estimate=0.9)
    assert disagreements(row(), replace(own, metric="f1")) == ""
    assert disagreements(row(lower=None, upper=None), own) == ""
    assert disagreements(row(estimator="lure"), own) == disagreements(own) == ""


def test_labels_needed_are_those_of_the_plan_whatever_way_a_metric_runs(labelled):
    """Accuracy is 1 minus the error: it falls with its mean."""
    cache = labelled.cache()
    log = labelled.log(cache)
    facts = describe_pool(cache.roles, None, cache)
    for name in ("error", "accuracy"):
        metric = find_metric(name, facts)
        view = build_view(log, cache, labelled.choices, [metric], seed=1, own_view=False)
        shown = row(metric=name, lower=0.2, upper=0.6)
        found = notes.describe_labels_needed(view, metric, shown, 0.1)
        estimate = view.value(metric, "doubly-robust").estimate
        few, many = (
            plan_half_width(
                estimate, half_width=0.2, goal=0.1, size=40, level=0.95, quantile=quantile
            )
            for quantile in (0.2, 0.8)
        )
        assert 1 < few < many
        assert found == (
            f"The interval of {name} needs {few} to {many} more labels for a half-width of 0.1 "
            "(20 to 80 % of what may come)."
        )
        near = notes.describe_labels_needed(view, metric, replace(shown, quantity=narrow(0.1)), 0.1)
        assert near == f"The interval of {name} already has a half-width below 0.1."
        for unsaid in (row("none", lower=None, upper=None), row(estimator="ase")):
            found = notes.describe_labels_needed(view, metric, unsaid, 0.1)
            assert found == "How many labels a half-width of 0.1 needs cannot be said yet."


def narrow(half: float) -> Quantity:
    return Quantity(0.5, 0.5 - half, 0.5 + half, 0.95, "korn-graubard")


def test_rows_that_may_change_are_named_by_what_they_count():
    def unreliable(*rows) -> str:
        metrics = {each.title: find_metric(each.metric, facts) for each in rows}
        return texts_of(notes._describe_unreliable(rows, metrics))

    facts = Facts("classification", ("cat", "dog"), positive=1, probabilities=True)

    def doubtful(method, metric):
        found = row(method, metric=metric)
        return replace(found, quantity=replace(found.quantity, reliable=False))

    assert unreliable(row()) == ""
    assert unreliable(doubtful("delta-beta", "f1")).startswith(
        "Not reliable yet: the interval of f1. Rare mistakes may not"
    )
    several = unreliable(doubtful("delta-beta", "f1"), doubtful("gamma", "log-loss"), row())
    assert several.startswith(
        "Not reliable yet: the intervals of f1, log-loss. Rare large losses may"
    )


@pytest.mark.parametrize(
    ("metrics", "helps"),
    [
        (["mae"], "A known range helps, too: `bound` says what one item can cost."),
        (["mean"], "A known range helps, too: 'mean[0,1]' says that labels lie between 0 and 1."),
        (["mean", "bias"], "helps, too: 'mean[0,1]' says that labels lie between 0 and 1."),
        (["rmse"], "until more labels differ from what was expected of them."),
        (["mean[0,1]"], "until more labels differ from what was expected of them."),
    ],
)
def test_what_helps_where_nothing_bounds_a_value_is_said(metrics, helps):
    facts = Facts("regression", judge=True)
    found = {each: find_metric(each, facts) for each in metrics}
    rows = [row("gamma", metric=each) for each in metrics]
    rows = [replace(each, quantity=replace(each.quantity, reliable=False)) for each in rows]
    text = texts_of(notes._describe_unreliable(rows, found))
    assert text.endswith(helps)
    about = "losses" if {"mae", "rmse"} & {*metrics} else "differences"
    assert f"Rare large {about} may not have been sampled yet" in text


def test_changed_labels_matter_to_what_holds_at_several_looks():
    bets, fixed = row("betting"), row()
    once, planned = (
        Gate(
            quantity=fixed.quantity,
            requirement="error<=0.3",
            metric="error",
            class_name=None,
            group=None,
            op="<=",
            threshold=0.3,
            verdict="pass",
            n_labeled=9,
            looks=looks,
        )
        for looks in (None, 5)
    )

    def changed(replaced, *rows, several=False):
        return list(notes.note_changed_labels(replaced, rows, several_annotators=several))

    assert changed(3, fixed, once, several=True) == changed(0, fixed, bets) == []
    assert changed(3, fixed, planned) == changed(3, bets)
    (found,) = changed(3, fixed, bets)
    assert found.text.startswith("Labels replaced: 3.") and found.weight == Weight.INVALID
    (found,) = changed(0, bets, several=True)
    assert found.text.startswith("With several annotators") and found.weight == Weight.LIMITED


def test_a_plain_report_says_nothing_of_what_is_not_there(labelled):
    shown = texts(report(labelled))
    for absent in ("declined", "supplied", "annotator", "earlier version", "largest score"):
        assert absent not in shown


def test_what_is_known_needs_no_caution_about_draws(study, label_draws, label_file):
    label_draws(study, 5)
    drawn = {draw.id for draw in study.ledger.record().draws}
    rest = [f"item-{row}" for row in range(40) if f"item-{row}" not in drawn]
    ingest(study, label_file(*(f"{id},cat" for id in rest), name="rest.csv"))
    shown = texts(report(study))
    for absent in ("supplied", "found so far", "weight", "as good as"):
        assert absent not in shown


def test_labels_of_no_class_are_counted_among_drawn_and_supplied_ones(hard):
    from activetest.study.next import next_batch

    ids = [row["id"] for row in next_batch(hard, 6).rows]
    others = [f"i{row}" for row in range(40) if f"i{row}" not in ids][:4]
    answers = [Answer(id, "", LABELLED, "1") for id in (*ids[:5], *others[:3])]
    answers.append(Answer(others[3], "", LABELLED, "x"))
    hard.ledger.add_answers(answers, source="labels.csv", revision=hard.ledger.record().revision)
    assert "Labels of no class that the model predicts: 1 of 9 ('x')." in texts(report(hard))


def test_items_without_a_probability_are_described_by_how_many_draws_there_are():
    rest = notes._describe_rest
    assert rest(2, "drawn items", "ase", "draw") == "the estimates use the 2 drawn items."
    few = rest(1, "drawn items", "alt-mas", "draw some")
    assert few.startswith("estimates need at least 2 drawn items with labels. Until then")
    assert "own view (alt-mas), which" in few
    assert few.endswith("; draw some.")


def test_how_to_add_a_group_names_those_there_are():
    text = notes.describe_group_option("age", ["place", "sex"])
    assert text.startswith("`study.change(groups=['place', 'sex', 'age'])` adds it")


def test_rounds_from_before_numbers_changed_are_named_with_what_changed(monkeypatch):
    def read(*methods: int, sure: bool = False) -> str:
        empty = np.empty(0)
        history = tuple(
            Round(k, empty, empty, {}, {}, (), (), empty, empty, empty, (), methods=each)
            for k, each in enumerate(methods, 1)
        )
        return texts_of(
            notes._describe_older_methods(replace(Log.empty(), history=history), sure=sure)
        )

    assert read(METHODS, METHODS) == ""
    monkeypatch.setattr(notes, "CHANGES", {2: "which bet other stakes", 3: "which cut off means"})
    assert read() == read(3, 3) == ""
    assert read(2, 3) == (
        "Round 1 was drawn by an earlier version of activetest, which cut off means: numbers may "
        "differ from those that it reported."
    )
    assert read(1, 2, 3).startswith(
        "Rounds 1 to 2 were drawn by an earlier version of activetest, which bet other stakes, "
        "which cut off means: numbers"
    )
    monkeypatch.setattr(notes, "_WITHOUT_CLASSES", {3})
    assert read(2, sure=True) == "" and read(2) != ""
    assert read(1, sure=True).endswith(
        "which bet other stakes: numbers may differ from those that it reported."
    )


def test_no_number_has_changed_without_a_new_number_of_methods():
    """A version whose changes are named records rounds that they do not concern."""
    assert max(notes.CHANGES, default=METHODS) == METHODS


def test_without_an_estimate_there_is_no_rarer_side():
    def refuse(*_):
        raise NotEstimable("nothing", "")

    assert notes._count_minority(SimpleNamespace(value=refuse), None) == 0


def test_several_annotators_are_described(study, label_file):
    header = "id,label,annotator"
    ingest(study, label_file("item-1,cat,ann", "item-1,dog,bob", "item-2,cat,ann", header=header))
    assert "annotator" in texts(report(study))
