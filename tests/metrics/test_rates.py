"""Rates of classes: how they are asked for, and when they do not exist."""

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.metrics.classes import (
    balanced_accuracy,
    f1,
    f_beta,
    false_positive_rate,
    kappa,
    mcc,
    precision,
    recall,
    specificity,
)
from activetest.metrics.means import rate
from activetest.nouns.rows import Outputs

PETS = Facts("classification", ("cat", "dog", "owl"))
BINARY = Facts("classification", ("good", "fraud"), positive=1)
RATES = (precision, recall, f1, specificity, false_positive_rate)


def build_metric(module, facts, argument=None):
    (metric,) = module.metrics(facts, argument)
    return metric


def value(module, pairs, facts=PETS, argument=None) -> float:
    """The metric on a pool of (label, prediction) codes."""
    labels, pred = np.array(pairs).T
    return evaluate(build_metric(module, facts, argument), Outputs(pred), labels.astype(float))


@pytest.mark.parametrize("module", RATES)
def test_a_binary_pool_has_a_positive_class_and_others_an_average(module):
    metric = build_metric(module, BINARY)
    assert metric.class_name == "fraud"
    assert metric.title == metric.name + "[fraud]"
    metric = build_metric(module, PETS)
    assert metric.class_name is None
    assert metric.name.endswith("[macro]")


@pytest.mark.parametrize("module", RATES)
def test_a_star_is_every_class(module):
    assert [metric.class_name for metric in module.metrics(PETS, "*")] == ["cat", "dog", "owl"]


@pytest.mark.parametrize("module", RATES)
def test_a_class_that_is_not_there_is_refused_with_those_that_are(module):
    with pytest.raises(ChoiceError, match="no class is called 'cow'") as refused:
        module.metrics(PETS, "cow")
    assert refused.value.hint == "choose from cat, dog, owl; or macro, micro, weighted or *"
    many = Facts("classification", tuple(f"class {code}" for code in range(500)))
    with pytest.raises(ChoiceError) as refused:
        module.metrics(many, "cow")
    assert len(refused.value.hint) < 200


def test_a_class_may_be_called_like_an_average():
    facts = Facts("classification", ("macro", "*", "cat"))
    assert build_metric(recall, facts, "macro").class_name == "macro"
    assert build_metric(recall, facts, "*").class_name == "*"


def test_f_beta_takes_its_beta_first():
    metric = build_metric(f_beta, BINARY, "2")
    assert (metric.name, metric.class_name, metric.title) == (
        "f-beta[2]",
        "fraud",
        "f-beta[2,fraud]",
    )
    assert build_metric(f_beta, BINARY, "0.5, good").title == "f-beta[0.5,good]"
    assert build_metric(f_beta, PETS, "2,weighted").title == "f-beta[2,weighted]"
    assert build_metric(f_beta, PETS, "2").title == "f-beta[2,macro]"
    comma = Facts("classification", ("a, b", "c"), positive=1)
    assert build_metric(f_beta, comma, "2,a, b").class_name == "a, b"


@pytest.mark.parametrize("argument", [None, "fraud", "0", "-1", "nan", "inf", "fraud,2", ",fraud"])
def test_f_beta_without_a_beta_is_refused(argument):
    with pytest.raises(ChoiceError) as refused:
        f_beta.metrics(BINARY, argument)
    assert "f-beta[2]" in refused.value.hint


def test_f1_is_the_harmonic_mean_and_f_beta_goes_from_precision_to_recall(classes):
    facts, outputs, labels = classes(2)
    p, r, f = (
        evaluate(build_metric(each, facts), outputs, labels) for each in (precision, recall, f1)
    )
    assert f == approx(2 * p * r / (p + r), rel=1e-12)
    ends = [
        evaluate(build_metric(f_beta, facts, beta), outputs, labels) for beta in ("1e-7", "99", "1")
    ]
    assert ends == approx([p, r, f], abs=1e-3)
    assert ends[2] == approx(f, rel=1e-14)


def test_an_empty_denominator_is_undefined_and_says_why():
    pairs = [(0, 0), (0, 0), (1, 0)]
    for module, argument, reason in (
        (precision, "dog", "no item predicted as 'dog' has been seen"),
        (recall, "owl", "no item labelled as 'owl' has been seen"),
        (f1, "owl", "no item predicted or labelled as 'owl' has been seen"),
    ):
        assert np.isnan(value(module, pairs, argument=argument))
        assert build_metric(module, PETS, argument).undefined == reason
    for module in (specificity, false_positive_rate):
        assert np.isnan(value(module, [(0, 0), (0, 1)], argument="cat"))
        assert build_metric(module, PETS, "cat").undefined == "every item seen is labelled as 'cat'"
    assert value(recall, pairs, argument="dog") == 0


