"""On a pool whose labels are all known, values are scikit-learn's."""

import warnings

import numpy as np
import pytest
from pytest import approx
from sklearn import metrics as sk

from activetest import catalog
from activetest.item_statistics.metric import evaluate

EXACT = {"rel": 1e-12, "abs": 1e-12}
POOLS = [
    {"classes": 2},
    {"classes": 2, "ties": True},
    {"classes": 10},
    {"classes": 10, "ties": True, "seed": 3},
    {"classes": 10, "absent": (4,), "rows": 150},
]


def load(name):
    return catalog.load("metrics", name).metrics


@pytest.fixture(params=POOLS, ids=str)
def pool(request, classes):
    """Facts, outputs and labels."""
    asked = dict(request.param)
    return classes(asked.pop("classes"), **asked)


def value(name: str, pool, argument: str | None = None) -> float:
    """The one metric that is meant, on the whole pool."""
    facts, outputs, labels = pool
    (metric,) = load(name)(facts, argument)
    return evaluate(metric, outputs, labels)


def quietly(score, *arguments, **options):
    """The score by scikit-learn, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return score(*arguments, **options)


RATES = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "f-beta[2]": lambda *pair, **options: sk.fbeta_score(*pair, beta=2, **options),
    "f-beta[0.5]": lambda *pair, **options: sk.fbeta_score(*pair, beta=0.5, **options),
}


def ask(name: str, pool, meant: str) -> float:
    """The value of recall or f-beta[2] for a class or average."""
    word, _, beta = name.partition("[")
    return value(word, pool, f"{beta[:-1]},{meant}" if beta else meant)


@pytest.mark.parametrize("name", RATES)
def test_rates_of_every_class(name, pool):
    facts, outputs, labels = pool
    expected = RATES[name](
        labels,
        outputs.pred,
        average=None,
        labels=range(len(facts.classes)),
        zero_division=np.nan,
    )
    found = [ask(name, pool, one) for one in facts.classes]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", RATES)
def test_averages_of_rates(name, average, pool):
    _, outputs, labels = pool
    expected = RATES[name](labels, outputs.pred, average=average, zero_division=np.nan)
    assert ask(name, pool, average) == approx(expected, **EXACT)


def test_specificity_is_the_recall_of_everything_else(pool):
    facts, outputs, labels = pool
    for code, name in enumerate(facts.classes):
        expected = sk.recall_score(labels != code, outputs.pred != code)
        assert value("specificity", pool, name) == approx(expected, **EXACT)
        assert value("false-positive-rate", pool, name) == approx(1 - expected, **EXACT)


def test_one_number_for_all_classes(pool):
    _, outputs, labels = pool
    pair = (labels, outputs.pred)
    assert value("accuracy", pool) == approx(sk.accuracy_score(*pair), **EXACT)
    assert value("error", pool) == approx(sk.zero_one_loss(*pair), **EXACT)
    assert value("mcc", pool) == approx(sk.matthews_corrcoef(*pair), **EXACT)
    assert value("kappa", pool) == approx(sk.cohen_kappa_score(*pair), **EXACT)
    expected = quietly(sk.balanced_accuracy_score, *pair)
    assert value("balanced-accuracy", pool) == approx(expected, **EXACT)


def test_labels_outside_the_classes_are_one_class_more(classes):
    facts, outputs, labels = pool = classes(10)
    labels[:40] = -1
    pair = (labels, outputs.pred)
    for name in ("accuracy", "mcc", "kappa"):
        expected = {
            "accuracy": sk.accuracy_score,
            "mcc": sk.matthews_corrcoef,
            "kappa": sk.cohen_kappa_score,
        }[name](*pair)
        assert value(name, pool) == approx(expected, **EXACT)
    for name in ("precision", "recall", "f1"):
        expected = RATES[name](*pair, average=None, labels=range(10))
        found = [value(name, pool, one) for one in facts.classes]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_confusion_matrix(pool):
    facts, outputs, labels = pool
    size = len(facts.classes)
    found = [evaluate(metric, outputs, labels) for metric in load("confusion")(facts)]
    expected = sk.confusion_matrix(labels, outputs.pred, labels=range(size), normalize="all")
    np.testing.assert_allclose(np.reshape(found, (size, size)), expected, rtol=1e-12)


def test_losses_of_probabilities(pool):
    facts, outputs, labels = pool
    codes = range(len(facts.classes))
    truth = np.eye(len(facts.classes))[labels.astype(int)]
    expected = -np.log(np.maximum((outputs.probs * truth).sum(axis=1), 1e-12)).mean()
    assert value("log-loss", pool) == approx(expected, **EXACT)
    if outputs.probs.min() > 1e-12:
        expected = sk.log_loss(labels, outputs.probs, labels=codes)
        assert value("log-loss", pool) == approx(expected, **EXACT)
    expected = sum(
        sk.brier_score_loss(truth[:, code], outputs.probs[:, code])
        for code in codes
        if truth[:, code].any()
    ) + sum(np.mean(outputs.probs[:, code] ** 2) for code in codes if not truth[:, code].any())
    assert value("brier", pool) == approx(expected, **EXACT)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_top_k_error_with_and_without_ties(count, pool):
    facts, outputs, labels = pool
    if count >= len(facts.classes):
        pytest.skip("as many classes as answers: one of them is always right")
    scores = outputs.probs
    if len(facts.classes) == 2:
        # scikit-learn's binary scores have a threshold, and a tie is below it.
        expected = np.mean((scores[:, 1] >= 0.5) != labels)
    else:
        codes = range(len(facts.classes))
        expected = 1 - sk.top_k_accuracy_score(labels, scores, k=count, labels=codes)
    assert value("top-k-error", pool, str(count)) == approx(expected, **EXACT)


def test_areas_under_curves(pool):
    facts, outputs, labels = pool
    areas, precisions = [], []
    for code, name in enumerate(facts.classes):
        hits, scores = labels == code, outputs.probs[:, code]
        if not hits.any():
            assert np.isnan(value("auroc", pool, name))
            assert np.isnan(value("average-precision", pool, name))
            continue
        areas.append(sk.roc_auc_score(hits, scores))
        precisions.append(sk.average_precision_score(hits, scores))
        assert value("auroc", pool, name) == approx(areas[-1], **EXACT)
        assert value("average-precision", pool, name) == approx(precisions[-1], **EXACT)
    assert value("auroc", pool, "macro") == approx(np.mean(areas), **EXACT)
    assert value("average-precision", pool, "macro") == approx(np.mean(precisions), **EXACT)


def test_macro_auroc_is_one_against_the_rest(classes):
    facts, outputs, labels = pool = classes(10)
    expected = sk.roc_auc_score(labels, outputs.probs, multi_class="ovr")
    assert value("auroc", pool) == approx(expected, **EXACT)
    assert facts.positive is None


def test_regression(values):
    _, outputs, labels = pool = values()
    pair = (labels, outputs.pred)
    assert value("mse", pool) == approx(sk.mean_squared_error(*pair), **EXACT)
    assert value("rmse", pool) == approx(sk.root_mean_squared_error(*pair), **EXACT)
    assert value("mae", pool) == approx(sk.mean_absolute_error(*pair), **EXACT)
    assert value("r2", pool) == approx(sk.r2_score(*pair), **EXACT)
    for level in (0.1, 0.5, 0.9):
        expected = sk.mean_pinball_loss(*pair, alpha=level)
        assert value("pinball", pool, str(level)) == approx(expected, **EXACT)
    assert value("pinball", pool) == approx(value("mae", pool) / 2, **EXACT)
    assert value("bias", pool) == approx(outputs.pred.mean() - labels.mean(), **EXACT)
