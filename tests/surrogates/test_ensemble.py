"""The ensemble's vote in numpy is the mean of torch's, member by member."""

import numpy as np
import pytest
from pytest import approx

from activetest.surrogates import ensemble

torch = pytest.importorskip("torch")


def test_it_predicts_what_torch_predicts(class_pool):
    pool = class_pool()
    surrogate = ensemble.fit(pool.training(0, train=True), rng=np.random.default_rng(1))
    params = surrogate.params()
    names = [f"{name}_{level}" for level in range(3) for name in ("weights", "bias")]
    parameters = [torch.from_numpy(params[name]) for name in names]
    inputs = ((pool.rows.features - params["center"]) / params["scale"]).astype(np.float32)
    every = torch.from_numpy(inputs).expand(5, -1, -1)
    logits = ensemble._forward(torch, parameters, every, None, False)[0]
    members = (logits / params["temperature"]).softmax(dim=-1).numpy()
    assert surrogate.members.draws(pool.rows, np.arange(5)) == approx(members, abs=1e-5)
    assert surrogate.members.probs(pool.rows) == approx(members.mean(axis=0), abs=1e-5)
    # Members began elsewhere and saw the rows in another order.
    assert members.std(axis=0).max() > 0.001
