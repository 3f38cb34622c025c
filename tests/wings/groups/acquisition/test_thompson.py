"""Thompson sampling against the probabilities that it samples."""

import numpy as np
import pytest
from scipy.stats import beta

from activetest.wings.groups.acquisition import thompson
from activetest.wings.groups.acquisition._rewards import share_among_winners
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.bandit import COMPARE, ESTIMATE, IDENTIFY, QUESTIONS, Bandit


def rng() -> np.random.Generator:
    return np.random.default_rng(17)


KNOWN = [[3, 3], [9, 2], [1, 2], [30, 25], [0, 0]]


def test_a_group_is_chosen_as_often_as_it_is_the_worst(accuracies):
    shares = thompson.allocate(Bandit(accuracies(KNOWN), IDENTIFY), 20_000, rng())
    # P(all others are above) integrated over each group's accuracy.
    nodes, weights = np.polynomial.legendre.leggauss(400)
    nodes, weights = (nodes + 1) / 2, weights / 2
    betas = [beta(1 + right, 1 + wrong) for right, wrong in KNOWN]
    for arm, first in enumerate(betas):
        above = np.prod([second.sf(nodes) for second in betas if second is not first], axis=0)
        prob = weights @ (first.pdf(nodes) * above)
        error = np.sqrt(prob * (1 - prob) / 20_000)
        assert shares[arm] == pytest.approx(prob, abs=4.5 * error)


def test_each_of_the_m_worst_gets_its_part_of_the_plays(accuracies):
    arms = accuracies([[90, 10], [10, 90], [95, 5], [20, 80], [5, 95]])
    shares = thompson.allocate(Bandit(arms, IDENTIFY, worst=3), 200, rng())
    np.testing.assert_allclose(shares, [0, 1 / 3, 0, 1 / 3, 1 / 3])


def test_with_one_group_to_find_many_plays_are_one(accuracies):
    arms = accuracies(KNOWN)
    first, second = (
        thompson.allocate(Bandit(arms, IDENTIFY, worst=worst), 500, rng()) for worst in (1, 5)
    )
    assert first.max() > 0.2
    np.testing.assert_allclose(second, 0.2)


@pytest.mark.parametrize("worst", [1, 2, 3])
def test_groups_that_tie_share_whatever_their_order(worst, accuracies):
    arms = accuracies(np.zeros((4, 2)), size=[3, 7, 50, 11], prior=[1.0, 0.0])
    shares = thompson.allocate(Bandit(arms, IDENTIFY, worst=worst), 20, rng())
    np.testing.assert_allclose(shares, 0.25)


@pytest.mark.parametrize("question", QUESTIONS)
def test_groups_without_room_get_nothing(question, accuracies):
    arms = accuracies([[2, 2], [0, 4], [3, 1], [1, 1]], size=[4, 4, 9, 9])
    bandit = Bandit(arms, question, pair=(1, 3))
    shares = thompson.allocate(bandit, 50, rng())
    assert shares.sum() == pytest.approx(1)
    assert (shares[bandit.unlabelled == 0] == 0).all()
    none = Bandit(accuracies([[2, 2], [0, 4]], size=4), question, pair=(0, 1))
    assert (thompson.allocate(none, 50, rng()) == 0).all()


def test_more_groups_to_find_than_have_room_share_the_plays(accuracies):
    arms = accuracies([[2, 2], [0, 4], [3, 1], [1, 1]], size=[4, 4, 9, 9])
    shares = thompson.allocate(Bandit(arms, IDENTIFY, worst=3), 50, rng())
    np.testing.assert_allclose(shares, [0, 0, 0.5, 0.5])


@pytest.mark.parametrize("question", [ESTIMATE, IDENTIFY])
def test_error_and_accuracy_choose_alike(question, accuracies):
    first, second = (
        thompson.allocate(Bandit(accuracies(KNOWN, kind=kind, size=500), question), 400, rng())
        for kind in ("accuracy", "error")
    )
    np.testing.assert_allclose(first, second)


def test_estimation_chooses_groups_by_size_and_doubt(accuracies):
    arms = accuracies([[5, 5], [5, 5], [500, 500], [9, 1]], size=[100, 900, 1100, 100])
    shares = thompson.allocate(Bandit(arms, ESTIMATE), 500, rng())
    assert shares.argmax() == 1
    assert shares[2] == 0


def test_comparison_never_leaves_its_pair(accuracies):
    bandit = Bandit(accuracies(KNOWN), COMPARE, pair=(3, 1))
    shares = thompson.allocate(bandit, 500, rng())
    assert shares.shape == (2,)
    cells = bandit.spread_over_cells(shares)
    np.testing.assert_allclose(cells[[3, 1]], shares)
    assert cells.sum() == pytest.approx(1)


def test_calibration_is_judged_whatever_its_direction(accuracies):
    # Far too sure, far too unsure, and calibrated.
    arms = accuracies([[10, 90], [90, 10], [50, 50]], kind="ece")
    certain = Bandit(
        Arms(**{**vars(arms), "mean_confidence": np.array([0.9, 0.05, 0.5])}), IDENTIFY, worst=2
    )
    np.testing.assert_allclose(thompson.allocate(certain, 200, rng()), [0.5, 0.5, 0])


def test_winners_are_the_largest_and_ties_share_the_places_left():
    rewards = np.array([[3.0, 1.0, 2.0, 2.0], [5.0, 5.0, 5.0, -np.inf], [-np.inf] * 4])
    np.testing.assert_allclose(share_among_winners(rewards, 1)[0], [1, 0, 0, 0])
    np.testing.assert_allclose(share_among_winners(rewards, 2)[0], [0.5, 0, 0.25, 0.25])
    np.testing.assert_allclose(share_among_winners(rewards, 2)[1], [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(share_among_winners(rewards, 9)[1], [1 / 3, 1 / 3, 1 / 3, 0])
    assert (share_among_winners(rewards, 2)[2] == 0).all()


def test_many_studies_at_once_have_shares_each(accuracies):
    known = rng().integers(0, 9, (8, 5, 2))
    shares = thompson.allocate(Bandit(accuracies(known, size=30), IDENTIFY, worst=2), 4000, rng())
    assert shares.shape == (8, 5)
    for study in range(8):
        alone = Bandit(accuracies(known[study], size=30), IDENTIFY, worst=2)
        np.testing.assert_allclose(shares[study], thompson.allocate(alone, 4000, rng()), atol=0.04)


def test_rewards_that_differ_by_rounding_alone_share_a_place():
    rewards = np.array([0.3, 0.1, 0.3 * (1 + 1e-13), -np.inf, 0.3 * (1 - 1e-13)])
    np.testing.assert_allclose(share_among_winners(rewards, 1), [1 / 3, 0, 1 / 3, 0, 1 / 3])
    np.testing.assert_allclose(share_among_winners(rewards, 4), [0.25, 0.25, 0.25, 0, 0.25])
