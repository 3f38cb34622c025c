"""The stack begins as agreement, and follows whoever predicts labels it has not seen."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics.defaults import CLASSIFICATION, REGRESSION, STATISTICS
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.training import TrainingSet
from activetest.surrogates import agreement, external, residual, stack

CLASSES = STATISTICS[CLASSIFICATION]
VALUES = STATISTICS[REGRESSION]


def fitted(training: TrainingSet, seed: int = 3):
    return stack.fit(training, rng=np.random.default_rng(seed))


def plain(training: TrainingSet, *, external: bool = True) -> TrainingSet:
    """Without features, so that only what takes no time is stacked."""
    parts = {"features": None} | ({} if external else {"external": None})
    return replace(training, **{name: replace(getattr(training, name), **parts) for name in _ROWS})


_ROWS = ("rows", "background")


def statistics_of(names) -> tuple:
    return tuple(map(statistic, names))


def stored(params: dict) -> dict:
    """The state as it comes back from JSON and a file of arrays."""
    arrays = {name: each for name, each in params.items() if isinstance(each, np.ndarray)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    rest = {name: each for name, each in params.items() if name not in arrays}
    return json.loads(json.dumps(rest, sort_keys=True)) | dict(np.load(file, allow_pickle=False))


def least(pool) -> np.ndarray:
    """The least probable class of every row."""
    return pool.rows.outputs.probs.argmin(axis=1)


def test_labels_are_taken_with_their_rows_and_statistics(class_pool):
    training, places = class_pool().training(60), np.array([5, 0, 7])
    kept = training[places]
    np.testing.assert_array_equal(kept.labels, training.labels[places])
    np.testing.assert_array_equal(kept.stats, training.stats[places])
    np.testing.assert_array_equal(kept.rows.index, training.rows.index[places])
    np.testing.assert_array_equal(training[5:8].stats, training.stats[5:8])


# --- weights


def test_without_labels_it_is_agreement(class_pool):
    pool = class_pool()
    training = pool.training(0, statistics=CLASSES)
    made = fitted(training)
    assert list(made.parts) == ["agreement"]
    one, two = (
        each.beliefs(pool.rows, statistics_of(CLASSES)) for each in (made, agreement.fit(training))
    )
    np.testing.assert_array_equal(one.probs, two.probs)
    np.testing.assert_array_equal(one.outcome_values, two.outcome_values)


def test_without_labels_values_are_what_residual_believes(value_pool):
    """In the mean and the mean square, which a Gaussian with the same moments has, too."""
    pool = value_pool()
    training = pool.training(0, statistics=VALUES)
    pair = (fitted(training), residual.fit(training))
    one, two = (moments(each.beliefs(pool.rows, statistics_of(VALUES))) for each in pair)
    assert one[0] == approx(two[0])


def test_a_surrogate_that_is_right_gets_the_weight(class_pool):
    pool = class_pool()
    pool.rows = replace(pool.rows, external=pool.rows.external[:, :1])
    made = fitted(plain(pool.training(300, statistics=CLASSES)))
    weights = dict(zip(made.parts, made.weights, strict=True))
    assert weights["external"] > 0.7


def test_surrogates_that_know_nothing_leave_agreement_alone(class_pool):
    pool = class_pool()
    nothing = np.full((600, 1, 3), 1 / 3, np.float32)
    pool.rows = replace(pool.rows, external=nothing)
    pool.labels = pool.rows.outputs.pred
    training = plain(pool.training(300, statistics=CLASSES))
    made = fitted(training)
    weights = dict(zip(made.parts, made.weights, strict=True))
    assert weights["agreement"] > 0.9
    assert "external" not in weights


@pytest.mark.parametrize("seed", range(4))
def test_the_score_of_what_was_left_out_is_never_below_that_of_agreement(seed):
    """The posterior density is largest at the weights, and the prior is on agreement's side."""
    rng = np.random.default_rng(seed)
    likelihood = rng.gamma(0.5, size=(40, 4)) * rng.gamma(1, size=4)
    shares = stack.maximise_posterior(likelihood)
    alone = np.log(likelihood[:, 0]).sum()
    assert (
        np.log(likelihood @ shares).sum()
        >= alone - stack._PRIOR * np.log(shares[0]) - 0.01
        >= alone - 0.01
    )


