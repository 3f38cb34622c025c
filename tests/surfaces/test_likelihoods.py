"""Likelihoods of an arm's labels: integrals by quadrature, gradients by finite differences."""

import numpy as np
import pytest
from pytest import approx
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution

from activetest.surfaces._likelihoods import (
    log_bernoulli,
    log_beta_binomial,
    log_beta_binomial_of_mean,
)

torch = pytest.importorskip("torch")

CASES = [(0.3, 4.0, 2.0, 1.0), (0.8, 0.7, 0.0, 3.0), (0.55, 12.0, 0.35, 1.15), (0.9, 2.0, 0.0, 0.0)]


def tensors(*values: float) -> list:
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
