"""Answers to questions about groups: ranks, comparisons, mistakes and calibration."""

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.nouns.log import LABELLED
from activetest.nouns.report import Weight
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from activetest.wings.groups.group_ranking import GroupRank
from activetest.wings.groups.sections.question import sentence
from tests.makers import init

SIZE = 90
KINDS = ("doubly-robust", "pseudo-posterior")


@pytest.mark.parametrize(
    ("items", "expected"),
    [((1, 0), 0.5), ((3, 1), ((3 * 0.25 + 0.3**2) / 4) ** 0.5), ((0, 0), 0)],
)
def test_the_expected_error_is_that_of_an_item(items, expected):
    """Errors of 0.5 and 0.3, up and down; a group without an item has no value."""
    nothing = np.zeros(2)
    estimate = np.where(np.array(items) > 0, [0.5, 0.4], np.nan)
    draws = np.where(np.array(items) > 0, [[1.0, 0.7], [0.0, 0.1]], 0)
    stands = GroupRank(
        None, nothing, np.array(items), nothing, draws, estimate, nothing, nothing, nothing
    )
    assert stands.rmse == pytest.approx(expected)


def counts(study, column="place") -> dict:
    """{value: (right, wrong, items)} of a group column."""
    cache, log = study.cache(), study.log(study.cache())
    place = cache.group_names.index(column)
    codes, pred = (
        cache.rows(0, SIZE).codes[:, place],
        cache.rows(0, SIZE).outputs.pred,
    )
    labelled = log.rows[log.status == LABELLED]
    right = log.labels[log.status == LABELLED] == pred[labelled]
    return {
        value: (
            int(right[codes[labelled] == code].sum()),
            int((~right)[codes[labelled] == code].sum()),
            int((codes == code).sum()),
        )
        for code, value in enumerate(cache.group_values[place])
    }


def remainder(right: int, wrong: int, size: int):
    """The distribution of the rest of a group, with one right and one wrong label as the prior."""
    return betabinom(size - right - wrong, 1 + right, 1 + wrong)


def group(answer, **meaning):
    (found,) = (each for each in answer.groups if each.group == meaning)
    return found


def test_a_study_without_a_question_has_no_answer(study):
    assert report(study).assessment is None


def test_groups_have_the_posterior_of_their_beta_binomials(begin_study, label_draws):
    study = begin_study(question="identify", groups=("place",))
    label_draws(study, 24)
    answer = report(study).assessment
    values = {}
    for value, (right, wrong, size) in counts(study).items():
        found, rest = group(answer, place=value), remainder(right, wrong, size)
        assert (found.n_pool, found.n_labeled) == (size, right + wrong)
        assert found.estimate == pytest.approx((right + rest.mean()) / size)
        assert found.lower == pytest.approx((right + rest.ppf(0.025)) / size, abs=1.01 / size)
        assert found.upper == pytest.approx((right + rest.ppf(0.975)) / size, abs=1.01 / size)
        assert found.method == "posterior"
        values[value] = (right + np.arange(size - right - wrong + 1)) / size, rest
        # Of two groups one is the worst: the other is not among the worst.
        assert found.p_among_worst == found.p_worst == pytest.approx(1 - found.p_best, abs=0.2)
    (barn, of_barn), (tree, of_tree) = values["barn"], values["tree"]
    apart = np.subtract.outer(barn, tree)
    less = (apart < -1e-12) + (np.abs(apart) <= 1e-12) / 2
    exact = of_barn.pmf(np.arange(len(barn))) @ less @ of_tree.pmf(np.arange(len(tree)))
    assert group(answer, place="barn").p_worst == pytest.approx(exact, abs=0.02)
    assert sum(each.p_worst for each in answer.groups) == pytest.approx(1)
    # Where both are equally bad, either is rightly named.
    assert answer.probability > answer.groups[0].p_worst
    (worst,) = answer.groups[0].group.values()
    even = (
        of_barn.pmf(np.arange(len(barn)))
        @ (np.abs(apart) <= 1e-12)
        @ of_tree.pmf(np.arange(len(tree)))
    )
    assert answer.probability == pytest.approx(
        (exact if worst == "barn" else 1 - exact) + even / 2, abs=0.02
    )


def test_ranks_follow_the_estimates_and_a_report_is_always_the_same(begin_study, label_draws):
    study = begin_study(question="identify", groups=("place", "predicted"))
    label_draws(study, 20)
    first, again = (report(study).assessment for _ in range(2))
    assert first == again
    estimates = [each.estimate for each in first.groups]
    assert estimates == sorted(estimates)
    assert [each.rank for each in first.groups] == [1, 2]
    assert all(each.rank_lower <= each.rank <= each.rank_upper for each in first.groups)


