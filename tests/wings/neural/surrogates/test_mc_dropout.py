"""MC dropout: masks cut units out."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.rows import Outputs
from activetest.wings.neural.surrogates import mc_dropout

torch = pytest.importorskip("torch")

NAMES = ("weights", "bias")


def apply_masks(params, features, dropout, *, passes=50, layers=2, width=256):
    """(passes, R) values as torch has them: hidden values times mask over the share kept."""
    rng = np.random.default_rng(params["seed"])
    masks = [
        torch.from_numpy(rng.random((passes, width)) >= dropout) / (1 - dropout)
        for _ in range(layers)
    ]
    inputs = (features - params["center"]) / params["scale"]
    values = torch.from_numpy(inputs.astype(np.float32))
    for level in range(layers + 1):
        weights, bias = (torch.from_numpy(params[f"{name}_{level}"][0]) for name in NAMES)
        values = values @ weights + bias
        if level < layers:
            assert weights.shape[1] == width
            values = values.relu() * masks[level][:, None]
    return params["level"] + params["spread"] * values[..., 0].numpy()


@pytest.mark.usefixtures("trained_briefly")
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"dropout": "0.5"},
        {"layers": 1, "width": 40, "passes": 7},
        {"layers": 4, "width": 30, "passes": 3, "dropout": "0.3"},
    ],
)
def test_cutting_units_out_is_multiplying_them_with_a_mask(value_pool, chosen):
    pool = value_pool()
    training = pool.training(0, train=True)
    surrogate = mc_dropout.fit(training, rng=np.random.default_rng(1), **chosen)
    params, passes = surrogate.params(), chosen.get("passes", 50)
    dropout = float(chosen.get("dropout", 0.2))
    sizes = {name: value for name, value in chosen.items() if name != "dropout"}
    exact = apply_masks(params, pool.rows.features, dropout, **sizes)
    assert surrogate.members.size == passes
    assert surrogate.members.draws(pool.rows, np.arange(passes))[0] == approx(exact, abs=1e-4)
    again = mc_dropout.restore(params).members.draws(pool.rows, np.arange(passes))
    assert again[0] == approx(exact, abs=1e-4)


def test_hard_labels_are_enough(class_pool):
    pool = class_pool(300)
    pool.rows = replace(pool.rows, outputs=Outputs(pool.rows.outputs.pred))
    surrogate = mc_dropout.fit(pool.training(40), rng=np.random.default_rng(1))
    probs = surrogate.members.probs(pool.rows)
    assert (probs.argmax(axis=1) == pool.labels).mean() > 0.6
