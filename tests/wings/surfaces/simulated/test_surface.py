"""Simulations of studies that explore a surface: errors over all its arms."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

import activetest as at
from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.wings.surfaces.fitting import find_true_values
from activetest.wings.surfaces.simulated.surface import compare_surfaces, measure
from tests.makers import build_table, play_rounds

ROWS = 120
SETTINGS = {"attributes": ["sex", "age[3]"], "question": "surface", "surface": "beta"}


@pytest.fixture
def pool(folder):
    rng = np.random.default_rng(6)
    table = {
        "id": [f"item-{row}" for row in range(ROWS)],
        "score": rng.random(ROWS),
        "sex": rng.choice(["F", "M"], ROWS),
        "age": rng.permutation(ROWS) + 10,
    }
    pq.write_table(pa.table(table), folder / "pool.parquet")
    return table


@pytest.fixture
def key(pool):
    right = np.random.default_rng(7).random(ROWS) < 0.7
    predicted = np.asarray(pool["score"]) >= 0.5
    return dict(zip(pool["id"], np.where(right, predicted, ~predicted).astype(int), strict=True))


def play(key, **settings):
    usual = {"budgets": [20, 60], "runs": 3, "workers": 1, "estimators": "doubly-robust"}
    return at.simulate("pool.parquet", key, metrics="accuracy", **(usual | SETTINGS | settings))


def test_arms_are_compared_with_those_of_uniform_draws(key):
    found = {
        (each.acquisition, each.budget): each for each in play(key) if each.estimator == "surface"
    }
    assert set(found) == {
        (name, budget) for name in ("surface-variance", "uniform") for budget in (20, 60)
    }
    for (acquisition, budget), each in found.items():
        assert (each.metric, each.n_labeled, each.runs) == ("accuracy@sex*age", budget, 3)
        uniform = found["uniform", budget]
        assert each.uniform_mse == approx(uniform.rmse**2)
        assert each.mse_ratio == approx((uniform.rmse / each.rmse) ** 2)
        assert 0 <= each.coverage <= 1
        assert each.width > 0
        if acquisition == "uniform":
            assert (each.mse_ratio, each.labels_saved) == (approx(1), approx(1))
    assert found["uniform", 60].rmse < found["uniform", 20].rmse


def test_labels_of_uniform_draws_are_known_only_where_these_were_simulated():
    choices = Choices(
        "accuracy", ("accuracy",), "agreement", question="surface", attributes=("sex",)
    )
    strategies = [replace(choices, acquisition=name) for name in ("surface-variance", "uniform")]
    errors = {(0, 20): 0.3, (0, 60): 0.05, (1, 20): 0.4, (1, 60): 0.1}
    tables = {where: np.array([[error, 0, 0.2, 1]] * 3) for where, error in errors.items()}
    found = compare_surfaces(strategies, (20, 60), tables)
    ratios = {(each.acquisition, each.budget): each.labels_saved for each in found}
    assert 1 < ratios["surface-variance", 20] < 3
    assert np.isnan(ratios["surface-variance", 60])
    assert ratios["uniform", 20] == ratios["uniform", 60] == approx(1)


def test_the_surface_comes_first_and_only_its_metric_beside_it(key):
    found = at.simulate("pool.parquet", key, budgets=20, runs=2, workers=1, **SETTINGS)
    assert found[0].metric == "accuracy@sex*age"
    assert {each.metric for each in found} == {"accuracy@sex*age", "accuracy"}


def test_the_error_is_over_arms_with_enough_items(folder, pool, key):
    built = build_table(folder, pool, name="built", attributes=("sex", "age[3]"))
    truth = np.array([float(key[id]) for id in pool["id"]])
    study = at.Study.create("pool.parquet", "study", seed=1, **SETTINGS, min_support=20)
    choices = study.choices
    log = play_rounds(built, truth, (choices, 30))
    right = built.rows(0, ROWS).outputs.pred == truth
    seen = np.isin(np.arange(ROWS), log.rows)
    codes = built.rows(0, ROWS).codes
    errors, overall = [], right[seen].mean()
    for cell in {tuple(each) for each in codes.tolist()}:
        arm = (codes == cell).all(axis=1)
        if arm.sum() < 20:
            continue
        # Beta-I: a tenth of a label for the mean of all.
        mean = (0.1 * overall + right[arm & seen].sum()) / (0.1 + (arm & seen).sum())
        value = (right[arm & seen].sum() + (arm & ~seen).sum() * mean) / arm.sum()
        errors.append(value - right[arm].mean())
    assert 0 < len(errors) < 6
    root, bias, _, _ = measure(log, built, choices, truth, seed=1)
    assert root == approx(np.sqrt(np.mean(np.square(errors))))
    assert bias == approx(np.mean(errors))


def test_where_the_label_is_an_attribute_items_belong_to_the_arm_of_their_label(folder, pool, key):
    names = ("sex", "label")
    built = build_table(folder, pool, name="built", attributes=names)
    truth = np.array([float(key[id]) for id in pool["id"]])
    uniform = {"acquisition": "uniform", "attributes": names, "min_support": 1}
    study = at.Study.create("pool.parquet", "study", seed=1, **SETTINGS | uniform)
    log = play_rounds(built, truth, (study.choices, ROWS))
    assert measure(log, built, study.choices, truth, seed=1) == (0, 0, 0, 1)
    sex, label = built.rows(0, ROWS).codes[:, 0], truth.astype(int)
    right = built.rows(0, ROWS).outputs.pred == truth
    arms, values = find_true_values(built, study.choices, truth)
    assert [tuple(each) for each in arms.codes] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for code, value in zip(arms.codes, values, strict=True):
        assert value == approx(right[(sex == code[0]) & (label == code[1])].mean())


def test_uniform_draws_belong_to_the_comparison(key):
    with pytest.raises(ChoiceError, match="compared with those of uniform draws"):
        play(key, acquisition="surface-variance")


@pytest.mark.parametrize("name", ["attributes", "surface", "min_support"])
def test_without_the_question_there_is_no_surface(key, name):
    value = {"attributes": ["sex"], "surface": "beta", "min_support": 3}[name]
    with pytest.raises(ChoiceError, match=f"`{name}` has no effect without a question") as refused:
        at.simulate("pool.parquet", key, budgets=10, runs=2, workers=1, **{name: value})
    assert "question='surface'" in refused.value.hint


def test_the_command_line_has_the_same_numbers(folder, key, capsys):
    lines = "".join(f"{id},{label}\n" for id, label in key.items())
    (folder / "key.csv").write_text("id,label\n" + lines)
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--budget", "20", "--runs", "2"]
    words += ["--attributes", "sex,age[3]", "--question", "surface", "--surface", "beta"]
    words += ["--metric", "accuracy", "--workers", "1", "--estimator", "doubly-robust"]
    assert main([*words, "--format", "json", "--save", "runs.jsonl"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [each["estimator"] for each in found].count("surface") == 2
    assert main([*words, "--format", "json", "--save", "runs.jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["results"] == found
    assert main(words) == 0
    assert "accuracy@sex*age" in capsys.readouterr().out
