"""Intervals of the share of mistakes of one model minus that of another."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta

from activetest.intervals import paired_shares
from activetest.nouns.estimate import Estimate, Sides
from tests.intervals.test_korn_graubard import MANY, ends, estimate, shrunk


def differences(mean: float, variance: float, **more) -> Estimate:
    """A mean of -1, 0 and 1 with that variance."""
    share = estimate((1 + mean) / 2, variance / 4, **more)
    return replace(
        share,
        mean=np.array([mean]),
        variance=np.array([[variance]]),
        terms=2 * share.terms - 1,
        limits=np.array([[-1.0], [1.0]]),
    )


@pytest.mark.parametrize("mean", [-0.6, 0.0, 0.3])
@pytest.mark.parametrize("decides", [False, True])
def test_the_limits_are_those_of_half_of_one_plus_the_mean(mean, decides):
    found = paired_shares.interval(differences(mean, 0.01, rare=30), 0.95, decides=decides)
    share = ends(estimate((1 + mean) / 2, 0.0025, rare=30), decides=decides)
    assert (found.lower, found.upper) == approx([2 * end - 1 for end in share])
    assert (found.estimate, found.method) == (approx(mean), "paired-shares")


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_labels_of_one_side_alone_have_the_limits_of_a_sign_test(side):
    one = differences(side, 0.0, draws=12, rare=0.0)
    one = replace(one, sides=Sides((0.0, 12.0), (0.0, 1.0)))
    found = paired_shares.interval(one, 0.95)
    far = 2 * beta.ppf(0.025, shrunk(12, one), 1) - 1
    assert sorted([side * found.lower, side * found.upper]) == approx([far, 1.0])
    assert 0 < far < 0.5


def test_without_a_label_where_models_differ_everything_is_possible():
    one = replace(differences(0.0, 0.0), inside=np.zeros(MANY))
    found = paired_shares.interval(one, 0.95)
    assert (found.lower, found.upper) == (-1.0, 1.0)


def test_a_known_difference_is_a_point():
    found = paired_shares.interval(replace(differences(0.25, 0.0), exact=True), 0.95)
    assert (found.lower, found.upper, found.method) == (0.25, 0.25, "exact")