def test_an_average_is_over_the_classes_that_have_the_rate():
    # Dogs are never predicted, owls never there.
    pairs = [(0, 0), (0, 0), (0, 2), (1, 0)]
    assert value(recall, pairs) == approx((2 / 3 + 0) / 2)
    assert value(balanced_accuracy, pairs) == approx(1 / 3)
    assert value(precision, pairs) == approx((2 / 3 + 0) / 2)
    assert value(f1, pairs) == approx((2 / 3 + 0 + 0) / 3)
    assert value(precision, pairs, argument="weighted") == approx(2 / 3)
    assert value(recall, pairs, argument="weighted") == approx(1 / 2)
    assert np.isnan(value(recall, [(-1, 0), (-1, 1)]))
    assert build_metric(recall, PETS).undefined == "no item labelled as any class has been seen"


def test_micro_averages_are_the_accuracy_where_every_error_counts_twice(classes):
    facts, outputs, labels = classes(3)
    accuracy = 1 - (outputs.pred != labels).mean()
    for module in (precision, recall, f1):
        metric = build_metric(module, facts, "micro")
        assert [each.name for each in metric.statistics] == ["zero_one"]
        assert evaluate(metric, outputs, labels) == approx(accuracy, rel=1e-12)
    expected = 1 - (1 - accuracy) / 2
    assert evaluate(build_metric(specificity, facts, "micro"), outputs, labels) == approx(expected)
    assert evaluate(build_metric(false_positive_rate, facts, "micro"), outputs, labels) == approx(
        1 - expected
    )


def test_the_gradient_does_not_see_a_class_that_is_not_there():
    labels, pred = np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
    metric = build_metric(recall, PETS)
    mean = np.array(
        [each.value(Outputs(pred), labels[:, None]).mean() for each in metric.statistics]
    )
    names = [each.name for each in metric.statistics]
    slopes = dict(zip(names, metric.gradient(mean), strict=True))
    assert slopes["tp:2"] == slopes["fn:2"] == 0
    assert slopes["fn:0"] == approx(-0.5 * 0.25 / 0.25, rel=1e-6)


def test_correlation_and_kappa_need_two_classes():
    assert np.isnan(value(mcc, [(0, 0), (1, 0)]))
    assert np.isnan(value(mcc, [(0, 0), (0, 1)]))
    assert np.isnan(value(kappa, [(0, 0), (0, 0)]))
    assert value(kappa, [(0, 0), (1, 0)]) == 0
    for module in (mcc, kappa):
        assert build_metric(module, PETS).undefined
        assert value(module, [(0, 0), (1, 1), (2, 2)]) == approx(1)
    assert value(mcc, [(0, 1), (1, 0)]) == approx(-1)


def test_chance_corrected_agreement_does_not_depend_on_the_scale_of_the_estimate(classes):
    facts, outputs, labels = classes(3)
    for module in (mcc, kappa):
        metric = build_metric(module, facts)
        mean = np.array([each.value(outputs, labels[:, None]).mean() for each in metric.statistics])
        assert metric.smooth(1.3 * mean) == approx(metric.smooth(mean), rel=1e-12)


def test_only_the_statistics_that_matter_are_asked_for():
    def names(name, argument):
        (metric,) = catalog.load("metrics", name).metrics(PETS, argument)
        return [each.name for each in metric.statistics]

    assert names("recall", "dog") == ["tp:1", "fn:1"]
    assert names("precision", "dog") == ["tp:1", "fp:1"]
    assert names("specificity", "dog") == ["tp:1", "fp:1", "fn:1"]
    assert names("balanced-accuracy", None) == ["tp:0", "tp:1", "tp:2", "fn:0", "fn:1", "fn:2"]


def test_a_rate_of_labels_is_the_share_of_items_of_the_class_whatever_is_predicted():
    pairs = [(0, 1), (1, 1), (1, 0), (2, 2), (-1, 1)]
    assert value(rate, pairs, argument="dog") == approx(2 / 5)
    assert value(rate, pairs, argument="owl") == approx(1 / 5)
    assert value(rate, [(1, 0), (0, 0), (1, 1), (1, 1)], BINARY) == approx(3 / 4)
    metric = build_metric(rate, BINARY)
    assert (metric.title, metric.lower, metric.upper, metric.of_labels) == (
        "rate[fraud]",
        0,
        1,
        True,
    )
    assert [each.title for each in rate.metrics(PETS, "*")] == [
        "rate[cat]",
        "rate[dog]",
        "rate[owl]",
    ]


@pytest.mark.parametrize("argument", ["cow", "macro"])
def test_a_rate_of_labels_is_of_a_class_and_has_no_average(argument):
    assert [each.class_name for each in rate.metrics(PETS)] == ["cat", "dog", "owl"]
    with pytest.raises(ChoiceError, match=f"'rate': no class is called '{argument}'") as refused:
        rate.metrics(PETS, argument)
    assert refused.value.hint == "choose from cat, dog, owl; or *"
