"""Labels come in whole files or not at all, and the same file twice counts once."""

import io
import json
import sqlite3
import unicodedata
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, LabelConflict, LabelError
from activetest.labels.annotators import resolve_answers
from activetest.ledger.ledger import Answer, Ledger
from activetest.nouns.log import LABELLED
from activetest.study.ingest import ingest, undo
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests import exports
from tests.makers import init

HEADER = "id,label,annotator"


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


@pytest.mark.parametrize(
    ("faster", "new", "unchanged"), [(("item-9", "owl"), 2, 0), (("item-1", "cat"), 1, 1)]
)
def test_who_loses_a_race_compares_again_and_writes(
    study, label_file, monkeypatch, faster, new, unchanged
):
    """Another process adds answers after ours were compared with what is known."""
    add, opened, cache = Ledger.add_answers, [], StoredStudy.cache

    def open_cache(self, *, auxiliary=True):
        opened.append(auxiliary)
        return cache(self, auxiliary=auxiliary)

    monkeypatch.setattr(StoredStudy, "cache", open_cache)

    def add_second(ledger, answers, *, source, revision, numeric):
        monkeypatch.setattr(Ledger, "add_answers", add)
        id, label = faster
        add(ledger, [Answer(id, "", LABELLED, label)], source="other.csv", revision=revision)
        add(ledger, answers, source=source, revision=revision, numeric=numeric)

    monkeypatch.setattr(Ledger, "add_answers", add_second)
    done = ingest(study, label_file("item-1,cat", "item-2,dog"))
    assert (done.new, done.unchanged) == (new, unchanged)
    # Inputs of surrogates, of which files may be missing, are not needed.
    assert opened and not any(opened)
    assert known(study) == {"item-1": "cat", "item-2": "dog"} | dict([faster])
    assert str(undo(study)).startswith(f"taken back: {new} answer")


def test_a_race_that_is_lost_to_a_contradiction_is_a_conflict(study, label_file, monkeypatch):
    add = Ledger.add_answers

    def add_second(ledger, answers, *, source, revision, numeric):
        add(ledger, [Answer("item-2", "", LABELLED, "owl")], source="other", revision=revision)
        add(ledger, answers, source=source, revision=revision, numeric=numeric)

    monkeypatch.setattr(Ledger, "add_answers", add_second)
    with pytest.raises(LabelConflict, match="'item-2' is labelled 'dog', and was labelled 'owl'"):
        ingest(study, label_file("item-1,cat", "item-2,dog"))
    assert known(study) == {"item-2": "owl"}


def test_standard_input_is_a_file_like_any_other(study):
    done = ingest(study, io.BytesIO(b"\xef\xbb\xbfid,label\r\nitem-1,cat\r\n"))
    assert (done.source, done.new) == ("standard input", 1)


def test_a_changed_label_is_a_conflict_unless_it_shall_replace(study, label_file):
    ingest(study, label_file("item-1,cat", "item-2,dog"))
    path = label_file("item-3,owl", "item-1,dog", name="second.csv")
    with pytest.raises(
        LabelConflict,
        match="second.csv, line 3: id 'item-1' is labelled 'dog', and was labelled 'cat'",
    ) as error:
        ingest(study, path)
    assert error.value.hint.startswith("take the new labels with `replace=True`")
    with pytest.raises(LabelConflict):
        ingest(study, path, dry_run=True)
    assert known(study) == {"item-1": "cat", "item-2": "dog"}
    done = ingest(study, path, replace=True)
    assert (done.new, done.replaced) == (1, 1)
    assert known(study) == {"item-1": "dog", "item-2": "dog", "item-3": "owl"}


