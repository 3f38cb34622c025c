"""Rewards against brute force: every outcome of one more label, every split of what is unknown."""

import itertools
from dataclasses import replace
from math import lgamma

import numpy as np
import pytest

from activetest.wings.groups.arms import (
    Arms,
    cell_variances,
    compute_values,
    expect_outcome_shares,
    sample_dirichlet,
    sample_outcome_shares,
)
from activetest.wings.groups.bandit import COMPARE, ESTIMATE, IDENTIFY, Bandit
from activetest.wings.groups.comparison import expect_lambda

RIGHT = np.array([[1.0, 0.0]])


def make_arms(
    kind, size, known, prior, *, arm_of_cell=None, value=RIGHT, mean_confidence=None
) -> Arms:
    """Arms of one cell each by default."""
    known, prior = np.asarray(known, float), np.asarray(prior, float)
    cells, width = prior.shape
    arm_of_cell = np.arange(cells) if arm_of_cell is None else np.asarray(arm_of_cell)
    return Arms(
        kind=kind,
        groups=tuple({"group": str(number)} for number in range(arm_of_cell.max() + 1)),
        arm_of_cell=arm_of_cell,
        size=np.asarray(size),
        value=np.broadcast_to(value, (cells, width)),
        mean_confidence=np.zeros(cells)
        if mean_confidence is None
        else np.asarray(mean_confidence, float),
        known_counts=known,
        exchangeable_counts=known,
        prior=prior,
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def enumerate_variance(parameters, unlabelled: int, size: int, values) -> float:
    """Variance of a cell's mean, over every split of the rest; summed over worths (W, J)."""
    probs, means = [], []
    for split in itertools.product(range(unlabelled + 1), repeat=len(parameters)):
        if sum(split) == unlabelled:
            log = (
                lgamma(unlabelled + 1)
                + lgamma(sum(parameters))
                - lgamma(unlabelled + sum(parameters))
            )
            for count, each in zip(split, parameters, strict=True):
                log += lgamma(count + each) - lgamma(each) - lgamma(count + 1)
            probs.append(np.exp(log))
            means.append(np.asarray(values) @ split / size)
    means = np.array(means)
    return float((probs @ (means - probs @ means) ** 2).sum())


def add_label(arms: Arms, cell: int, outcome: int) -> Arms:
    """The arms after one more label."""
    added = np.zeros(arms.known_counts.shape)
    added[..., cell, outcome] = 1
    return replace(
        arms,
        known_counts=arms.known_counts + added,
        exchangeable_counts=arms.exchangeable_counts + added,
    )


# --- estimation

COSTS = np.array([[0.0, 3.0, 1.0]])
VALUES = {"accuracy": RIGHT, "cost": COSTS, "confusion": np.eye(3)}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("unlabelled", [1, 2, 5])
def test_the_fall_of_the_variance_is_that_of_every_outcome_enumerated(kind, unlabelled):
    values = VALUES[kind]
    width = values.shape[1]
    prior, known = np.array([0.9, 0.4, 0.2])[:width], np.array([2, 1, 0])[:width]
    size = int(known.sum()) + unlabelled
    arms = make_arms(kind, [size], [known], [prior], value=values[:1])
    theta = np.array([0.2, 0.5, 0.3])[:width] / np.array([0.2, 0.5, 0.3])[:width].sum()
    expected = enumerate_variance(prior + known, unlabelled, size, values)
    for outcome, prob in enumerate(theta):
        first = np.arange(width) == outcome
        expected -= prob * enumerate_variance(prior + known + first, unlabelled - 1, size, values)
    reduction = Bandit(arms, ESTIMATE).variance_reductions(theta[None, None])
    np.testing.assert_allclose(reduction, [[expected]])


def test_the_last_label_takes_all_the_doubt_and_after_it_there_is_none_to_take():
    arms = make_arms("accuracy", [4, 3, 1], [[2, 1], [2, 1], [0, 0]], np.ones((3, 2)))
    reduction = Bandit(arms, ESTIMATE).variance_reductions(
        sample_dirichlet(arms.posterior, 50, rng())
    )
    for arm in (0, 2):
        np.testing.assert_allclose(reduction[:, arm], cell_variances(arms)[arm])
    assert (reduction[:, 1] == 0).all()


def test_no_label_is_expected_to_harm():
    known = rng().integers(0, 9, (40, 3))
    for kind in VALUES:
        value = COSTS if kind != "accuracy" else RIGHT
        arms = make_arms(
            kind,
            np.full(40, 30),
            known[:, : value.shape[1]],
            np.full((40, value.shape[1]), 0.1),
            value=value,
        )
        assert (Bandit(arms, ESTIMATE).expected_rewards(rng()) > 0).all()


def make_cost_arms() -> Arms:
    """Two groups, of two cells and one, that are judged by cost."""
    return make_arms(
        "cost",
        [10, 30, 60],
        [[2, 1, 0], [4, 4, 1], [9, 0, 0]],
        np.full((3, 3), 0.3),
        arm_of_cell=[0, 0, 1],
        value=np.array([[0, 1, 2], [3, 0, 1], [1, 5, 0.0]]),
    )


def test_estimation_lowers_the_groups_variances_weighted_by_their_size():
    arms = make_cost_arms()

    def total_variance(first: Arms) -> float:
        return float(first.sum_cells(cell_variances(first) * first.weight**2) @ [0.4, 0.6])

    theta = sample_dirichlet(arms.posterior, 3, rng())
    expected = np.full((3, 3), total_variance(arms))
    for cell, outcome in itertools.product(range(3), range(3)):
        expected[:, cell] -= theta[:, cell, outcome] * total_variance(
            add_label(arms, cell, outcome)
        )
    np.testing.assert_allclose(Bandit(arms, ESTIMATE).rewards(theta, rng()), expected)


def test_calibration_lowers_the_variances_of_its_bins():
    arms = make_arms(
        "ece", [10, 30, 60], [[2, 1], [4, 4], [9, 0]], np.ones((3, 2)), arm_of_cell=[0, 0, 1]
    )
    accuracy = make_arms("accuracy", [10, 30, 60], [[2, 1], [4, 4], [9, 0]], np.ones((3, 2)))
    theta = sample_dirichlet(arms.posterior, 3, rng())
    first, changed = (Bandit(each, ESTIMATE).rewards(theta, rng()) for each in (arms, accuracy))
    np.testing.assert_allclose(first, changed)


@pytest.mark.parametrize("sampled", [False, True])
def test_in_the_long_run_labels_go_by_the_root_of_size_and_variance(sampled):
    probs, size = np.array([0.5, 0.8, 0.7, 0.95]), np.array([1, 1, 4, 2]) * 10**6
    generator, studies = rng(), np.arange(25)
    counts = np.zeros((len(studies), 4, 2))
    arms = make_arms("accuracy", size, counts[0], np.ones((4, 2)))
    for _ in range(2000):
        arms = replace(arms, known_counts=counts, exchangeable_counts=counts)
        theta = sample_dirichlet(arms.posterior, 1, generator) if sampled else arms.mean[None]
        arm = Bandit(arms, ESTIMATE).rewards(theta, generator)[0].argmax(axis=-1)
        wrong = generator.random(len(studies)) >= probs[arm]
        counts[studies, arm, wrong.astype(int)] += 1
    expected = np.sqrt(size * probs * (1 - probs))
    found = counts.sum(axis=-1).mean(axis=0) / 2000
    np.testing.assert_allclose(found, expected / expected.sum(), atol=0.015)


# --- identification


def test_identification_rewards_the_worst():
    known = [[5, 1], [2, 6], [3, 0]]
    right = make_arms("accuracy", [20, 30, 3], known, np.ones((3, 2)))
    wrong = make_arms("error", [20, 30, 3], known, np.ones((3, 2)), value=1 - RIGHT)
    theta = sample_dirichlet(right.posterior, 30, rng())
    first, changed = (Bandit(each, IDENTIFY).rewards(theta, rng()) for each in (right, wrong))
    expected = -compute_values(right, sample_outcome_shares(right, theta, rng()))
    np.testing.assert_allclose(first[:, :2], expected[:, :2])
    np.testing.assert_allclose(changed[:, :2], 1 + first[:, :2])
    assert (first[:, 2] == -np.inf).all()


@pytest.mark.parametrize("question", [ESTIMATE, IDENTIFY])
def test_greedy_rewards_are_those_expected_of_the_posterior(question):
    arms = make_arms(
        "cost", [20, 30, 25], [[2, 1, 0], [4, 4, 1], [9, 0, 0]], np.full((3, 3), 0.3), value=COSTS
    )
    bandit = Bandit(arms, question)
    rewards = bandit.rewards(sample_dirichlet(arms.posterior, 20_000, rng()), rng())
    errors = rewards.std(axis=0) / np.sqrt(len(rewards))
    assert (np.abs(rewards.mean(axis=0) - bandit.expected_rewards(rng())) < 4 * errors).all()


# --- comparison


@pytest.mark.parametrize("kind", ["accuracy", "error"])
def test_comparison_of_accuracies_rewards_confidence(kind):
    arms = make_arms(
        kind,
        [40, 50, 60],
        [[5, 1], [2, 6], [3, 0]],
        np.ones((3, 2)),
        value=RIGHT if kind == "accuracy" else 1 - RIGHT,
    )
    theta = sample_dirichlet(arms.posterior, 7, rng())
    rewards = Bandit(arms, COMPARE, pair=(2, 0), rope=0.1).rewards(theta, rng())
    np.testing.assert_array_equal(rewards, expect_lambda(arms, theta, (2, 0), 0.1))


def test_comparison_of_costs_rewards_the_fall_of_the_variance_by_a_label_anywhere_in_the_group():
    arms = make_cost_arms()
    theta = sample_dirichlet(arms.posterior, 3, rng())

    def variance(first: Arms, arm: int) -> float:
        return float(first.sum_cells(cell_variances(first) * first.weight**2)[arm])

    expected = np.array([[variance(arms, 1), variance(arms, 0)]] * 3)
    for cell, outcome in itertools.product(range(3), range(3)):
        arm = arms.arm_of_cell[cell]
        prob = (
            theta[:, cell, outcome] * arms.unlabelled[cell] / arms.sum_cells(arms.unlabelled)[arm]
        )
        expected[:, 1 - arm] -= prob * variance(add_label(arms, cell, outcome), arm)
    rewards = Bandit(arms, COMPARE, pair=(1, 0)).rewards(theta, rng())
    np.testing.assert_allclose(rewards, expected)


def test_the_last_item_of_a_group_is_rewarded_for_all_of_its_variance():
    known = [[4, 3, 2], [2, 2, 2]]
    arms = make_arms("cost", [10, 20], known, np.ones((2, 3)), value=COSTS)
    theta = sample_dirichlet(arms.posterior, 4, rng())
    rewards = Bandit(arms, COMPARE, pair=(0, 1)).rewards(theta, rng())
    assert rewards[:, 0] == pytest.approx(cell_variances(arms)[0] * arms.weight[0] ** 2)


# --- options and cells


def three_groups() -> Arms:
    """Of two cells, of one, and of two of which nothing is left in the first."""
    known = [[1, 1], [3, 2], [4, 4], [5, 0], [1, 0]]
    return make_arms("ece", [10, 30, 60, 5, 8], known, np.ones((5, 2)), arm_of_cell=[0, 0, 1, 2, 2])


@pytest.mark.parametrize(
    ("question", "options", "room"),
    [(ESTIMATE, 5, [8, 25, 52, 0, 7]), (IDENTIFY, 3, [33, 52, 7]), (COMPARE, 2, [7, 33])],
)
def test_inside_an_option_every_item_without_a_label_is_as_likely(question, options, room):
    bandit = Bandit(three_groups(), question, pair=(2, 0))
    np.testing.assert_array_equal(bandit.unlabelled, room)
    probs = np.where(bandit.unlabelled > 0, rng().random(options), 0)
    probs /= probs.sum()
    cells = bandit.spread_over_cells(probs)
    assert cells.sum() == pytest.approx(1)
    per_item = cells / np.maximum(bandit.arms.unlabelled, 1)
    assert per_item[3] == 0
    if question != ESTIMATE:
        assert per_item[0] == pytest.approx(per_item[1])
    if question == COMPARE:
        assert cells[2] == 0
        assert cells[:2].sum() == pytest.approx(probs[1])


@pytest.mark.parametrize("question", [ESTIMATE, IDENTIFY, COMPARE])
def test_options_without_room_are_never_rewarded(question):
    arms = make_arms("accuracy", [4, 9, 0], [[2, 2], [2, 1], [0, 0]], np.ones((3, 2)))
    bandit = Bandit(arms, question, pair=(0, 1))
    options = [0, 1] if question == COMPARE else [0, 1, 2]
    rewards = np.stack(
        [
            bandit.expected_rewards(rng()),
            *bandit.rewards(sample_dirichlet(arms.posterior, 2, rng()), rng()),
        ]
    )
    for option in options:
        assert (np.isfinite(rewards[:, option]) == (option == 1)).all()


@pytest.mark.parametrize("kind", ["accuracy", "cost", "confusion", "ece"])
@pytest.mark.parametrize("question", [ESTIMATE, COMPARE])
def test_many_studies_at_once_are_each_as_if_alone(kind, question):
    width = 2 if kind in ("accuracy", "ece") else 3
    known = rng().integers(0, 5, (6, 4, width)).astype(float)
    alone = make_arms(
        kind, [20, 30, 20, 15], known[0], np.ones((4, width)), value=RIGHT if width == 2 else COSTS
    )
    total_variance = replace(alone, known_counts=known, exchangeable_counts=known)
    theta = sample_dirichlet(total_variance.posterior, 3, rng())
    rewards = Bandit(total_variance, question, pair=(3, 1)).rewards(theta, rng())
    options = np.broadcast_to(
        [0.3, 0.7] if question == COMPARE else [0.1, 0.2, 0.3, 0.4], rewards.shape[1:]
    )
    cells = Bandit(total_variance, question, pair=(3, 1)).spread_over_cells(options)
    for study in range(6):
        bandit = Bandit(
            replace(alone, known_counts=known[study], exchangeable_counts=known[study]),
            question,
            pair=(3, 1),
        )
        np.testing.assert_allclose(rewards[:, study], bandit.rewards(theta[:, study], rng()))
        np.testing.assert_allclose(cells[study], bandit.spread_over_cells(options[study]))
        if kind != "confusion":
            assert np.isfinite(
                compute_values(bandit.arms, expect_outcome_shares(bandit.arms))
            ).all()


def test_a_bandit_without_a_pair_compares_nothing():
    arms = make_arms("accuracy", [5, 5], np.zeros((2, 2)), np.ones((2, 2)))
    assert Bandit(arms, COMPARE, pair=(1, 0)).arm_pair == (1, 0)
    with pytest.raises(ValueError, match="needs a pair"):
        _ = Bandit(arms, COMPARE).arm_pair
