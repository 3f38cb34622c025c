"""What counts say of scales: both forms of eq. (11), by hand and by finite differences."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import dirichlet, gamma

from activetest.surfaces._scale_supervision import log_dirichlet, log_gamma

torch = pytest.importorskip("torch")

PSI, COUNT = [0.7, 2.0, 11.5], [0.5, 1.0, 8.5]


def tensor(values: list[float]):
    """Numbers that gradients are taken of."""
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_the_printed_form_is_the_density_of_a_dirichlet():
    found = log_dirichlet(torch, tensor(PSI), tensor(COUNT), torch.ones(3))
    assert found.item() == approx(dirichlet(PSI).logpdf(np.array(COUNT) / 10))


def test_an_arm_that_stands_for_two_is_as_good_as_both():
    found = log_dirichlet(torch, tensor(PSI), tensor(COUNT), torch.tensor([2.0, 1.0, 1.0]))
    both = log_dirichlet(torch, tensor([0.7, *PSI]), tensor([0.5, *COUNT]), torch.ones(4))
    assert found.item() == approx(both.item())


def test_the_other_form_is_the_density_of_a_gamma_at_counts_within_limits():
    found = log_gamma(torch, tensor([2.0, 2.0, 3.0]), tensor([0.0, 1.5, 40.0]))
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
        lambda psi: log_dirichlet(torch, psi, counts.double(), weight.double()), [tensor(PSI)]
    )
    assert torch.autograd.gradcheck(
        lambda psi: log_gamma(torch, psi, counts.double()), [tensor(PSI)]
    )
