"""Masses of the three regions against Monte Carlo, closed forms and enumeration."""

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.wings.groups.arms import Arms, sample_dirichlet, sample_values
from activetest.wings.groups.comparison import (
    compare_arms,
    count_regions,
    expect_lambda,
    integrate_regions,
    match_beta,
)


def make_arms(size, known, *, kind="accuracy", prior=1.0) -> Arms:
    """Arms of accuracy or error, with uniform priors unless said otherwise."""
    known = np.asarray(known, float)
    cells = known.shape[-2]
    return Arms(
        kind=kind,
        groups=tuple({"group": str(number)} for number in range(cells)),
        arm_of_cell=np.arange(cells),
        size=np.asarray(size),
        value=np.tile([1.0, 0.0] if kind == "accuracy" else [0.0, 1.0], (cells, 1)),
        mean_confidence=np.zeros(cells),
        known_counts=known,
        exchangeable_counts=known,
        prior=np.full((cells, 2), prior),
    )


def population(right: float, wrong: float) -> np.ndarray:
    """A Beta of no finite pool."""
    return match_beta(np.array([right, wrong]), np.zeros(()), np.inf, np.inf)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


# --- regions


def test_a_difference_of_exactly_the_rope_is_within_it():
    # 0.9 - 0.85 is more than 0.05 in binary, 0.85 - 0.9 less than -0.05.
    difference = np.array([0.9 - 0.85, 0.85 - 0.9, 0.0, 0.2, -0.2])
    np.testing.assert_allclose(count_regions(difference, 0.05), [0.2, 0.6, 0.2])


def test_regions_are_counted_for_every_study():
    difference = np.array([[0.1, -0.3], [0.2, 0.0]])
    np.testing.assert_allclose(count_regions(difference, 0.05), [[0, 0, 1], [0.5, 0.5, 0]])


# --- region_probabilities


@pytest.mark.parametrize("rope", [0, 0.05, 0.3])
def test_the_difference_of_two_uniform_values_is_triangular(rope):
    beyond = (1 - rope) ** 2 / 2
    found = integrate_regions(population(1, 1), population(1, 1), rope)
    np.testing.assert_allclose(found, [beyond, 1 - 2 * beyond, beyond], atol=1e-4)


@pytest.mark.parametrize(
    ("one", "two"), [((30, 5), (20, 8)), ((2, 1), (1.2, 0.8)), ((280, 203), (351, 162))]
)
def test_masses_are_those_of_samples(one, two):
    drawn = rng().beta(*one, 10**6) - rng().spawn(1)[0].beta(*two, 10**6)
    expected = count_regions(drawn, 0.05)
    found = integrate_regions(population(*one), population(*two), 0.05)
    np.testing.assert_allclose(found, expected, atol=2.5e-3)


def test_the_paper_s_people_and_trees():
    # Ji 2021, supplement: less accurate on "human" than on "trees" with 96 % probability.
    found = integrate_regions(population(280, 203), population(351, 162), 0.05)
    assert found[0] == pytest.approx(0.96, abs=0.01)


def test_masses_sum_to_one_and_turn_around_when_groups_are_swapped():
    parameters = rng().gamma(2, 3, (200, 2, 2)) + 0.2
    none = np.zeros(200)
    sides = [
        match_beta(parameters[:, side], none, np.full(200, np.inf), np.full(200, np.inf))
        for side in range(2)
    ]
    found, swapped = integrate_regions(*sides, 0.05), integrate_regions(*sides[::-1], 0.05)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(swapped, found[:, ::-1], atol=3e-3)


def test_masses_of_a_finite_pool_are_those_of_its_samples():
    arms = make_arms([900, 400], [[30, 5], [12, 6]])
    drawn = sample_values(arms, 200_000, rng())
    expected = count_regions(drawn[:, 0] - drawn[:, 1], 0.05)
    np.testing.assert_allclose(compare_arms(arms, (0, 1), 0.05), expected, atol=0.01)


def test_what_is_all_labelled_is_decided():
    arms = make_arms([20, 20, 10, 20], [[17, 3], [16, 4], [8, 2], [4, 16]])
    np.testing.assert_allclose(compare_arms(arms, (0, 1), 0.05), [0, 1, 0])
    np.testing.assert_allclose(compare_arms(arms, (1, 0), 0.05), [0, 1, 0])
    np.testing.assert_allclose(compare_arms(arms, (0, 1), 0.04), [0, 0, 1])
    np.testing.assert_allclose(compare_arms(arms, (1, 2), 0), [0, 1, 0])
    np.testing.assert_allclose(compare_arms(arms, (3, 2), 0.05), [1, 0, 0])


