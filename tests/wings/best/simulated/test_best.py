"""Simulated answers to which model is best."""

import json

import numpy as np
import pytest
from pytest import approx

from activetest import simulate
from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.nouns.log import Log
from activetest.sampling.plan import plan_round
from activetest.simulation.simulate import answered
from activetest.wings.best.simulated import best
from tests.wings.best.conftest import CHOICES
from tests.wings.best.test_best_answer import MODELS, key

__all__ = ["key"]
WAYS = ["top-two", "non-unanimous", "uniform", "model-selector", "coda"]


@pytest.fixture
def play(key):
    """play(**settings): a simulation of three models."""

    def play(**settings):
        given = {"models": MODELS, "question": "best", "budgets": [20, 40], "runs": 4} | settings
        return simulate("pool.parquet", key, workers=1, estimators="doubly-robust", **given)

    return play


def test_every_way_to_draw_or_choose_has_answers(play):
    found = play(acquisition=WAYS)
    assert [each.acquisition for each in found.answers] == WAYS
    for each in found.answers:
        assert [look.budget for look in each.looks] == [10, 20, 30, 40]
        last = each.looks[-1]
        assert last.runs == 4 and last.right >= 0.75
        assert (last.regret == 0) == (last.right == 1) == (last.reciprocal_rank == 1)
        assert last.rmse is last.coverage is None
    ours = found.answers[0]
    assert ours.until_decided.share == 1 and ours.first_wrong == 0
    # Items that are chosen without probabilities leave no estimate.
    assert {each.acquisition for each in found} == set(WAYS[:3])


def test_the_usual_ways_are_those_of_studies(play):
    assert [each.acquisition for each in play().answers] == WAYS[:3]


def test_the_same_seed_gives_the_same_answers_whatever_is_kept(play, tmp_path):
    first = play(acquisition=["top-two", "model-selector"], save=tmp_path / "runs.jsonl")
    again = play(acquisition=["top-two", "model-selector"], save=tmp_path / "runs.jsonl")
    assert first.answers == again.answers
    with pytest.raises(ChoiceError, match="differs in models"):
        play(
            acquisition=["top-two", "model-selector"],
            models={"v2": "v2.parquet"},
            save=tmp_path / "runs.jsonl",
        )


def test_answers_are_shown_everywhere(play, folder, capsys, key):
    (folder / "key.csv").write_text(
        "id,label\n" + "".join(f"{id},{label}\n" for id, label in key.items())
    )
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--question", "best", "--runs", "3"]
    words += ["--model", "v2=v2.parquet", "--acquisition", "model-selector", "--budget", "20"]
    words += ["--workers", "1", "-o", "page.html"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "find the best model by accuracy" in text and "regret" in text
    assert "model-selector" in (folder / "page.html").read_text()
    assert main([*words[:-2], "--format", "json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["question"] == "best" and answer["looks"][-1]["regret"] >= 0


@pytest.mark.pool(rows=120, seed=3)
def test_an_answer_is_right_within_the_tolerance(contest):
    pool = contest()
    truth = pool.rows(0, 120).others["v1"].outputs.pred.astype(float)
    known = best.find_goodness(pool, CHOICES, truth)
    pred = [each.outputs.pred for each in pool.rows(0, 120).others.values()]
    assert known == approx([-(each != truth).mean() for each in pred])
    log = answered(Log.empty(), plan_round(Log.empty(), pool, CHOICES, seed=1, count=40), truth)
    found = best.measure(log, pool, CHOICES, truth, seed=1)
    assert found.right == 1 and found.regret == 0 and found.probability > 0.9
    wrong = best._describe_answer(1, np.full(3, 0.3), np.array([0.1, 0.2, 0.0]), known, CHOICES)
    assert (wrong.right, wrong.reciprocal_rank) == (0, 0.5)
    assert wrong.regret == approx(-known[1]) and wrong.regret > 0


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"models": {}}, "is about several models"),
        ({"question": None}, "are compared by the question best"),
        ({"models": {"model": "v2.parquet"}}, "no further model can be called"),
        ({"models": ["v2.parquet"]}, "no mapping"),
    ],
)
def test_what_makes_no_sense_is_refused(play, settings, problem):
    with pytest.raises(ChoiceError, match=problem):
        play(**settings)


def test_studies_take_no_way_that_chooses_without_probabilities(key):
    from activetest.study.study import Study

    with pytest.raises(ChoiceError, match="without probabilities"):
        Study.create("pool.parquet", models=MODELS, question="best", acquisition="coda")
