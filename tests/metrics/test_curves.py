"""Areas under curves: weighted values are scikit-learn's, and influence is what weights do."""

import numpy as np
import pytest
from pytest import approx
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, evaluate
from activetest.metrics.scores import auroc, average_precision, recall_at_fpr
from activetest.nouns.rows import Outputs

AREAS = {auroc: roc_auc_score, average_precision: average_precision_score}
POOLS = [{}, {"ties": True}, {"rows": 60, "seed": 5, "ties": True}]


@pytest.fixture(params=POOLS, ids=str)
def pool(request, classes):
    """Facts, outputs, labels and uneven weights, some of them 0."""
    facts, outputs, labels = classes(2, **request.param)
    rng = np.random.default_rng(1)
    weights = rng.exponential(size=len(labels)) * (rng.random(len(labels)) < 0.9)
    return facts, outputs, labels, weights


def refined(module, pool, argument=None):
    facts, outputs, labels, weights = pool
    (metric,) = module.metrics(facts, argument)
    return metric.refine(outputs, labels, weights)


@pytest.mark.parametrize("module", AREAS)
def test_the_weighted_area_is_that_of_scikit_learn(module, pool):
    _, outputs, labels, weights = pool
    expected = AREAS[module](labels, outputs.probs[:, 1], sample_weight=weights)
    assert refined(module, pool).smooth(np.zeros(1)) == approx(expected, rel=1e-12)


@pytest.mark.parametrize("module", AREAS)
def test_influence_has_mean_zero_over_the_weighted_items(module, pool):
    _, outputs, labels, weights = pool
    (statistic,) = refined(module, pool).statistics
    influence = statistic.value(outputs, labels[:, None])[:, 0]
    assert np.std(influence) > 0.1
    assert np.average(influence, weights=weights) == approx(0, abs=1e-12)


