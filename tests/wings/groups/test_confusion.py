"""The confusion matrix and the reliability diagram in answers to questions about groups."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.nouns.quantity import Quantity
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from activetest.wings.groups import confusion
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.partition import Partition
from tests.makers import init

CLASSES = ("cat", "dog", "owl")


def cell(matrix, truth, predicted):
    (found,) = (each for each in matrix.cells if (each.truth, each.predicted) == (truth, predicted))
    return found


def test_the_confusion_posterior_counts_true_labels(begin_study, label_draws):
    """A dog that is predicted to be a cat raises P(dog | cat), and leaves P(cat | dog) alone."""
    study = begin_study(question="estimate", metric="confusion")
    before = report(study).assessment.confusion
    label_draws(study, 45, lambda row, predicted: 1 if predicted == 0 else predicted)
    after = report(study).assessment.confusion
    assert cell(before, "dog", "cat").estimate == pytest.approx(1 / 3)
    assert cell(after, "dog", "cat").estimate > 0.9
    assert cell(after, "cat", "dog").estimate < 0.1
    for matrix in (before, after):
        for predicted in CLASSES:
            column = [each.estimate for each in matrix.cells if each.predicted == predicted]
            assert sum(column) == pytest.approx(1)
    (cats,) = (each for each in after.columns if each.predicted == "cat")
    rest = (cats.n_pool - cats.n_labeled) * (cats.n_labeled + 1 / 3) / (cats.n_labeled + 1)
    exact = (cats.n_labeled + rest) / cats.n_pool
    assert cell(after, "dog", "cat").estimate == pytest.approx(exact)
    total = 0.0
    for column in after.columns:
        # A Dirichlet-multinomial for the rest, with one prior label over three classes.
        size, known = column.n_pool, column.n_labeled
        rest, strength = size - known, known + 1
        for each in after.cells:
            if each.predicted == column.predicted:
                share = (each.estimate * size - known) / rest if each.estimate > 0.5 else None
                share = (1 / 3) / strength if share is None else share
                spread = rest * share * (1 - share) * (strength + rest) / (strength + 1)
                total += size * spread / size**2
    assert report(study).assessment.rmse == pytest.approx((total / 90) ** 0.5)


def test_of_many_classes_the_most_frequent_mistakes_are_listed(
    begin_study, label_draws, monkeypatch
):
    study = begin_study(question="estimate", metric="confusion")
    label_draws(study, 45, lambda row, predicted: 1 if predicted == 0 else predicted)
    whole = report(study).assessment.confusion
    assert whole.complete and len(whole.cells) == 9
    monkeypatch.setattr(confusion, "_WHOLE", 2)
    monkeypatch.setattr(confusion, "_MISTAKES", 3)
    some = report(study).assessment.confusion
    assert not some.complete
    mistakes = [cell for cell in whole.cells if cell.truth != cell.predicted]
    largest = sorted((cell.estimate for cell in mistakes), reverse=True)[:3]
    assert [cell.estimate for cell in some.cells] == pytest.approx(largest)
    assert (some.cells[0].truth, some.cells[0].predicted) == ("dog", "cat")
    monkeypatch.setattr(confusion, "_WHOLE", 3)
    assert report(study).assessment.confusion.complete


def test_labels_outside_the_classes_have_a_row(folder, label_file):
    pq.write_table(pa.table({"id": list(range(30)), "pred": ["cat", "dog"] * 15}), "pool.parquet")
    init("pool.parquet", seed=1, question="estimate")
    study = StoredStudy.open()
    ids = [each["id"] for each in next_batch(study, 20).rows]
    labels = ["cow" if int(item) % 2 else "cat" for item in ids]
    ingest(study, label_file(*map(",".join, zip(ids, labels, strict=True))))
    answer = report(study).assessment
    assert answer.confusion.truths == ("cat", "dog", "another class")
    assert cell(answer.confusion, "another class", "dog").estimate > 0.8
    assert answer.reliability is None
    assert answer.prior == "uniform"


def test_a_weighted_column_of_the_matrix_sums_to_one(begin_study, label_draws):
    study = begin_study(acquisition="optimal", metric="accuracy", groups=("place",))
    label_draws(study, 60)
    init("pool.parquet", question="identify", groups=("place",), prior="uniform")
    matrix = report(StoredStudy.open()).assessment.confusion
    assert [each.method for each in matrix.columns] == ["doubly-robust"] * 3
    for predicted in CLASSES:
        column = [each.estimate for each in matrix.cells if each.predicted == predicted]
        assert sum(column) == pytest.approx(1)
        after = CLASSES[(CLASSES.index(predicted) + 1) % 3]
        assert 0.1 < cell(matrix, after, predicted).estimate < 0.6


def test_a_weighted_class_outside_the_others_has_an_interval_of_its_own(folder, label_file):
    """Every third item is a cow, which is never predicted."""
    ids = [f"item-{number}" for number in range(240)]
    pq.write_table(pa.table({"id": ids, "pred": ["cat", "dog"] * 120}), "pool.parquet")
    init("pool.parquet", seed=1)
    study = StoredStudy.open()
    drawn = [each["id"] for each in next_batch(study, 120).rows]
    labels = [
        "cow" if int(item[5:]) % 3 == 0 else ("cat", "dog")[int(item[5:]) % 2] for item in drawn
    ]
    ingest(study, label_file(*map(",".join, zip(drawn, labels, strict=True))))
    init("pool.parquet", question="identify")
    matrix = report(StoredStudy.open()).assessment.confusion
    assert [each.method for each in matrix.columns] == ["doubly-robust"] * 2
    for predicted in ("cat", "dog"):
        column = [each for each in matrix.cells if each.predicted == predicted]
        assert sum(each.estimate for each in column) == pytest.approx(1)
        assert all(0 <= each.lower <= each.estimate <= each.upper <= 1 for each in column)
        outside = cell(matrix, "another class", predicted)
        assert outside.lower < 1 / 3 < outside.upper
        assert outside.lower > 0.1


def test_bins_of_the_confidence_are_the_whole_pool(begin_study, label_draws):
    study = begin_study(question="estimate", groups=("predicted",), acquisition="uniform")
    label_draws(study, 40)
    diagram = report(study).assessment.reliability
    assert sum(each.n_pool for each in diagram.bins) == 90
    assert sum(each.n_labeled for each in diagram.bins) == 40
    confidence = study.cache().rows(0, 90).outputs.confidence
    for each in diagram.bins:
        if each.n_pool:
            assert each.low <= each.confidence <= each.high
            assert each.lower <= each.estimate <= each.upper
            assert each.method == "posterior"
    mean = sum(each.confidence * each.n_pool for each in diagram.bins if each.n_pool) / 90
    assert mean == pytest.approx(confidence.mean())
    assert 0 <= diagram.ece.lower <= diagram.ece.estimate <= diagram.ece.upper


def test_bins_are_weighted_where_draws_chose_between_other_groups(begin_study, label_draws):
    study = begin_study(question="estimate", groups=("predicted",))
    label_draws(study, 60)
    diagram = report(study).assessment.reliability
    methods = {each.method for each in diagram.bins if each.n_labeled >= 10}
    assert methods == {"doubly-robust"}
    assert diagram.ece.method == "doubly-robust"
    few = [each for each in diagram.bins if 0 < each.n_labeled < min(10, each.n_pool)]
    assert {each.method for each in few} == {"pseudo-posterior"}
    assert all(each.lower <= each.estimate <= each.upper for each in few)


def gaps(diagram) -> float:
    """The calibration error at the accuracies that are shown."""
    shown = [each for each in diagram.bins if each.n_pool]
    return sum(each.n_pool * abs(each.estimate - each.confidence) for each in shown) / 90


@pytest.mark.parametrize(
    ("acquisition", "method"), [("uniform", "posterior"), ("optimal", "pseudo-posterior")]
)
def test_the_calibration_error_is_that_of_the_accuracies_shown(
    begin_study, label_draws, acquisition, method
):
    """Draws of it would be larger; few labels that were not drawn uniformly are weighted in it."""
    study = begin_study(question="estimate", acquisition=acquisition, metric="accuracy")
    label_draws(study, 12)
    diagram = report(study).assessment.reliability
    assert diagram.ece.method == method
    assert all(each.estimate is not None for each in diagram.bins if each.n_pool)
    assert diagram.ece.estimate == pytest.approx(gaps(diagram), abs=1e-6)
    reach = diagram.ece.upper - diagram.ece.estimate
    assert diagram.ece.lower == pytest.approx(max(diagram.ece.estimate - reach, 0))


@pytest.mark.parametrize("metric", ["accuracy", "error"])
def test_draws_between_bins_of_the_confidence_speak_for_these_bins(
    begin_study, label_draws, metric
):
    study = begin_study(question="estimate", groups=("confidence",), metric=metric)
    label_draws(study, 40)
    answer = report(study).assessment
    assert answer.reliability.ece.method == "posterior"
    for each in answer.reliability.bins:
        if each.n_pool:
            value = f"{each.low:.1f}-{each.high:.1f}"
            (found,) = (group for group in answer.groups if group.group == {"confidence": value})
            assert (each.n_pool, each.n_labeled) == (found.n_pool, found.n_labeled)
            right = found.estimate if metric == "accuracy" else 1 - found.estimate
            assert each.estimate == pytest.approx(right)


def test_a_class_that_was_predicted_once_has_a_column(folder, label_file):
    ids = [f"item-{number}" for number in range(31)]
    pq.write_table(pa.table({"id": ids, "pred": ["cat", "dog"] * 15 + ["owl"]}), "pool.parquet")
    init("pool.parquet", seed=1, question="estimate")
    study = StoredStudy.open()
    ingest(study, label_file(*(f"{id},cat" for id in ids[:5])))
    matrix = report(study).assessment.confusion
    assert [each.n_pool for each in matrix.columns] == [15, 15, 1]
    assert sum(cell(matrix, truth, "owl").estimate for truth in matrix.truths) == pytest.approx(1)


def counts_of(sizes, *, outcomes=3, known=0, strata=()):
    """Cells of these sizes, none of whose labels were drawn uniformly."""
    count = len(sizes)
    labels = np.full((count, outcomes), float(known))
    arms = Arms(
        kind="confusion",
        groups=({"": ""},),
        arm_of_cell=np.zeros(count, int),
        size=np.array(sizes),
        value=np.tile(np.eye(outcomes)[0], (count, 1)),
        mean_confidence=np.full(count, 0.7),
        known_counts=labels,
        exchangeable_counts=labels,
        prior=np.ones((count, outcomes)),
    )
    return SimpleNamespace(
        arms=arms,
        labelled=labels.sum(axis=1),
        non_uniform=np.ones(count, bool),
        partition=Partition("", strata),
    )


def test_a_share_outside_the_classes_is_what_its_column_has_beside_them():
    """Columns that are known have no such metrics, nor have pools of many classes."""
    counts = counts_of([60, 20])
    found = confusion.list_cell_metrics(counts, ("cat", "dog"))
    assert list(found) == [0, 1]
    cats, dogs, outside = found[1]
    assert [each.title for each in (cats, dogs)] == [
        "confusion[cat as dog]",
        "confusion[dog as dog]",
    ]
    assert (outside.lower, outside.upper) == (0, 0.25)
    assert float(outside.smooth(np.array([0.05, 0.15]))) == approx(0.05)
    assert [
        len(each)
        for each in confusion.list_cell_metrics(counts_of([9, 9], outcomes=2), ("a", "b")).values()
    ] == [2, 2]
    counts.arms.known_counts[0] = 20
    assert list(confusion.list_cell_metrics(counts, ("cat", "dog"))) == [1]
    many = tuple(map(str, range(confusion._WEIGHTED + 1)))
    assert confusion.list_cell_metrics(counts_of([9] * len(many)), many) == {}
    enough = many[:-1]
    assert len(confusion.list_cell_metrics(counts_of([9] * len(enough)), enough)) == len(enough)


def test_a_calibration_error_without_an_estimate_has_no_method(monkeypatch):
    edges = ("edges", 0.0, 0.5, 1.0)
    counts = counts_of([40, 60], outcomes=2, strata=edges)
    shares = iter([np.array([[0.5, 0.4, 0.6]]), None])
    monkeypatch.setattr(confusion, "_estimate_shares", lambda *_: next(shares))
    for estimate, method in ((None, "none"), (0.1, "doubly-robust")):
        shares = iter([np.array([[0.5, 0.4, 0.6]]), None])
        quantity = Quantity(estimate, estimate, estimate, 0.9, "calibration")
        row = SimpleNamespace(estimate=estimate, quantity=quantity, reason="why")
        monkeypatch.setattr(confusion, "estimate_row", lambda *_, row=row, **__: row)
        found = confusion.estimate_reliability(
            counts, SimpleNamespace(), None, 0.9, np.random.default_rng(0)
        )
        assert [each.method for each in found.bins] == ["doubly-robust", "pseudo-posterior"]
        assert (found.ece.method, found.ece.estimate, found.reason) == (method, estimate, "why")
        assert [(each.low, each.high) for each in found.bins] == [(0, 0.5), (0.5, 1)]
        assert found.bins[0].quantity.lower == 0.4


def test_bins_of_groups_take_the_place_of_those_of_the_calibration_error(folder, label_file):
    """An item at an edge, alone in its bin, is of another bin among the groups."""
    confident = np.array([0.95] * 20 + [0.65] * 20 + [np.float32(0.8)] * 3)
    columns = {"id": [f"item-{row}" for row in range(43)], "prob_a": confident}
    pq.write_table(pa.table(columns | {"prob_b": 1 - confident}), "pool.parquet")
    init("pool.parquet", seed=1, question="estimate", groups=("confidence",))
    study = StoredStudy.open()
    ids = [each["id"] for each in next_batch(study, 30).rows]
    ingest(study, label_file(*(f"{id},a" for id in ids)))
    answer = report(study).assessment
    bins = {f"{each.low:.1f}-{each.high:.1f}": each for each in answer.reliability.bins}
    assert sum(each.n_pool for each in bins.values()) == 43
    assert sum(each.n_labeled for each in bins.values()) == 30
    assert 0 < answer.reliability.ece.lower < answer.reliability.ece.upper < 1
    for group in answer.groups:
        found = bins[group.group["confidence"]]
        assert (found.n_pool, found.n_labeled) == (group.n_pool, group.n_labeled)
