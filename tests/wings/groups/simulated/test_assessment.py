"""Answers of simulated studies: right or wrong, sure or not, and after how many labels."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

import activetest as at
from activetest.cli.app import main
from activetest.nouns.choices import Choices
from activetest.rounds.fit import get_surrogate
from activetest.wings.groups.arms import ACCURACY, Arms
from activetest.wings.groups.group_answer import answer_question
from activetest.wings.groups.simulated.assessment import (
    AnswerNumbers,
    GroupTruth,
    describe_truth,
    find_first_for_good,
    find_group_truth,
    find_reciprocal_rank,
    find_region,
    find_rmse,
    measure,
    names_worst,
    summarise_answers,
)
from tests.makers import build_table, play_rounds

SIZE = 120
PLACES = ("barn", "nest", "pond", "tree")
CHOICES = Choices(
    *("accuracy", ("accuracy",), "agreement"),
    groups=("place",),
    question="identify",
    acquisition="thompson",
    floor=0.1,
)
COMPARED = replace(CHOICES, question="compare", compare=("barn", "pond"))
TRUTH = GroupTruth(np.array([0.9, 0.5, np.nan, 0.7]), np.array([10.0, 20, 0, 30]), -1)


@pytest.fixture
def farm(tmp_path):
    """A pool with groups of 12 to 48 items, and its labels; a barn is worst."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([1, 1], SIZE)
    columns = {"id": range(SIZE), "prob_no": probs[:, 0], "prob_yes": probs[:, 1]}
    place = rng.permutation(np.repeat(np.arange(4), [48, 36, 24, 12]))
    columns["place"] = [PLACES[each] for each in place]
    pool = build_table(tmp_path, columns, groups=("place",))
    pred = pool.rows(0, SIZE).outputs.pred
    wrong = rng.random(SIZE) < np.array([0.6, 0.3, 0.2, 0.1])[place]
    truth = np.where(wrong, 1 - pred, pred).astype(float)
    key = {str(row): ("no", "yes")[int(label)] for row, label in enumerate(truth)}
    return SimpleNamespace(
        pool=pool, truth=truth, place=place, right=truth == pred, columns=columns, key=key
    )


def test_the_truth_is_that_of_all_labels(farm):
    found = find_group_truth(farm.pool, CHOICES, farm.truth)
    assert found.values == approx([farm.right[farm.place == each].mean() for each in range(4)])
    assert found.items.tolist() == [48, 36, 24, 12]
    assert found.worse_sign == -1
    assert found.weight == approx([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("metric", ["error", "cost"])
def test_the_truth_of_other_metrics_is_that_of_all_labels(farm, metric):
    costs = ((0.0, 5.0), (1.0, 0.0))
    choices = replace(CHOICES, metric=metric, metrics=(metric,), costs=costs)
    pred = farm.pool.rows(0, SIZE).outputs.pred
    paid = np.array(costs)[pred, farm.truth.astype(int)] if metric == "cost" else ~farm.right
    found = find_group_truth(farm.pool, choices, farm.truth)
    assert found.values == approx([paid[farm.place == each].mean() for each in range(4)])
    assert found.worse_sign == 1


def test_arms_without_an_item_come_last():
    counts = np.array([[3, 1], [0, 0], [1, 3]])
    arms = Arms(
        *(ACCURACY, ({}, {}, {}), np.arange(3), counts.sum(axis=1), np.tile([1.0, 0], (3, 1))),
        *(np.zeros(3), counts, counts, np.ones((3, 2))),
    )
    found = describe_truth(arms)
    assert found.values == approx([0.75, np.nan, 0.25], nan_ok=True)
    assert found.worst_first.tolist() == [2, 0, 1]


def test_the_named_groups_are_right_where_no_other_one_is_worse():
    assert names_worst(TRUTH, np.array([1]))
    assert not names_worst(TRUTH, np.array([3]))
    assert not names_worst(TRUTH, np.array([2]))
    assert names_worst(TRUTH, np.array([3, 1])) and not names_worst(TRUTH, np.array([0, 1]))
    tied = replace(TRUTH, values=np.array([0.5, 0.5, np.nan, 0.7]))
    assert names_worst(tied, np.array([0])) and names_worst(tied, np.array([1]))
    assert names_worst(replace(TRUTH, worse_sign=1), np.array([0]))


def test_the_region_of_a_difference():
    assert [find_region(TRUTH, (0, 1), rope) for rope in (0.05, 0.4, 0.5)] == [2, 1, 1]
    assert find_region(TRUTH, (1, 0), 0.05) == 0


def test_the_reciprocal_rank_leaves_out_the_other_worst_groups():
    """Worst are the second and, after it, the fourth; the third has no item."""
    estimates = np.array(
        [[0.8, 0.4, np.nan, 0.6], [0.3, 0.4, np.nan, 0.6], [0.5, 0.6, np.nan, 0.4]]
    )
    assert find_reciprocal_rank(TRUTH, estimates, 1) == approx([1, 1 / 2, 1 / 3])
    assert find_reciprocal_rank(TRUTH, estimates, 2) == approx([1, 1 / 2, (1 + 1 / 2) / 2])
    tie = np.array([[0.4, 0.4, np.nan, 0.6]])
    assert find_reciprocal_rank(TRUTH, tie, 1) == approx([1 / 2])


def test_errors_of_groups_count_by_items_or_alike():
    estimates = np.array([[0.8, 0.5, np.nan, 0.9]])
    by_items = (10 * 0.1**2 + 30 * 0.2**2) / 60
    assert find_rmse(TRUTH, estimates) == approx([by_items**0.5])
    assert find_rmse(TRUTH, estimates, weighted=False) == approx([((0.01 + 0.04) / 3) ** 0.5])


def test_for_good_is_after_the_last_time_it_did_not_hold():
    holds = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]], bool)
    assert find_first_for_good(holds).tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("acquisition", ["thompson", "uniform", "optimal"])
