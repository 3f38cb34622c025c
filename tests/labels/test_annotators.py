"""Several answers to one item: how far they agree, and which label is used."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.labels.annotators import (
    describe_agreement,
    infer_labels,
    measure_agreement,
    resolve_answers,
)
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.makers import init


def answers(*columns: str) -> list[tuple]:
    """One string per annotator, a character per item; "." for no answer, "-" for declined."""
    return [
        (f"item {item}", who, DECLINED if label == "-" else LABELLED, label.strip("-"))
        for item in range(len(columns[0]))
        for who, column in enumerate(columns)
        if (label := column[item]) != "."
    ]


# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", examples A to D.
BINARY = answers("0100000010", "1110010000")
NOMINAL = answers("aabbdcccedda", "babbbccceddd")
GAPS = answers("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def test_alpha_is_that_of_krippendorffs_examples():
    assert measure_agreement(BINARY).alpha == approx(0.095, abs=5e-4)
    assert measure_agreement(NOMINAL).alpha == approx(0.692, abs=5e-4)
    assert measure_agreement(GAPS).alpha == approx(0.743, abs=5e-4)
    assert measure_agreement(GAPS, values=True).alpha == approx(0.849, abs=5e-4)


def test_agreement_counts_items_and_pairs():
    found = measure_agreement(answers("aab.-", "aba..", "ab.c-"))
    assert (found.annotators, found.items, found.pairs) == (3, 3, 7)
    assert found.agreeing == approx(4 / 7)
    alone = measure_agreement(answers("ab-"))
    assert (alone.annotators, alone.items, alone.pairs) == (1, 0, 0)
    assert alone.agreeing is None and alone.alpha is None
    assert measure_agreement([]).annotators == 0


def test_perfect_agreement_is_one_and_without_variety_there_is_no_alpha():
    assert measure_agreement(answers("aab", "aab")).alpha == approx(1)
    same = measure_agreement(answers("aaa", "aaa"))
    assert (same.agreeing, same.alpha) == (1.0, None)


def test_the_note_says_how_many_and_which_label_counts():
    assert describe_agreement(answers("abc"), "majority") is None
    assert describe_agreement(answers("aabb", "aaba"), "majority") == (
        "2 annotators: 4 items have two or more labels, 75% of all pairs agree (Krippendorff's "
        "alpha 0.53). The majority decides each item's label; ties go to the earliest answer."
    )
    doubtful = describe_agreement(answers("aaaabbbba", "aaaabbbbb"), "dawid-skene")
    assert "the most probable class given all answers (Dawid-Skene)" in doubtful
    expected = 9 - sum(
        p.max() for p in infer_labels(answers("aaaabbbba", "aaaabbbbb")).probs.values()
    )
    assert 0.4 < expected < 2
    assert doubtful.endswith(f"; about {expected:.1f} of 9 labels are expected to be wrong.")
    single = describe_agreement(answers("12", "1."), "majority", values=True)
    assert "1 item has two or more labels, 100% of all pairs agree. " in single
    assert single.endswith("is their median.")


def test_values_are_settled_by_their_median():
    values = answers("131", "27.", "9.-", "3..")
    labels = {id: label for id, (_, label) in resolve_answers(values, values=True).items()}
    assert labels == {"item 0": "2.5", "item 1": "5.0", "item 2": "1"}
    written = resolve_answers([("a", "x", LABELLED, "0.1"), ("b", "x", DECLINED, "")], values=True)
    assert written == {"a": (LABELLED, "0.1"), "b": (DECLINED, "")}


def test_labels_count_where_others_declined():
    given = answers("-a-", "a--")
    for values in (False, True):
        outcome = resolve_answers([(*a[:3], a[3] and "1") for a in given], values=values)
        assert [status for status, _ in outcome.values()] == [LABELLED, LABELLED, DECLINED]


def test_of_equally_probable_labels_the_earliest_is_taken_whoever_gave_it():
    given = answers("ab", "ba")
    assert infer_labels(given).labels == {"item 0": "a", "item 1": "b"}
    assert infer_labels(given[::-1]).labels == {"item 0": "b", "item 1": "a"}
    renamed = [(id, 1 - who, *rest) for id, who, *rest in given]
    assert infer_labels(renamed).labels == infer_labels(given).labels


def test_where_two_annotators_disagree_the_first_answer_counts():
    """Error rates of 10 %: how the posterior leans at a disagreement is no better than a coin."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    given = np.where(rng.random((2, 200)) < 0.1, 1 - truth, truth)
    columns = ["".join(map(str, column)) for column in given]
    disagreeing = np.flatnonzero(given[0] != given[1])
    # Each annotator is the first to see half of the items.
    found = answers(*columns)
    found = [pair for two in zip(found[::2], found[1::2], strict=True) for pair in _swap_odd(two)]
    inferred = infer_labels(found)
    first = {id: label for id, *_, label in found[::-1]}
    assert len(disagreeing) > 20
    gaps = [abs(np.diff(inferred.probs[f"item {item}"])[0]) for item in disagreeing]
    assert 0 < max(gaps) < 0.1
    for item in range(200):
        assert inferred.labels[f"item {item}"] == first[f"item {item}"]