def test_weights_are_the_mode_of_their_posterior():
    likelihood = np.random.default_rng(5).gamma(0.5, size=(60, 2))
    share = stack.maximise_posterior(likelihood)[0]
    grid = np.linspace(1e-4, 1 - 1e-4, 9999)[:, None]
    logs = np.log(grid * likelihood[:, 0] + (1 - grid) * likelihood[:, 1]).sum(axis=1)
    assert share == approx(grid[(logs + stack._PRIOR * np.log(grid[:, 0])).argmax(), 0], abs=1e-3)


def test_few_labels_are_not_asked_for_weights(class_pool):
    made = fitted(plain(class_pool().training(9, statistics=CLASSES)))
    assert list(made.parts) == ["agreement"]


def test_labels_of_no_known_class_have_no_say(class_pool):
    pool = class_pool()
    training = plain(pool.training(60, statistics=CLASSES))
    labels = np.where(np.arange(60) < 20, -1.0, training.labels)
    kept = training[np.arange(20, 60)]
    names = ("agreement", "model", "external")
    one, two = (
        stack.fit_weights(each, names, rng=np.random.default_rng(1))
        for each in (replace(training, labels=labels), kept)
    )
    np.testing.assert_array_equal(one, two)


# --- mixtures


def test_expectations_are_the_weighted_mean_of_the_parts(class_pool):
    """Also where agreement has learned costs that its classes alone do not have."""
    pool = class_pool()
    pool.labels = np.where(pool.rows.index % 3, pool.rows.outputs.pred, least(pool))
    training = plain(pool.training(300, statistics=CLASSES))
    parts = {"agreement": agreement.fit(training), "external": external.fit(training)}
    assert (parts["agreement"].cost[1] > 1.1).all()
    made = stack.Stack(parts, np.array([0.6, 0.4]))
    names = statistics_of((*CLASSES, "tp:1", "cell:0:2"))
    each = [part.expected(pool.rows, names) for part in parts.values()]
    exact = 0.6 * each[0] + 0.4 * each[1]
    assert made.expected(pool.rows, names) == approx(exact)
    believed = made.beliefs(pool.rows, names)
    assert believed.probs.shape == (600, 3)
    assert moments(believed)[0] == approx(exact, rel=1e-4, abs=1e-5)


def test_agreement_over_classes_is_right_as_often_and_wrong_as_it_has_seen(class_pool):
    pool = class_pool()
    made = agreement.fit(pool.training(300, statistics=CLASSES))
    probs = stack.class_probs(made, pool.rows)
    assert probs.sum(axis=1) == approx(np.ones(600))
    names = statistics_of(("zero_one", "tp:0", "fn:2", "cell:1:0"))
    tables = np.stack([each.table(pool.rows.outputs, 3) for each in names])
    exact = made.expected(pool.rows, names)
    assert (probs * tables).sum(axis=2) == approx(exact, rel=1e-4, abs=1e-6)


def test_members_are_shared_out_as_the_weights_say(class_pool):
    pool = class_pool()
    training = plain(pool.training(50, statistics=CLASSES))
    parts = {"agreement": agreement.fit(training), "external": external.fit(training)}
    made = stack.Stack(parts, np.array([0.73, 0.27]))
    picks = [made.draw_members(10, np.random.default_rng(seed)) for seed in range(300)]
    assert all(len(one) == 10 for one in picks)
    counts = np.array([one.counts for one in picks])
    assert set(counts[:, 1]) == {2, 3}
    assert counts[:, 1].mean() == approx(2.7, abs=0.1)


def test_totals_of_members_are_those_of_the_parts(class_pool):
    pool = class_pool()
    training = plain(pool.training(50, statistics=CLASSES))
    parts = {"agreement": agreement.fit(training), "external": external.fit(training)}
    made = stack.Stack(parts, np.array([0.5, 0.5]))
    members = made.draw_members(6, np.random.default_rng(1))
    totals = made.totals(pool.rows, members, statistics_of(CLASSES))
    for got, own, part in zip(
        zip(*(np.split(each, [members.counts[0]]) for each in totals), strict=True),
        members.members,
        parts.values(),
        strict=True,
    ):
        np.testing.assert_array_equal(got, part.totals(pool.rows, own, statistics_of(CLASSES)))


