"""Requirements of all metrics: ranges, gradients, titles that can be asked for, reasons."""

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.item_statistics.defaults import CLASSIFICATION, HARD_LABELS, REGRESSION
from activetest.item_statistics.metric import Facts, Metric, divide, evaluate
from activetest.item_statistics.statistic import statistic
from activetest.nouns.arguments import add_to_brackets
from activetest.nouns.rows import Outputs

NEEDED = {"f-beta": "2", "top-k-error": "1", "precision-at-k": "20", "recall-at-fpr": "0.1"}
# Metrics of classes that take no brackets.
PLAIN = ("accuracy", "error", "log-loss", "brier", "mcc", "kappa", "balanced-accuracy", "cost")
AREAS = ("auroc", "average-precision", "recall-at-fpr", "precision-at-k")


def of_task(task: str) -> list[str]:
    return [
        name
        for name in catalog.names("metrics")
        if catalog.fact("metrics", name, "TASK") in (None, task)
    ]


def build_metrics(name: str, facts: Facts) -> tuple[Metric, ...]:
    return catalog.load("metrics", name).metrics(facts, NEEDED.get(name))


def refine(metric: Metric, outputs: Outputs, labels: np.ndarray) -> Metric:
    """The metric as it is judged once labels are known, where it follows them."""
    return metric.refine(outputs, labels, np.ones(len(labels))) if metric.refine else metric


@pytest.fixture(params=catalog.names("metrics"))
def case(request, classes, values):
    """A metric's name and a pool for it."""
    regression = catalog.fact("metrics", request.param, "TASK") == "regression"
    return request.param, values() if regression else classes(2)


def means(metric: Metric, outputs, labels) -> np.ndarray:
    return np.array([each.value(outputs, labels[:, None]).mean() for each in metric.statistics])


def test_every_task_has_its_metrics():
    assert {*CLASSIFICATION, *HARD_LABELS} <= set(of_task("classification"))
    assert set(REGRESSION) <= set(of_task("regression"))
    assert {*of_task("classification"), *of_task("regression")} == set(catalog.names("metrics"))


def test_values_are_in_range_and_statistics_come_back_from_their_names(case):
    name, (facts, outputs, labels) = case
    for metric in build_metrics(name, facts):
        assert metric.name.partition("[")[0] == name
        assert metric.lower <= evaluate(metric, outputs, labels) <= metric.upper
        for each in metric.statistics:
            again = statistic(each.name)
            np.testing.assert_array_equal(
                again.value(outputs, labels[:, None]), each.value(outputs, labels[:, None])
            )


def test_a_title_can_be_asked_for_again(case):
    name, (facts, outputs, labels) = case
    for metric in build_metrics(name, facts):
        word, _, rest = metric.title.partition("[")
        (again,) = catalog.load("metrics", word).metrics(facts, rest[:-1] if rest else None)
        assert again.title == metric.title
        assert evaluate(again, outputs, labels) == evaluate(metric, outputs, labels)


def test_the_smooth_map_takes_many_means_at_once(case):
    name, (facts, outputs, labels) = case
    for built in build_metrics(name, facts):
        metric = refine(built, outputs, labels)
        mean = means(metric, outputs, labels)
        several = mean * np.array([[1.0], [0.9], [1.1]])
        expected = [metric.smooth(one) for one in several]
        np.testing.assert_allclose(metric.smooth(several), expected, rtol=1e-12)
        assert isinstance(expected[0], float)


def test_the_gradient_is_the_slope_of_a_chord(case):
    name, (facts, outputs, labels) = case
    for built in build_metrics(name, facts):
        metric = refine(built, outputs, labels)
        # Off the kinks of absolute values.
        mean = means(metric, outputs, labels) + np.linspace(0.001, 0.002, len(metric.statistics))
        for axis, slope in enumerate(metric.gradient(mean)):
            step = np.eye(len(mean))[axis] * 1e-6
            chord = (metric.smooth(mean + step) - metric.smooth(mean - step)) / 2e-6
            assert slope == approx(chord, rel=1e-3, abs=1e-6)


def test_a_ratio_is_the_smooth_map_in_two_rows(case):
    name, (facts, outputs, labels) = case
    for metric in build_metrics(name, facts):
        if metric.ratio is None:
            continue
        whole = np.append(1.0, means(metric, outputs, labels))
        above, below = np.array(metric.ratio) @ whole
        assert above / below == approx(metric.smooth(whole[1:]), rel=1e-12)


def test_means_and_rates_of_one_class_are_ratios(classes):
    facts, _, _ = classes(3)
    asked = [("error", None), ("confusion", None), ("recall", "*"), ("f-beta", "2,micro")]
    for name, argument in asked:
        for metric in catalog.load("metrics", name).metrics(facts, argument):
            assert metric.ratio is not None
    for name in ("recall", "mcc"):
        (metric,) = build_metrics(name, facts)
        assert metric.ratio is None


@pytest.mark.parametrize("name", [*PLAIN, "mse", "rmse", "mae", "bias", "r2", "nll"])
def test_brackets_are_refused_where_they_mean_nothing(name, classes, values):
    facts = (values() if name in of_task("regression") else classes(2))[0]
    with pytest.raises(ChoiceError) as refused:
        catalog.load("metrics", name).metrics(facts, "cat")
    assert refused.value.hint == f"write {name}"


def test_hard_labels_have_what_needs_no_probabilities():
    facts = Facts("classification", ("cat", "dog", "owl"))
    for name in of_task("classification"):
        if name in ("log-loss", "brier", "top-k-error", *AREAS) or "ece" in name or "cali" in name:
            with pytest.raises(ChoiceError, match="needs probabilities"):
                build_metrics(name, facts)
        elif name == "cost":
            with pytest.raises(ChoiceError, match="needs a matrix of costs"):
                build_metrics(name, facts)
        else:
            assert build_metrics(name, facts)


def test_predictions_alone_have_no_likelihood():
    for name in ("nll", "interval-coverage"):
        with pytest.raises(ChoiceError, match="standard deviation"):
            build_metrics(name, Facts("regression"))


def test_nothing_divided_by_nothing_is_not_a_number():
    found = divide(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1e-12, 0.5]))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 2])
    assert isinstance(divide(1.0, 2.0), float)


def test_brackets_hold_several_things():
    assert add_to_brackets("recall", "cat") == "recall[cat]"
    assert add_to_brackets("f-beta[2]", "cat") == "f-beta[2,cat]"
