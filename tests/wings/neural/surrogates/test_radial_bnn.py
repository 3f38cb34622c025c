"""The radial posterior: a direction without preference, a distance that is half a normal."""

from functools import partial

import numpy as np
import pytest
from pytest import approx

from activetest.wings.neural.surrogates import radial_bnn

torch = pytest.importorskip("torch")


def steps(shape: tuple[int, ...], count: int, *, by_torch: bool) -> np.ndarray:
    """(count, D) of (w - mu) / sigma of samples of an array of this shape."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(1, *shape)).astype(np.float32)
    rho = rng.normal(size=(1, *shape)).astype(np.float32)
    if by_torch:
        generator = torch.Generator().manual_seed(2)
        parts = (torch.from_numpy(mean), torch.from_numpy(rho))
        draws = [
            radial_bnn._sample_tensor(torch, *parts, generator).numpy() for _ in range(count // 8)
        ]
        samples = np.concatenate(draws)
    else:
        samples = np.stack([radial_bnn._sample_array(mean, rho, rng) for _ in range(count)])
    sigma = np.log1p(np.exp(rho[0].astype(float)))
    return ((samples - mean[0]) / sigma).reshape(count, -1)


@pytest.mark.parametrize("by_torch", [True, False])
@pytest.mark.parametrize("shape", [(3,), (20, 30)])
def test_the_distance_is_that_of_one_normal_number_whatever_the_size(shape, by_torch):
    """A Gaussian's would be sqrt(D); here E|r| = sqrt(2 / pi) and E r^2 = 1."""
    lengths = np.linalg.norm(steps(shape, 4000, by_torch=by_torch), axis=1)
    assert lengths.mean() == approx(np.sqrt(2 / np.pi), abs=4 * 0.603 / 4000**0.5)
    assert (lengths**2).mean() == approx(1, abs=4 * 2**0.5 / 4000**0.5)


@pytest.mark.parametrize("by_torch", [True, False])
def test_no_direction_is_preferred(by_torch):
    moves = steps((4,), 4000, by_torch=by_torch)
    directions = moves / np.linalg.norm(moves, axis=1, keepdims=True)
    assert (np.abs(directions.mean(axis=0)) < 4 * 0.5 / 4000**0.5).all()
    assert (directions.T @ directions / 4000) == approx(np.eye(4) / 4, abs=0.02)


def test_the_divergence_is_least_where_the_posterior_has_the_priors_size():
    """By hand: mu = 0 and E[w^2] = sigma^2 / D = deviation^2 is where its derivative is zero."""
    into, out = 6, 5
    zeros = [torch.zeros(1, into, out), torch.zeros(1, out)]
    best = [(2 / into * size) ** 0.5 for size in (into * out, out)]

    def value(factor: float, shift: float = 0.0) -> float:
        rhos = [
            torch.full_like(part, float(np.log(np.expm1(factor * sigma))))
            for part, sigma in zip(zeros, best, strict=True)
        ]
        return float(radial_bnn._divergence(torch, 1.0, [*(z + shift for z in zeros), *rhos]))

    assert value(1.0) < min(value(0.98), value(1.02), value(1.0, 0.05))
    # Half of the mean square over the prior's, minus log sigma.
    share = np.array([into * out, out]) / (into * out + out)
    assert value(1.0) == approx(0.5 - share @ np.log(best), rel=1e-5)


def test_the_first_samples_step_away_by_the_intended_share_of_the_mean():
    start = radial_bnn._first_parameters([(50, 64), (64, 10)], rng=np.random.default_rng(3))
    weights, rho = start[0], start[2]
    sigma = np.log1p(np.exp(rho))
    assert sigma.max() == approx(0.3 * np.linalg.norm(weights), rel=0.1)


def test_training_uses_eight_samples_and_each_is_a_network_of_its_own():
    start = [
        torch.from_numpy(part)
        for part in radial_bnn._first_parameters([(4, 64), (64, 3)], rng=np.random.default_rng(4))
    ]
    forward = partial(radial_bnn._forward, torch, start)
    inputs = torch.ones(1, 7, 4)
    outputs = forward(inputs, torch.Generator().manual_seed(1), True)
    assert outputs.shape == (8, 1, 7, 3)
    # Equal rows are told the same by one sample, and different things by different ones.
    assert float((outputs - outputs[:, :, :1]).abs().max()) < 1e-6
    assert float(outputs.std(dim=0).min()) > 0