@pytest.mark.parametrize("choices", [CHOICES, COMPARED])
def test_the_answer_is_that_of_a_report(farm, choices, acquisition):
    """Known in part by posteriors, and by weighted estimates after optimal draws."""
    choices = replace(choices, acquisition=acquisition)
    log = play_rounds(farm.pool, farm.truth, (choices, 20), (choices, 20))
    surrogate = get_surrogate(log, farm.pool, choices, seed=3)
    told, _ = answer_question(log, farm.pool, choices, seed=3, surrogate=surrogate)
    found = measure(log, farm.pool, choices, farm.truth, seed=3, surrogate=surrogate, draws=10_000)
    assert found.probability == told.probability
    truth = find_group_truth(farm.pool, choices, farm.truth).values
    if choices.question == "identify":
        assert found.right == (told.groups[0].group["place"] == PLACES[truth.argmin()])
    else:
        assert found.right == (told.comparison.region == "below")
        assert truth[0] - truth[2] < -choices.rope
    estimates = {each.group["place"]: each for each in told.groups}
    errors = np.array([estimates[name].estimate for name in PLACES]) - truth
    assert found.rmse == approx((errors**2).mean() ** 0.5)
    assert found.weighted_rmse == approx((errors**2 @ [0.4, 0.3, 0.2, 0.1]) ** 0.5)
    held = [
        estimates[name].lower <= value <= estimates[name].upper
        for name, value in zip(PLACES, truth, strict=True)
    ]
    assert found.coverage == np.mean(held)


@pytest.mark.parametrize("choices", [CHOICES, COMPARED, replace(CHOICES, question="estimate")])
def test_all_labels_make_every_answer_right_and_sure(farm, choices):
    log = play_rounds(farm.pool, farm.truth, (choices, SIZE))
    found = measure(log, farm.pool, choices, farm.truth, seed=1)
    assert (found.rmse, found.weighted_rmse, found.coverage) == (approx(0), approx(0), 1)
    sure = choices.question != "estimate"
    assert (found.right == 1, found.probability == 1) == (sure, sure)
    assert (found.reciprocal_rank == 1) == (choices.question == "identify")


def numbers(right: int, probability: float) -> AnswerNumbers:
    return AnswerNumbers(right, probability, (1 + right) / 2, 0.1 + right, 0.2, 0.75)