def test_what_was_replaced_stays_in_the_history_and_can_come_back(study, label_file):
    ingest(study, label_file("item-1,cat"))
    ingest(study, label_file("item-1,dog", name="second.csv"), replace=True)
    with closing(sqlite3.connect(study.ledger.path)) as db, db:
        values = db.execute("SELECT value FROM answers ORDER BY number").fetchall()
    assert values == [('"cat"',), ('"dog"',)]
    undone = undo(study)
    assert (undone.source.endswith("second.csv"), undone.answers) == (True, 1)
    assert known(study) == {"item-1": "cat"}
    undo(study)
    assert known(study) == {}
    with pytest.raises(LabelError, match="no file of labels to take back"):
        undo(study)


def test_how_many_labels_conflict_is_counted(study):
    ids = ["item-1", "item-2", "item-3"]
    ingest(study, dict.fromkeys(ids, "cat"))
    for count, others in ((1, ""), (2, " (and 1 more)"), (3, " (and 2 more)")):
        with pytest.raises(LabelConflict) as error:
            ingest(study, dict.fromkeys(ids[:count], "dog"))
        assert error.value.problem.endswith(f"was labelled 'cat'{others}")


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

    def make(task=None, **columns) -> StoredStudy:
        pq.write_table(pa.table(columns), folder / "pool.parquet")
        init("pool.parquet", seed=1, task=task)
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
    for label in ("1e100", "-1e100"):
        with pytest.raises(LabelError, match=f"'{label}' of id '3' is too large"):
            ingest(study, label_file(f"3,{label}"))


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


WORDS = ("N/A", "?", "-", "null", "NaN", "none", "nan", "Declined", "skipped", "unclear")


@pytest.mark.parametrize("word", WORDS)
def test_a_word_for_no_label_is_refused_unless_it_is_a_class(other_study, label_file, word):
    study = other_study(id=["a", "b", "c"], pred=["cat", "dog", "cat"])
    path, before = label_file(f"a,{word}", "b,dog"), study.ledger.record()
    with pytest.raises(LabelError, match="seem to say that there is none") as error:
        ingest(study, path)
    assert f"{word!r} of id 'a' (line 2)" in error.value.problem
    assert "`as_is=True`" in error.value.hint
    declining = word in ("Declined", "skipped", "unclear")
    assert ("column status" in error.value.hint) == declining
    assert (f"`missing=[{word!r}]`" in error.value.hint) != declining
    assert study.ledger.record() == before
    done = ingest(study, path, missing=[word.lower()], dry_run=True)
    assert (done.new, done.blank, done.outside) == (1, 1, ())
    assert ingest(study, path, as_is=True).outside == (word,)
    # A label that is known already needs no second permission.
    assert ingest(study, path).unchanged == 2


@pytest.mark.parametrize("word", WORDS)
def test_a_word_for_no_label_that_is_a_class_is_one(other_study, label_file, word):
    study = other_study(id=["a", "b"], pred=[word, "dog"], task="classification")
    assert ingest(study, label_file(f"a,{word}")).outside == ()


@pytest.mark.parametrize("columns", [{"pred": [0.5, 1.5]}, {"score": [0.5, 0.6]}])
def test_words_for_no_label_are_explained_where_labels_are_numbers_or_known(
    other_study, label_file, columns
):
    study = other_study(id=["a", "b"], **columns)
    path = label_file("a,N/A", "b,1")
    with pytest.raises(LabelError, match="label 'N/A' of id 'a' is not") as error:
        ingest(study, path)
    assert error.value.hint == "`missing=['N/A']` lets these items wait for a label"
    assert ingest(study, path, missing="N/A").blank == 1


def test_a_class_is_no_word_for_no_label(other_study):
    study = other_study(id=["a", "b"], pred=["none", "dog"])
    with pytest.raises(ChoiceError, match="`missing` names 'none', which is a class"):
        ingest(study, {"a": "dog"}, missing=["none"])


