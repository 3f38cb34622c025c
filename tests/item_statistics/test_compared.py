"""Statistics and metrics of several models' outputs."""

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.item_statistics import specification
from activetest.item_statistics.compared import bind_metric, find_differing, subtract_models
from activetest.item_statistics.metric import evaluate
from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.nouns.rows import Outputs
from tests.makers import labelled_classes


@pytest.fixture
def compared():
    """Facts, outputs of the models v1 and v2 together, and labels; a fifth is alike."""
    facts, first, labels = labelled_classes(3, rows=300)
    _, second, _ = labelled_classes(3, rows=300, seed=5)
    alike = np.arange(300) % 5 == 0
    probs = np.where(alike[:, None], first.probs, second.probs)
    second = Outputs(probs.argmax(axis=1), probs)
    return facts, Outputs(first.pred, first.probs, others={"v1": first, "v2": second}), labels


@pytest.mark.parametrize(
    "name", ["error", "accuracy", "brier", "log-loss", "recall[cat]", "f1", "kappa", "rate[dog]"]
)
def test_a_difference_is_that_of_the_models_numbers(compared, name):
    facts, outputs, labels = compared
    metric = specification.find_metric(name.replace("f1", "f1[cat]"), facts)
    own = {model: evaluate(metric, each, labels) for model, each in outputs.others.items()}
    assert evaluate(bind_metric(metric, "v2"), outputs, labels) == approx(own["v2"])
    apart = subtract_models(metric, "v2", "v1")
    assert evaluate(apart, outputs, labels) == approx(own["v2"] - own["v1"])
    assert apart.title == f"{metric.title}(v2)-{metric.title}(v1)"
    assert (apart.lower, apart.upper) == (-apart.upper, metric.upper - metric.lower)


def test_a_name_says_everything_about_a_statistic(compared):
    _, outputs, labels = compared
    apart = statistic("zero_one(v2)-zero_one(v1)")
    wrong = {model: each.pred != labels for model, each in outputs.others.items()}
    values = apart.value(outputs, labels[:, None])[:, 0]
    assert (values == wrong["v2"].astype(float) - wrong["v1"]).all()
    assert (apart.lower, apart.upper, apart.is_indicator) == (-1.0, 1.0, False)
    table = apart.table(outputs, 3)
    assert (table[np.arange(300), labels.astype(int)] == values).all()
    halves = combine_statistics([apart, statistic("zero_one")], [0.5, 2.0])
    assert halves.terms[-1] == ("", statistic("zero_one"), 2.0)
    expected = 0.5 * values + 2 * wrong["v1"]
    assert halves.value(outputs, labels[:, None])[:, 0] == approx(expected)


def test_items_on_which_both_do_the_same_add_nothing(compared):
    _, outputs, labels = compared
    for name in ("zero_one", "brier"):
        apart = statistic(f"{name}(v2)-{name}(v1)")
        differing = find_differing(outputs, apart) > 0
        assert 0 < differing.sum() < 300
        assert (apart.range_by_row(outputs, 3)[:, ~differing] == 0).all()
        assert (apart.value(outputs, labels[:, None])[~differing] == 0).all()
    # Probabilities differ where classes are the same, too.
    hard, soft = (
        find_differing(outputs, statistic(f"{name}(v2)-{name}(v1)")).sum()
        for name in ("zero_one", "brier")
    )
    assert hard < soft


def test_a_curve_is_no_difference():
    facts, *_ = labelled_classes(2)
    with pytest.raises(ChoiceError, match="area under a curve"):
        subtract_models(specification.find_metric("auroc", facts), "v2", "v1")


def test_a_model_that_the_study_lacks_is_named(compared):
    facts = compared[0]
    with pytest.raises(ChoiceError, match="no model 'v3'"):
        specification.find_metric("error(v3)", facts)
