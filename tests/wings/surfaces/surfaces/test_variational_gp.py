"""Sparse variational Gaussian processes: closed forms on tiny surfaces."""

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.surface import Attributes
from activetest.wings.surfaces.surfaces._variational_gp import (
    believe,
    compute_divergence,
    compute_kernel,
    draw_parameters,
    embed,
    encode_arms,
    project,
)

torch = pytest.importorskip("torch")

ATTRIBUTES = Attributes(("sex", "race"), (("F", "M"), ("a", "b", "c")))
CODES = np.array([[0, 0], [1, 2], [1, 1]])


def draw(inputs: np.ndarray, *, latents: int = 1, **options) -> dict:
    """Parameters before training."""
    rng = np.random.default_rng(0)
    options = {"inducing": 50, "embedding": None} | options
    found = draw_parameters(inputs, np.full(latents, 0.3), rng=rng, **options)
    return {name: torch.as_tensor(array) for name, array in found.items()}


def test_arms_have_a_column_for_each_value_or_their_number():
    columns = encode_arms(ATTRIBUTES, CODES, "attributes")
    assert columns.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert encode_arms(ATTRIBUTES, CODES, "index").tolist() == [[0], [5], [4]]


def test_the_kernel_has_two_squared_lengths_below():
    parameters = draw(np.zeros((1, 2)))
    parameters["raw_scale"] = torch.tensor([np.log(np.expm1(2.0))])
    parameters["raw_length"] = torch.log(torch.expm1(torch.tensor([[0.5, 3.0]]).double()))
    kernel = compute_kernel(
        torch, parameters, torch.zeros(1, 2).double(), torch.tensor([[1.0, 2.0]]).double()
    )
    assert float(kernel) == approx(2 * np.exp(-1 / (2 * 0.25) - 4 / (2 * 9)))


def test_before_training_belief_is_the_prior():
    inputs = encode_arms(ATTRIBUTES, CODES, "attributes")
    parameters = draw(inputs, latents=2, embedding=20)
    place = embed(parameters, torch.as_tensor(inputs))
    assert place.shape == (3, 20)
    mean, variance = believe(torch, parameters, place)
    np.testing.assert_allclose(mean, 0.3)
    np.testing.assert_allclose(variance, np.log(2), rtol=1e-6)
    assert float(compute_divergence(torch, parameters)) == 0


def test_lengths_start_at_the_mean_distance_of_arms():
    inputs = encode_arms(ATTRIBUTES, CODES, "attributes")
    parameters = draw(inputs)
    kernel = compute_kernel(torch, parameters, *[torch.as_tensor(inputs)] * 2)[0] / np.log(2)
    assert float(-kernel.log().mean()) == approx(1)


def test_the_divergence_is_that_of_two_gaussians():
    parameters = draw(np.arange(3.0)[:, None], latents=2)
    rng = np.random.default_rng(5)
    parameters["mean"] = torch.as_tensor(rng.normal(size=(2, 3)))
    parameters["root"] = torch.as_tensor(rng.normal(size=(2, 3, 3)))
    prior = torch.distributions.MultivariateNormal(torch.zeros(3).double(), torch.eye(3).double())
    expected = 0.0
    for mean, root in zip(parameters["mean"], torch.tril(parameters["root"]), strict=True):
        belief = torch.distributions.MultivariateNormal(mean, covariance_matrix=root @ root.T)
        expected += float(torch.distributions.kl_divergence(belief, prior))
    assert float(compute_divergence(torch, parameters)) == approx(expected)


def test_with_gaussian_labels_the_best_belief_is_the_exact_posterior():
    """Inducing points at the arms: belief of v from its exact posterior gives that of f."""
    inputs = torch.arange(4.0, dtype=torch.float64)[:, None]
    parameters = draw(inputs.numpy())
    values, noise = torch.tensor([1.0, 0.5, -1.0, 0.0], dtype=torch.float64), 0.2
    coefficients, left = project(torch, parameters, inputs)
    matrix = coefficients[0].T
    precision = torch.eye(4, dtype=torch.float64) + matrix.T @ matrix / noise
    covariance = torch.linalg.inv(precision)
    parameters["mean"] = (covariance @ matrix.T @ (values - 0.3) / noise)[None]
    parameters["root"] = torch.linalg.cholesky(covariance)[None]
    queries = torch.tensor([[0.0], [1.5], [9.0]], dtype=torch.float64)
    mean, variance = believe(torch, parameters, queries)
    kernel = compute_kernel(torch, parameters, inputs, inputs)[0].numpy()
    cross = compute_kernel(torch, parameters, queries, inputs)[0].numpy()
    inverse = np.linalg.inv(kernel + noise * np.eye(4))
    np.testing.assert_allclose(mean[0], 0.3 + cross @ inverse @ (values.numpy() - 0.3), atol=1e-4)
    np.testing.assert_allclose(
        variance[0], np.log(2) - np.diag(cross @ inverse @ cross.T), atol=1e-4
    )
    assert float(left.max()) < 1e-4


def test_slopes_of_beliefs_are_those_of_differences():
    """Some of them are written by hand."""
    inputs = encode_arms(ATTRIBUTES, CODES, "attributes")
    parameters = draw(inputs, latents=2, embedding=4)
    rng = np.random.default_rng(3)
    for name in ("mean", "root"):
        noise = torch.as_tensor(rng.normal(size=parameters[name].shape))
        parameters[name] = parameters[name] + 0.3 * noise
    names = list(parameters)

    def find(*values):
        changed = dict(zip(names, values, strict=True))
        return believe(torch, changed, embed(changed, torch.as_tensor(inputs)))

    assert torch.autograd.gradcheck(find, [parameters[each].requires_grad_() for each in names])