@pytest.mark.parametrize(
    ("predicted", "label", "known"),
    [
        (["1", "2", "3"], "2.0", "2"),
        (["1", "2", "3"], " 02 ", "2"),
        (["1", "2", "3"], "+2.", "2"),
        (["1.0", "2.0", "3.0"], "2", "2.0"),
        (["2", "02", "3"], "02", "02"),
        ([" cat", "dog\t", "cow"], "cat", "cat"),
    ],
)
def test_a_label_equals_a_class_by_spelling_or_as_a_whole_number(
    other_study, predicted, label, known
):
    study = other_study(id=["a", "b", "c"], pred=predicted)
    assert ingest(study, {"a": label}).outside == ()
    assert study.ledger.record().answers[0].label == known


@pytest.mark.parametrize("label", ["2.5", "2,0", "\u0662", "2_0", "\uff12", "two"])
def test_other_labels_equal_no_class(other_study, label):
    study = other_study(id=["a", "b", "c"], pred=["1", "2", "3"])
    assert ingest(study, {"a": label}, as_is=True).outside == (label,)


def test_a_number_that_two_classes_have_equals_none(other_study):
    study = other_study(id=["a", "b", "c"], pred=["2", "02", "3"])
    assert ingest(study, {"a": "2.0"}).outside == ("2.0",)


def test_whole_numbers_are_classes_of_closed_pools_too(other_study, label_file):
    study = other_study(id=["a", "b", "c"], score=[0.1, 0.5, 0.9])
    assert ingest(study, label_file("a,1.0", "b,00", "c, 1 ")).new == 3
    assert sorted(answer.label for answer in study.ledger.record().answers) == ["0", "1", "1"]


def test_one_answer_twice_in_one_file_may_be_spelled_in_two_ways(other_study, label_file):
    study = other_study(id=["a", "b"], pred=["1", "2"])
    path = label_file("a,2.0", "a,2", "b,N/A", "b,1")
    assert ingest(study, path, missing=["N/A"]).new == 2


@pytest.mark.parametrize("label", ["\u0663", "1_000", "\uff13", "0x10", "infinity", "1 00"])
def test_only_the_digits_0_to_9_are_numbers(other_study, label):
    study = other_study(id=["a", "b"], pred=[0.5, 1.5])
    with pytest.raises(LabelError, match="is not a number"):
        ingest(study, {"a": label})
    assert ingest(study, {"a": "+3.", "b": " .5e1 "}).new == 2


def predict(answers, classes=("negative", "neutral", "positive")):
    """A pool that predicts these classes in turn, and the rows of a label file of so many items."""
    names = [classes[number % len(classes)] for number in range(30)]
    ids = [f"i{number}" for number in range(30)]
    spelled = dict(zip(classes, answers, strict=True))
    lines = [f"{id},{spelled[name]}" for id, name in zip(ids, names, strict=True)]
    return {"id": ids, "pred": names}, lines


MAPPINGS = {
    "case": (("Negative", "NEUTRAL", "Positive"), {}),
    "spaces": (("not spam", "spam"), {"classes": ("not_spam", "spam.")}),
    "numbers in names": (("0", "1"), {"classes": ("LABEL_0", "LABEL_1")}),
    "abbreviations": (("neg", "neu", "pos"), {}),
    "pass and fail": (("fail", "pass"), {"classes": ("0", "1")}),
    "fail and pass": (("pass", "fail"), {"classes": ("1", "0")}),
    "true and false": (("1", "0"), {"classes": ("True", "False")}),
    "yes and no": (("no", "yes"), {"classes": ("0", "1")}),
}
UNCLEAR = {
    "codes from 0": (("0", "1", "2"), {}),
    "codes from 1": (("1", "2", "3"), {}),
    "names of codes": (("bad", "so", "good"), {"classes": ("0", "1", "2")}),
    "good and bad": (("bad", "good"), {"classes": ("0", "1")}),
    "other names": (("x", "y"), {"classes": ("0", "1")}),
}


