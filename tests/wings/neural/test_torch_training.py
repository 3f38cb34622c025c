"""The loop that networks learn in: seeded by its generator alone, weighted, stopped in time."""

import sys
from functools import partial

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.wings.neural import torch_training as training
from activetest.wings.neural.surrogates import ensemble, mc_dropout, radial_bnn

torch = pytest.importorskip("torch")


def lines(count: int, *, seed: int = 1):
    """Rows whose class is the sign of the first of two columns, with 10 % noise."""
    rng = np.random.default_rng(seed)
    inputs = (5 + 3 * rng.normal(size=(count, 2))).astype(np.float32)
    return inputs, ((inputs[:, 0] > 5) ^ (rng.random(count) < 0.1)).astype(int)


def prepared(count: int, weights=None, *, seed: int = 2):
    inputs, labels = lines(count)
    weights = np.ones(count) if weights is None else weights
    return training.prepare_network_data(
        inputs, labels, weights, 2, rng=np.random.default_rng(seed)
    )


def trained(given, seed: int = 3) -> training.TrainedNetworks:
    """Two networks with eight hidden units."""
    rng = np.random.default_rng(seed)
    start = training.draw_first_layers(2, (8,), 2, 2, rng=rng)
    return training.train_networks(
        torch, given, start, partial(ensemble._forward, torch, None), rng=rng
    )


def losses(given, parameters, index) -> np.ndarray:
    """(E, B) loss of each network on rows index (B,)."""
    given_inputs = torch.from_numpy(given.inputs[index]).expand(len(parameters[0]), -1, -1)
    outputs = ensemble._forward(
        torch, None, [torch.from_numpy(part) for part in parameters], given_inputs, None, False
    )
    targets = torch.from_numpy(given.targets[index]).expand(len(parameters[0]), -1)
    return training._negative_log_likelihood(torch, outputs, targets, given.classes)[0].numpy()


def test_a_fifth_is_held_out_and_nothing_is_learned_from_it():
    given = prepared(100)
    assert len(given.held_out_rows) == 20
    assert sorted([*given.train_rows, *given.held_out_rows]) == list(range(100))
    assert given.has_held_out


def test_of_few_rows_none_are_held_out():
    given = prepared(9)
    assert sorted(given.train_rows) == sorted(given.held_out_rows) == list(range(9))
    assert not given.has_held_out


def test_inputs_and_values_are_standardised_under_the_weights():
    inputs, _ = lines(200)
    weights = np.random.default_rng(4).uniform(0, 5, 200)
    values = inputs.sum(axis=1).astype(float)
    inputs[:, 1] = 7
    given = training.prepare_network_data(inputs, values, weights, 0, rng=np.random.default_rng(5))
    assert np.average(given.inputs[:, 0], weights=weights) == approx(0, abs=1e-5)
    assert np.average(given.inputs[:, 0] ** 2, weights=weights) == approx(1, rel=1e-5)
    assert given.inputs[:, 1] == approx(np.zeros(200), abs=1e-6)
    assert given.level + given.spread * given.targets == approx(values, rel=1e-5)
    assert given.weights.mean() == approx(1)


def test_one_generator_one_result_and_torchs_own_state_stays_as_it_was():
    given = prepared(100)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = trained(given)
    assert (torch.get_rng_state() == before).all()
    torch.manual_seed(99)
    second, other = trained(given), trained(given, seed=4)
    assert all((a == b).all() for a, b in zip(first.parameters, second.parameters, strict=True))
    assert not (first.parameters[0] == other.parameters[0]).all()


def test_it_stops_before_the_last_epoch_and_keeps_what_was_best_on_the_rows_held_out():
    given = prepared(200)
    start = training.draw_first_layers(2, (8,), 2, 2, rng=np.random.default_rng(3))
    made = trained(given)
    assert 10 < made.epochs <= 200
    before, after = (
        losses(given, part, given.held_out_rows).mean(axis=1) for part in (start, made.parameters)
    )
    assert (after < before).all()
    # A tenth of the labels are noise: 0.33 nats is the least there is, 0.69 what a coin has.
    assert (after < 0.6).all()


def test_a_network_learns_as_it_would_without_the_others():
    """Shuffles differ, so this compares what both learned: the class of rows far from the line."""
    made = trained(prepared(300))
    given = prepared(300)
    far = np.flatnonzero(np.abs(given.inputs[:, 0]) > 0.5)
    for weights, bias, last, shift in zip(*made.parameters, strict=True):
        hidden = np.maximum(given.inputs[far] @ weights + bias, 0)
        called = (hidden @ last + shift).argmax(axis=1)
        assert (called == (given.inputs[far, 0] > 0)).mean() > 0.95
    assert not (made.parameters[0][0] == made.parameters[0][1]).all()


def test_weights_decide_which_of_two_contradicting_labels_is_learned():
    inputs, labels = lines(100)
    twice = np.concatenate([inputs, inputs])
    both = np.concatenate([labels, 1 - labels])
    for heavy in (0, 1):
        weights = np.repeat([1.0, 0.05] if heavy == 0 else [0.05, 1.0], 100)
        given = training.prepare_network_data(twice, both, weights, 2, rng=np.random.default_rng(6))
        made = trained(given)
        right = losses(given, made.parameters, np.arange(100)).mean()
        wrong = losses(given, made.parameters, np.arange(100, 200)).mean()
        assert (right < wrong) == (heavy == 0)


def test_a_network_that_has_learned_nothing_has_no_opinion():
    start = training.draw_first_layers(5, (64, 64), 10, 3, rng=np.random.default_rng(7))
    inputs = torch.randn((3, 500, 5), generator=torch.Generator().manual_seed(8))
    outputs = ensemble._forward(
        torch, None, [torch.from_numpy(p) for p in start], inputs, None, False
    )
    probs = outputs.softmax(dim=-1)
    assert float(probs.max()) < 0.25
    assert float(probs.min()) > 0.03


@pytest.mark.parametrize("module", [ensemble, mc_dropout, radial_bnn])
def test_without_torch_it_says_what_to_install(module, class_pool, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ChoiceError) as refused:
        module.fit(class_pool().training(20), rng=np.random.default_rng(1))
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    assert refused.value.problem.startswith(f"the surrogate '{name}'")
    assert refused.value.hint == (
        "install PyTorch's CPU build first (see its install page), "
        "then: pip install 'activetest[neural]'"
    )