def test_neighbours_that_differ_by_the_rope_are_within_whatever_their_last_digits():
    # All pairs of k and k + 1 right of 20, one study each, and both ways round.
    right = np.arange(20)
    known = np.stack([right, 20 - right, right + 1, 19 - right], axis=-1).reshape(20, 2, 2)
    arms = make_arms([20, 20], known)
    for pair in ((0, 1), (1, 0)):
        np.testing.assert_allclose(compare_arms(arms, pair, 0.05), np.tile([0.0, 1, 0], (20, 1)))


def test_one_item_left_is_right_or_wrong():
    arms = make_arms([5, 20], [[2, 2], [10, 10]])
    # 3/5 when it is right, 2/5 when it is wrong, against 10/20.
    np.testing.assert_allclose(compare_arms(arms, (0, 1), 0.05), [0.5, 0, 0.5], atol=0.01)


def test_masses_of_errors_are_those_of_accuracies_turned_around():
    right, wrong = (
        make_arms([90, 80], [[30, 5], [12, 6]], kind=kind) for kind in ("accuracy", "error")
    )
    one, second_arm = (compare_arms(each, (0, 1), 0.05) for each in (right, wrong))
    np.testing.assert_allclose(second_arm, one[::-1], atol=1e-4)


# --- the Beta that a group's mean is taken for


def test_a_described_group_has_the_mean_and_variance_of_its_beta_binomial():
    exact = betabinom(30, 4.5, 1.5)
    certain, room, one, second_arm = match_beta(np.array([4.5, 1.5]), np.array(7.0), 30.0, 42.0)
    mean = certain + room * one / (one + second_arm)
    variance = room**2 * one * second_arm / (one + second_arm) ** 2 / (one + second_arm + 1)
    assert mean == pytest.approx((7 + exact.mean()) / 42)
    assert variance == pytest.approx(exact.var() / 42**2)


def test_in_an_endless_pool_a_group_is_its_beta():
    np.testing.assert_allclose(population(4.5, 1.5), [0, 1, 4.5, 1.5])


# --- what one more label promises


def test_hopes_are_the_confidence_after_either_label():
    arms = make_arms([90, 80], [[30, 5], [12, 6]])
    theta = sample_dirichlet(arms.posterior, 4, rng())
    for place in range(2):
        expected = 0.0
        for outcome in range(2):
            extra = np.zeros((2, 2))
            extra[place, outcome] = 1
            after = compare_arms(arms, (0, 1), 0.05, extra).max()
            expected = expected + theta[:, place, outcome] * after
        found = expect_lambda(arms, theta, (0, 1), 0.05)[:, place]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_label_is_expected_to_leave_masses_as_they_are_and_confidence_no_lower():
    known = rng().integers(0, 12, (200, 2, 2))
    arms = make_arms([10**6, 10**6], known)
    now = compare_arms(arms, (0, 1), 0.05)
    for place in range(2):
        ends = []
        for outcome in range(2):
            extra = np.zeros((2, 2))
            extra[place, outcome] = 1
            prob = arms.mean[:, place, [outcome]]
            ends.append(prob * compare_arms(arms, (0, 1), 0.05, extra))
        np.testing.assert_allclose(sum(ends), now, atol=1e-4)
    hoped = expect_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    gain = hoped - now.max(axis=1)[:, None]
    assert (gain > -1e-4).all()
    assert gain.max() > 0.05


def test_where_no_label_can_turn_the_decision_neither_group_promises_more():
    arms = make_arms([10**5, 10**5], [[20, 2], [150, 250]])
    first, second = expect_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    assert first == second
    assert first == pytest.approx(compare_arms(arms, (0, 1), 0.05).max(), abs=1e-5)


def test_labels_that_can_turn_the_decision_promise_most():
    # Hardly a label of the first group, many of the second, and not yet decided.
    arms = make_arms([10**5, 10**5], [[5, 3], [250, 150]])
    first, second = expect_lambda(arms, arms.mean[None], (0, 1), 0.05)[0]
    assert first > second


def test_no_label_beyond_the_pool_breaks_it():
    arms = make_arms([4, 9], [[2, 2], [2, 1]])
    theta = sample_dirichlet(arms.posterior, 5, rng())
    assert np.isfinite(expect_lambda(arms, theta, (0, 1), 0.05)).all()


def test_many_studies_at_once_are_each_as_if_alone():
    known = rng().integers(0, 9, (6, 3, 2))
    whole = make_arms([90, 50, 40], known)
    theta = sample_dirichlet(whole.posterior, 4, rng())
    found, hoped = compare_arms(whole, (2, 0), 0.05), expect_lambda(whole, theta, (2, 0), 0.05)
    assert hoped.shape == (4, 6, 2)
    for study in range(6):
        one = make_arms([90, 50, 40], known[study])
        np.testing.assert_allclose(found[study], compare_arms(one, (2, 0), 0.05), atol=1e-12)
        alone = expect_lambda(one, theta[:, study], (2, 0), 0.05)
        np.testing.assert_allclose(hoped[:, study], alone, atol=1e-12)
