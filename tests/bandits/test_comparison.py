"""Masses of the three regions against Monte Carlo, closed forms and enumeration."""

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.bandits.arms import Arms, dirichlet, samples
from activetest.bandits.comparison import (
    confidence,
    expected_lambda,
    matched_beta,
    region_probabilities,
    regions,
)


def made(size, known, *, kind="accuracy", prior=1.0) -> Arms:
    """Arms of accuracy or error, with uniform priors unless said otherwise."""
    known = np.asarray(known, float)
    cells = known.shape[-2]
    return Arms(
        kind=kind,
        meaning=tuple({"group": str(number)} for number in range(cells)),
        owner=np.arange(cells),
        size=np.asarray(size),
        value=np.tile([1.0, 0.0] if kind == "accuracy" else [0.0, 1.0], (cells, 1)),
        score=np.zeros(cells),
        known=known,
        evidence=known,
        prior=np.full((cells, 2), prior),
    )


def population(right: float, wrong: float) -> np.ndarray:
    """A Beta of no finite pool."""
    return matched_beta(np.array([right, wrong]), np.zeros(()), np.inf, np.inf)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# --- regions


def test_a_difference_of_exactly_the_rope_is_within_it():
    # 0.9 - 0.85 is more than 0.05 in binary, 0.85 - 0.9 less than -0.05.
    difference = np.array([0.9 - 0.85, 0.85 - 0.9, 0.0, 0.2, -0.2])
    np.testing.assert_allclose(regions(difference, 0.05), [0.2, 0.6, 0.2])


def test_regions_are_counted_for_every_study():
    difference = np.array([[0.1, -0.3], [0.2, 0.0]])
    np.testing.assert_allclose(regions(difference, 0.05), [[0, 0, 1], [0.5, 0.5, 0]])


# --- region_probabilities


@pytest.mark.parametrize("rope", [0, 0.05, 0.3])
def test_the_difference_of_two_uniform_values_is_triangular(rope):
    beyond = (1 - rope) ** 2 / 2
    found = region_probabilities(population(1, 1), population(1, 1), rope)
    np.testing.assert_allclose(found, [beyond, 1 - 2 * beyond, beyond], atol=1e-4)


@pytest.mark.parametrize(
    ("one", "two"), [((30, 5), (20, 8)), ((2, 1), (1.2, 0.8)), ((280, 203), (351, 162))]
)
def test_masses_are_those_of_samples(one, two):
    drawn = rng().beta(*one, 10**6) - rng().spawn(1)[0].beta(*two, 10**6)
    wanted = regions(drawn, 0.05)
    found = region_probabilities(population(*one), population(*two), 0.05)
    np.testing.assert_allclose(found, wanted, atol=2.5e-3)


def test_the_paper_s_people_and_trees():
    # Ji 2021, supplement: less accurate on "human" than on "trees" with 96 % probability.
    found = region_probabilities(population(280, 203), population(351, 162), 0.05)
    assert found[0] == pytest.approx(0.96, abs=0.01)


def test_masses_sum_to_one_and_turn_around_when_groups_are_swapped():
    parameters = rng().gamma(2, 3, (200, 2, 2)) + 0.2
    none = np.zeros(200)
    sides = [
        matched_beta(parameters[:, side], none, np.full(200, np.inf), np.full(200, np.inf))
        for side in range(2)
    ]
    found, swapped = region_probabilities(*sides, 0.05), region_probabilities(*sides[::-1], 0.05)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(swapped, found[:, ::-1], atol=3e-3)


def test_masses_of_a_finite_pool_are_those_of_its_samples():
    arms = made([900, 400], [[30, 5], [12, 6]])
    drawn = samples(arms, 200_000, rng())
    wanted = regions(drawn[:, 0] - drawn[:, 1], 0.05)
    np.testing.assert_allclose(confidence(arms, (0, 1), 0.05), wanted, atol=0.01)


def test_what_is_all_labelled_is_decided():
    arms = made([20, 20, 10, 20], [[17, 3], [16, 4], [8, 2], [4, 16]])
    np.testing.assert_allclose(confidence(arms, (0, 1), 0.05), [0, 1, 0])
    np.testing.assert_allclose(confidence(arms, (1, 0), 0.05), [0, 1, 0])
    np.testing.assert_allclose(confidence(arms, (0, 1), 0.04), [0, 0, 1])
    np.testing.assert_allclose(confidence(arms, (1, 2), 0), [0, 1, 0])
    np.testing.assert_allclose(confidence(arms, (3, 2), 0.05), [1, 0, 0])