def test_labels_until_an_answer_by_hand():
    """Four studies: right and sure; wrongly sure at first; right but never sure; never right."""
    looks = {
        10: [numbers(0, 0.5), numbers(0, 0.96), numbers(1, 0.5), numbers(0, 0.5)],
        20: [numbers(1, 0.95), numbers(0, 0.8), numbers(0, 0.5), numbers(1, 0.5)],
        40: [numbers(1, 0.99), numbers(1, 0.97), numbers(1, 0.9), numbers(0, 0.5)],
    }
    found = summarise_answers(CHOICES, looks)
    assert (found.until_right.share, found.until_right.labels) == (0.75, (20 + 40 + 40 + 40) / 4)
    assert (found.until_sure.share, found.until_sure.labels) == (0.5, (20 + 40 + 40 + 40) / 4)
    assert found.until_sure.median == 40
    assert (found.until_decided.share, found.until_decided.labels) == (0.5, 110 / 4)
    spread = np.std([20, 10, 40, 40], ddof=1) / 2
    assert found.until_decided.standard_error == approx(spread)
    assert found.until_decided.median == 20
    assert found.first_wrong == 0.5
    first, _, last = found.looks
    assert (first.budget, first.runs, first.right) == (10, 4, 0.25)
    assert (first.decided, first.decided_wrong) == (0.25, 0.25)
    assert (last.right, last.decided, last.decided_wrong) == (0.75, 0.5, 0)
    assert first.reciprocal_rank == approx((0.5 * 3 + 1) / 4)
    assert (first.rmse, first.weighted_rmse, first.coverage) == (approx(0.35), 0.2, 0.75)


def test_less_than_half_of_the_studies_have_no_median_and_estimates_have_no_end():
    never = {10: [numbers(0, 0.5)] * 3 + [numbers(1, 0.99)]}
    found = summarise_answers(CHOICES, never)
    assert (found.until_sure.share, found.until_sure.median) == (0.25, None)
    undecided = summarise_answers(CHOICES, {10: [numbers(1, 0.5)] * 2})
    assert undecided.first_wrong is None and undecided.until_decided.share == 0
    estimated = summarise_answers(
        replace(CHOICES, question="estimate"),
        {10: [AnswerNumbers(np.nan, np.nan, np.nan, 0.1, 0.2, 1)] * 2},
    )
    assert estimated.until_right is estimated.until_sure is estimated.first_wrong is None
    (look,) = estimated.looks
    assert (look.right, look.decided, look.reciprocal_rank, look.rmse) == (None, None, None, 0.1)


def test_a_simulation_scores_answers_after_every_round(farm, tmp_path):
    settings = {"question": "identify", "groups": ["place"], "metrics": "accuracy"}
    settings |= {"budgets": [25, 120], "batch": 20, "runs": 3, "workers": 1}
    settings |= {"acquisition": ["thompson", "uniform"], "estimators": "doubly-robust"}
    frame = {name: list(values) for name, values in farm.columns.items()}
    frame["id"] = list(map(str, frame["id"]))
    pa = pytest.importorskip("pyarrow")
    save = {"save": tmp_path / "runs.jsonl"}
    found = at.simulate(pa.table(frame), farm.key, **settings, **save)
    assert [each.acquisition for each in found.answers] == ["thompson", "uniform"]
    for answer in found.answers:
        budgets = [look.budget for look in answer.looks]
        assert budgets == [20, 25, 45, 65, 85, 105, 120]
        assert answer.goal == "identify the worst group of place by accuracy"
        last = answer.looks[-1]
        assert (last.right, last.decided, last.reciprocal_rank, last.rmse) == (1, 1, 1, approx(0))
        assert answer.until_sure.share == 1
        assert answer.until_right.labels <= answer.until_sure.labels <= 120
    again = at.simulate(pa.table(frame), farm.key, **settings, **save)
    assert again.answers == found.answers
    unasked = {name: settings[name] for name in ("metrics", "runs", "workers", "estimators")}
    plain = at.simulate(pa.table(frame), farm.key, budgets=25, **unasked)
    assert plain.answers == ()
    assert "decided" in str(found) and "decided" in found._repr_html_()
    assert "decided" not in str(plain)


def test_the_command_line_prints_answers_first_and_json_has_all(folder, write_pool, capsys):
    write_pool(folder / "pool.parquet", 40)
    (folder / "key.csv").write_text(
        "id,label\n" + "".join(f"item-{row},{'cat' if row % 3 else 'dog'}\n" for row in range(40))
    )
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--budget", "20,40", "--runs", "3"]
    words += ["--question", "identify", "--acquisition", "thompson", "--workers", "1"]
    words += ["--estimator", "doubly-robust", "--metric", "accuracy"]
    assert main([*words, "--plot", "a.svg", "-o", "a.html", "-o", "a.md"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("identify the worst group of predicted by accuracy\n")
    assert "right and decided" in text and text.index("decided") < text.index("doubly-robust")
    for name in ("a.svg", "a.html"):
        assert "labels until the answer is right" in (folder / name).read_text()
    assert "right and decided" in (folder / "a.md").read_text()
    assert main([*words, "--format", "json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert [look["budget"] for look in answer["looks"]] == [10, 20, 30, 40]
    assert answer["looks"][-1]["right"] == answer["until_sure"]["share"] == 1
