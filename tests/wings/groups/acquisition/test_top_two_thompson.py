"""Top-two Thompson sampling against drawing again until another option wins."""

import numpy as np
import pytest

from activetest.wings.groups.acquisition import thompson, top_two_thompson
from activetest.wings.groups.acquisition.top_two_thompson import challenger_probabilities
from activetest.wings.groups.bandit import IDENTIFY, Bandit


@pytest.fixture
def accuracies(accuracies):
    """Which of these groups is least accurate?"""
    return lambda known, size=10**6: Bandit(accuracies(known, size), IDENTIFY)


def rng() -> np.random.Generator:
    return np.random.default_rng(23)


KNOWN = [[3, 3], [9, 2], [1, 2], [4, 9]]


def test_challengers_are_who_wins_when_drawing_again_until_another_does():
    won, draws = np.array([0.55, 0.3, 0.1, 0.05]), 200_000
    generator = rng()
    first = generator.choice(4, draws, p=won)
    second = first.copy()
    while (same := second == first).any():
        second[same] = generator.choice(4, same.sum(), p=won)
    found = np.bincount(second, minlength=4) / draws
    expected = challenger_probabilities(won)
    assert expected.sum() == pytest.approx(1)
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected / draws)).all()


def test_half_of_the_plays_are_the_winner_s_and_half_a_challenger_s(accuracies):
    won = thompson.allocate(accuracies(KNOWN), 3000, rng())
    shares = top_two_thompson.allocate(accuracies(KNOWN), 3000, rng())
    np.testing.assert_allclose(shares, 0.5 * won + 0.5 * challenger_probabilities(won))
    assert shares.sum() == pytest.approx(1)


def test_without_drawing_again_it_is_thompson_sampling(monkeypatch, accuracies):
    monkeypatch.setattr(top_two_thompson, "_BETA", 0.0)
    for known in (KNOWN, [[0, 900], [5, 5], [90, 1]]):
        one, other = (
            each.allocate(accuracies(known), 400, rng()) for each in (top_two_thompson, thompson)
        )
        np.testing.assert_allclose(one, other)


def test_a_sure_winner_leaves_half_of_the_plays_to_those_who_are_next(accuracies):
    bandit = accuracies([[0, 900], [50, 50], [900, 9], [50, 50]])
    shares = top_two_thompson.allocate(bandit, 2000, rng())
    assert shares[0] == 0.5
    np.testing.assert_allclose(shares[[1, 3]], 0.25, atol=0.03)
    assert shares[2] == 0


def test_the_only_group_with_room_gets_every_play_and_no_group_without_gets_any(accuracies):
    known = [[1, 1], [2, 2], [4, 0]]
    np.testing.assert_array_equal(
        top_two_thompson.allocate(accuracies(known, [9, 4, 4]), 50, rng()), [1, 0, 0]
    )
    np.testing.assert_array_equal(
        top_two_thompson.allocate(accuracies(known, [2, 4, 4]), 50, rng()), [0, 0, 0]
    )


def test_many_studies_at_once_have_shares_each(accuracies):
    known = np.array([KNOWN, [[0, 900], [50, 50], [900, 9], [50, 50]]])
    shares = top_two_thompson.allocate(accuracies(known), 4000, rng())
    for study in range(2):
        alone = top_two_thompson.allocate(accuracies(known[study]), 4000, rng())
        np.testing.assert_allclose(shares[study], alone, atol=0.04)
