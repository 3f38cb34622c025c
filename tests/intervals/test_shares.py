"""Limits for a share at an effective sample size."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import beta, binomtest

from activetest.intervals._shares import CLOPPER_PEARSON, JEFFREYS, binomial_limits, effective_size

# So many degrees of freedom that Student's t is the normal.
MANY = 1e9


def test_the_effective_size_is_how_many_uniform_draws_have_this_variance():
    assert effective_size(0.2, 0.2 * 0.8 / 50, otherwise=7.0) == approx(50)
    assert effective_size(0.2, 0.0, otherwise=7.0) == 7
    assert effective_size(0.2, -1e-20, otherwise=np.inf) == np.inf
    # A variance of rounding is none.
    assert effective_size(0.2, 1e-33, otherwise=7.0) == 7


@pytest.mark.parametrize("size", [1e16, 1e33, np.inf])
def test_without_variance_both_limits_are_the_share(size):
    """Beta quantiles of such sizes are no numbers."""
    limits = binomial_limits(0.065, size, MANY, 0.95, minority_count=98)
    assert limits == approx((0.065, 0.065), abs=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.03, 0.97, 1.0])
def test_within_a_deviation_of_a_bound_the_share_counts_as_one_deviation_away(share):
    """0.1 (1 - 0.1) / 0.1^2 is 9: of a share of 0.03 it would be 2.9, and of 0 nobody."""
    assert effective_size(share, 0.1**2, otherwise=7.0) == approx(9)


@pytest.mark.parametrize("variance", [0.25, 0.3, 4.0])
def test_no_share_is_more_than_a_half_away_from_both_bounds(variance):
    """A deviation above a half leaves a quarter over the variance."""
    for share in (0.0, 0.4, 1.0):
        assert effective_size(share, variance, otherwise=7.0) == approx(0.25 / variance)


@pytest.mark.parametrize(("hits", "size"), [(0, 12), (3, 12), (12, 12)])
def test_with_many_degrees_of_freedom_the_limits_are_clopper_and_pearsons(hits, size):
    found = binomial_limits(hits / size, size, MANY, 0.9, minority_count=20)
    exact = binomtest(hits, size).proportion_ci(0.9, method="exact")
    assert found == approx((exact.low, exact.high), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("hits", [0, 3, 12])
def test_jeffreys_limits_add_half_a_draw_to_either_side(hits):
    found = binomial_limits(hits / 12, 12, MANY, 0.9, minority_count=20, added=JEFFREYS)
    assert found == approx(beta(hits + 0.5, 12.5 - hits).interval(0.9), rel=1e-6)


@pytest.mark.parametrize("added", [CLOPPER_PEARSON, JEFFREYS])
def test_the_nearer_bound_stays_in_where_no_label_of_the_rarer_kind_was_seen(added):
    """At one half neither bound is nearer."""
    for share, ends in ((0.2, (True, False)), (0.8, (False, True)), (0.5, (False, False))):
        found = binomial_limits(share, 30, MANY, 0.9, minority_count=0, added=added)
        assert (found[0] == 0, found[1] == 1) == ends
        seen = binomial_limits(share, 30, MANY, 0.9, minority_count=1, added=added)
        assert 0 < seen[0] < share < seen[1] < 1