def test_when_everything_is_labelled_all_is_known(begin_study, label_draws):
    study = begin_study(question="identify", groups=("predicted",))
    label_draws(study, SIZE, lambda row, predicted: predicted or row % 3)
    shown = report(study)
    answer = shown.assessment
    assert [each.method for each in answer.groups] == ["exact"] * 3
    right, _, size = counts(study, "predicted")["cat"]
    worst = answer.groups[0]
    assert worst.group == {"predicted": "cat"}
    assert worst.estimate == worst.lower == worst.upper == pytest.approx(right / size)
    assert (worst.p_worst, worst.p_best, worst.rank_lower, worst.rank_upper) == (1, 0, 1, 1)
    assert (answer.decided, answer.probability, answer.more_labels) == (True, 1.0, None)
    assert answer.rmse == pytest.approx(0, abs=1e-9)
    diagram = answer.reliability
    assert diagram.ece.method == "exact"
    whole = report(study, metrics=("ece[10]",)).estimates[0]
    assert diagram.ece.estimate == diagram.ece.lower == diagram.ece.upper
    assert diagram.ece.estimate == pytest.approx(whole.estimate)


def test_the_answer_says_how_many_labels_are_still_expected_until_it_is_decided(
    begin_study, label_draws
):
    study = begin_study(question="identify", groups=("place",))
    label_draws(study, 6)
    answer = report(study).assessment
    assert answer.decided is False
    assert 1 <= answer.more_labels <= SIZE - 6


def test_two_groups_are_compared_by_all_their_values(begin_study, label_draws):
    study = begin_study(question="compare", compare="tree,barn", groups=("place",), rope=0.1)
    label_draws(study, 30)
    answer = report(study).assessment
    comparison = answer.comparison
    (values, first), (others, second) = (
        ((right + np.arange(size - right - wrong + 1)) / size, remainder(right, wrong, size))
        for right, wrong, size in (counts(study)[value] for value in ("tree", "barn"))
    )
    apart = np.subtract.outer(values, others)
    chances = np.outer(first.pmf(np.arange(len(values))), second.pmf(np.arange(len(others))))
    assert comparison.estimate == pytest.approx((apart * chances).sum())
    assert comparison.p_below == pytest.approx(chances[apart < -0.1].sum(), abs=0.02)
    assert comparison.p_above == pytest.approx(chances[apart > 0.1].sum(), abs=0.02)
    assert comparison.p_below + comparison.p_within + comparison.p_above == pytest.approx(1)
    assert comparison.probability == max(
        comparison.p_below, comparison.p_within, comparison.p_above
    )
    assert answer.probability == comparison.probability
    assert comparison.lower < comparison.estimate < comparison.upper


@pytest.mark.parametrize(("metric", "region"), [("accuracy", "below"), ("error", "above")])
def test_worse_is_a_smaller_accuracy_and_a_larger_error(begin_study, label_draws, metric, region):
    study = begin_study(question="compare", compare="cat,dog", metric=metric)
    label_draws(study, 80, lambda row, predicted: predicted or 1)
    answer = report(study).assessment
    assert answer.decided
    assert answer.comparison.region == region
    sentence = "predicted=cat is worse than predicted=dog by more than 0.05"
    assert answer.comparison.words == sentence


def test_estimates_come_with_the_error_that_is_expected(begin_study, label_draws):
    study = begin_study(question="estimate", groups=("place",))
    label_draws(study, 24)
    answer = report(study).assessment
    assert (answer.decided, answer.probability, answer.more_labels) == (None, None, None)
    variances = [
        remainder(right, wrong, size).var() / size**2 * size / SIZE
        for right, wrong, size in counts(study).values()
    ]
    assert answer.rmse == pytest.approx(np.sqrt(sum(variances)), rel=0.03)


def test_labels_that_were_not_drawn_uniformly_are_weighted_and_a_note_says_so(
    begin_study, label_draws
):
    study = begin_study(acquisition="optimal", metric="accuracy", groups=("place",))
    label_draws(study, 30)
    init("pool.parquet", question="identify", groups=("place", "predicted"), prior="uniform")
    study = StoredStudy.open()
    shown = report(study, metrics=("accuracy",))
    answer = shown.assessment
    lines = {
        row.group["place"]: row for row in shown.estimates if row.group and "place" in row.group
    }
    for value in ("barn", "tree"):
        found, line = group(answer, place=value), lines[value]
        assert found.method == "doubly-robust"
        assert (found.estimate, found.lower, found.upper) == (line.estimate, line.lower, line.upper)
    texts = [each.text for each in shown.notes]
    (note,) = (each for each in texts if each.startswith("Labels in 2 groups were not"))
    assert "place=barn" in note
    inside = "Labels were not drawn uniformly inside"
    (columns,) = (each for each in texts if each.startswith(f"{inside} predicted classes"))
    (bins,) = (each for each in texts if each.startswith(f"{inside} bins"))
    assert "columns of the confusion matrix for" in columns
    assert "accuracies in" in bins and "(pseudo-posterior)" in bins
    methods = {each.method for each in answer.confusion.columns}
    assert all((f"({method})" in columns) == (method in methods) for method in KINDS)


