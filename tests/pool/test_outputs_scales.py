"""Outputs that are no plain probabilities: logits, log-probabilities, and confidences."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.pool.unclear import Unclear
from activetest.study.study import Study

ROWS = 40
LOGITS = np.random.default_rng(3).normal(0, 3, (ROWS, 3))
# Softmax is blind to what all logits have in common.
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
NAMES = ["cat", "dog", "owl"]


def write(folder, columns: dict, name: str = "pool") -> str:
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table({"id": range(ROWS), **columns}), path)
    return str(path)


def columns_of(values: np.ndarray, prefix: str) -> dict:
    return {f"{prefix}_{name}": values[:, place] for place, name in enumerate(NAMES)}


def read(path: str, **settings):
    pool = Pool.open(path, **settings)
    blocks = [pool.read_block(strip) for strip in pool.strips()]
    return pool.schema, np.concatenate([block.read_outputs.outputs.probs for block in blocks])


CASES = {
    "columns of logits": (columns_of(LOGITS + 700, "logit"), "logits"),
    "lists of logits": ({"logits": list(LOGITS)}, "logits"),
    "whole numbers": (columns_of(np.round(LOGITS).astype(int), "logit"), "logits"),
    "columns of log-probabilities": (columns_of(np.log(PROBS), "lp"), "log-probabilities"),
    "lists of log-probabilities": ({"lp": list(np.log(PROBS))}, "log-probabilities"),
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_on_another_scale_are_read_as_probabilities(tmp_path, case):
    columns, scale = CASES[case]
    outputs = list(columns) if len(columns) > 1 else next(iter(columns))
    _, probs = read(write(tmp_path, columns), outputs=outputs, classes=NAMES, scale=scale)
    expected = np.round(LOGITS) if case == "whole numbers" else LOGITS
    expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert probs == approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("scale", "transform"),
    [("logits", lambda p: np.log(p / (1 - p))), ("log-probabilities", np.log)],
)
def test_one_column_is_of_the_positive_class(tmp_path, scale, transform):
    score = np.linspace(0.01, 0.99, ROWS)
    path = write(tmp_path, {"score": transform(score)})
    schema, probs = read(path, scale=scale)
    assert (schema.kind, schema.scale, schema.positive) == ("score", scale, "1")
    assert probs[:, 1] == approx(score, abs=1e-6)


def test_a_study_keeps_the_scale_and_goes_on(tmp_path):
    """The same draws and numbers as of plain probabilities, also when it is opened again."""
    answers, reports = {str(row): NAMES[row % 3] for row in range(ROWS)}, []
    for name, columns, settings in (
        ("plain", columns_of(PROBS.astype(np.float32), "prob"), {}),
        (
            "logits",
            columns_of(np.log(PROBS.astype(np.float32)), "logit"),
            {"outputs": [f"logit_{each}" for each in NAMES], "classes": NAMES, "scale": "logits"},
        ),
    ):
        path = write(tmp_path, columns, name)
        Study.create(path, tmp_path / f"{name}.study", seed=4, **settings)
        study = Study.open(tmp_path / f"{name}.study")
        drawn = list(study.next(12).ids)
        study.ingest({each: answers[each] for each in drawn})
        reports.append((drawn, [row.estimate for row in study.report().estimates]))
    assert reports[0][0] == reports[1][0]
    assert reports[0][1] == approx(reports[1][1], rel=1e-4)


def test_probabilities_are_no_logits(tmp_path):
    path = write(tmp_path, columns_of(PROBS, "prob"))
    with pytest.raises(PoolError, match="holds probabilities") as caught:
        read(path, scale="logits")
    assert "leave `scale` out" in caught.value.hint
    read(path)


def test_what_is_no_probability_names_the_scale_and_it_works(tmp_path):
    path = write(tmp_path, columns_of(LOGITS, "prob"))
    with pytest.raises(PoolError) as caught:
        read(path)
    assert '`scale="logits"`' in caught.value.hint
    read(path, scale="logits")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("scale", ["logits", "log-probabilities"])
def test_a_number_that_is_none_is_named(tmp_path, bad, scale):
    values = np.log(PROBS)
    values[7, 1] = bad
    with pytest.raises(PoolError, match="row 8|row 7"):
        read(write(tmp_path, columns_of(values, "prob")), scale=scale)


def test_log_probabilities_sum_to_one(tmp_path):
    with pytest.raises(PoolError, match="sum to"):
        read(write(tmp_path, columns_of(np.log(PROBS) - 1, "prob")), scale="log-probabilities")


@pytest.mark.parametrize("columns", [{"pred": NAMES * 13 + ["cat"]}, {"pred": [1.5] * ROWS}])
def test_without_probabilities_there_is_no_scale(tmp_path, columns):
    with pytest.raises(ChoiceError, match="`scale` has no effect"):
        Pool.open(write(tmp_path, columns), scale="logits")


def test_a_scale_that_there_is_not_is_refused(tmp_path):
    path = write(tmp_path, columns_of(LOGITS, "prob"))
    with pytest.raises(ChoiceError, match="no scale is called 'odds'"):
        Study.create(path, tmp_path / "study", scale="odds")
    assert not (tmp_path / "study").exists()
    entries = {"task": "classification", "kind": "prob-columns", "outputs": ["prob_a"]}
    with pytest.raises(ActivetestError, match="scale"):
        Schema.from_dict(entries | {"scale": "odds"})


def test_decimals_are_numbers_here_too(tmp_path):
    logits = [Decimal("1.50"), Decimal("-2.25")] * (ROWS // 2)
    _, probs = read(write(tmp_path, {"score": logits}), scale="logits")
    assert probs[:2, 1] == approx([0.8175745, 0.0953494], abs=1e-6)


# --- the confidence of the predicted class

SURE = np.linspace(0.51, 0.99, ROWS)
SAID = np.array(["ham", "spam"])[np.arange(ROWS) % 2]


@pytest.mark.parametrize("names", [("score", "pred"), ("conf", "answer")])
def test_of_two_classes_a_confidence_says_both_probabilities(tmp_path, names):
    score, said = names
    path = write(tmp_path, {score: SURE, said: SAID})
    schema, probs = read(path, outputs=[said, score], scale="confidence")
    assert (schema.classes, schema.pred) == (("ham", "spam"), said)
    assert probs[:, 0] == approx(np.where(SAID == "ham", SURE, 1 - SURE), abs=1e-6)
    assert probs.sum(axis=1) == approx(1)


def test_a_score_that_may_be_a_confidence_is_asked_about_and_either_line_works(tmp_path):
    path = write(tmp_path, {"score": np.resize(SURE, 80)[:ROWS], "pred": SAID})
    many = tmp_path / "many.parquet"
    table = pq.read_table(path)
    pq.write_table(
        pa.concat_tables([table, table]).set_column(0, "id", pa.array(range(2 * ROWS))), many
    )
    with pytest.raises(Unclear) as caught:
        Pool.open(many)
    first, second = (reading.settings for reading in caught.value.readings)
    assert second == {"outputs": ["score", "pred"], "scale": "confidence"}
    for settings in (first, second):
        Pool.open(many, **settings)


def test_a_study_of_a_confidence_knows_what_the_other_class_is_worth(tmp_path):
    labels = np.where(np.arange(ROWS) % 5 == 0, "ham", SAID)
    path = write(tmp_path, {"score": SURE, "pred": SAID})
    settings = {"outputs": ["score", "pred"], "scale": "confidence", "metric": "brier"}
    Study.create(path, tmp_path / "study", seed=1, **settings)
    study = Study.open(tmp_path / "study")
    study.ingest(dict(zip(map(str, range(ROWS)), labels.tolist(), strict=True)))
    right = labels == SAID
    brier = (2 * np.where(right, 1 - SURE, SURE) ** 2).mean()
    found = {row.metric: row.estimate for row in study.report().estimates}
    assert found["brier"] in (approx(brier, rel=1e-5), approx(brier / 2, rel=1e-5))
    # Settings that are not named stay.
    study.change(metric="error")
    assert 'scale = "confidence"' in (tmp_path / "study" / "study.toml").read_text()


def test_of_more_classes_a_confidence_says_too_little(tmp_path):
    path = write(tmp_path, {"score": SURE, "pred": (NAMES * ROWS)[:ROWS]})
    with pytest.raises(ChoiceError, match="needs two classes, and 'pred' has 3") as caught:
        Pool.open(path, outputs=["score", "pred"], scale="confidence")
    assert "`outputs='pred'`" in caught.value.hint
    Pool.open(path, outputs="pred")


def test_of_two_classes_one_may_be_predicted_throughout(tmp_path):
    path = write(tmp_path, {"score": SURE, "pred": ["ham"] * ROWS})
    settings = {"outputs": ["score", "pred"], "scale": "confidence"}
    with pytest.raises(ChoiceError, match="has 1"):
        Pool.open(path, **settings)
    _, probs = read(path, classes=["ham", "spam"], **settings)
    assert probs[:, 0] == approx(SURE, abs=1e-6)


@pytest.mark.parametrize(
    ("columns", "outputs"),
    [
        ({"score": SURE}, "score"),
        ({"score": SURE, "other": SURE}, ["score", "other"]),
        ({"score": SURE, "pred": SAID, "third": SAID}, ["score", "pred", "third"]),
    ],
)
def test_a_confidence_stands_beside_one_predicted_class(tmp_path, columns, outputs):
    with pytest.raises(ChoiceError, match='`scale="confidence"` needs a column'):
        Pool.open(write(tmp_path, columns), outputs=outputs, scale="confidence")
