"""Kappa is a ratio of two means once the shares of predicted classes are known."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.metric import evaluate
from activetest.metrics.classes import kappa
from activetest.metrics.means import bias


@pytest.mark.parametrize("count", [2, 5])
def test_kappa_with_shares_is_kappa(classes, count):
    facts, outputs, labels = classes(count)
    labels = np.where(np.arange(len(labels)) % 17 == 0, -1.0, labels)
    (metric,) = kappa.metrics(replace(facts, judge=True))
    given = metric.given_shares(np.bincount(outputs.pred, minlength=count) / len(labels))
    assert evaluate(given, outputs, labels) == approx(evaluate(metric, outputs, labels), rel=1e-12)
    assert given.ratio is not None and given.title == "kappa"


def test_other_pools_keep_their_kappa(classes):
    (metric,) = kappa.metrics(classes(2)[0])
    assert metric.given_shares is None


def test_bias_of_a_class_is_predicted_minus_labelled(classes):
    facts, outputs, labels = classes(3)
    for code, metric in enumerate(bias.metrics(facts, "*")):
        expected = (outputs.pred == code).mean() - (labels == code).mean()
        assert evaluate(metric, outputs, labels) == approx(expected)
        assert evaluate(metric.against, outputs, labels) == approx((labels == code).mean())


def test_bias_of_values_is_as_before_unless_a_judge_gives_them(values):
    facts, outputs, labels = values()
    (metric,) = bias.metrics(facts)
    assert metric.against is None
    (metric,) = bias.metrics(replace(facts, judge=True))
    assert evaluate(metric, outputs, labels) == approx(
        outputs.pred.mean() - evaluate(metric.against, outputs, labels)
    )