def like(right: int) -> float:
    """The mean of one more item after so many right ones, from a uniform prior."""
    return (1 + right) / (2 + right)


def test_few_labels_that_were_not_drawn_uniformly_count_for_no_more_than_they_are(
    begin_study, label_draws
):
    study = begin_study(acquisition="optimal", metric="accuracy", groups=("place",))
    label_draws(study, 10, lambda row, predicted: predicted)
    init("pool.parquet", question="identify", groups=("place",), prior="uniform")
    study = StoredStudy.open()
    shown = report(study)
    for value, (right, wrong, size) in counts(study).items():
        found = group(shown.assessment, place=value)
        assert found.method == "pseudo-posterior"
        assert wrong == 0
        silent, even = ((right + (size - right) * mean) / size for mean in (1 / 2, like(right)))
        assert silent < found.estimate <= even
    assert any("pseudo-posterior" in each.text for each in shown.notes)
    matrix = shown.assessment.confusion
    for each in matrix.columns:
        assert each.method == "pseudo-posterior"
        cells = [cell for cell in matrix.cells if cell.predicted == each.predicted]
        assert sum(cell.estimate for cell in cells) == pytest.approx(1)
        (right,) = (cell for cell in cells if cell.truth == each.predicted)
        assert right.estimate > 0.5 or not each.n_labeled


def test_classes_are_ranked_by_their_calibration(begin_study, label_draws):
    """Confidence is always above a third: a class that is never right is calibrated worst."""
    study = begin_study(question="identify", metric="ece[5]", acquisition="uniform")
    label_draws(study, 60, lambda row, predicted: predicted or 1)
    answer = report(study).assessment
    worst = answer.groups[0]
    assert worst.group == {"predicted": "cat"}
    assert worst.p_worst > 0.5
    assert all(each.lower <= each.estimate <= each.upper for each in answer.groups)


def test_a_note_says_that_draws_of_calibration_errors_are_too_large_where_labels_are_few(
    begin_study, label_draws
):
    study = begin_study(question="identify", metric="ece[5]")
    label_draws(study, 30)
    leaning = "P(worst) is too large for groups with few labels."
    assert any(note.text.endswith(leaning) for note in report(study).notes)
    init("pool.parquet", metric="accuracy")
    assert not any(note.text.endswith(leaning) for note in report(StoredStudy.open()).notes)
    init("pool.parquet", metric="ece[5]")
    label_draws(StoredStudy.open(), 60)
    assert not any(note.text.endswith(leaning) for note in report(StoredStudy.open()).notes)


def test_groups_that_tie_when_everything_is_labelled_are_an_answer(begin_study, label_draws):
    study = begin_study(question="identify", groups=("place",))
    label_draws(study, SIZE, lambda row, predicted: predicted)
    answer = report(study).assessment
    assert (answer.decided, answer.probability, answer.more_labels) == (True, 1, None)
    assert [each.p_worst for each in answer.groups] == pytest.approx([0.5, 0.5], abs=0.02)
    assert sentence(answer) == "Worst group: place=barn, place=tree tie; every label is known."


def test_where_only_one_group_is_left_nothing_can_be_identified(begin_study, label_file):
    study = begin_study(question="identify", groups=("place",))
    cache = study.cache()
    barn = cache.rows(0, SIZE).codes[:, 0] == 0
    gone = [f"{item},,declined" for item in cache.ids(np.flatnonzero(barn))]
    ingest(study, label_file(*gone, header="id,label,status"))
    found = report(study)
    assert found.assessment is None and found.estimates
    (note,) = (note for note in found.notes if "has no answer" in note.text)
    assert "`worst=1`: 1 groups of 'place' have items that can be answered" in note.text
    assert note.weight == Weight.INVALID


def test_declined_items_leave_their_groups(begin_study, label_file):
    study = begin_study(question="identify", groups=("place",))
    ids = [each["id"] for each in next_batch(study, 20).rows]
    lines = [f"{item},cat," for item in ids[:12]] + [f"{item},,declined" for item in ids[12:]]
    ingest(study, label_file(*lines, header="id,label,status"))
    answer = report(study).assessment
    assert sum(each.n_pool for each in answer.groups) == SIZE - 8
    assert sum(each.n_labeled for each in answer.groups) == 12
