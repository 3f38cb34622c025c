"""Residual: what a linear model can learn about the misses of a black box that predicts values."""

import json

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import residual

NAMES = ("squared", "absolute", "signed")
STATISTICS = tuple(map(statistic, NAMES))


def pool(pred, features=None) -> Rows:
    """Rows whose design is the standardised prediction, then the features."""
    pred = np.asarray(pred, float)
    columns = [(pred - pred.mean()) / (pred.std() or 1)]
    if features is not None:
        columns += list(np.transpose(features))
    count = len(pred)
    design = np.stack(columns, axis=1).astype(np.float32)
    codes = np.empty((count, 0), np.int64)
    return Rows(np.arange(count), Outputs(pred), design, codes)


def fitted(rows: Rows, labels, *, scale: float = 1.0) -> residual.Residual:
    """The surrogate after the first len(labels) rows were labelled."""
    labels = np.asarray(labels, float)
    stats = np.empty((len(labels), 3))
    return residual.fit(TrainingSet(rows[: len(labels)], labels, stats, NAMES, scale=scale))


def believed(made: residual.Residual, rows: Rows):
    """(R,) mean and variance of the label."""
    mean, variance = moments(made.beliefs(rows, STATISTICS))
    return rows.outputs.pred - mean[2], variance[2]


def test_without_labels_it_believes_the_prediction_and_a_quarter_of_its_variance():
    rows = pool(np.random.default_rng(1).normal(size=50))
    mean, variance = believed(fitted(rows, [], scale=3.0), rows)
    assert mean == approx(rows.outputs.pred)
    # 0.25 of the predictions' variance, and the prior's doubt about offset and slope.
    assert (variance >= 0.25 * 9 - 1e-9).all()
    assert (variance < 0.25 * 9 * 2).all()


def test_it_recovers_an_offset():
    """400 labels that are 2 above the prediction, with noise 0.5."""
    rng = np.random.default_rng(2)
    rows = pool(rng.normal(size=400))
    labels = rows.outputs.pred + 2 + rng.normal(scale=0.5, size=400)
    mean, variance = believed(fitted(rows, labels), rows)
    assert mean - rows.outputs.pred == approx(np.full(400, 2.0), abs=4 * 0.5 * (4 / 400) ** 0.5)
    assert np.median(variance) == approx(0.25, rel=0.25)


def test_it_recovers_a_slope_on_a_feature():
    rng = np.random.default_rng(3)
    feature = rng.normal(size=(400, 1))
    rows = pool(rng.normal(size=400), feature)
    labels = rows.outputs.pred - 0.7 * feature[:, 0] + rng.normal(scale=0.5, size=400)
    mean, _ = believed(fitted(rows, labels), rows)
    slope = np.polyfit(feature[:, 0], mean - rows.outputs.pred, 1)[0]
    assert slope == approx(-0.7, abs=0.15)


def test_spread_that_grows_with_the_prediction_is_learned():
    rng = np.random.default_rng(4)
    rows = pool(rng.normal(size=600))
    deviation = np.exp(0.6 * rows.design[:, 0])
    labels = rows.outputs.pred + deviation * rng.normal(size=600)
    _, variance = believed(fitted(rows, labels), rows)
    slope = np.polyfit(rows.design[:, 0], np.log(variance), 1)[0]
    assert slope == approx(1.2, abs=0.3)


def test_the_units_of_the_labels_do_not_matter():
    rng = np.random.default_rng(5)
    pred, noise = rng.normal(size=100), rng.normal(size=100)
    for unit in (1e-6, 1.0, 1e6):
        rows = pool(unit * pred)
        mean, variance = believed(fitted(rows, unit * (pred + noise), scale=unit), rows)
        if unit == 1e-6:
            first = mean / unit, variance / unit**2
        assert mean / unit == approx(first[0], rel=1e-5, abs=1e-8)
        assert variance / unit**2 == approx(first[1], rel=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_perfect_black_box_is_believed_to_be_good_and_never_perfect(scale):
    rows = pool(np.random.default_rng(6).normal(size=80))
    _, variance = believed(fitted(rows, rows.outputs.pred, scale=scale), rows)
    assert (variance > 0).all()
    assert (variance < 0.25 * scale**2 / 4).all()


def test_constant_predictions_and_heavy_tails_leave_everything_finite():
    rng = np.random.default_rng(7)
    features = np.clip(rng.standard_cauchy((120, 3)) ** 3, -1e4, 1e4)
    rows = pool(np.full(120, 5.0), features)
    made = fitted(rows, 5 + rng.standard_cauchy(100))
    mean, variance = moments(made.beliefs(rows, STATISTICS))
    assert np.isfinite(mean).all()
    assert np.isfinite(variance).all()
    totals, variances = made.totals(
        rows, made.draw_members(20, np.random.default_rng(8)), STATISTICS
    )
    assert np.isfinite(totals).all()
    assert (variances >= 0).all()


def test_a_member_at_the_mode_differs_from_the_beliefs_by_the_doubt_of_the_mean():
    rng = np.random.default_rng(9)
    rows = pool(rng.normal(size=60))
    made = fitted(rows, rows.outputs.pred + rng.normal(size=60))
    totals, variances = made.totals(rows, np.append(made.mode, 0.0)[None], STATISTICS)
    mean, variance = moments(made.beliefs(rows, STATISTICS))
    design = np.column_stack([np.ones(60), rows.design])
    doubt = np.einsum("rd,de,re->", design, made.covariance, design)
    assert totals[0, 2] == approx(mean[2].sum())
    assert totals[0, 0] == approx(mean[0].sum() - doubt)
    assert variances[0, 2] == approx(variance[2].sum() - doubt)


def test_it_predicts_identically_after_a_round_trip():
    rng = np.random.default_rng(10)
    rows = pool(rng.normal(size=60))
    made = fitted(rows, rows.outputs.pred + rng.normal(size=60))
    again = residual.restore(json.loads(json.dumps(made.params())))
    beliefs = (each.beliefs(rows, STATISTICS).outcome_values for each in (made, again))
    np.testing.assert_array_equal(*beliefs)
    one, two = (each.draw_members(3, np.random.default_rng(1)) for each in (made, again))
    np.testing.assert_array_equal(one, two)
