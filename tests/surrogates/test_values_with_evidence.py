"""Auto of values: a residual that listens to all the evidence there is."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import multivariate_t

from activetest.item_statistics.statistic import statistic
from activetest.ledger.arrays import split_params
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates import _values_with_evidence, auto, residual
from activetest.surrogates._evidence import OTHERS, TRAINING

LABEL = (statistic("label:0.0"),)
SIZE = 400


def build(label, pred, *, std=None, components=None, others=None, count: int = 60):
    """(all rows, training set of the first rows); components (R, D), others (R, E)."""
    design = [(pred - pred.mean()) / pred.std()]
    if std is not None:
        design.append((np.log(std) - np.log(std).mean()) / np.log(std).std())
    if components is not None:
        design += list(components.T)
    index = np.arange(len(pred))
    rows = Rows(
        index,
        Outputs(pred, None, std),
        np.column_stack(design).astype(np.float32),
        np.zeros((len(pred), 0), int),
        external=None if others is None else others.astype(np.float32),
    )
    known = rows[:count]
    training = TrainingSet(
        known, label[:count], label[:count, None], ("label:0.0",), scale=float(pred.std())
    )
    return rows, training


def fit(training, seed: int = 0):
    return auto.fit(training, rng=np.random.default_rng(seed))


def draw(seed: int = 1, size: int = SIZE):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(5, 1, size), rng.normal(0, 1, (size, 3))


def squared_error(surrogate, rows, label, rest: slice) -> float:
    return float(((surrogate.expected(rows, LABEL)[0] - label)[rest] ** 2).mean())


def test_a_judge_on_another_scale_is_learned_from_ten_labels():
    """Where residual, whose prior is the judge itself, still shrinks to it."""
    rng, pred, _ = draw()
    label = 0.3 * pred - 4 + 0.1 * rng.normal(size=SIZE)
    rows, training = build(label, pred, count=10)
    ours, plain = (
        squared_error(each, rows, label, slice(10, None))
        for each in (fit(training), residual.fit(training))
    )
    assert ours < 0.03
    assert plain > 3 * ours


def test_without_labels_it_is_the_model():
    _, pred, components = draw()
    rows, training = build(pred, pred, components=components, count=0)
    assert fit(training).expected(rows, LABEL)[0] == approx(pred)


@pytest.mark.parametrize("good", [True, False])
def test_other_models_are_believed_as_far_as_they_have_proven_themselves(good):
    """Models that know better halve the error; those that know nothing cost next to nothing."""
    rng, pred, _ = draw()
    truth = pred + rng.normal(0, 1, SIZE)
    others = (truth if good else rng.normal(5, 1.4, SIZE))[:, None] + rng.normal(0, 0.3, (SIZE, 4))
    rows, training = build(truth, pred, others=others)
    alone = build(truth, pred)[1]
    with_them, without = (
        squared_error(fit(each), rows if each is training else build(truth, pred)[0], truth, rest)
        for each, rest in ((training, slice(60, None)), (alone, slice(60, None)))
    )
    assert with_them < 0.5 * without if good else with_them < 1.1 * without


def test_before_any_label_other_models_count_for_a_part():
    """Mass .4 on the model alone, .4 on an even split, .2 on the others alone: .4 of the way."""
    _, pred, _ = draw()
    rows, training = build(pred, pred, others=(pred + 1)[:, None], count=0)
    assert fit(training).expected(rows, LABEL)[0] == approx(pred + 0.4, abs=1e-5)


def test_before_any_label_training_rows_count_for_less_than_half_of_the_way(value_pool):
    made = value_pool()
    made.rows = replace(made.rows, external=None)
    alone, taught = fit(made.training(0)), fit(made.training(0, train=True))
    pred = made.rows.outputs.pred
    assert alone.evidence.names == ()
    assert alone.expected(made.rows, LABEL)[0] == approx(pred, abs=1e-5)
    of_training = taught.evidence.values(made.rows)[:, 0]
    assert taught.expected(made.rows, LABEL)[0] == approx(pred + 0.4 * of_training, abs=1e-5)


def test_where_the_evidence_is_far_from_the_prediction_errors_are_larger():
    rng, pred, _ = draw(size=1200)
    apart = rng.choice([0.05, 2.0], 1200)
    label = pred + apart * rng.normal(size=1200)
    others = (pred + apart * rng.choice([-1, 1], 1200))[:, None]
    rows, training = build(label, pred, others=others, count=200)
    _, variance = moments(fit(training).beliefs(rows, LABEL))
    assert variance[0, apart > 1].mean() > 10 * variance[0, apart < 1].mean()


@pytest.mark.parametrize("factor", [-0.8, 0.8])
def test_errors_may_be_largest_in_the_middle_or_at_the_ends(factor):
    rng, pred, _ = draw(size=1200)
    place = (pred - 5) ** 2 - 1
    label = pred + np.exp(0.5 * factor * np.clip(place, -1, 2)) * rng.normal(size=1200)
    rows, training = build(label, pred, count=300)
    _, variance = moments(fit(training).beliefs(rows, LABEL))
    middle, ends = np.abs(pred - 5) < 0.3, np.abs(np.abs(pred - 5) - 1.6) < 0.3
    ratio = variance[0, ends].mean() / variance[0, middle].mean()
    assert ratio > 2 if factor > 0 else ratio < 0.5


def test_squares_that_scatter_count_for_less():
    """Of normal residuals each counts as one, of heavy tails as a part."""
    rng = np.random.default_rng(2)
    normal = _values_with_evidence._find_trust(rng.normal(size=3000) ** 2)
    heavy = _values_with_evidence._find_trust(rng.standard_t(3, size=3000) ** 2)
    assert normal == approx(1, abs=0.1)
    assert heavy < 0.4
    assert _values_with_evidence._find_trust(np.empty(0)) == 1


def test_priors_are_mixed_by_the_likelihood_of_students_t():
    """Against scipy: labels of a linear model whose variance is inverse gamma are Student's t."""
    rng = np.random.default_rng(3)
    design = np.column_stack([np.ones(12), rng.normal(size=12)])
    errors, weights, guess = rng.normal(1, 1, 12), rng.uniform(0.5, 2, 12), 0.7
    priors = [(np.zeros(2), np.full(2, 0.09), 0.6), (np.array([1.0, 0.0]), np.full(2, 4.0), 0.4)]
    mode, covariance = _values_with_evidence._mix_means(design, errors, weights, guess, priors)
    chances, means, covariances = [], [], []
    for center, variances, share in priors:
        spread = np.diag(1 / weights) + (design * variances) @ design.T
        freedom = residual.GUESS_WEIGHT
        chances.append(
            share * multivariate_t(design @ center, guess * spread, df=freedom).pdf(errors)
        )
        gain = (design * variances).T @ np.linalg.inv(spread)
        means.append(center + gain @ (errors - design @ center))
        left = errors - design @ center
        scale = (freedom * guess + left @ np.linalg.solve(spread, left)) / (freedom + 12)
        covariances.append(scale * (np.diag(variances) - gain @ design * variances))
    shares = np.array(chances) / np.sum(chances)
    expected = shares @ np.array(means)
    apart = np.array(means) - expected
    within = np.einsum("k,kde->de", shares, np.array(covariances))
    assert mode == approx(expected)
    assert covariance == approx(within + np.einsum("k,kd,ke->de", shares, apart, apart))
    assert 0.01 < shares[0] < 0.99