@pytest.mark.parametrize("case", MAPPINGS)
def test_a_file_of_which_no_label_is_a_class_is_refused_with_the_likely_mapping(
    other_study, label_file, case
):
    answers, classes = MAPPINGS[case]
    columns, lines = predict(answers, **classes)
    study = other_study(**columns)
    before = study.ledger.record()
    with pytest.raises(LabelError, match=r"none of its 30 labels is a class") as error:
        ingest(study, label_file(*lines))
    likely = dict(zip(answers, classes.get("classes", sorted(set(columns["pred"]))), strict=True))
    assert error.value.mapping == likely
    assert "`map={" in error.value.hint and "`as_is=True`" in error.value.hint
    assert study.ledger.record() == before
    # The mapping that was shown can be saved and passed.
    rows = [f"{label},{name}" for label, name in error.value.mapping.items()]
    saved = label_file(*rows, header="from,to", name="map.csv")
    done = ingest(study, label_file(*lines), map=saved)
    assert (done.new, done.outside) == (30, ())
    assert (study.log(study.cache()).supplied_labels >= 0).all()
    assert ingest(study, label_file(*lines), map=error.value.mapping).unchanged == 30


@pytest.mark.parametrize("case", UNCLEAR)
def test_nothing_is_proposed_where_it_is_not_clear_what_labels_mean(other_study, label_file, case):
    answers, classes = UNCLEAR[case]
    columns, lines = predict(answers, **classes)
    study = other_study(**columns)
    with pytest.raises(LabelError, match="none of its 30 labels is a class") as error:
        ingest(study, label_file(*lines))
    assert error.value.mapping == {}
    assert f"{answers[0]!r} ({30 // len(answers)})" in error.value.problem
    assert error.value.hint.startswith("say which classes they stand for in a CSV file")


def test_the_file_as_it_is_goes_on_and_so_does_one_with_a_label_that_matches(
    other_study, label_file
):
    columns, lines = predict(("0", "1", "2"))
    study = other_study(**columns)
    mixed = ingest(study, label_file("i29,positive", *lines[:20]), dry_run=True)
    assert mixed.outside == ("0", "1", "2")
    assert ingest(study, label_file(*lines), as_is=True).outside == ("0", "1", "2")
    assert ingest(study, label_file(*lines)).unchanged == 30


def test_a_small_file_of_which_no_label_is_a_class_gets_a_notice(other_study, label_file):
    columns, lines = predict(("nay", "so", "yea"))
    study = other_study(**columns)
    done = ingest(study, label_file(*lines[:9]))
    assert done.outside == ("nay", "so", "yea")
    assert str(done).endswith("never predicts count as its mistakes")
    with pytest.raises(LabelError, match="none of its 10 labels"):
        ingest(study, label_file(*lines[:10]))


@pytest.mark.parametrize("count", [1, 9, 30])
def test_classes_in_other_words_are_asked_about_in_files_of_every_size(
    other_study, label_file, count
):
    columns, lines = predict(("Negative", "neu", "Positive"))
    study = other_study(**columns)
    said = rf"none of its {count} labels is a class" if count > 1 else "its only label is no class"
    with pytest.raises(LabelError, match=said) as error:
        ingest(study, label_file(*lines[:count]))
    if count < 30:
        with pytest.raises(LabelError, match=rf"{count} of its {count + 1} labels are no class"):
            ingest(study, label_file(*lines[:count], "i29,positive"))
    known = {"Negative": "negative", "neu": "neutral", "Positive": "positive"}
    assert error.value.mapping.items() <= known.items()
    assert ingest(study, label_file(*lines[:count]), as_is=True, dry_run=True).new == count
    assert ingest(study, label_file(*lines[:count]), map=error.value.mapping).outside == ()


def test_a_closed_pool_shows_the_likely_mapping_too(study, label_file):
    words = ("Cat", "DOG", " owl.")
    path = label_file(*(f"item-{row},{words[row % 3]}" for row in range(12)), "item-12,cow")
    with pytest.raises(LabelError, match="some labels are not classes") as error:
        ingest(study, path, as_is=True)
    assert error.value.mapping == {"Cat": "cat", "DOG": "dog", "owl.": "owl"}
    assert "the labels are 'Cat' (4), 'DOG' (4), 'owl.' (4), 'cow' (1)" in error.value.hint
    assert error.value.hint.endswith("; add what cow stands for")
    assert ingest(study, path, map=error.value.mapping | {"cow": "owl"}).new == 13
    with pytest.raises(LabelError) as error:
        ingest(study, label_file("item-0,Cat"))
    assert error.value.hint == "did you mean 'cat'? the classes are cat, dog, owl"
    assert error.value.mapping == {}


