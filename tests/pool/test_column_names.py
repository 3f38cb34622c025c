"""What names of columns say."""

import pytest

from activetest.pool.column_names import (
    is_bare_prediction,
    is_outcome,
    is_prediction,
    is_truth,
    read_probability,
)

TRUTHS = (
    *("y", "label", "labels", "target", "truth", "y_true", "y_test", "actual", "Actual", "gold"),
    *("gt", "expected", "observed", "outcome", "reference", "trueLabel", "is_correct", "isCorrect"),
    *("ground_truth", "groundtruth", "gold_label", "true_class", "actual_price", "TRUE_LABEL"),
    *("human_label", "expected_output", "correct"),
)
PREDICTIONS = (
    *("pred", "y_pred", "yhat", "y_hat", "prediction", "Prediction", "predicted_label"),
    *("pred_label", "label_pred", "predictedClass", "model_output", "model_label"),
)
NEITHER = (
    *("id", "text", "amount", "gold_member", "reference_number", "expected_days", "outcome_30d"),
    *("phone", "model", "annotator", "correlation"),
)


@pytest.mark.parametrize("name", TRUTHS)
def test_the_truth_has_many_names(name):
    assert is_truth(name) and not is_prediction(name)


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_have_many_names_and_are_no_truth(name):
    assert is_prediction(name) and is_bare_prediction(name) and not is_truth(name)


@pytest.mark.parametrize("name", NEITHER)
def test_other_names_say_nothing(name):
    assert not is_truth(name) and not is_prediction(name) and read_probability(name) is None


def test_a_prediction_of_one_of_several_models_is_not_bare():
    assert is_prediction("pred_gpt") and not is_bare_prediction("pred_gpt")


CLASSES = {
    **{"fraud_score": "fraud", "p_fraud": "fraud", "churn_probability": "churn", "P(dog)": "dog"},
    **{"pred_proba_1": "1", "prob_not_fraud": "not_fraud", "spamProb": "spam", "prob_C++": "C++"},
    **{"Fraud Score": "Fraud", "logit_cat": "cat", "class_1_probability": "1"},
    **dict.fromkeys(("score", "y_score", "y_pred_proba", "prediction_score", "probability"), ""),
    **dict.fromkeys(("predicted_probability", "logit", "confidence", "label_probability"), ""),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_probability_is_of_the_class_that_its_name_has(name):
    found = read_probability(name)
    assert found is not None and found.class_name == CLASSES[name]
    assert found.sure == (not any(word in name.lower() for word in ("score", "conf", "logit")))
    assert found.logit == ("logit" in name)
    assert not is_truth(name) and not is_prediction(name)


def test_columns_that_differ_in_a_class_alone_share_a_pattern():
    for names in (
        ("proba_a", "proba_b"),
        ("a_prob", "b_prob"),
        ("P(a)", "P(b)"),
        ("xPr_a", "xPr_b"),
    ):
        assert len({read_probability(name).pattern for name in names}) == 1
    assert read_probability("proba_a").pattern != read_probability("score_a").pattern


def test_what_a_probability_is_called_after_is_the_outcome():
    assert is_outcome("is_fraud", ["fraud_score"]) and is_outcome("churned", ["p_churn"])
    assert is_outcome("late delivery", ["late_delivery_probability"])
    assert not is_outcome("fraud_team", ["fraud_score"])
    assert not is_outcome("fraud", ["p_fraud", "p_ok"]) and not is_outcome("score", ["score"])
