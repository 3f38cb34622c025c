"""The logarithm of the Gamma function in single precision, and its derivative."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import digamma, gammaln

from activetest.surfaces._lgamma import lgamma

torch = pytest.importorskip("torch")

VALUES = np.geomspace(1e-8, 1e6, 20_001)


@pytest.mark.parametrize(("kind", "share"), [(torch.float32, 4e-6), (torch.float64, 1e-12)])
def test_values_and_derivatives_are_those_of_scipy(kind, share):
    values = torch.tensor(VALUES, dtype=kind, requires_grad=True)
    found = lgamma(torch, values)
    found.sum().backward()
    # What the precision makes of the values themselves.
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
