"""Networks in numpy put out what torch would, whatever the number of rows."""

import itertools

import numpy as np
import pytest
from pytest import approx

from activetest.wings.neural.network import Network, standardise_layer, stored_layers

torch = pytest.importorskip("torch")


def layer(rng, into: int, out: int):
    return (
        rng.normal(size=(into, out)).astype(np.float32),
        rng.normal(size=out).astype(np.float32),
    )


def network(trunk: tuple[int, ...], widths: list[tuple[int, ...]], seed: int = 1) -> Network:
    """A trunk of these widths, then one branch for each tuple of widths."""
    rng = np.random.default_rng(seed)
    chain = [
        tuple(layer(rng, into, out) for into, out in itertools.pairwise(each))
        for each in (trunk, *widths)
    ]
    return Network(chain[0], tuple(chain[1:]))


def put_out(made: Network, inputs, which=None) -> np.ndarray:
    """(K, O, R) in one piece."""
    return np.concatenate([part.copy() for _, part in made.outputs(inputs, which)], axis=2)


def by_torch(made: Network, inputs) -> np.ndarray:
    """(E, O, R) with torch's own layers."""
    results = []
    for branch in made.branches:
        values = torch.from_numpy(inputs)
        layers = (*made.trunk, *branch)
        for weights, bias in layers[:-1]:
            layer = torch.from_numpy(weights.T.copy()), torch.from_numpy(bias)
            values = torch.nn.functional.linear(values, *layer).relu()
        weights, bias = layers[-1]
        results.append(values @ torch.from_numpy(weights) + torch.from_numpy(bias))
    return torch.stack(results).swapaxes(1, 2).numpy()


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 1100])
def test_branches_of_unequal_width_after_a_trunk_equal_torchs(rows):
    made = network((7, 20), [(20, 9, 3), (20, 14, 3), (20, 1, 3)])
    inputs = np.random.default_rng(2).normal(size=(rows, 7)).astype(np.float32)
    assert put_out(made, inputs) == approx(by_torch(made, inputs), rel=1e-4, abs=1e-4)


def test_networks_without_a_trunk_equal_torchs():
    made = network((7,), [(7, 9, 8, 3)] * 4)
    inputs = np.random.default_rng(2).normal(size=(600, 7)).astype(np.float32)
    assert put_out(made, inputs) == approx(by_torch(made, inputs), rel=1e-4, abs=1e-4)


def test_the_pairs_cover_the_rows_in_order():
    made = network((7,), [(7, 9, 3)])
    parts = [part for part, _ in made.outputs(np.zeros((1100, 7), np.float32))]
    assert [(part.start, part.stop) for part in parts] == [(0, 512), (512, 1024), (1024, 1100)]
    assert list(made.outputs(np.zeros((0, 7), np.float32))) == []


def test_networks_can_be_asked_for_in_any_order_and_twice():
    made = network((7,), [(7, 9, 3)] * 4)
    inputs = np.random.default_rng(2).normal(size=(20, 7)).astype(np.float32)
    some = put_out(made, inputs, np.array([3, 0, 3]))
    assert (some == put_out(made, inputs)[[3, 0, 3]]).all()


def test_a_row_is_given_the_same_outputs_alone_and_among_others():
    made = network((7, 20), [(20, 9, 3)] * 2)
    inputs = np.random.default_rng(2).normal(size=(700, 7)).astype(np.float32)
    alone = put_out(made, inputs[650:651])
    assert alone[:, :, 0] == approx(put_out(made, inputs)[:, :, 650], rel=1e-4, abs=1e-5)


def test_a_layer_takes_the_standardisation_of_its_inputs_upon_itself():
    rng = np.random.default_rng(3)
    weights, bias = layer(rng, 7, 4)
    inputs, center, scale = rng.normal(size=(30, 7)), rng.normal(size=7), rng.uniform(1, 3, 7)
    taken = standardise_layer((weights, bias), center, scale)
    assert inputs @ taken[0] + taken[1] == approx(
        (inputs - center) / scale @ weights + bias, rel=1e-4, abs=1e-5
    )


def test_layers_come_back_in_their_order():
    params = {f"weights_{n}": np.full(2, n) for n in range(12)}
    params |= {f"bias_{n}": np.full(3, -n) for n in range(12)} | {"seed": 1}
    kept = stored_layers(params, ("weights", "bias"))
    assert [(weights[0], bias[0]) for weights, bias in kept] == [(n, -n) for n in range(12)]
