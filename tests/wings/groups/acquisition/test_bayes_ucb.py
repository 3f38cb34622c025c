"""Bayes-UCB against the exact quantiles of Betas."""

import numpy as np
import pytest
from scipy.special import betaincinv

from activetest.wings.groups.acquisition import bayes_ucb
from activetest.wings.groups.bandit import IDENTIFY, Bandit


@pytest.fixture
def groups(accuracies):
    """Which of these groups are worst?"""

    def make_arms(known, *, worst=1, **shape) -> Bandit:
        return Bandit(accuracies(known, **shape), IDENTIFY, worst)

    return make_arms


def shares(bandit: Bandit) -> np.ndarray:
    return bayes_ucb.allocate(bandit, 4000, np.random.default_rng(31))


KNOWN = np.array([[30, 10], [3, 1], [300, 120], [14, 2]])


@pytest.mark.parametrize("kind", ["accuracy", "error"])
@pytest.mark.parametrize("worst", [1, 2])
def test_the_groups_that_could_be_least_accurate_are_played(kind, worst, groups):
    low = betaincinv(*(KNOWN + 1).T, 0.025)
    # No two of the bounds are close to each other.
    assert np.diff(np.sort(low)).min() > 0.03
    expected = np.zeros(4)
    expected[np.argsort(low)[:worst]] = 1 / worst
    np.testing.assert_allclose(shares(groups(KNOWN, kind=kind, worst=worst)), expected)


def test_it_prefers_doubt_where_the_means_are_alike(groups):
    np.testing.assert_array_equal(shares(groups([[300, 100], [3, 1], [30, 10]])), [0, 1, 0])


def test_groups_without_room_are_never_played(groups):
    known = [[30, 10], [0, 4], [2, 2]]
    np.testing.assert_array_equal(shares(groups(known, size=[100, 4, 5])), [0, 0, 1])
    assert (shares(groups(known, size=[40, 4, 4])) == 0).all()


def test_many_studies_at_once_are_each_as_if_alone(groups):
    found = shares(groups(np.stack([KNOWN, KNOWN[::-1]])))
    np.testing.assert_array_equal(found, [shares(groups(KNOWN)), shares(groups(KNOWN[::-1]))])


@pytest.mark.parametrize(
    ("known", "quantile", "other", "played"),
    [([[26, 33], [2, 0]], 0.975, 0.95, 1), ([[29, 30], [3, 0]], 0.975, 0.99, 0)],
)
def test_the_bound_is_the_quantile_of_97_5_percent(known, quantile, other, played, groups):
    """By the 95 % bound, and by the 99 % bound, the other group could be worse."""
    lows = [betaincinv(*(np.array(known) + 1).T, 1 - each) for each in (quantile, other)]
    assert [int(np.argmin(low)) for low in lows] == [played, 1 - played]
    np.testing.assert_array_equal(shares(groups(known)), np.eye(2)[played])
