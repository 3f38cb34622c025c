"""Outputs of networks for items are kept, and are what they would say again."""

import pickle

import numpy as np
import pytest
from pytest import approx

from activetest.wings.neural import kept_outputs
from activetest.wings.neural.kept_outputs import KeptOutputs
from activetest.wings.neural.network import BATCH, Network


class Counted:
    """A network that counts the rows that it was asked for."""

    def __init__(self, network: Network) -> None:
        self.network, self.asked = network, 0
        self.size, self.width = network.size, network.width

    def outputs(self, inputs, which=None):
        self.asked += len(inputs)
        return self.network.outputs(inputs, which)


@pytest.fixture
def network() -> Counted:
    """Three networks of five inputs and two outputs."""
    rng = np.random.default_rng(1)
    layers = [(5, 8), (8, 2)]
    branches = tuple(
        tuple((rng.normal(size=each).astype(np.float32), np.ones(each[1], "f4")) for each in layers)
        for _ in range(3)
    )
    return Counted(Network((), branches))


def draw_inputs(count: int, seed: int = 2):
    return np.random.default_rng(seed).normal(size=(count, 5)).astype(np.float32)


def collect(pairs, count: int, rows: int):
    """(K, O, R) outputs of pairs, overwritten as soon as they are read."""
    found = np.full((count, 2, rows), np.nan, np.float32)
    for part, outputs in pairs:
        found[:, :, part] = outputs
        outputs[:] = np.nan
    return found


def test_what_is_kept_is_what_the_networks_say(network):
    count = 2 * BATCH + 7
    inputs, kept = draw_inputs(count), KeptOutputs()
    positions = np.arange(count)
    expected = collect(network.network.outputs(inputs), 3, count)
    for _ in range(2):
        found = collect(kept.find_or_compute(network, positions, inputs), 3, count)
        assert np.array_equal(found, expected)
    assert network.asked == count
    # Other rows, in another order, of some networks.
    some, which = np.arange(0, count, 3)[::-1], np.array([2, 0])
    found = collect(kept.find_or_compute(network, some, inputs[some], which), 2, len(some))
    assert np.array_equal(found, expected[which][:, :, some])
    assert network.asked == count


def test_an_item_with_other_inputs_is_computed_anew(network):
    inputs, kept, positions = draw_inputs(40), KeptOutputs(), np.arange(40)
    collect(kept.find_or_compute(network, positions, inputs), 3, 40)
    changed = inputs.copy()
    changed[7, 3] = np.nextafter(changed[7, 3], np.float32(9))
    changed[8] = changed[8, ::-1]
    changed[9] *= -1
    found = collect(kept.find_or_compute(network, positions, changed), 3, 40)
    assert found == approx(collect(network.network.outputs(changed), 3, 40), rel=1e-5)
    assert network.asked == 80


def test_items_beyond_what_is_kept_are_computed_each_time(network, monkeypatch):
    monkeypatch.setattr(kept_outputs, "_MOST_BYTES", 4 * 3 * 2 * (BATCH + 10))
    count = 2 * BATCH
    inputs, kept, positions = draw_inputs(count), KeptOutputs(), np.arange(count)
    expected = collect(network.network.outputs(inputs), 3, count)
    which = np.array([1])
    for asked in (count, count + BATCH, count + 2 * BATCH):
        found = collect(kept.find_or_compute(network, positions, inputs, which), 1, count)
        assert np.array_equal(found, expected[which])
        assert network.asked == asked


def test_what_is_kept_is_not_sent_to_other_processes(network):
    kept = KeptOutputs()
    collect(kept.find_or_compute(network, np.arange(9), draw_inputs(9)), 3, 9)
    sent = pickle.dumps(kept)
    assert len(sent) < 200
    collect(pickle.loads(sent).find_or_compute(network, np.arange(9), draw_inputs(9)), 3, 9)
    assert network.asked == 18
