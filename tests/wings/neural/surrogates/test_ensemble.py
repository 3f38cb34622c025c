"""The ensemble's vote in numpy is the mean of torch's, member by member."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.rows import Outputs
from activetest.surrogates._inputs import input_columns
from activetest.wings.neural.convolution import Image
from activetest.wings.neural.surrogates import ensemble
from tests.surrogates.conftest import Pool, _rows

torch = pytest.importorskip("torch")


@pytest.mark.usefixtures("trained_briefly")
def test_it_predicts_what_torch_predicts(class_pool):
    pool = class_pool()
    surrogate = ensemble.fit(pool.training(0, train=True), rng=np.random.default_rng(1))
    params = surrogate.params()
    names = [f"{name}_{level}" for level in range(3) for name in ("weights", "bias")]
    parameters = [torch.from_numpy(params[name]) for name in names]
    inputs = ((pool.rows.features - params["center"]) / params["scale"]).astype(np.float32)
    every = torch.from_numpy(inputs).expand(5, -1, -1)
    logits = ensemble._forward(torch, None, parameters, every, None, False)[0]
    members = (logits / params["temperature"]).softmax(dim=-1).numpy()
    assert surrogate.members.draws(pool.rows, np.arange(5)) == approx(members, abs=1e-5)
    assert surrogate.members.probs(pool.rows) == approx(members.mean(axis=0), abs=1e-5)
    # Members began elsewhere and saw the rows in another order.
    assert members.std(axis=0).max() > 0.001


@pytest.mark.usefixtures("trained_briefly")
def test_images_are_seen_through_filters_and_predicted_as_torch_predicts():
    pool, image = make_images()
    training = replace(pool.training(200), image=(8, 8))
    surrogate = ensemble.fit(training, rng=np.random.default_rng(1))
    params = surrogate.params()
    assert params["image"] == [8, 8]
    names = [f"{name}_{level}" for level in range(5) for name in ("weights", "bias")]
    parameters = [torch.from_numpy(params[name]) for name in names]
    columns = input_columns(pool.rows, outputs=True)
    # Pixels stay as they are; the outputs of the box, which stand behind them, are standardised.
    assert (params["center"][:64] == 0).all() and (params["scale"][:64] == 1).all()
    inputs = ((columns - params["center"]) / params["scale"]).astype(np.float32)
    every = torch.from_numpy(inputs).expand(5, -1, -1)
    logits = ensemble._forward(torch, image, parameters, every, None, False)[0]
    members = (logits / params["temperature"]).softmax(dim=-1).numpy()
    assert surrogate.members.draws(pool.rows, np.arange(5)) == approx(members, abs=1e-4)
    again = ensemble.restore(params)
    assert (again.members.probs(pool.rows) == surrogate.members.probs(pool.rows)).all()


def test_filters_find_what_may_stand_anywhere():
    """A bar that lies or stands, at any place: a list of numbers does not show it, filters do."""
    pool, _ = make_images(900)
    training = replace(pool.training(300), augment="none")
    right = []
    for image in ((), (8, 8)):
        surrogate = ensemble.fit(replace(training, image=image), rng=np.random.default_rng(1))
        called = surrogate.members.probs(pool.rows[300:]).argmax(axis=1)
        right.append((called == pool.labels[300:]).mean())
    assert right[1] > 0.9
    assert right[1] > right[0] + 0.1


def make_images(size=400):
    """Images of 8 x 8 with a bar of three pixels, lying or standing; the box knows nothing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=size)
    images = 0.5 * rng.normal(size=(size, 8, 8))
    for bar, lying in zip(images, labels, strict=True):
        across, along = rng.integers(8), rng.integers(6)
        (bar if lying else bar.T)[across, along : along + 3] += 2.5
    probs = np.full((size, 2), 0.5, np.float32)
    outputs = Outputs(np.zeros(size, int), probs)
    features = images.reshape(size, 64).astype(np.float32)
    rows = _rows(features, outputs, np.empty((size, 0, 2)), np.zeros(size), None)
    return Pool(rows, labels, 2, None), Image(8, 8)