def test_draws_are_class_probabilities_whose_mean_is_close_to_the_beliefs(class_pool):
    pool = class_pool()
    made = fitted(plain(pool.training(100, statistics=CLASSES)))
    assert len(made.parts) > 1
    members = made.draw_members(200, np.random.default_rng(1))
    believed = made.beliefs(pool.rows, statistics_of(("zero_one",)), members)
    assert believed.draws.shape == (200, 600, 3)
    assert believed.draws.sum(axis=2) == approx(np.ones((200, 600)), rel=1e-5)
    assert np.abs(believed.draws.mean(axis=0) - believed.probs).mean() < 0.01


def test_values_have_the_moments_of_the_mixture(value_pool):
    pool = value_pool()
    training = plain(pool.training(60, statistics=VALUES))
    parts = {"residual": residual.fit(training), "external": external.fit(training)}
    weights = np.array([0.3, 0.7])
    mean, variance = stack.Mixture(parts, weights).moments(pool.rows)
    each = np.array([stack.value_moments(part, pool.rows) for part in parts.values()])
    assert mean == approx(weights @ each[:, 0])
    assert variance == approx(weights @ (each[:, 1] + each[:, 0] ** 2) - mean**2)


def test_values_follow_the_surrogate_that_is_right(value_pool):
    pool = value_pool()
    made = fitted(plain(pool.training(150, statistics=VALUES))).members
    weights = dict(zip(made.parts, made.weights, strict=True))
    assert weights["external"] > 0.8
    means, variances = made.draws(pool.rows, made.draw_members(20, np.random.default_rng(1)))
    assert means.shape == variances.shape == (20, 300)


def test_it_says_what_it_is_made_of_the_largest_share_first(class_pool, value_pool):
    training = plain(class_pool().training(50, statistics=CLASSES))
    parts = {"agreement": agreement.fit(training), "external": external.fit(training)}
    made = stack.Stack(parts, np.array([0.264, 0.736]))
    assert made.note == "external 74 %, agreement 26 %"
    assert stack.restore(stored(made.params())).note == made.note
    assert fitted(plain(class_pool().training(0, statistics=CLASSES))).note == "agreement 100 %"
    training = plain(value_pool().training(60, statistics=VALUES))
    parts = {"residual": residual.fit(training), "external": external.fit(training)}
    values = stack.GaussianEnsemble(stack.Mixture(parts, np.array([0.5, 0.5])))
    assert values.note == "residual 50 %, external 50 %"


# --- with features


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_features_bring_learners_and_all_of_it_comes_back_from_its_parameters(
    class_pool, value_pool, kind, monkeypatch
):
    monkeypatch.setattr(stack, "_FOLDS", 2)
    monkeypatch.setattr(stack, "_LEAST", 0.0)
    pool = class_pool() if kind == "classes" else value_pool()
    names = statistics_of(CLASSES if kind == "classes" else VALUES)
    training = pool.training(80, statistics=tuple(each.name for each in names))
    bare = {name: replace(getattr(training, name), external=None) for name in _ROWS}
    made = fitted(replace(training, **bare))
    parts = (made if kind == "classes" else made.members).parts
    learners = ["linear", "forest"] if kind == "classes" else ["gp", "forest"]
    assert set(learners) <= set(parts)
    again = stack.restore(stored(made.params()))
    one, two = (each.beliefs(pool.rows, names) for each in (made, again))
    np.testing.assert_array_equal(one.probs, two.probs)
    np.testing.assert_array_equal(one.outcome_values, two.outcome_values)


def test_the_same_generator_makes_the_same_stack(class_pool):
    pool = class_pool()
    training = plain(pool.training(80, statistics=CLASSES))
    np.testing.assert_array_equal(fitted(training, 1).weights, fitted(training, 1).weights)


def test_without_features_nothing_loads_scikit_learn():
    root = Path(__file__).parents[2]
    code = "import sys, activetest.surrogates.stack; assert 'sklearn' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
