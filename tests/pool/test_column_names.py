"""Meanings of the names of columns."""

import pytest

from activetest.pool.column_names import (
    is_bare_prediction,
    is_outcome,
    is_prediction,
    is_truth,
    read_probability,
    restates_outcome,
)

TRUTHS = (
    *("y", "label", "labels", "target", "truth", "y_true", "y_test", "actual", "Actual", "gold"),
    *("gt", "expected", "observed", "outcome", "reference", "trueLabel", "is_correct", "isCorrect"),
    *("ground_truth", "groundtruth", "gold_label", "true_class", "actual_price", "TRUE_LABEL"),
    *("obs", "Class", "EM_CLASSTARGET", "human_label", "expected_output", "correct", "Istwert"),
    *("Tatsächlich", "TATSAECHLICH", "Ist", ".resid", "abs_error", "human_rating", "human_score"),
    *("majority_vote", "exact_match"),
    *("Wahrheit", "wahre Klasse", "étiquette", "classe réelle", "réel", "etiqueta", "precio_real"),
    *("etichetta", "valore_reale", "rótulo", "werkelijk", "wartość_rzeczywista", "facit", "soll"),
    # With an accent in a letter of its own.
    "e\u0301tiquette",
)
PREDICTIONS = (
    *("pred", "y_pred", "yhat", "y_hat", "prediction", "Prediction", "predicted_label"),
    *("pred_label", "label_pred", "predictedClass", "model_output", "model_label"),
    *(
        "Vorhersage",
        "VORHERSAGE",
        "Vorhergesagte Klasse",
        "Vorhersagewert",
        "prédiction",
        "PREDICTION",
    ),
    *("classe prédite", "predicción", "prediccion", "previsione", "previsão", "voorspelling"),
    *("prognoza", "prediktion", "Scored Labels", "EM_CLASSIFICATION"),
)
NEITHER = (
    *("id", "text", "amount", "gold_member", "reference_number", "expected_days", "outcome_30d"),
    *("phone", "model", "annotator", "correlation", "real_estate", "reel_length", "Antwort", "Nr"),
    *("Kundennummer", "valeur", "ist_neu", "goals_scored", "error_count", "standard_error"),
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
    **{"Scored Probabilities": "", "EM_EVENTPROBABILITY": "", "$RC-churn": "churn"},
    **{"Wahrscheinlichkeit_Betrug": "Betrug", "Betrugswahrscheinlichkeit": "Betrug"},
    **{"probabilité de la fraude": "fraude", "kans_fraude": "fraude", "prob_de_novo": "de_novo"},
    **{"probabilité_de": "de", "probabilite\u0301_\u00e9t\u00e9": "\u00e9t\u00e9"},
    **dict.fromkeys(("Wahrscheinlichkeit", "probabilidad", "prawdopodobieństwo", "Konfidenz"), ""),
    **dict.fromkeys(("score", "y_score", "y_pred_proba", "prediction_score", "probability"), ""),
    **dict.fromkeys(("predicted_probability", "logit", "confidence", "label_probability"), ""),
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_probability_is_of_the_class_that_its_name_has(name):
    found = read_probability(name)
    assert found is not None and found.class_name == CLASSES[name]
    unsure = ("score", "conf", "konf", "logit", "$rc-")
    assert found.sure == (not any(word in name.lower().replace("scored", "") for word in unsure))
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
    assert is_outcome("ist_Betrug", ["Betrugswahrscheinlichkeit"])
    assert is_outcome("BAD", ["P_BAD1", "P_BAD0"]) and is_outcome("F_BAD", ["P_BAD1"])
    assert is_outcome("target", ["P (target=yes)", "P (target=no)"]) and is_outcome(
        "BAD", ["I_BAD"]
    )
    assert is_outcome("price", ["Prediction (price)"]) and is_outcome("churn", ["$L-churn"])
    assert not is_outcome("I_BAD", ["P_BAD1"]) and restates_outcome("I_BAD", ["P_BAD1"])
    assert not is_outcome("fraud_team", ["fraud_score"])
    assert not is_outcome("fraud", ["p_fraud", "p_ok"]) and not is_outcome("score", ["score"])
