"""Epsilon-greedy: nine times in ten the best, once any."""

import numpy as np
import pytest

from activetest.wings.groups.acquisition import epsilon_greedy
from activetest.wings.groups.arms import cell_variances
from activetest.wings.groups.bandit import COMPARE, ESTIMATE, IDENTIFY, Bandit


def shares(bandit: Bandit) -> np.ndarray:
    return epsilon_greedy.allocate(bandit, 1, np.random.default_rng(29))


KNOWN = [[3, 3], [9, 2], [1, 2], [0, 4], [8, 3]]


def test_the_least_accurate_group_with_room_is_played_and_any_other_once_in_ten(accuracies):
    bandit = Bandit(accuracies(KNOWN, [50, 50, 50, 4, 50]), IDENTIFY)
    np.testing.assert_allclose(shares(bandit), [0.025, 0.025, 0.925, 0, 0.025])


def test_the_m_worst_share_the_plays(accuracies):
    bandit = Bandit(accuracies(KNOWN, 50), IDENTIFY, worst=2)
    np.testing.assert_allclose(shares(bandit), [0.02, 0.02, 0.47, 0.47, 0.02])


def test_groups_that_look_alike_share(accuracies):
    bandit = Bandit(accuracies([[2, 2], [5, 5], [9, 1]], 100), IDENTIFY)
    np.testing.assert_allclose(shares(bandit), [0.1 / 3 + 0.45, 0.1 / 3 + 0.45, 0.1 / 3])


def test_estimation_plays_where_the_variance_is_expected_to_fall_most(accuracies):
    arms = accuracies(KNOWN, [50, 80, 50, 4, 400])
    found = shares(Bandit(arms, ESTIMATE))
    # The variance of an accuracy's expectation after one more label.
    strength = arms.posterior.sum(axis=1)
    falls = (
        arms.size
        * cell_variances(arms)
        * (strength + arms.unlabelled)
        / np.maximum(arms.unlabelled, 1)
    )
    assert found.argmax() == (falls / (strength + 1)).argmax()
    np.testing.assert_allclose(np.sort(found), [0, 0.025, 0.025, 0.025, 0.925])


def test_comparison_plays_the_group_that_promises_more_confidence(accuracies):
    bandit = Bandit(accuracies([[9, 1], [5, 3], [250, 150]], 10**5), COMPARE, pair=(2, 1))
    np.testing.assert_allclose(shares(bandit), [0.05, 0.95])


def test_with_nothing_left_nothing_is_played(accuracies):
    assert (shares(Bandit(accuracies([[2, 2], [3, 1]], 4), IDENTIFY)) == 0).all()


@pytest.mark.parametrize("question", [ESTIMATE, IDENTIFY, COMPARE])
def test_many_studies_at_once_are_each_as_if_alone(question, accuracies):
    known = np.random.default_rng(1).integers(0, 9, (6, 4, 2))
    found = shares(Bandit(accuracies(known, 40), question, pair=(0, 3)))
    for study in range(6):
        alone = shares(Bandit(accuracies(known[study], 40), question, pair=(0, 3)))
        np.testing.assert_allclose(found[study], alone)