def test_neighbours_that_differ_by_the_rope_are_within_whatever_their_last_digits():
    # All pairs of k and k + 1 right of 20, one study each, and both ways round.
    right = np.arange(20)
    known = np.stack([right, 20 - right, right + 1, 19 - right], axis=-1).reshape(20, 2, 2)
    arms = made([20, 20], known)
    for pair in ((0, 1), (1, 0)):
        np.testing.assert_allclose(confidence(arms, pair, 0.05), np.tile([0.0, 1, 0], (20, 1)))


def test_one_item_left_is_right_or_wrong():
    arms = made([5, 20], [[2, 2], [10, 10]])
    # 3/5 when it is right, 2/5 when it is wrong, against 10/20.
    np.testing.assert_allclose(confidence(arms, (0, 1), 0.05), [0.5, 0, 0.5], atol=0.01)


def test_masses_of_errors_are_those_of_accuracies_turned_around():
    right, wrong = (made([90, 80], [[30, 5], [12, 6]], kind=kind) for kind in ("accuracy", "error"))
    one, other = (confidence(each, (0, 1), 0.05) for each in (right, wrong))
    np.testing.assert_allclose(other, one[::-1], atol=1e-4)


# --- the Beta that a group's mean is taken for


def test_a_described_group_has_the_mean_and_variance_of_its_beta_binomial():
    exact = betabinom(30, 4.5, 1.5)
    certain, room, one, other = matched_beta(np.array([4.5, 1.5]), np.array(7.0), 30.0, 42.0)
    mean = certain + room * one / (one + other)
    variance = room**2 * one * other / (one + other) ** 2 / (one + other + 1)
    assert mean == pytest.approx((7 + exact.mean()) / 42)
    assert variance == pytest.approx(exact.var() / 42**2)


def test_in_an_endless_pool_a_group_is_its_beta():
    np.testing.assert_allclose(population(4.5, 1.5), [0, 1, 4.5, 1.5])


# --- what one more label promises


def test_hopes_are_the_confidence_after_either_label():
    arms = made([90, 80], [[30, 5], [12, 6]])
    theta = dirichlet(arms.posterior, 4, rng())
    for place in range(2):
        wanted = 0.0
        for outcome in range(2):
            more = np.zeros((2, 2))
            more[place, outcome] = 1
            after = confidence(arms, (0, 1), 0.05, more).max()
            wanted = wanted + theta[:, place, outcome] * after
        found = expected_lambda(arms, theta, (0, 1), 0.05)[:, place]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_label_is_expected_to_leave_masses_as_they_are_and_confidence_no_lower():
    known = rng().integers(0, 12, (200, 2, 2))
    arms = made([10**6, 10**6], known)
    now = confidence(arms, (0, 1), 0.05)
    for place in range(2):
        ends = []
        for outcome in range(2):
            more = np.zeros((2, 2))
            more[place, outcome] = 1
            chance = arms.mean[:, place, [outcome]]
            ends.append(chance * confidence(arms, (0, 1), 0.05, more))
        np.testing.assert_allclose(sum(ends), now, atol=1e-4)
    hoped = expected_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    gain = hoped - now.max(axis=1)[:, None]
    assert (gain > -1e-4).all()
    assert gain.max() > 0.05


def test_where_no_label_can_turn_the_decision_neither_group_promises_more():
    arms = made([10**5, 10**5], [[20, 2], [150, 250]])
    first, second = expected_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    assert first == second
    assert first == pytest.approx(confidence(arms, (0, 1), 0.05).max(), abs=1e-5)


def test_labels_that_can_turn_the_decision_promise_most():
    # Hardly a label of the first group, many of the second, and not yet decided.
    arms = made([10**5, 10**5], [[5, 3], [250, 150]])
    first, second = expected_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    assert first > second


def test_no_label_beyond_the_pool_breaks_it():
    arms = made([4, 9], [[2, 2], [2, 1]])
    theta = dirichlet(arms.posterior, 5, rng())
    assert np.isfinite(expected_lambda(arms, theta, (0, 1), 0.05)).all()


def test_many_studies_at_once_are_each_as_if_alone():
    known = rng().integers(0, 9, (6, 3, 2))
    whole = made([90, 50, 40], known)
    theta = dirichlet(whole.posterior, 4, rng())
    found, hoped = confidence(whole, (2, 0), 0.05), expected_lambda(whole, theta, (2, 0), 0.05)
    assert hoped.shape == (4, 6, 2)
    for study in range(6):
        one = made([90, 50, 40], known[study])
        np.testing.assert_allclose(found[study], confidence(one, (2, 0), 0.05), atol=1e-12)
        alone = expected_lambda(one, theta[:, study], (2, 0), 0.05)
        np.testing.assert_allclose(hoped[:, study], alone, atol=1e-12)
