"""Which arms a batch is spread over."""

import numpy as np
from pytest import approx

from activetest.acquisition.surface_variance import ARMS, ArmCounts, rank_arms
from activetest.nouns.surface import Surface


def surface(phi, psi) -> Surface:
    phi, psi = np.asarray(phi, float)[None], np.asarray(psi, float)[None]
    return Surface("beta", phi[0], phi, psi, lambda codes: (phi, psi))


def rank(which, counts, *, least=5, draws=12, seed=1):
    return rank_arms(which, counts, least, draws, np.random.default_rng(seed))


def counts(support, known, free=None) -> ArmCounts:
    support, known = np.asarray(support, float), np.asarray(known, float)
    return ArmCounts(support, known, support - known if free is None else np.asarray(free, float))


def test_arms_without_a_label_come_first_and_share_alike():
    arms = 40
    known = np.where(np.arange(arms) < 10, 0, 3)
    psi = np.where(np.arange(arms) < 10, 50.0, 0.5)
    share = rank(surface(np.full(arms, 0.5), psi), counts(np.full(arms, 20), known))
    assert np.flatnonzero(share)[:10].tolist() == list(range(10))
    assert np.count_nonzero(share) == ARMS
    assert share[share > 0] == approx(1 / ARMS)


def test_of_explored_arms_the_most_uncertain_ones():
    arms = 30
    psi = np.arange(arms) + 1.0
    share = rank(surface(np.full(arms, 0.5), psi), counts(np.full(arms, 50), np.full(arms, 1)))
    assert np.flatnonzero(share).tolist() == list(range(ARMS))


def test_small_arms_and_those_without_free_items_are_left_out():
    share = rank(
        surface(np.full(4, 0.5), np.ones(4)),
        counts([4, 5, 6, 7], [0, 5, 0, 0], [4, 0, 6, 0]),
    )
    assert share == approx([0, 0, 1, 0])
    assert not rank(surface([0.5], [1.0]), counts([4], [0])).any()


def test_what_is_known_of_an_arm_leaves_less_to_learn():
    """The same surface; of 100 items of the first arm 90 are known, of the second arm's 10."""
    which = surface(np.full(14, 0.5), np.full(14, 2.0))
    known = np.full(14, 10.0)
    known[0] = 90
    share = rank(which, counts(np.full(14, 100.0), known))
    assert share[0] == 0


def test_a_large_batch_goes_on_to_other_arms():
    arms = 60
    which = surface(np.full(arms, 0.5), np.linspace(1, 2, arms))
    explored = counts(np.full(arms, 50), np.full(arms, 1))
    share = rank(which, explored, draws=36)
    assert np.count_nonzero(share) > ARMS
    assert share.sum() == approx(1)
    # A label leaves v r / (v + r): of equal arms none comes twice before all have been chosen.
    equal = surface(np.full(24, 0.5), np.ones(24))
    share = rank(equal, counts(np.full(24, 50), np.full(24, 1)), draws=24)
    assert share == approx(1 / 24)


def test_ties_fall_differently_from_round_to_round():
    equal = surface(np.full(50, 0.5), np.ones(50))
    unseen = counts(np.full(50, 20), np.zeros(50))
    found = {tuple(np.flatnonzero(rank(equal, unseen, seed=seed))) for seed in range(5)}
    assert len(found) == 5


def test_parts_of_labels_explore_an_arm_once_they_are_half_of_one():
    which = surface(np.full(20, 0.5), np.full(20, 9.0))
    known = np.full(20, 0.7)
    known[:8] = 0.4
    share = rank(which, counts(np.full(20, 30.5), known))
    assert set(range(8)) <= set(np.flatnonzero(share))
