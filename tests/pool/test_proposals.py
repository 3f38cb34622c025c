"""Settings that a file suggests, by names and first values."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest
from activetest.pool.contents import choose_settings
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.proposals import (
    describe_proposals,
    describe_unread,
    find_stated,
    list_others,
    list_proposals,
)
from activetest.pool.unclear import write_settings

ROWS = 60
IDS = [f"i{k}" for k in range(ROWS)]
SHARES = [(k * 37 % ROWS) / ROWS for k in range(ROWS)]
OTHERS = [1 - each for each in SHARES]
SURE = [max(each, 1 - each) for each in SHARES]
WORDS = ["ok" if each < 0.5 else "fraud" for each in SHARES]
CODES = [int(each >= 0.5) for each in SHARES]
CONFIDENCE = {"scale": "confidence", "task": "classification"}
# Beside a column pred, which is read by convention.
STATED = {
    "a confidence": ({"conf": SURE}, {"outputs": ["conf", "pred"]} | CONFIDENCE),
    "a probability of a class": (
        {"p_fraud": SHARES},
        {"outputs": "p_fraud", "task": "classification", "classes": ["ok", "fraud"]},
    ),
    "lists": (
        {"probs": [[a, b] for a, b in zip(SHARES, OTHERS, strict=True)]},
        {"outputs": "probs", "classes": ["fraud", "ok"]},
    ),
    "columns": (
        {"p_ok": OTHERS, "p_fraud": SHARES},
        {"outputs": ["p_ok", "p_fraud"], "classes": ["ok", "fraud"]},
    ),
    "of another model": ({"p_fraud": OTHERS}, None),
    "by convention": ({"score": SHARES, "conf": SURE}, None),
    "numbers of another kind": ({"amount": SHARES}, None),
    "text that is none": ({"conf": SURE, "note": [b"\xff"] * ROWS}, None),
}
BINARY = {"task": "classification"}
LISTS = pa.array([[each, 1 - each] for each in SHARES])

CASES = {
    "one class": (
        {"p_fraud": SHARES},
        {"outputs": "p_fraud", "classes": ["not fraud", "fraud"], **BINARY},
    ),
    "no class": ({"y_pred_proba": SHARES}, {"outputs": "y_pred_proba", **BINARY}),
    "class of the labels": (
        {"fraud_prob": SHARES, "label": ["legit" if each < 0.7 else "Fraud" for each in SHARES]},
        {"outputs": "fraud_prob", "classes": ["legit", "Fraud"], **BINARY},
    ),
    "names before": (
        {"cat_prob": SHARES, "dog_prob": OTHERS},
        {"outputs": ["cat_prob", "dog_prob"], "classes": ["cat", "dog"]},
    ),
    "names in brackets": (
        {"P(cat)": SHARES, "P(dog)": OTHERS},
        {"outputs": ["P(cat)", "P(dog)"], "classes": ["cat", "dog"]},
    ),
    "scores that sum to 1": (
        {"score_cat": SHARES, "score_dog": OTHERS},
        {"outputs": ["score_cat", "score_dog"], "classes": ["cat", "dog"]},
    ),
    "a prediction and its probability": (
        {"prediction": WORDS, "fraud_probability": SHARES},
        {"outputs": "fraud_probability", "classes": ["ok", "fraud"], **BINARY},
    ),
    "a prediction and its confidence": (
        {"predicted_class": WORDS, "probability": SURE},
        {"outputs": ["probability", "predicted_class"]} | CONFIDENCE,
    ),
    "SAS": (
        {"P_BAD1": SHARES, "P_BAD0": OTHERS, "I_BAD": CODES, "BAD": CODES},
        {"outputs": ["P_BAD1", "P_BAD0"], "classes": ["1", "0"]},
    ),
    "SAS without the predicted class": (
        {"P_BAD1": SHARES, "P_BAD0": OTHERS, "F_BAD": CODES},
        {"outputs": ["P_BAD1", "P_BAD0"], "classes": ["1", "0"]},
    ),
    "SPSS": (
        {"$L-bad": WORDS, "$LP-bad": SURE, "$LP-fraud": SHARES, "$LP-ok": OTHERS},
        {"outputs": ["$LP-fraud", "$LP-ok"], "classes": ["fraud", "ok"]},
    ),
    "SPSS without probabilities": (
        {"$R-bad": WORDS, "$RC-bad": SURE},
        {"outputs": ["$RC-bad", "$R-bad"]} | CONFIDENCE,
    ),
    "R, yardstick": (
        {".pred_class": WORDS, ".pred_fraud": SHARES, ".pred_ok": OTHERS},
        {"outputs": [".pred_fraud", ".pred_ok"], "classes": ["fraud", "ok"]},
    ),
    "R, ranger": (
        {"predictions.no": SHARES, "predictions.yes": OTHERS},
        {"outputs": ["predictions.no", "predictions.yes"], "classes": ["no", "yes"]},
    ),
    "H2O": (
        {"predict": WORDS, "ok": OTHERS, "fraud": SHARES},
        {"outputs": ["ok", "fraud"], "classes": ["ok", "fraud"]},
    ),
    "H2O with a threshold of its own": (
        {"predict": ["fraud" if each > 0.2 else "ok" for each in SHARES], "ok": OTHERS}
        | {"fraud": SHARES},
        {"outputs": "predict"},
    ),
    "Azure": (
        {"Scored Labels": WORDS, "Scored Probabilities": SHARES},
        {"outputs": "Scored Probabilities", "classes": ["ok", "fraud"], **BINARY},
    ),
    "Azure, several classes": (
        {'Scored Probabilities for Class "a"': SHARES}
        | {'Scored Probabilities for Class "b"': OTHERS},
        {
            "outputs": [f'Scored Probabilities for Class "{name}"' for name in "ab"],
            "classes": ["a", "b"],
        },
    ),
    "KNIME": (
        {"P (t=a)": SHARES, "P (t=b)": OTHERS, "t": WORDS},
        {"outputs": ["P (t=a)", "P (t=b)"], "classes": ["a", "b"]},
    ),
    "Orange": (
        {"Tree": WORDS, "Tree (ok)": OTHERS, "Tree (fraud)": SHARES, "age": SURE},
        {"outputs": ["Tree (ok)", "Tree (fraud)"], "classes": ["ok", "fraud"]},
    ),
    "classes in another case": (
        {"Sentiment": [f"{word}\u00e9".upper() for word in WORDS], "P_ok\u00e9": OTHERS}
        | {"P_fraude": SHARES},
        {"outputs": ["P_ok\u00e9", "P_fraude"], "classes": ["OK\u00c9", "FRAUD\u00c9"]},
    ),
    "probabilities alone": (
        {"Unnamed: 0": list(range(ROWS)), "0": SHARES, "1": OTHERS},
        {"outputs": ["0", "1"], "classes": ["0", "1"]},
    ),
    "a list": ({"probs": LISTS}, {"outputs": "probs"}),
    "a list and the largest": (
        {"probs": LISTS, "y_pred": ["a" if each > 0.5 else "b" for each in SHARES]},
        {"outputs": "probs", "classes": ["a", "b"]},
    ),
    "a list and other predictions": ({"probs": LISTS, "y_pred": IDS[::-1]}, {"outputs": "y_pred"}),
    "a list of logits": (
        {"logits": pa.array([[3.0, -1.0]] * ROWS), "y_pred": WORDS},
        {"outputs": "y_pred"},
    ),
    "logits of all classes": (
        {"logit_a": [2.0] * ROWS, "logit_b": [3.0] * ROWS},
        {"outputs": ["logit_a", "logit_b"], "classes": ["a", "b"], "scale": "logits"},
    ),
    "a list of logits alone": (
        {"logits": pa.array([[3.0, -1.0]] * ROWS)},
        {"outputs": "logits", "scale": "logits"},
    ),
    "a logit of one class": (
        {"fraud_logit": [2.0] * ROWS},
        {
            "outputs": "fraud_logit",
            "scale": "logits",
            **BINARY,
            "classes": ["not fraud", "fraud"],
        },
    ),
    "log-probabilities": (
        {"logprob_a": [-0.1] * ROWS, "logprob_b": [-2.35] * ROWS},
        {
            "outputs": ["logprob_a", "logprob_b"],
            "classes": ["a", "b"],
            "scale": "log-probabilities",
        },
    ),
    "percentages that sum to 100": (
        {"P(a)": [100 * each for each in SHARES], "P(b)": [100 * each for each in OTHERS]},
        {"outputs": ["P(a)", "P(b)"], "classes": ["a", "b"]},
    ),
    "percentages": ({"risk_score": [100 * each for each in SHARES]}, {"outputs": "risk_score"}),
    "scores that do not sum to 1": (
        {"score_math": SHARES, "score_art": SHARES, "verdict": WORDS},
        {"outputs": "score_math"},
    ),
    "capitals": ({"Prediction": WORDS}, {"outputs": "Prediction"}),
    "a verdict": ({"Verdict": WORDS}, {"judge": "Verdict"}),
    "a judge's verdict beside its reasons": (
        {"judge_reason": IDS, "judge_verdict": WORDS},
        {"judge": "judge_verdict"},
    ),
    "grades of a judge, which are no classes": (
        {"llmJudgeScore": [k % 5 + 1 for k in range(ROWS)]},
        {"judge": "llmJudgeScore"},
    ),
}


def write(folder, columns) -> str:
    path = folder / "pool.parquet"
    pq.write_table(pa.table({"id": IDS, **columns}), path)
    return str(path)


@pytest.mark.parametrize("case", CASES)
def test_the_first_proposal_is_the_likeliest(tmp_path, case):
    columns, expected = CASES[case]
    assert next(list_others(Files(write(tmp_path, columns)))) == expected


def write_stated(folder, case) -> str:
    table = pa.table({"id": IDS, "pred": WORDS, **STATED[case][0]})
    if "note" in table.column_names:
        place = table.schema.get_field_index("note")
        table = table.set_column(place, "note", table["note"].combine_chunks().view(pa.string()))
    pq.write_table(table, folder / "pool.parquet")
    return str(folder / "pool.parquet")


@pytest.mark.parametrize("case", STATED)
def test_probabilities_beside_predicted_classes_are_found_by_their_values(tmp_path, case):
    assert find_stated(Files(write_stated(tmp_path, case))) == STATED[case][1]


@pytest.mark.parametrize("case", [case for case, (_, expected) in STATED.items() if expected])
def test_probabilities_beside_predicted_classes_are_proposed_and_predict_the_same(tmp_path, case):
    path, expected = write_stated(tmp_path, case), STATED[case][1]
    assert next(list_proposals(Files(path))) == expected
    pool = Pool.open(path)
    (notice,) = [each for each in pool.notices if "how sure the model is of 'pred'" in each]
    assert write_settings(expected) in notice
    stated = Pool.open(path, **expected)
    assert stated.schema.kind != "pred"
    names = [
        [each.schema.classes[code] for code in each.read_block(strip).checked.outputs.pred]
        for each in (pool, stated)
        for strip in each.strips()
    ]
    # Where both are as likely, either is right.
    assert all(a == b or share == 0.5 for a, b, share in zip(*names, SHARES, strict=True))


def test_settings_in_a_hint_open_the_pool(tmp_path):
    path = write(tmp_path, {"fraud_score": SHARES})
    hint = describe_proposals(Files(path))
    ways = [
        {"outputs": "fraud_score", "task": "regression"},
        {"outputs": "fraud_score", **BINARY, "classes": ["not fraud", "fraud"]},
    ]
    for way in ways:
        assert ", ".join(f"{name}={value!r}" for name, value in way.items()) in hint
        assert Pool.open(path, **way).schema.task == way["task"]


UNREAD = {
    "'label_probs' may hold probabilities, and is not read": {
        "label_probs": pa.array([[{"label": "a", "prob": 0.5}]] * ROWS)
    },
    "'probabilities' may hold probabilities, and is not read": {"probabilities": ["{a: 1}"] * ROWS},
}


@pytest.mark.parametrize("sentence", UNREAD)
def test_probabilities_that_are_not_read_are_named(tmp_path, sentence):
    (found,) = describe_unread(Files(write(tmp_path, UNREAD[sentence])))
    assert found.startswith(sentence)


def test_the_log_probability_of_an_answer_is_not_that_of_a_class(tmp_path):
    assert list(list_others(Files(write(tmp_path, {"logprob": [-0.1] * ROWS})))) == []


def test_plain_columns_are_not_called_unread(tmp_path):
    columns = {"score": SHARES, "probs": LISTS, "confidence_words": WORDS}
    assert describe_unread(Files(write(tmp_path, columns))) == []


def choose(path, **given):
    ways, error = choose_settings(str(path), Files(str(path)), "pool", given)
    return [each.settings for each in ways], error


def test_predictions_of_several_models_are_asked_about_with_a_line_for_each(tmp_path):
    path, other = tmp_path / "pool.parquet", list(reversed(WORDS))
    models = {"pred_gpt": WORDS, "pred_claude": other}
    pq.write_table(pa.table({"id": IDS, **models}), path)
    ways, error = choose(path)
    assert ways == [{"outputs": "pred_claude"}, {"outputs": "pred_gpt"}]
    assert error and "'pred_gpt', 'pred_claude' hold the predictions" in error.problem
    assert choose(path, outputs="pred_claude") == ([{"outputs": "pred_claude"}], None)
    # A prediction without the name of a model is that of the model.
    pq.write_table(pa.table({"id": IDS, **models, "prediction": WORDS}), path)
    assert choose(path) == ([{"outputs": "prediction"}], None)


@pytest.mark.parametrize(
    ("column", "number"),
    [("class", "probability"), ("intent", "intent_confidence"), ("étiquette", "probabilité")],
)
def test_a_number_that_is_never_low_may_be_the_confidence_in_the_class_beside_it(
    tmp_path, column, number
):
    path = write(tmp_path, {column: WORDS, number: SURE})
    ways, error = choose(path)
    assert error and f"{number!r} is never below 0.5" in error.problem
    probability, confidence = ways
    assert probability["outputs"] == number and probability["task"] == "classification"
    assert confidence["outputs"] == [number, column] and confidence["scale"] == "confidence"
    hint = describe_proposals(Files(path))
    assert f"`outputs={[number, column]!r}, scale='confidence'`" in hint
    # Of a probability of one class, many are low.
    ways, error = choose(write(tmp_path, {column: WORDS, number: SHARES}))
    assert all("scale" not in way for way in ways)


def test_percentages_are_no_probabilities_and_no_numbers_without_a_word(tmp_path):
    shares = [100 * each for each in SHARES]
    (way,), error = choose(write(tmp_path, {"p_fraud": shares}))
    assert error and "may be percentages here" in error.problem
    assert way == {"outputs": "p_fraud", "task": "regression"}
    # Those of all classes are refused.
    columns = {"P(a)": shares, "P(b)": [100 - each for each in shares]}
    found = activetest.inspect(write(tmp_path, columns))
    assert "sum to 100" in found.problem and "divide percentages by 100" in found.hint


@pytest.mark.parametrize("name", ["id", "sample_id"])
def test_items_without_a_grade_are_left_out_where_a_column_holds_ids(tmp_path, name):
    """Grades with gaps are a judge's, never classes of a model that an item lacks."""
    path = tmp_path / "pool.parquet"
    grades = [None if k % 9 == 0 else k % 5 + 1 for k in range(ROWS)]
    pq.write_table(pa.table({name: IDS, "judge_score": grades, "judge_reason": IDS}), path)
    (settings,), error = choose(path)
    assert error is None and settings["judge"] == "judge_score"
    assert settings.get("id") == (None if name == "id" else name)
    pq.write_table(pa.table({"judge_score": grades}), path)
    assert choose(path)[0] == []