def _swap_odd(two: tuple) -> tuple:
    """The answers to an item, in the other order where its number is odd."""
    return two[::-1] if int(two[0][0].split()[1]) % 2 else two


def test_two_annotators_are_outvoted_by_how_frequent_the_classes_are():
    """Where nine of ten items are of one class, that says more than who was first."""
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 10 == 0
    given = (rng.random((2, 300)) < 0.1) != truth
    found = answers(*("".join("yn"[int(not each)] for each in column) for column in given))
    labels = infer_labels(found).labels
    apart = np.flatnonzero(given[0] != given[1])
    right = [labels[f"item {item}"] == "yn"[int(not truth[item])] for item in apart]
    assert np.mean(right) > 0.8 > np.mean(given[0][apart] == truth[apart])


def test_one_annotator_is_believed():
    given = answers("abca-")
    found = infer_labels(given)
    assert found.labels == dict(zip([f"item {i}" for i in range(4)], "abca", strict=True))
    assert found.names == ("a", "b", "c")
    assert np.array_equal(found.probs["item 3"], [1, 0, 0])


@pytest.fixture
def begin_with_answers(folder, label_file):
    """begin_with_answers(columns, lines) is a study of a pool of these columns, with answers."""

    def make(columns: dict, lines: list[str]) -> StoredStudy:
        pq.write_table(pa.table(columns), folder / "pool.parquet")
        init("pool.parquet", seed=1)
        study = StoredStudy.open()
        ingest(study, label_file(*(f"row-{line}" for line in lines), header="id,label,annotator"))
        return study

    return make


def believing(study: StoredStudy) -> StoredStudy:
    """The study, with Dawid-Skene instead of the majority."""
    study.update(replace(study.choices, annotators="dawid-skene"))
    return StoredStudy.open(study.folder)


def test_a_study_can_believe_the_better_annotators_against_more_who_do_not_look(begin_with_answers):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    lines = []
    for item, label in enumerate(truth):
        lines += [f"{item},{abs(label - (rng.random() < 0.05))},{who}" for who in ("ann", "bob")]
        lines += [f"{item},0,{who}" for who in ("cyd", "dan", "eve")]
    study = begin_with_answers({"score": rng.random(60)}, lines)
    log = study.log(study.cache())
    assert not log.supplied_labels.any()
    assert log.soft is None and log.supplied_soft is None
    log = believing(study).log(study.cache())
    assert (log.supplied_labels == truth).mean() > 0.85
    assert log.soft.shape == (0, 2) and log.supplied_soft.shape == (60, 2)
    assert log.supplied_soft.sum(axis=1) == approx(1)
    assert np.array_equal(log.supplied_soft.argmax(axis=1), log.supplied_labels)


def test_doubt_about_a_label_outside_the_classes_is_what_is_missing_to_one(begin_with_answers):
    lines = [f"{item},{label},{who}" for item, label in enumerate("abab") for who in ("x", "y")]
    lines += ["4,a,x", "4,unicorn,y", "5,unicorn,x", "5,unicorn,y", "6,a,y"]
    study = believing(begin_with_answers({"pred": list("ababaaab")}, lines))
    next_batch(study, 1)
    log = study.log(study.cache())
    soft = {int(row): each for row, each in zip(log.supplied_rows, log.supplied_soft, strict=True)}
    soft |= {int(row): each for row, each in zip(log.rows, log.soft, strict=True)}
    assert soft[0] @ [1, 0] > 0.9
    assert 0.1 < soft[4].sum() < 0.9
    assert soft[5].sum() < 0.1
    assert np.isnan(log.soft[log.status == PENDING]).all()
    labels = dict(zip(log.supplied_rows, log.supplied_labels, strict=True))
    assert labels[5] == -1


def test_without_two_answers_to_an_item_dawid_skene_changes_nothing(begin_with_answers):
    lines = [
        f"{item},{label},{who}"
        for item, label, who in zip(range(6), "010011", "xyxyxz", strict=True)
    ]
    study = begin_with_answers({"score": np.linspace(0, 1, 8)}, lines)
    before = study.log(study.cache())
    after = believing(study).log(study.cache())
    assert np.array_equal(before.supplied_labels, after.supplied_labels)
    assert np.array_equal(after.supplied_soft, np.eye(2)[before.supplied_labels.astype(int)])


def test_a_regression_study_takes_the_median_of_several_answers(begin_with_answers):
    lines = ["0,1,x", "0,3,y", "0,8,z", "1,2,x", "1,2.5,y", "2,7,x"]
    study = begin_with_answers({"pred": [0.5, 1.5, 2.5]}, lines)
    assert study.log(study.cache()).supplied_labels.tolist() == [3, 2.25, 7]
