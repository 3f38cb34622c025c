"""A further model may be a model of the study with a threshold of its own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from activetest.errors import ChoiceError, PoolError
from activetest.study.models import ModelStudy
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from activetest.study.thresholds import OwnThreshold, parse_threshold, read_source

SIZE = 60


@pytest.fixture
def probs() -> np.ndarray:
    """(60,) probabilities of fraud: round ones, so that some are thresholds."""
    return np.round(np.random.default_rng(0).beta(0.7, 1.0, SIZE), 1)


@pytest.fixture
def key(probs) -> dict[str, str]:
    """{id: class}."""
    fraud = np.random.default_rng(1).random(SIZE) < probs
    return {f"item-{row}": "fraud" if each else "fine" for row, each in enumerate(fraud)}


KINDS = {
    "score": lambda probs: {"score": probs},
    "score-and-pred": lambda probs: {"score": probs, "pred": "fine"},
    "prob-columns": lambda probs: {"prob_fraud": probs, "prob_fine": 1 - probs},
    "prob-columns-and-pred": lambda probs: {
        **{"prob_fraud": probs, "prob_fine": 1 - probs},
        **{"pred": np.where(probs > 0.2, "fraud", "fine")},
    },
    "prob-list": lambda probs: {"prob": [[each, 1 - each] for each in probs]},
    "single-precision": lambda probs: {"score": probs.astype(np.float32)},
}


def begin(probs, kind: str = "score", folder: str = "study", **settings) -> Study:
    """A study of items with these probabilities of fraud."""
    frame = pd.DataFrame({"id": [f"item-{row}" for row in range(SIZE)], **KINDS[kind](probs)})
    classes = ("fraud", "fine") if kind.startswith("prob") else ("fine", "fraud")
    settings = {"classes": classes, "positive": "fraud"} | settings
    return Study.create(frame, folder, seed=1, **settings)


def read_outputs(name: str) -> tuple[list[str], np.ndarray]:
    """The classes that a model predicts, and (N,) probabilities of fraud, as reports see them."""
    cache = StoredStudy.open("study").of_model(name).cache()
    outputs = cache.rows(0, SIZE).outputs
    order = np.argsort([int(id.removeprefix("item-")) for id in cache.ids(range(SIZE))])
    names = [cache.classes[code] for code in outputs.pred[order]]
    return names, outputs.probs[order, cache.classes.index("fraud")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8])
def test_the_positive_class_is_predicted_from_the_threshold_on(folder, probs, kind, threshold):
    assert (probs == threshold).any()
    before = begin(probs, kind).report(metrics="error") and read_outputs("model")
    Study.open("study").add("strict", f"model@threshold:{threshold}")
    names, found = read_outputs("strict")
    assert names == ["fraud" if each >= threshold else "fine" for each in probs]
    assert found == approx(probs)
    after = read_outputs("model")
    assert after[0] == before[0] and after[1].tolist() == before[1].tolist()


def test_a_confidence_in_the_prediction_counts_as_the_probability_of_its_class(folder, probs):
    pred = np.where(probs >= 0.5, "fraud", "fine")
    frame = pd.DataFrame({"id": [f"item-{row}" for row in range(SIZE)], "pred": pred})
    frame["confidence"] = np.maximum(probs, 1 - probs)
    settings = {"outputs": ("confidence", "pred"), "scale": "confidence", "positive": "fraud"}
    study = Study.create(frame, "study", seed=1, **settings)
    study.add("strict", "model@threshold:0.75")
    assert read_outputs("strict")[0] == ["fraud" if each >= 0.75 else "fine" for each in probs]


def test_metrics_follow_the_threshold_and_those_of_probabilities_stay(folder, probs, key):
    """Once all is labelled, all numbers are those of the table."""
    study = begin(probs, "prob-columns", metric=("recall[fraud]", "brier"))
    study.add("strict", "model@threshold:0.8")
    study.ingest(key)
    fraud = np.array([label == "fraud" for label in key.values()])
    for model, called in (("model", probs > 0.5), ("strict", probs >= 0.8)):
        found = {row.title: row.estimate for row in study.report(model=model).estimates}
        assert found["recall[fraud]"] == approx((called & fraud).sum() / fraud.sum())
        assert found["brier"] == approx(2 * np.mean((probs - fraud) ** 2))


def test_any_model_of_the_study_may_have_another_threshold(folder, probs):
    study = begin(probs, threshold=0.4)
    other = pd.DataFrame({"id": [f"item-{row}" for row in range(SIZE)][::-1], "score": probs})
    study.add("v2", other)
    added = study.add("strict", "v2@threshold:0.7")
    assert added.notices == (
        "its probabilities are those of v2, and it predicts 'fraud' from 0.7 on",
    )
    assert read_outputs("strict")[0] == ["fraud" if each >= 0.7 else "fine" for each in probs[::-1]]
    study.add("mild", "strict@threshold:0.2")
    assert read_outputs("mild")[0] == ["fraud" if each >= 0.2 else "fine" for each in probs[::-1]]
    study.add("own", "model@threshold:0.4")
    assert read_outputs("own")[0] == read_outputs("model")[0]


def test_without_a_positive_class_the_second_one_is_predicted_and_said(folder, probs):
    study = begin(probs, "prob-columns", classes=("fine", "fraud"), positive=None)
    (notice,) = study.add("strict", "model@threshold:0.8").notices
    assert "predicts 'fraud' from 0.8 on" in notice


def test_a_positive_class_that_is_named_later_changes_no_threshold(folder, probs):
    study = begin(probs, "prob-columns")
    study.add("strict", "model@threshold:0.8")
    before = read_outputs("strict")[0]
    study.change(positive="fine")
    assert read_outputs("strict")[0] == before


def test_a_threshold_is_known_after_the_study_is_opened_again_and_verified(folder, probs):
    begin(probs).add("strict", "model@threshold:0.8")
    model = StoredStudy.open("study").list_models()[1]
    assert read_source(model.source) == OwnThreshold("model", 0.8, "fraud")
    assert Study.open("study").verify().passed


def test_lost_outputs_come_back_by_the_hint(folder, probs):
    study = begin(probs)
    study.add("strict", "model@threshold:0.123456789")
    expected = read_outputs("strict")[0]
    Path("study/models/strict.parquet").unlink()
    with pytest.raises(PoolError, match="missing") as error:
        study.report(model="strict")
    call = error.value.hint.split("`")[1]
    assert call == "study.add('strict', 'model@threshold:0.123456789')"
    assert str(eval(call)) == "strict is in the study already, with these outputs"
    assert read_outputs("strict")[0] == expected


def test_a_threshold_chosen_by_labels_is_asked_about_as_a_file_is(folder, probs):
    study = begin(probs)
    study.ingest(dict.fromkeys(study.next(3).ids, "fine"))
    with pytest.raises(ChoiceError, match="training or choosing strict"):
        study.add("strict", "model@threshold:0.8")
    assert study.add("strict", "model@threshold:0.8", trained_on_labels=True).earlier == 3
    with pytest.raises(ChoiceError, match="in making strict, and so in making mild") as error:
        study.add("mild", "strict@threshold:0.2", trained_on_labels=False)
    assert error.value.hint == "`trained_on_labels=True`"
    assert study.add("mild", "strict@threshold:0.2", trained_on_labels=True).labels == 0


@pytest.mark.parametrize("text", ["0", "1", "-0.5", "1.5", "80", "nan", "inf", "", "half"])
def test_a_threshold_that_is_no_probability_is_refused(folder, probs, text):
    study = begin(probs)
    with pytest.raises(ChoiceError, match="no number between 0 and 1") as error:
        study.add("strict", f"model@threshold:{text}")
    assert "model@threshold:0.8" in error.value.hint
    assert len(StoredStudy.open("study").list_models()) == 1


def test_an_unknown_model_or_rule_is_refused_with_a_hint(folder, probs):
    study = begin(probs)
    with pytest.raises(ChoiceError, match="no model 'mode'") as error:
        study.add("strict", "mode@threshold:0.8")
    assert "model" in error.value.hint
    with pytest.raises(ChoiceError, match="no such rule") as error:
        study.add("strict", "model@treshold:0.8")
    assert "model@threshold:0.8" in error.value.hint


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"pred": ["a", "b"] * 5}, "predicted classes alone"),
        ({"pred": np.linspace(0, 3, 10)}, "predict values"),
        ({"prob_a": 0.5, "prob_b": 0.25, "prob_c": 0.25}, "the pool has 3"),
    ],
)
def test_a_pool_without_two_classes_and_probabilities_has_no_thresholds(folder, columns, problem):
    study = Study.create(pd.DataFrame({"id": range(10), **columns}), "study", seed=1)
    with pytest.raises(ChoiceError, match=problem) as error:
        study.add("strict", "model@threshold:0.8")
    assert error.value.hint == "give a file with the outputs of the model"


def test_a_file_of_such_a_name_is_a_file(folder):
    assert parse_threshold("model@threshold:0.8") == OwnThreshold("model", 0.8)
    assert parse_threshold("./model@threshold:0.8") is None
    assert parse_threshold("s3://key@host:1/x.parquet") is None
    Path("model@threshold:0.8").touch()
    assert parse_threshold("model@threshold:0.8") is None


def test_another_threshold_of_the_same_score_is_no_evidence(folder, probs):
    study = begin(probs)
    study.add("strict", "model@threshold:0.8")
    study.add(
        "v2", pd.DataFrame({"id": [f"item-{row}" for row in range(SIZE)], "score": 1 - probs})
    )
    study.add("mild", "strict@threshold:0.2")
    stored = StoredStudy.open("study")
    rounds = {name: stored.of_model(name).cache().vote_rounds for name in ("model", "mild", "v2")}
    assert rounds == {"model": (0,), "mild": (0,), "v2": (0,)}


@pytest.mark.parametrize("of", ["strict", "nobody"])
def test_a_forged_threshold_of_itself_or_of_no_model_ends(folder, probs, monkeypatch, of):
    begin(probs).add("strict", "model@threshold:0.8")
    stored = StoredStudy.open("study")
    first, strict = stored.list_models()
    forged = replace(strict, source=strict.source.replace("of=model", f"of={of}"))
    monkeypatch.setattr(StoredStudy, "list_models", lambda _: (first, forged))
    assert len(ModelStudy(stored, forged).list_further_models()) == 1
