"""MC dropout: masks cut units out."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.rows import Outputs
from activetest.surrogates import mc_dropout

torch = pytest.importorskip("torch")


def apply_masks(params, features, dropout):
    """(50, R) values as torch has them: hidden values times mask over the share kept."""
    rng = np.random.default_rng(params["seed"])
    first, second = (
        torch.from_numpy(rng.random((50, 256)) >= dropout) / (1 - dropout) for _ in range(2)
    )
    inputs = (features - params["center"]) / params["scale"]
    layers = [
        (torch.from_numpy(params[f"weights_{n}"][0]), torch.from_numpy(params[f"bias_{n}"][0]))
        for n in range(3)
    ]
    hidden = (torch.from_numpy(inputs.astype(np.float32)) @ layers[0][0] + layers[0][1]).relu()
    hidden = ((hidden * first[:, None]) @ layers[1][0] + layers[1][1]).relu()
    means = ((hidden * second[:, None]) @ layers[2][0] + layers[2][1])[..., 0].numpy()
    return params["level"] + params["spread"] * means


@pytest.mark.parametrize("chosen", [{}, {"dropout": "0.5"}])
def test_cutting_units_out_is_multiplying_them_with_a_mask(value_pool, chosen):
    pool = value_pool()
    training = pool.training(0, train=True)
    surrogate = mc_dropout.fit(training, rng=np.random.default_rng(1), **chosen)
    exact = apply_masks(surrogate.params(), pool.rows.features, float(chosen.get("dropout", 0.2)))
    assert surrogate.members.draws(pool.rows, np.arange(50))[0] == approx(exact, abs=1e-4)


def test_parameters_of_earlier_versions_drop_half_of_the_units(value_pool):
    """They do not say so: a share of another size would make other networks of them."""
    pool = value_pool()
    params = mc_dropout.fit(
        pool.training(0, train=True), rng=np.random.default_rng(1), dropout="0.5"
    ).params()
    recorded = {name: value for name, value in params.items() if name != "dropout"}
    again = mc_dropout.restore(recorded).members.draws(pool.rows, np.arange(50))
    assert again[0] == approx(apply_masks(params, pool.rows.features, 0.5), abs=1e-4)


def test_hard_labels_are_enough(class_pool):
    pool = class_pool(300)
    pool.rows = replace(pool.rows, outputs=Outputs(pool.rows.outputs.pred))
    surrogate = mc_dropout.fit(pool.training(40), rng=np.random.default_rng(1))
    probs = surrogate.members.probs(pool.rows)
    assert (probs.argmax(axis=1) == pool.labels).mean() > 0.6
