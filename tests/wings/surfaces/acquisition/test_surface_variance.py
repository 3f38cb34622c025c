"""Arms that a batch is spread over, and what a label is worth."""

import numpy as np
from pytest import approx

from activetest.nouns.surface import Surface
from activetest.wings.surfaces.acquisition import surface_variance
from activetest.wings.surfaces.acquisition.surface_variance import ARMS, ArmCounts, rank_arms


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


def correlated(arms=8, draws=60, seed=1) -> Surface:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(draws, 2)) @ rng.normal(size=(2, arms))
    phi = 1 / (1 + np.exp(-common))
    psi = rng.uniform(2, 20, (draws, arms))
    return Surface("stacked", phi.mean(axis=0), phi, psi, lambda codes: (phi, psi))


def test_the_worth_of_a_label_is_what_it_takes_off_the_variance_of_all_arms():
    """Cov(T, y)^2 / Var y over arms in question, T an arm's mean in the pool, y a label."""
    which = correlated()
    support, known = np.array([3, 9, 9, 20, 30, 40, 50, 60.0]), np.array([0, 9, 3, 0, 1, 2, 0, 5.0])
    plan = surface_variance._Plan(which, ArmCounts(support, known, support - known), 5, alone=False)
    across = np.cov(which.phi.T, bias=True)
    own = (which.phi * (1 - which.phi) / (which.psi + 1)).mean(axis=0)
    noise = which.mean * (1 - which.mean)
    for arm, value in enumerate(plan.find_value()):
        covariance = (support - known) / support * across[arm]
        rest = support[arm] - known[arm]
        total = across[arm, arm] + own[arm]
        covariance[arm] = (noise[arm] + max(rest - 1, 0) * total) / support[arm]
        assert value == approx((covariance[1:] ** 2).sum() / noise[arm], rel=1e-4)


def test_after_a_label_the_others_are_as_uncertain_as_they_would_be():
    """Of normal variables: the covariance less the product of those with the label."""
    which = correlated()
    many = counts(np.full(8, 50), np.zeros(8))
    plan = surface_variance._Plan(which, many, 5, alone=False)
    before = np.cov(which.phi.T, bias=True)
    own, noise = plan.own.copy(), which.mean * (1 - which.mean)
    plan.observe(3)
    after = before - np.outer(before[3], before[3]) / noise[3]
    assert plan.centred.T @ plan.centred == approx(after, abs=1e-6)
    assert plan.own[3] == approx(own[3] * noise[3] / (noise[3] + own[3]))
    assert (plan.known[3], plan.rest[3]) == (1, 49)


def test_arms_that_tell_of_each_other_are_not_all_labelled():
    """Thirteen arms with one value in common, and twelve that vary less, each by itself."""
    rng = np.random.default_rng(2)
    draws = 4000
    common = 0.5 + 0.3 * rng.choice([-1, 1], (draws, 1)) * np.ones((1, 13))
    alone = 0.5 + 0.29 * rng.choice([-1, 1], (draws, 12))
    phi = np.hstack([common, alone])
    which = Surface(
        "stacked", phi.mean(axis=0), phi, np.full((1, 25), 1e6), lambda codes: (phi, phi)
    )
    many = counts(np.full(25, 1000), np.full(25, 1))
    share = rank(which, many)
    assert 4 < np.count_nonzero(share[:13]) < 12
    paper = rank_arms(which, many, 5, 12, np.random.default_rng(1), alone=True)
    assert np.count_nonzero(paper[:13]) == 12


def test_the_papers_rule_looks_at_the_variance_of_each_arm_alone():
    which = correlated(arms=30)
    many = counts(np.full(30, 1000), np.full(30, 1))
    share = rank_arms(which, many, 5, 12, np.random.default_rng(1), alone=True)
    assert set(np.flatnonzero(share)) == set(np.argsort(-which.variance)[:ARMS])


def test_of_very_many_arms_several_are_chosen_at_a_time(monkeypatch):
    monkeypatch.setattr(surface_variance, "_AFFORDABLE", 1)
    share = rank(correlated(arms=40), counts(np.full(40, 30), np.zeros(40)))
    assert share[share > 0] == approx(1 / ARMS)
