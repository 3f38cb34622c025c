"""Evidence besides labels: columns of what training rows and other models say."""

import io
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.rows import Rows
from activetest.surrogates._evidence import (
    LINEAR,
    OTHERS,
    SELF,
    TRAINING,
    find_evidence,
    restore_evidence,
)

PAST = Path(__file__).parents[1] / "guarantees" / "studies" / "0.8.0" / "evidence"


def read_past(kind: str) -> tuple[dict, np.ndarray]:
    """Evidence that version 0.8 kept of a pool after 40 labels, and what it said of all items."""
    with np.load(PAST / f"{kind}.npz", allow_pickle=False) as file:
        params = {name: file[name] for name in file.files if name not in ("plain", "values")}
        return params | json.loads(str(file["plain"])), file["values"]


def without(rows: Rows, **fields) -> Rows:
    return replace(rows, **fields)


def stored(params: dict) -> dict:
    """The state after its arrays went through a file without pickle."""
    arrays = {name: each for name, each in params.items() if isinstance(each, np.ndarray)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return params | dict(np.load(file, allow_pickle=False))


def logit(probs: np.ndarray) -> np.ndarray:
    return np.log(probs / (1 - probs))


def view_of(rows: Rows, order: np.ndarray) -> SimpleNamespace:
    """The pool as attach sees it, with its items in another order."""
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
    assert find_evidence(both).names == (TRAINING, OTHERS)
    assert find_evidence(plain).names == (OTHERS,)
    # Training rows that foretell nothing have no column.
    nothing = np.empty((30, 0), np.float32)
    blind = replace(both, rows=without(both.rows, trained=nothing, external=None))
    assert find_evidence(blind).names == ()
    assert find_evidence(blind).values(blind.rows).shape == (30, 0)


def test_columns_are_those_of_the_rows(class_pool):
    training = class_pool().training(30, train=True)
    evidence = find_evidence(training)
    found = evidence.values(training.rows)
    np.testing.assert_array_equal(found[:, 0], training.rows.trained[:, 0])
    lacking = without(training.rows, trained=None)
    with pytest.raises(ValueError, match="nothing from training rows"):
        evidence.values(lacking)


def test_other_models_say_what_they_give_the_prediction_on_average(class_pool):
    training = class_pool().training(0)
    rows = class_pool().rows[np.arange(3)]
    votes = np.zeros((3, 4, 3), np.float32)
    for row, shares in enumerate([(4, 0), (3, 1), (0, 4)]):
        right = rows.outputs.pred[row]
        votes[row, : shares[0], right] = 1
        votes[row, shares[0] :, (right + 1) % 3] = 1
    rows = without(rows, trained=None, external=votes)
    found = find_evidence(replace(training, rows=rows[:0])).values(rows)
    assert found[:, 0] == approx(logit(np.array([0.99, 0.75, 0.01])))


def test_of_values_other_models_say_their_mean_minus_the_prediction(value_pool):
    pool = value_pool()
    found = find_evidence(pool.training(20)).values(pool.rows)
    assert found[:, 0] == approx(pool.rows.external.mean(axis=1) - pool.rows.outputs.pred, abs=1e-6)


def test_reports_say_how_much_there_is(class_pool):
    found = find_evidence(class_pool().training(20, train=True))
    assert found.describe() == ("300 training rows", "2 other models")
    assert restore_evidence(stored(found.params())) == found


@pytest.mark.parametrize("kind", ["class_pool", "value_pool"])
def test_what_version_0_8_learned_says_what_it_said(request, kind):
    rows = request.getfixturevalue(kind)().rows
    params, values = read_past(kind)
    evidence = restore_evidence(params)
    learned = {SELF, TRAINING, LINEAR} if kind == "class_pool" else {SELF, TRAINING}
    assert evidence.names == (SELF, TRAINING, OTHERS) and set(evidence.learned) == learned
    view = view_of(rows, np.arange(len(rows.index)))
    for found in (evidence, restore_evidence(stored(evidence.params()))):
        assert found.attach(view).values(rows) == approx(values, abs=1e-5)
    counts = "40" if kind == "value_pool" else "60"
    assert evidence.describe() == ("2 features", f"{counts} training rows", "2 other models")


def test_past_evidence_is_restored_without_scikit_learn(class_pool, tmp_path):
    rows = class_pool().rows
    asked, answers = tmp_path / "asked.pickle", tmp_path / "answers.npy"
    asked.write_bytes(pickle.dumps((read_past("class_pool")[0], rows)))
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
    assert np.load(answers) == approx(read_past("class_pool")[1], abs=1e-5)


def test_items_that_were_learned_are_found_by_their_ids_when_they_have_moved(class_pool):
    pool = class_pool()
    size = len(pool.rows.index)
    there, order = np.arange(size), np.random.default_rng(2).permutation(size)
    params, values = read_past("class_pool")
    moved = restore_evidence(params).attach(view_of(pool.rows, order))
    rows = replace(pool.rows[order], index=there)
    assert moved.values(rows) == approx(values[order], abs=1e-5)
    some = moved.attach(view_of(pool.rows, there[:50]))
    assert some.values(pool.rows[:50]) == approx(values[:50], abs=1e-5)


def test_what_training_rows_said_is_a_mean_of_logits(class_pool):
    pool = class_pool()
    evidence = restore_evidence(read_past("class_pool")[0])
    columns = [
        replace(evidence, linear=share).values(pool.rows)[:, 1] for share in (0.0, 0.25, 1.0)
    ]
    assert (columns[0] != columns[2]).any()
    assert columns[1] == approx(0.75 * columns[0] + 0.25 * columns[2], abs=1e-5)


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
def test_stored_evidence_that_nobody_learned_is_refused(harm):
    params = read_past("class_pool")[0]
    restore_evidence(params)
    with pytest.raises(ValueError, match="forest|tree|lea|model|items|regression|version|kinds"):
        restore_evidence(forge(params, *FORGED[harm]))


def test_a_column_of_the_model_s_own_answers_needs_what_was_learned():
    params = read_past("class_pool")[0]
    lacking = {name: each for name, each in params.items() if ".predictions." not in name}
    with pytest.raises(ValueError, match="nothing was learned"):
        restore_evidence(lacking)