def test_rows_without_ids_have_ids_that_no_other_program_makes(other_study, label_file):
    study = other_study(score=np.linspace(0.1, 0.9, 5))
    assert set(next_batch(study, 5).ids) == {f"row-{row}" for row in range(5)}
    ingest(study, label_file("row-3,1", "row-0,0"))
    known = {row for row, label in enumerate(study.log(study.cache()).labels) if label >= 0}
    assert len(known) == 2
    for id in ("3", "5", "row-5", "row-03", "row-", "row--1", "Row-3", "row-\u0663"):
        with pytest.raises(LabelError, match=f"id {id!r} is not in the pool") as error:
            ingest(study, label_file(f"{id},1"))
        assert "'row-0'" in error.value.hint and "another tool" in error.value.hint
    with pytest.raises(LabelError, match="id '3' is not in the pool"):
        ingest(study, {3: 1})


def test_the_rows_of_a_frame_are_numbers_to_whoever_has_it(folder, label_file):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"score": np.linspace(0.1, 0.9, 6), "truth": [0, 0, 0, 1, 1, 1]})
    init(frame, seed=1)
    study = StoredStudy.open()
    batch = next_batch(study, 3)
    assert [f"row-{row}" for row in batch.positions] == batch.ids
    assert ingest(study, frame.loc[batch.positions, "truth"]).new == 3
    assert ingest(study, frame["truth"]).new == 3
    assert ingest(study, {row: row // 3 for row in range(6)}).unchanged == 6
    assert ingest(study, {f"row-{row}": row // 3 for row in range(6)}).unchanged == 6
    log = study.log(study.cache())
    assert log.labels.tolist() == [row // 3 for row in log.rows]
    # Text is what a file holds, and a true/false is no number.
    for labels in ({"3": 1}, {True: 1}, {6: 1}, {-1: 1}, {3.0: 1}, label_file("3,1")):
        with pytest.raises(LabelError, match="is not in the pool"):
            ingest(study, labels)


def test_a_frame_may_call_its_columns_otherwise(study):
    frame = pa.table({"item": ["item-1", "item-2"], "choice": ["cat", "dog"], "id": ["x", "y"]})
    done = ingest(study, frame, columns={"id": "item", "label": "choice"})
    assert (done.new, known(study)) == (2, {"item-1": "cat", "item-2": "dog"})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ids": "item"}, "names 'ids', which is no field"),
        ({"id": ""}, "no column for 'id'"),
        ({"id": 3}, "no column for 'id'"),
        (["id"], "is of type list"),
    ],
)
def test_columns_name_fields_of_an_answer(study, label_file, columns, message):
    with pytest.raises(ChoiceError, match=message):
        ingest(study, label_file("item-1,cat"), columns=columns)


def test_columns_of_a_mapping_make_no_sense(study):
    with pytest.raises(ChoiceError, match="is about files and frames"):
        ingest(study, [{"id": "item-1", "label": "cat"}], columns={"id": "id"})


def test_an_export_is_taken_as_a_whole_or_not_at_all_and_twice_is_once(study, folder):
    tasks = [
        ({"activetest_id": id}, [exports.annotate(number, 1, exports.choose(label))])
        for number, (id, label) in enumerate([("item-1", "cat"), ("item-2", "no class")], 1)
    ]
    (folder / "export").write_bytes(exports.write_label_studio(tasks))
    with pytest.raises(LabelError, match=r"task 2 \(id 102\), annotation 2: label 'no class'"):
        ingest(study, folder / "export")
    assert known(study) == {}
    done = ingest(study, folder / "export", map={"no class": "dog"})
    assert (done.new, done.unchanged) == (2, 0)
    again = ingest(study, folder / "export", map={"no class": "dog"})
    assert (again.new, again.unchanged) == (0, 2)
    assert undo(study).answers == 2 and known(study) == {}
    tasks[0][1][0]["result"] = exports.choose("owl")
    ingest(study, [{"id": "item-1", "label": "cat", "annotator": "1"}])
    (folder / "export").write_bytes(exports.write_label_studio(tasks[:1]))
    with pytest.raises(LabelConflict, match="annotation 1: id 'item-1' is labelled 'owl'"):
        ingest(study, folder / "export")
    assert ingest(study, folder / "export", replace=True).replaced == 1


def write_questions(folder, **answers):
    """An export of Label Studio whose questions have these answers to the first items."""
    tasks = []
    for row, given in enumerate(zip(*answers.values(), strict=True)):
        named = zip(answers, given, strict=True)
        result = [each for name, answer in named for each in exports.choose(answer, name=name)]
        tasks.append(({"activetest_id": f"item-{row}"}, [exports.annotate(row, 1, result)]))
    path = folder / "export.json"
    path.write_bytes(exports.write_label_studio(tasks))
    return path


def test_the_only_question_whose_answers_are_classes_gives_the_labels(study, folder):
    path = write_questions(folder, mood=["fine", "sad"], animal=["cat", "dog"])
    done = ingest(study, path, dry_run=True)
    assert done.new == 2
    assert str(done).endswith(
        "Labels are the answers to 'animal', as no others are labels of the pool"
    )
    with path.open("rb") as stdin, pytest.raises(LabelError, match="more than one") as error:
        ingest(study, stdin)
    assert error.value.hint == "say which one it is: `columns={'label': 'animal'}`"


def write_row_export(folder, kind, **columns):
    """An export with a row per annotation, of items with these columns."""
    rows = [
        {"activetest_id": f"item-{row}", "annotation_id": row, "annotator": 1, "lead_time": 1.5}
        | dict(zip(columns, values, strict=True))
        for row, values in enumerate(zip(*columns.values(), strict=True))
    ]
    path = folder / f"export.{kind}"
    if kind == "json":
        path.write_text(json.dumps(rows))
    else:
        lines = [",".join(map(str, each.values())) for each in rows]
        path.write_text("\n".join([",".join(rows[0]), *lines, ""]))
    return path


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_the_only_column_of_classes_of_an_export_gives_the_labels(study, folder, kind):
    said = {"text": ["so", "and\0so", "9" * 400, "x"], "sentiment": ["cat", "dog", "cat", "cat"]}
    if kind == "csv":
        said["text"][1] = "so so"
    done = ingest(study, write_row_export(folder, kind, **said), dry_run=True)
    assert done.new == 4 and "Labels are the answers to 'sentiment'" in str(done)


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize("other", [["dog", "dog", "cat", "cat"], ["yes", "no", "yes", "no"]])
def test_columns_of_an_export_that_may_all_hold_labels_are_asked_about(study, folder, kind, other):
    path = write_row_export(folder, kind, shown=other, sentiment=["cat", "dog", "cat", "cat"])
    with pytest.raises(LabelError, match="has no column 'label'") as error:
        ingest(study, path)
    assert "columns={'label': 's" in error.value.hint
    assert ingest(study, path, columns={"label": "sentiment"}, dry_run=True).new == 4


def test_several_questions_of_classes_are_asked_about_with_their_names(study, folder):
    path = write_questions(folder, first=["cat", "cat"], verdict=["cat", "dog"])
    with pytest.raises(LabelError) as error:
        ingest(study, path)
    assert error.value.hint == (
        "say which one it is, the likeliest first: `columns={'label': 'verdict'}` or "
        "`columns={'label': 'first'}`"
    )
    assert ingest(study, path, columns={"label": "verdict"}).new == 2


def test_a_file_whose_columns_are_called_otherwise_says_which_to_name(study, label_file):
    lines = [f"2026-01-02 10:00,item-{row},{('cat', 'dog')[row % 2]}" for row in range(6)]
    path = label_file(*lines, header="Timestamp,Item code,Your answer")
    with pytest.raises(LabelError, match="no column 'id'") as error:
        ingest(study, path)
    hint = "say which ones they are: `columns={'id': 'Item code', 'label': 'Your answer'}`"
    assert error.value.hint == hint
    assert ingest(study, path, columns={"id": "Item code", "label": "Your answer"}).new == 6


def test_ids_of_another_tool_are_told_from_those_of_the_pool(study, label_file):
    lines = [f"{row},item-{row},cat" for row in range(3)]
    path = label_file(*lines, header="id,item,label")
    with pytest.raises(
        LabelError, match="id '0' is not in the pool, and neither is any other"
    ) as e:
        ingest(study, path)
    assert e.value.hint == "ids of the pool stand in another column: `columns={'id': 'item'}`"
    assert ingest(study, path, columns={"id": "item"}).new == 3


def test_rows_of_no_item_are_blamed_where_the_others_are_of_items(study, label_file):
    lines = [f"item-{row},cat" for row in range(8)]
    with pytest.raises(LabelError, match="line 10: id 'Total' is not in the pool") as error:
        ingest(study, label_file(*lines, "Total,8"))
    assert error.value.hint.startswith("the other 8 rows are of items of the pool")
    with pytest.raises(LabelError, match="id 'id' is not in the pool") as error:
        ingest(study, label_file(lines[0], "id,label", lines[1]))
    assert error.value.hint.startswith("the other 2 rows are of items of the pool")
    with pytest.raises(LabelError) as error:
        ingest(study, label_file(*lines[:2], "x,cat", "y,dog"))
    assert "another study" in error.value.hint


def test_what_a_spreadsheet_did_to_ids_is_undone_and_said(other_study, label_file):
    study = other_study(id=["007", "008", "009"], pred=["cat", "dog", "cat"])
    done = ingest(study, label_file("7,cat", "8.0,dog", "009,cat"))
    assert (done.new, done.outside) == (3, ())
    assert "2 ids were read as the only one of the pool that can be meant" in str(done)
    assert ingest(study, {7: "cat", "8": "dog"}).unchanged == 2


def test_names_and_labels_of_older_studies_are_known_in_whichever_form_of_unicode(
    other_study, label_file
):
    study = other_study(id=["a", "b", "c"], pred=["x", "y", "x"])
    name, label = (unicodedata.normalize("NFD", text) for text in ("Ren\u00e9", "th\u00e9"))
    older = [Answer("a", name, LABELLED, label), Answer("b", name, LABELLED, "y")]
    study.ledger.add_answers(older, source="x", revision=study.ledger.record().revision)
    path = label_file(f"a,{label},Ren\u00e9", "b,x,Ren\u00e9", "c,x,Ren\u00e9", header=HEADER)
    with pytest.raises(
        LabelConflict, match=r"line 3: id 'b' is labelled 'x', and was labelled 'y'"
    ):
        ingest(study, path)
    done = ingest(study, path, replace=True)
    assert (done.new, done.replaced, done.unchanged) == (1, 1, 1)
    assert {answer.annotator for answer in study.ledger.record().answers} == {name}


def test_one_label_in_two_forms_of_unicode_is_one(other_study, label_file):
    name = "caf\u00e9"
    study = other_study(id=["a", "b", "c"], pred=[unicodedata.normalize("NFD", name), "x", "x"])
    assert ingest(study, label_file(f"a,{name}")).outside == ()
    first, second = "th\u00e9", unicodedata.normalize("NFD", "th\u00e9")
    assert ingest(study, label_file(f"b,{first}")).outside == (first,)
    assert ingest(study, label_file(f"b,{second}")).unchanged == 1
