"""Studies that ask which of their models is best."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.estimation.repredict import repredict
from activetest.item_statistics.statistic import statistic
from activetest.study.comparison import join_models
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from activetest.wings.best import best_answer
from tests.makers import write_pool

ROWS = 150


@pytest.fixture
def key(folder) -> dict[str, str]:
    """Labels of pool.parquet, whose model is right on most items, and two worse models."""
    write_pool(folder / "pool.parquet", ROWS, seed=5)
    table = pq.read_table("pool.parquet").to_pandas()
    names = [name for name in table.columns if name.startswith("prob_")]
    classes = np.array([name.removeprefix("prob_") for name in names])
    labels = classes[table[names].to_numpy().argmax(axis=1)]
    for name, step in (("v2", 4), ("v3", 2)):
        rival, moved = table.copy(), np.arange(ROWS) % step == 0
        rival.loc[moved, names] = np.roll(table.loc[moved, names].to_numpy(), 1, axis=1)
        rival.to_parquet(f"{name}.parquet")
    return dict(zip(table["id"], labels.tolist(), strict=True))


MODELS = {"v2": "v2.parquet", "v3": "v3.parquet"}


@pytest.fixture
def begin(key):
    """begin(labels, **choices): a study of three models with so many labels."""

    def begin(labels: int, **choices) -> Study:
        given = {"question": "best", "models": MODELS, "seed": 1} | choices
        study = Study.create("pool.parquet", **given)
        if labels:
            buy(study, key, labels)
        return study

    return begin


def buy(study: Study, key: dict[str, str], labels: int) -> None:
    study.ingest({id: key[id] for id in study.next(labels).ids})


def test_a_report_says_which_model_is_best_and_how_far_the_others_are(begin):
    found = begin(40).report().best
    assert (found.best, found.decided, found.more_labels) == ("model", True, 0)
    assert [each.model for each in found.models] == ["model", "v2", "v3"]
    assert found.probability == found.models[0].p_best >= 0.95 > found.models[1].p_best
    assert found.models[0].estimate == 0
    for each, truth in zip(found.models[1:], (-0.25, -0.5), strict=True):
        assert each.lower <= truth <= each.upper and each.estimate == pytest.approx(truth, abs=0.1)
        assert each.regret == pytest.approx(-truth, abs=0.15)
    assert found.n_labeled == 40 and 30 < found.n_telling <= 40


def test_items_on_which_models_differ_are_drawn(begin):
    study = begin(0)
    ids = study.next(40).ids
    differ = sum(int(id.split("-")[1]) % 2 == 0 for id in ids)
    assert differ > 32
    assert StoredStudy.open().choices.floor == 0.1


def test_without_labels_nothing_is_decided(begin):
    early = begin(0).report().best
    assert not early.decided and early.n_labeled == 0
    assert all(each.value is None and each.lower is None for each in early.models[1:])
    assert sum(each.p_best for each in early.models) == pytest.approx(1)


def test_few_labels_say_how_many_more_are_needed(begin):
    found = begin(4).report().best
    assert found.probability < 0.95 and found.more_labels > 0
    assert not found.decided


def test_the_answer_is_a_sentence_a_table_and_part_of_the_json(begin, capsys):
    begin(40)
    assert main(["report"]) == 0
    text = capsys.readouterr().out
    assert "model is best by accuracy (probability " in text
    assert "accuracy of models, likely best first" in text and "P(best)" in text
    assert "They are no guarantee over many looks" in " ".join(text.split())
    assert main(["report", "--format", "json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert best["best"] == "model" and best["answer"].startswith("model is best by accuracy")
    assert [row["model"] for row in best["models"]] == ["model", "v2", "v3"]
    for format in ("markdown", "html"):
        assert main(["report", "--format", format]) == 0
        assert "is best by accuracy" in capsys.readouterr().out


def test_a_tolerance_makes_models_that_are_near_the_best_good_enough(begin, capsys):
    begin(40, tolerance=0.4)
    assert main(["report"]) == 0
    text = capsys.readouterr().out
    assert "model is within 0.4 of the best by accuracy" in text and "P(within 0.4)" in text
    found = Study.open().report().best
    assert found.tolerance == 0.4
    assert found.models[1].p_best > 0.9 > found.models[2].p_best


def test_models_are_judged_by_error_or_accuracy(begin):
    found = begin(30, metric="error").report().best
    assert found.metric == "error" and found.best == "model"
    assert found.models[1].estimate > 0
    with pytest.raises(ChoiceError, match="judges all models by error or accuracy"):
        Study.open().change(metric="f1")


def test_a_study_under_way_can_ask_it_and_stop_asking(key):
    study = Study.create("pool.parquet", seed=1)
    buy(study, key, 20)
    with pytest.raises(ChoiceError, match="is about several models, and this study has one"):
        study.change(question="best")
    study.add("v2", "v2.parquet", trained_on_labels=False)
    study.change(question="best")
    buy(study, key, 20)
    choices = StoredStudy.open().choices
    assert (choices.acquisition, choices.floor) == ("top-two", 0.1)
    before = study.report()
    assert before.best.best == "model"
    study.change(question="none")
    after = study.report()
    choices = StoredStudy.open().choices
    assert (choices.acquisition, choices.floor) == ("optimal", 0.35)
    # Its draws stay as valid as they were.
    assert after.best is None
    assert after.estimates[0].quantity == before.estimates[0].quantity


def test_a_model_that_comes_later_is_in_the_contest(key):
    study = Study.create("pool.parquet", seed=1, question="best", models={"v2": "v3.parquet"})
    buy(study, key, 30)
    study.add("v3", "v2.parquet", trained_on_labels=False)
    first = study.report().best
    assert [each.model for each in first.models] == ["model", "v3", "v2"]
    assert first.models[1].lower <= -0.25 <= first.models[1].upper
    buy(study, key, 10)
    assert len(study.report().best.models) == 3


def test_a_model_that_labels_took_part_in_making_is_left_out_and_named(begin):
    study = begin(20)
    study.add("v4", "v2.parquet", trained_on_labels=True)
    report = study.report()
    assert [each.model for each in report.best.models] == ["model", "v2", "v3"]
    assert any(note.text.startswith("Not compared: v4.") for note in report.notes)


def test_gates_at_every_look_hold_for_draws_that_look_for_the_best(begin, key):
    study = begin(40, interval="anytime")
    buy(study, key, 40)
    report = study.report(require=["accuracy(model)-accuracy(v3)>=0.1", "accuracy>=0.99"])
    assert report.gates[0].verdict == "pass"
    row = report.estimates[0]
    assert row.lower <= 1 <= row.upper + 1e-9


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"models": None}, "is about several models, and this study has one"),
        ({"acquisition": "thompson"}, "chooses between groups"),
        ({"selection": "top"}, "drawn at random"),
        ({"draw_for": "difference"}, "finds by itself which differences"),
        ({"metric": "brier"}, "judges all models by error or accuracy"),
        ({"question": None, "acquisition": "top-two"}, "asks no question about them"),
        ({"question": None, "tolerance": 0.1}, "`tolerance` has no effect without a question"),
    ],
)
def test_what_makes_no_sense_is_refused(key, choices, problem):
    given = {"question": "best", "models": MODELS} | choices
    with pytest.raises(ChoiceError, match=problem):
        Study.create("pool.parquet", **{k: v for k, v in given.items() if v is not None})


def test_differences_are_expected_as_rounds_recorded_both_models(begin):
    study = begin(20)
    stored = StoredStudy.open()
    cache = stored.cache()
    log = stored.log(cache)
    pool = join_models(stored, cache, log)
    pair = "zero_one(v3)-zero_one(model)"
    (derived,) = best_answer._derive_differences(log, [pair]).history
    (found,) = repredict(log, pool, (statistic(pair),)).history
    place = derived.statistics.index(pair)
    assert derived.imputed[:, place] == pytest.approx(found.imputed[:, 0], abs=1e-6)
    assert derived.imputed_sum[:, place] == pytest.approx(found.imputed_sum[:, 0], abs=1e-4)
    assert study.report().best.best == "model"
