"""Evidence besides labels: columns of what features, training rows and other models say."""

import functools
import io
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx
from sklearn.linear_model import LogisticRegression

from activetest.nouns.rows import Rows
from activetest.nouns.training import TrainingRows
from activetest.surrogates._evidence import (
    LINEAR,
    OTHERS,
    SELF,
    TRAINING,
    Evidence,
    learn_evidence,
    restore_evidence,
)
from activetest.surrogates._evidence_forest import ClassForest, grow_classes
from activetest.surrogates._evidence_regression import ClassRegression, fit_regression


def learned(training, seed: int = 3, earlier: Evidence | None = None) -> Evidence:
    return learn_evidence(training, earlier=earlier, rng=np.random.default_rng(seed))


@functools.cache
def learned_once(make, count: int) -> Evidence:
    """With training rows; forests take a while to grow."""
    return learned(make().training(count, train=True))


def without(rows: Rows, **fields) -> Rows:
    return replace(rows, **fields)


def stored(params: dict) -> dict:
    """What comes back when arrays went through a file without pickle."""
    arrays = {name: each for name, each in params.items() if isinstance(each, np.ndarray)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return params | dict(np.load(file, allow_pickle=False))


def logit(probs: np.ndarray) -> np.ndarray:
    return np.log(probs / (1 - probs))


def view_of(rows: Rows, order: np.ndarray) -> SimpleNamespace:
    """What attach asks of a pool, whose items stand in another order."""
    hashes = np.random.default_rng(5).integers(2**63, size=len(rows.index), dtype=np.uint64)
    moved = replace(rows[order], index=np.arange(len(order)))
    return SimpleNamespace(
        size=len(order),
        hashes=hashes[order],
        chunks=lambda: [(0, 7), (7, len(order))],
        rows=lambda start, stop: moved[start:stop],
        compute_once=lambda _key, compute: compute(),
        compute_stored=lambda _name, _origin, compute: compute(),
    )


def test_there_is_a_column_for_each_kind_of_evidence(class_pool):
    pool = class_pool()
    both, plain = pool.training(30, train=True), pool.training(30)
    assert learned(both).names == (SELF, TRAINING, OTHERS)
    assert learned(plain).names == (SELF, OTHERS)
    blind = replace(plain, rows=without(plain.rows, features=None, external=None))
    assert learned(blind).names == ()
    assert learned(blind).values(blind.rows).shape == (30, 0)


def test_other_models_say_what_they_give_the_prediction_on_average(class_pool):
    training = class_pool().training(0)
    rows = class_pool().rows[np.arange(3)]
    votes = np.zeros((3, 4, 3), np.float32)
    for row, shares in enumerate([(4, 0), (3, 1), (0, 4)]):
        right = rows.outputs.pred[row]
        votes[row, : shares[0], right] = 1
        votes[row, shares[0] :, (right + 1) % 3] = 1
    rows = without(rows, features=None, external=votes)
    found = learned(replace(training, rows=rows[:0])).values(rows)
    assert found[:, 0] == approx(logit(np.array([0.99, 0.75, 0.01])))


def test_reports_say_how_much_there_is(class_pool):
    pool = class_pool()
    assert learned_once(class_pool, 20).describe() == (
        "2 features",
        "300 training rows",
        "2 other models",
    )
    rows = without(pool.rows, features=pool.rows.features[:, :1], external=None)
    training = replace(pool.training(0), rows=rows[:0], background=rows[::3])
    assert learned(training).describe() == ("1 feature",)


def test_of_values_each_column_is_predicted_label_minus_prediction(value_pool):
    pool = value_pool()
    evidence = learned(pool.training(60, train=True))
    found = evidence.values(pool.rows)
    truth = pool.labels - pool.rows.outputs.pred
    assert found[:, 2] == approx(pool.rows.external.mean(axis=1) - pool.rows.outputs.pred, abs=1e-6)
    # Training rows teach the sine that the model forgot.
    assert np.corrcoef(found[60:, 1], truth[60:])[0, 1] > 0.7
    assert np.mean((found[60:, 1] - truth[60:]) ** 2) < 0.4 * truth.var()


def test_rows_that_were_not_learned_are_judged_by_all_trees(class_pool):
    pool = class_pool()
    training = pool.training(0)
    evidence, sample = learned(training), training.background
    codes = sample.outputs.pred
    forest, held_out = grow_classes(sample.features, codes, 3, np.random.default_rng(3))
    others = np.setdiff1d(pool.rows.index, sample.index)
    share = forest.class_probs(pool.rows.features[others], pool.rows.outputs.pred[others])
    expected = logit(np.clip((100 * share + 0.5) / 101, 0.005, 0.995))
    assert evidence.values(pool.rows[others])[:, 0] == approx(expected, abs=1e-4)
    own = held_out[np.arange(len(codes)), codes]
    expected = logit(np.clip((100 * own + 0.5) / 101, 0.005, 0.995))
    assert evidence.values(sample)[:, 0] == approx(expected, abs=1e-4)
    assert expected.min() < 0


def test_labels_stand_in_for_predictions_and_do_not_tell_on_themselves(class_pool):
    """A wrong prediction is not known to be wrong because its label was learned."""
    pool = class_pool()
    training = pool.training(200, train=True)
    noise = np.random.default_rng(0).integers(3, size=200).astype(float)
    training = replace(training, labels=noise)
    right = noise == training.rows.outputs.pred
    evidence = learned(training)
    for column in evidence.at_labels(training).T[:2]:
        apart = column[right].mean() - column[~right].mean()
        assert abs(apart) < 1
    inside = replace(
        evidence,
        learned={
            name: replace(each, items=each.items[:0], held_out=each.held_out[:0])
            for name, each in evidence.learned.items()
        },
    )
    column = inside.values(training.rows)[:, 0]
    assert column[right].mean() - column[~right].mean() > 2


def test_known_labels_are_learned_in_place_of_predictions(class_pool):
    """Labels that say that the model is wrong wherever the first feature is large."""
    pool = class_pool()
    training = pool.training(300)
    wrong = training.rows.features[:, 0] > 0.5
    labels = np.where(wrong, (training.rows.outputs.pred + 1) % 3, training.rows.outputs.pred)
    found = learned(replace(training, labels=labels.astype(float))).values(pool.rows[300:])
    there = pool.rows.features[300:, 0] > 0.5
    assert np.median(found[there, 0]) < np.median(found[~there, 0]) - 1


@pytest.mark.parametrize(
    "count, again", [(0, True), (19, True), (20, False), (39, False), (40, True)]
)
def test_evidence_is_learned_again_as_labels_pass_a_stage(class_pool, count, again):
    pool = class_pool()
    earlier = learned_once(class_pool, 20)
    found = learned(pool.training(count, train=True), seed=4, earlier=earlier)
    assert (found.learned is not earlier.learned) == again
    assert found.labels == (count if again else 20)


def test_evidence_is_learned_again_where_there_is_more_to_learn_from(class_pool):
    pool = class_pool()
    earlier = learned(pool.training(20))
    assert set(learned(pool.training(21, train=True), earlier=earlier).learned) == {
        SELF,
        TRAINING,
        LINEAR,
    }


@pytest.mark.parametrize("kind", ["class_pool", "value_pool"])
def test_evidence_is_restored_without_scikit_learn(request, tmp_path, kind):
    pool = request.getfixturevalue(kind)()
    evidence = learned(pool.training(40, train=True))
    asked, answers = tmp_path / "asked.pickle", tmp_path / "answers.npy"
    asked.write_bytes(pickle.dumps((stored(evidence.params()), pool.rows)))
    code = """
import pickle, sys
import numpy as np
from activetest.surrogates._evidence import restore_evidence
with open(sys.argv[1], "rb") as file:
    params, rows = pickle.load(file)
np.save(sys.argv[2], restore_evidence(params | {"mode": [1.0]}).values(rows))
assert "sklearn" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, asked, answers],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(answers), evidence.values(pool.rows))


def test_items_that_were_learned_are_found_by_their_ids_when_they_have_moved(class_pool):
    pool = class_pool()
    size = len(pool.rows.index)
    there, order = np.arange(size), np.random.default_rng(2).permutation(size)
    training = replace(pool.training(40, train=True), pool=view_of(pool.rows, there))
    evidence = learned(training)
    moved = restore_evidence(stored(evidence.params())).attach(view_of(pool.rows, order))
    rows = replace(pool.rows[order], index=there)
    np.testing.assert_array_equal(moved.values(rows), evidence.values(pool.rows)[order])
    some = moved.attach(view_of(pool.rows, there[:50]))
    np.testing.assert_array_equal(some.values(pool.rows[:50]), evidence.values(pool.rows[:50]))


def test_of_many_features_forests_learn_principal_components(class_pool):
    pool = class_pool()
    rng = np.random.default_rng(0)
    turn = rng.normal(size=(2, 250)).astype(np.float32)
    noise = rng.normal(scale=0.1, size=(600, 250)).astype(np.float32)

    def widen(rows):
        return replace(rows, features=rows.features @ turn + noise[rows.index])

    training = pool.training(30)
    wide = replace(training, rows=widen(training.rows), background=widen(training.background))
    evidence = learned(wide)
    assert evidence.learned[SELF].model.width == 20
    assert evidence.describe()[0] == "250 features"
    narrow = learned(training).values(pool.rows)[:, 0]
    assert np.corrcoef(evidence.values(widen(pool.rows))[:, 0], narrow)[0, 1] > 0.5
    again = restore_evidence(stored(evidence.params()))
    np.testing.assert_array_equal(again.values(widen(pool.rows)), evidence.values(widen(pool.rows)))


def test_training_rows_decide_between_forest_and_regression(class_pool):
    """Three normal classes have straight borders; those of a chessboard have none."""
    pool = class_pool()
    straight = learned(pool.training(0, train=True))
    features = pool.train.features
    chess = ((np.floor(features).sum(axis=1)) % 2).astype(int)
    board = replace(pool.training(0, train=True), train=TrainingRows(features, chess))
    crooked = learned(board)
    assert straight.linear >= 0.75
    assert crooked.linear == 0
    kinds = {name: type(each.model) for name, each in straight.learned.items()}
    assert kinds == {SELF: ClassForest, TRAINING: ClassForest, LINEAR: ClassRegression}
    again = restore_evidence(stored(straight.params()))
    np.testing.assert_array_equal(again.values(pool.rows), straight.values(pool.rows))


def test_what_training_rows_say_is_a_mean_of_logits(class_pool):
    pool = class_pool()
    evidence = learned_once(class_pool, 20)
    columns = [
        replace(evidence, linear=share).values(pool.rows)[:, 1] for share in (0.0, 0.25, 1.0)
    ]
    assert (columns[0] != columns[2]).any()
    assert columns[1] == approx(0.75 * columns[0] + 0.25 * columns[2], abs=1e-5)
    probs = evidence.learned[LINEAR].model.predict(pool.rows.features)
    own = probs[np.arange(600), pool.rows.outputs.pred][60:]
    expected = logit(np.clip((100 * own + 0.5) / 101, 0.005, 0.995))
    assert columns[2][60:] == approx(expected, abs=1e-4)


@pytest.mark.parametrize("rows, there", [(29, False), (30, True)])
def test_a_few_training_rows_are_too_few_for_a_regression(class_pool, rows, there):
    pool = class_pool()
    train = TrainingRows(pool.train.features[:rows], pool.train.labels[:rows])
    evidence = learned(replace(pool.training(0), train=train))
    assert (LINEAR in evidence.learned) == there
    assert TRAINING in evidence.names
    one = replace(train, labels=np.zeros(rows, int))
    assert LINEAR not in learned(replace(pool.training(0), train=one)).learned


def test_width_and_share_of_a_regression_stay(class_pool):
    pool = class_pool()
    first = learned(pool.training(0, train=True))
    model = first.learned[LINEAR].model
    assert model.width in (1.0, 3.0, 10.0)
    model = replace(model, width=2.0)
    known = dict(first.learned) | {LINEAR: replace(first.learned[LINEAR], model=model)}
    first = replace(first, learned=known, linear=0.1)
    again = learned(pool.training(20, train=True), earlier=first)
    assert (again.learned[LINEAR].model.width, again.linear) == (2.0, 0.1)


def test_a_regression_is_scikit_learns(class_pool):
    """With the same penalty; a prior of the intercepts hardly matters."""
    pool = class_pool()
    model = fit_regression(pool.train.features, pool.train.labels, 3, 3.0)
    other = LogisticRegression(C=9 / 2, tol=1e-8).fit(pool.train.features, pool.train.labels)
    probs = model.predict(pool.rows.features)
    assert probs == approx(other.predict_proba(pool.rows.features), abs=0.01)
    codes = pool.rows.outputs.pred
    own = model.class_probs(pool.rows.features, codes)
    assert own == approx(probs[np.arange(600), codes])


def forge(params: dict, name: str, change) -> dict:
    """The parameters with another array."""
    key = f"kept.evidence.{name}"
    return params | {key: change(np.array(params[key]))}


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


FORGED = {
    "a tree that never ends": ("predictions.right", put(0, 0)),
    "a node of two parents": ("predictions.right", put(0, 2)),
    "a node beyond the tree": ("predictions.right", put(0, 10**6)),
    "an input that is not there": ("predictions.feature", put(0, 7)),
    "a threshold that is none": ("predictions.threshold", put(0, np.nan)),
    "starts that are not in order": ("predictions.starts", put(1, 10**6)),
    "nodes that are missing": ("predictions.feature", lambda array: array[:-1]),
    "leaves without shares": ("predictions.leaf", put(0, 10**6)),
    "shares that are none": ("predictions.shares", put(0, np.inf)),
    "another number of classes": ("predictions.shares", lambda array: array[:, :2]),
    "items out of order": ("predictions.items", put(0, 10**6)),
    "items without predictions": ("predictions.held_out", lambda array: array[:-1]),
    "predictions that are none": ("predictions.held_out", put(0, np.nan)),
    "coefficients that are none": ("training rows, linear.weights", put(0, np.nan)),
    "a share beyond all": ("linear", lambda _: np.array(1.5)),
    "another version": ("version", lambda _: 2),
    "a kind of evidence twice": ("names", lambda names: np.repeat(names, 2)),
    "kinds in another order": ("names", lambda names: names[::-1]),
}


@pytest.mark.parametrize("harm", FORGED)
def test_stored_evidence_that_nobody_learned_is_refused(class_pool, harm):
    params = learned_once(class_pool, 20).params()
    restore_evidence(params)
    with pytest.raises(ValueError, match="forest|tree|lea|model|items|regression|version|kinds"):
        restore_evidence(forge(params, *FORGED[harm]))