@pytest.mark.parametrize("module", AREAS)
def test_influence_is_what_a_little_more_weight_does(module, pool):
    """Also on items without any weight, and on scores and labels that no item has."""
    _facts, outputs, labels, weights = pool
    metric = refined(module, pool)
    total, step = weights.sum(), 1e-6
    scores = np.array([0.0, 0.125, 0.3, 0.5, 0.77, 1.0, *outputs.probs[:20, 1]])
    asked = Outputs(np.zeros(len(scores), int), np.column_stack([1 - scores, scores]))
    table = metric.statistics[0].value(asked, None)
    grown = np.concatenate([outputs.probs[:, 1], [0.0]])
    for row, score in enumerate(scores):
        grown[-1] = score
        for label in (0, 1):
            more = AREAS[module](
                np.append(labels, label), grown, sample_weight=np.append(weights, step * total)
            )
            slope = (more - metric.smooth(np.zeros(1))) / step
            assert table[row, label] == approx(slope, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("module", AREAS)
def test_one_step_from_a_sample_comes_closer_than_the_sample(module, classes):
    facts, outputs, labels = classes(2, rows=4000)
    (metric,) = module.metrics(facts)
    truth = evaluate(metric, outputs, labels)
    before, after = [], []
    for seed in range(20):
        some = np.random.default_rng(seed).choice(len(labels), 400, replace=False)
        near = metric.refine(outputs[some], labels[some], np.ones(len(some)))
        mean = near.statistics[0].value(outputs, labels[:, None]).mean()
        before.append(near.smooth(np.zeros(1)) - truth)
        after.append(near.smooth(np.array([mean])) - truth)
    assert np.std(after) < np.std(before) / 4


@pytest.mark.parametrize("module", AREAS)
def test_the_macro_average_is_the_mean_of_the_classes_that_have_an_area(module, classes):
    facts, outputs, labels = classes(10, absent=(4,), rows=150)
    weights = np.random.default_rng(2).exponential(size=150)
    parts = [metric.refine(outputs, labels, weights) for metric in module.metrics(facts, "*")]
    values = [part.smooth(np.zeros(1)) for part in parts]
    assert np.flatnonzero(np.isnan(values)).tolist() == [4]
    (metric,) = module.metrics(facts)
    assert metric.title.endswith("[macro]")
    macro = metric.refine(outputs, labels, weights)
    assert macro.smooth(np.zeros(1)) == approx(np.nanmean(values), rel=1e-12)
    tables = [part.statistics[0].value(outputs, None) for part in parts]
    np.testing.assert_allclose(
        macro.statistics[0].value(outputs, None), sum(tables) / 9, rtol=1e-9, atol=1e-12
    )


def test_without_both_kinds_of_items_there_is_no_area(classes):
    facts, outputs, labels = classes(2)
    for code in (0, 1):
        (metric,) = auroc.metrics(facts)
        weights = (labels == code).astype(float)
        near = metric.refine(outputs, labels, weights)
        assert np.isnan(near.smooth(np.zeros(1)))
        assert near.undefined == (
            "no item labelled as 'dog', or none labelled otherwise, has been seen"
        )
        assert np.isfinite(near.statistics[0].value(outputs, None)).all()
    (metric,) = average_precision.metrics(facts)
    near = metric.refine(outputs, labels, (labels == 0).astype(float))
    assert np.isnan(near.smooth(np.zeros(1)))
    assert near.undefined == "no item labelled as 'dog' has been seen"
    near = metric.refine(outputs, labels, (labels == 1).astype(float))
    assert near.smooth(np.zeros(1)) == approx(1)


@pytest.mark.parametrize("module", AREAS)
def test_no_items_have_no_area(module, classes):
    facts, outputs, labels = classes(3)
    (metric,) = module.metrics(facts)
    near = metric.refine(outputs[:0], labels[:0], np.empty(0))
    assert np.isnan(near.smooth(np.zeros(1)))


@pytest.mark.parametrize("module", AREAS)
def test_areas_are_of_a_class_or_macro(module):
    facts = Facts("classification", ("cat", "dog", "owl"), probabilities=True)
    (metric,) = module.metrics(facts, "dog")
    assert metric.class_name == "dog"
    with pytest.raises(ChoiceError) as refused:
        module.metrics(facts, "weighted")
    assert refused.value.hint == "choose from cat, dog, owl; or macro or *"


def find_recall(labels, scores, weights, level: float) -> float:
    """The recall on scikit-learn's curve."""
    rates, recalls, _ = roc_curve(labels, scores, sample_weight=weights, drop_intermediate=False)
    # Where the curve is upright, its upper end.
    return float(np.interp(level, rates, recalls))


@pytest.mark.parametrize("level", [0.013, 0.1, 0.5, 0.8])
def test_the_recall_at_a_false_positive_rate_is_that_of_scikit_learn(level, pool):
    _, outputs, labels, weights = pool
    metric = refined(recall_at_fpr, pool, str(level))
    assert metric.title == f"recall-at-fpr[{level},dog]"
    there = weights > 0
    expected = find_recall(labels[there], outputs.probs[there, 1], weights[there], level)
    assert metric.smooth(np.zeros(1)) == approx(expected, rel=1e-9)
    influence = metric.statistics[0].value(outputs, labels[:, None])[:, 0]
    assert (np.std(influence) > 0.1) == (expected < 1)
    assert np.average(influence, weights=weights) == approx(0, abs=1e-9)


def test_the_influence_on_a_recall_at_a_rate_is_what_more_weight_does():
    """Of scores without steps, whose curve has a slope: normal ones of both classes."""
    rng = np.random.default_rng(2)
    labels = (rng.random(60_000) < 0.4).astype(float)
    scores = 1 / (1 + np.exp(-1.2 * labels - rng.standard_normal(60_000)))
    outputs = Outputs(labels.astype(int), np.column_stack([1 - scores, scores]))
    facts = Facts("classification", ("cat", "dog"), positive=1, probabilities=True)
    (metric,) = recall_at_fpr.metrics(facts, "0.2")
    near = metric.refine(outputs, labels, np.ones(60_000))
    ends = find_recall(labels, scores, None, 0.2)
    assert near.smooth(np.zeros(1)) == approx(ends, rel=1e-9)
    asked = np.array([0.02, 0.4, 0.8, 0.98])
    rows = Outputs(np.zeros(4, int), np.column_stack([1 - asked, asked]))
    table = near.statistics[0].value(rows, None)
    step = 0.01
    for row, score in enumerate(asked):
        for label in (0, 1):
            more = find_recall(
                np.append(labels, label),
                np.append(scores, score),
                np.append(np.ones(60_000), step * 60_000),
                0.2,
            )
            assert table[row, label] == approx((more - ends) / step, rel=0.1, abs=0.02)


def test_a_step_of_the_recall_at_a_rate_comes_closer_than_the_sample():
    rng = np.random.default_rng(3)
    labels = (rng.random(4000) < 0.3).astype(float)
    scores = 1 / (1 + np.exp(-1.5 * labels - rng.standard_normal(4000)))
    outputs = Outputs(labels.astype(int), np.column_stack([1 - scores, scores]))
    facts = Facts("classification", ("cat", "dog"), positive=1, probabilities=True)
    (metric,) = recall_at_fpr.metrics(facts, "0.2")
    truth = evaluate(metric, outputs, labels)
    before, after = [], []
    for seed in range(40):
        some = np.random.default_rng(seed).choice(4000, 400, replace=False)
        near = metric.refine(outputs[some], labels[some], np.ones(400))
        mean = near.statistics[0].value(outputs, labels[:, None]).mean()
        before.append(near.smooth(np.zeros(1)) - truth)
        after.append(near.smooth(np.array([mean])) - truth)
    assert np.std(after) < np.std(before) / 2


@pytest.mark.parametrize("argument", [None, "0", "1", "-0.1", "x", "0.1,macro,macro", "0.1,cow"])
def test_a_false_positive_rate_lies_between_0_and_1_and_is_of_a_class(argument):
    facts = Facts("classification", ("cat", "dog", "owl"), probabilities=True)
    with pytest.raises(ChoiceError, match="recall-at-fpr"):
        recall_at_fpr.metrics(facts, argument)
    (metric,) = recall_at_fpr.metrics(facts, "0.1")
    assert metric.title == "recall-at-fpr[0.1,macro]"