def test_far_from_all_labels_the_mean_is_no_less_certain_than_a_label():
    rng, pred, components = draw()
    components[-1] = 60
    label = pred + rng.normal(size=SIZE)
    rows, training = build(label, pred, components=components)
    surrogate = fit(training)
    design, noise = surrogate.read(rows)
    limited = surrogate.find_mean_variance(design, noise)
    plain = replace(surrogate, evidence=None)
    assert plain.find_mean_variance(design, noise)[-1] > noise[-1]
    assert limited[-1] == noise[-1]
    assert (limited <= noise).all()


def test_it_is_restored_to_the_last_bit(value_pool):
    """With training rows and other models."""
    made = value_pool()
    surrogate = fit(made.training(40, train=True))
    assert isinstance(surrogate, residual.Residual)
    assert set(surrogate.evidence.names) == {TRAINING, OTHERS}
    plain, arrays = split_params(surrogate.params())
    restored = auto.restore({**json.loads(json.dumps(plain)), **arrays})
    for each in (LABEL, (statistic("squared"),)):
        first, second = (one.beliefs(made.rows, each) for one in (surrogate, restored))
        assert (first.probs == second.probs).all()
        assert (first.outcome_values == second.outcome_values).all()


def test_predictions_do_not_depend_on_the_rows_beside_them(value_pool):
    made = value_pool()
    surrogate = fit(made.training(40))
    whole = surrogate.expected(made.rows, LABEL)[0]
    parts = [
        surrogate.expected(made.rows[each], LABEL)[0] for each in (slice(0, 37), slice(37, 99))
    ]
    assert np.concatenate(parts) == approx(whole[:99], rel=1e-12)


def test_members_agree_with_the_beliefs(value_pool):
    made = value_pool()
    surrogate = fit(made.training(80))
    members = surrogate.draw_members(4000, np.random.default_rng(1))
    means, variances = surrogate.draws(made.rows[:20], members)
    expected, _ = moments(surrogate.beliefs(made.rows[:20], LABEL))
    assert means.mean(axis=0) == approx(expected[0], abs=0.05)
    assert variances.shape == means.shape
    totals, _ = surrogate.totals(made.rows[:20], members[:200], LABEL)
    assert totals[:, 0] == approx(means[:200].sum(axis=1))
