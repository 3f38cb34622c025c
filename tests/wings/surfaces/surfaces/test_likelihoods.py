"""Likelihoods of labels and counts: integrals by quadrature, densities, finite differences."""

import numpy as np
import pytest
from pytest import approx
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import beta as beta_distribution
from scipy.stats import dirichlet, gamma

from activetest.wings.surfaces.surfaces._likelihoods import (
    lgamma,
    log_bernoulli,
    log_beta_binomial,
    log_beta_binomial_of_mean,
    log_dirichlet,
    log_gamma,
)

torch = pytest.importorskip("torch")

CASES = [(0.3, 4.0, 2.0, 1.0), (0.8, 0.7, 0.0, 3.0), (0.55, 12.0, 0.35, 1.15), (0.9, 2.0, 0.0, 0.0)]
PSI, COUNT = [0.7, 2.0, 11.5], [0.5, 1.0, 8.5]
VALUES = np.geomspace(1e-8, 1e6, 20_001)


def tensors(*values) -> list:
    """Numbers that gradients are taken of."""
    return [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]


@pytest.mark.parametrize(("phi", "psi", "right", "wrong"), CASES)
def test_the_beta_binomial_is_the_integral_over_the_accuracy(phi, psi, right, wrong):
    alpha, beta = phi * psi, (1 - phi) * psi
    density = beta_distribution(alpha, beta).pdf
    integral = quad(lambda rho: rho**right * (1 - rho) ** wrong * density(rho), 0, 1)[0]
    found = log_beta_binomial_of_mean(torch, *tensors(phi, psi), right, wrong)
    assert found.item() == approx(np.log(integral), abs=1e-5)
    assert log_beta_binomial(torch, *tensors(alpha, beta), right, wrong).item() == approx(
        found.item(), abs=1e-12
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_the_beta_binomial_are_those_of_differences(case):
    *parameters, right, wrong = case
    for likelihood in (log_beta_binomial, log_beta_binomial_of_mean):
        assert torch.autograd.gradcheck(
            lambda a, b, each=likelihood: each(torch, a, b, right, wrong), tensors(*parameters)
        )


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_bernoulli_labels_are_those_of_differences(case):
    phi, _, right, wrong = case
    assert torch.autograd.gradcheck(lambda each: log_bernoulli(each, right, wrong), tensors(phi))
    found = log_bernoulli(*tensors(phi), right, wrong).item()
    assert found == approx(right * np.log(phi) + wrong * np.log(1 - phi))


def test_a_large_scale_is_a_known_accuracy():
    phi, psi = tensors(0.3, 1e7)
    found = log_beta_binomial_of_mean(torch, phi, psi, 2.5, 1.0)
    assert found.item() == approx(log_bernoulli(phi, 2.5, 1.0).item(), abs=1e-4)


# --- counts, given scales


def test_the_printed_form_is_the_density_of_a_dirichlet():
    found = log_dirichlet(torch, *tensors(PSI, COUNT), torch.ones(3))
    assert found.item() == approx(dirichlet(PSI).logpdf(np.array(COUNT) / 10))


def test_an_arm_that_stands_for_two_is_as_good_as_both():
    found = log_dirichlet(torch, *tensors(PSI, COUNT), torch.tensor([2.0, 1.0, 1.0]))
    both = log_dirichlet(torch, *tensors([0.7, *PSI], [0.5, *COUNT]), torch.ones(4))
    assert found.item() == approx(both.item())


def test_the_other_form_is_the_density_of_a_gamma_at_counts_within_limits():
    found = log_gamma(torch, *tensors([2.0, 2.0, 3.0], [0.0, 1.5, 40.0]))
    expected = gamma([2, 2, 3]).logpdf([0.01, 1.5, 10])
    np.testing.assert_allclose(found.detach().numpy(), expected)


@pytest.mark.parametrize(("count", "psi"), [(1.0, 1.4616), (20.0, 10.4958), (10.0, 10.4958)])
def test_the_scale_that_a_gamma_likes_best_is_that_of_table_8(count, psi):
    grid = torch.arange(0.5, 15, 0.0001, dtype=torch.float64)
    value = log_gamma(torch, grid, torch.full_like(grid, count))
    assert float(grid[value.argmax()]) == approx(psi, abs=2e-4)


def test_gradients_are_those_of_differences():
    weight = torch.tensor([1.0, 3.0, 2.0])
    counts = torch.tensor(COUNT)
    assert torch.autograd.gradcheck(
        lambda psi: log_dirichlet(torch, psi, counts.double(), weight.double()), tensors(PSI)
    )
    assert torch.autograd.gradcheck(
        lambda psi: log_gamma(torch, psi, counts.double()), tensors(PSI)
    )


# --- the logarithm of the Gamma function


@pytest.mark.parametrize(("kind", "share"), [(torch.float32, 4e-6), (torch.float64, 1e-12)])
def test_values_and_derivatives_are_those_of_scipy(kind, share):
    values = torch.tensor(VALUES, dtype=kind, requires_grad=True)
    found = lgamma(torch, values)
    found.sum().backward()
    # The values themselves, as rounded by the precision.
    exact = values.detach().double().numpy()
    assert found.dtype == kind
    assert found.detach().numpy() == approx(gammaln(exact), rel=share, abs=share)
    assert values.grad.numpy() == approx(digamma(exact), rel=share, abs=share)
    assert lgamma(torch, values.detach()).numpy() == approx(found.detach().numpy())


def test_the_chain_rule_holds_behind_it():
    values = torch.tensor([0.3, 2.0, 40.0], requires_grad=True)
    (lgamma(torch, 2 * values) * torch.tensor([1.0, -3.0, 0.5])).sum().backward()
    expected = 2 * digamma([0.6, 4.0, 80.0]) * [1.0, -3.0, 0.5]
    assert values.grad.numpy() == approx(expected, rel=1e-5)
