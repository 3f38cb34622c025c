"""Rewards against brute force: every outcome of one more label, every split of what is unknown."""

import itertools
from dataclasses import replace
from math import lgamma

import numpy as np
import pytest

from activetest.bandits.arms import Arms, dirichlet, expected, outcomes, values, variances
from activetest.bandits.bandit import COMPARE, ESTIMATE, IDENTIFY, Bandit
from activetest.bandits.comparison import expected_lambda

RIGHT = np.array([[1.0, 0.0]])


def made(kind, size, known, prior, *, owner=None, value=RIGHT, score=None) -> Arms:
    """Arms of one cell each unless owner says otherwise."""
    known, prior = np.asarray(known, float), np.asarray(prior, float)
    cells, width = prior.shape
    owner = np.arange(cells) if owner is None else np.asarray(owner)
    return Arms(
        kind=kind,
        meaning=tuple({"group": str(number)} for number in range(owner.max() + 1)),
        owner=owner,
        size=np.asarray(size),
        value=np.broadcast_to(value, (cells, width)),
        score=np.zeros(cells) if score is None else np.asarray(score, float),
        known=known,
        evidence=known,
        prior=prior,
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def enumerated(parameters, rest: int, size: int, worths) -> float:
    """Variance of a cell's mean, over every split of the rest; summed over worths (W, J)."""
    chances, means = [], []
    for split in itertools.product(range(rest + 1), repeat=len(parameters)):
        if sum(split) == rest:
            log = lgamma(rest + 1) + lgamma(sum(parameters)) - lgamma(rest + sum(parameters))
            for count, each in zip(split, parameters, strict=True):
                log += lgamma(count + each) - lgamma(each) - lgamma(count + 1)
            chances.append(np.exp(log))
            means.append(np.asarray(worths) @ split / size)
    means = np.array(means)
    return float((chances @ (means - chances @ means) ** 2).sum())


def with_label(arms: Arms, cell: int, outcome: int) -> Arms:
    """The arms after one more label."""
    more = np.zeros(arms.known.shape)
    more[..., cell, outcome] = 1
    return replace(arms, known=arms.known + more, evidence=arms.evidence + more)


# --- estimation

COSTS = np.array([[0.0, 3.0, 1.0]])
WORTHS = {"accuracy": RIGHT, "cost": COSTS, "confusion": np.eye(3)}


@pytest.mark.parametrize("kind", WORTHS)
@pytest.mark.parametrize("rest", [1, 2, 5])
def test_the_fall_of_the_variance_is_that_of_every_outcome_enumerated(kind, rest):
    worths = WORTHS[kind]
    width = worths.shape[1]
    prior, known = np.array([0.9, 0.4, 0.2])[:width], np.array([2, 1, 0])[:width]
    size = int(known.sum()) + rest
    arms = made(kind, [size], [known], [prior], value=worths[:1])
    theta = np.array([0.2, 0.5, 0.3])[:width] / np.array([0.2, 0.5, 0.3])[:width].sum()
    wanted = enumerated(prior + known, rest, size, worths)
    for outcome, chance in enumerate(theta):
        one = np.arange(width) == outcome
        wanted -= chance * enumerated(prior + known + one, rest - 1, size, worths)
    reduction = Bandit(arms, ESTIMATE).reduction(theta[None, None])
    np.testing.assert_allclose(reduction, [[wanted]])


def test_the_last_label_takes_all_the_doubt_and_after_it_there_is_none_to_take():
    arms = made("accuracy", [4, 3], [[2, 1], [2, 1]], np.ones((2, 2)))
    reduction = Bandit(arms, ESTIMATE).reduction(dirichlet(arms.posterior, 50, rng()))
    np.testing.assert_allclose(reduction[:, 0], variances(arms)[0])
    assert (reduction[:, 1] == 0).all()


def test_no_label_is_expected_to_harm():
    known = rng().integers(0, 9, (40, 3))
    for kind in WORTHS:
        value = COSTS if kind != "accuracy" else RIGHT
        arms = made(
            kind,
            np.full(40, 30),
            known[:, : value.shape[1]],
            np.full((40, value.shape[1]), 0.1),
            value=value,
        )
        assert (Bandit(arms, ESTIMATE).greedy(rng()) > 0).all()


def costly() -> Arms:
    """Two groups, of two cells and one, that are judged by cost."""
    return made(
        "cost",
        [10, 30, 60],
        [[2, 1, 0], [4, 4, 1], [9, 0, 0]],
        np.full((3, 3), 0.3),
        owner=[0, 0, 1],
        value=np.array([[0, 1, 2], [3, 0, 1], [1, 5, 0.0]]),
    )


def test_estimation_lowers_the_groups_variances_weighted_by_their_size():
    arms = costly()

    def whole(one: Arms) -> float:
        return float(one.total(variances(one) * one.weight**2) @ [0.4, 0.6])

    theta = dirichlet(arms.posterior, 3, rng())
    wanted = np.full((3, 3), whole(arms))
    for cell, outcome in itertools.product(range(3), range(3)):
        wanted[:, cell] -= theta[:, cell, outcome] * whole(with_label(arms, cell, outcome))
    np.testing.assert_allclose(Bandit(arms, ESTIMATE).rewards(theta, rng()), wanted)


def test_calibration_lowers_the_variances_of_its_bins():
    arms = made("ece", [10, 30, 60], [[2, 1], [4, 4], [9, 0]], np.ones((3, 2)), owner=[0, 0, 1])
    accuracy = made("accuracy", [10, 30, 60], [[2, 1], [4, 4], [9, 0]], np.ones((3, 2)))
    theta = dirichlet(arms.posterior, 3, rng())
    one, other = (Bandit(each, ESTIMATE).rewards(theta, rng()) for each in (arms, accuracy))
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("sampled", [False, True])
def test_in_the_long_run_labels_go_by_the_root_of_size_and_variance(sampled):
    chances, size = np.array([0.5, 0.8, 0.7, 0.95]), np.array([1, 1, 4, 2]) * 10**6
    generator, studies = rng(), np.arange(25)
    counts = np.zeros((len(studies), 4, 2))
    arms = made("accuracy", size, counts[0], np.ones((4, 2)))
    for _ in range(2000):
        arms = replace(arms, known=counts, evidence=counts)
        theta = dirichlet(arms.posterior, 1, generator) if sampled else arms.mean[None]
        arm = Bandit(arms, ESTIMATE).rewards(theta, generator)[0].argmax(axis=-1)
        wrong = generator.random(len(studies)) >= chances[arm]
        counts[studies, arm, wrong.astype(int)] += 1
    wanted = np.sqrt(size * chances * (1 - chances))
    found = counts.sum(axis=-1).mean(axis=0) / 2000
    np.testing.assert_allclose(found, wanted / wanted.sum(), atol=0.015)


# --- identification


def test_identification_rewards_the_worst():
    known = [[5, 1], [2, 6], [3, 0]]
    right = made("accuracy", [20, 30, 3], known, np.ones((3, 2)))
    wrong = made("error", [20, 30, 3], known, np.ones((3, 2)), value=1 - RIGHT)
    theta = dirichlet(right.posterior, 30, rng())
    one, other = (Bandit(each, IDENTIFY).rewards(theta, rng()) for each in (right, wrong))
    wanted = -values(right, outcomes(right, theta, rng()))
    np.testing.assert_allclose(one[:, :2], wanted[:, :2])
    np.testing.assert_allclose(other[:, :2], 1 + one[:, :2])
    assert (one[:, 2] == -np.inf).all()


@pytest.mark.parametrize("task", [ESTIMATE, IDENTIFY])
def test_greedy_rewards_are_those_expected_of_the_posterior(task):
    arms = made(
        "cost", [20, 30, 25], [[2, 1, 0], [4, 4, 1], [9, 0, 0]], np.full((3, 3), 0.3), value=COSTS
    )
    bandit = Bandit(arms, task)
    rewards = bandit.rewards(dirichlet(arms.posterior, 20_000, rng()), rng())
    errors = rewards.std(axis=0) / np.sqrt(len(rewards))
    assert (np.abs(rewards.mean(axis=0) - bandit.greedy(rng())) < 4 * errors).all()


# --- comparison


@pytest.mark.parametrize("kind", ["accuracy", "error"])
def test_comparison_of_accuracies_rewards_confidence(kind):
    arms = made(
        kind,
        [40, 50, 60],
        [[5, 1], [2, 6], [3, 0]],
        np.ones((3, 2)),
        value=RIGHT if kind == "accuracy" else 1 - RIGHT,
    )
    theta = dirichlet(arms.posterior, 7, rng())
    rewards = Bandit(arms, COMPARE, pair=(2, 0), rope=0.1).rewards(theta, rng())
    np.testing.assert_array_equal(rewards, expected_lambda(arms, theta, (2, 0), 0.1))


def test_comparison_of_costs_rewards_the_fall_of_the_variance_by_a_label_anywhere_in_the_group():
    arms = costly()
    theta = dirichlet(arms.posterior, 3, rng())

    def variance(one: Arms, arm: int) -> float:
        return float(one.total(variances(one) * one.weight**2)[arm])

    wanted = np.array([[variance(arms, 1), variance(arms, 0)]] * 3)
    for cell, outcome in itertools.product(range(3), range(3)):
        arm = arms.owner[cell]
        chance = theta[:, cell, outcome] * arms.rest[cell] / arms.total(arms.rest)[arm]
        wanted[:, 1 - arm] -= chance * variance(with_label(arms, cell, outcome), arm)
    rewards = Bandit(arms, COMPARE, pair=(1, 0)).rewards(theta, rng())
    np.testing.assert_allclose(rewards, wanted)


# --- options and cells


def three_groups() -> Arms:
    """Of two cells, of one, and of two of which nothing is left in the first."""
    known = [[1, 1], [3, 2], [4, 4], [5, 0], [1, 0]]
    return made("ece", [10, 30, 60, 5, 8], known, np.ones((5, 2)), owner=[0, 0, 1, 2, 2])


@pytest.mark.parametrize(
    ("task", "options", "room"),
    [(ESTIMATE, 5, [8, 25, 52, 0, 7]), (IDENTIFY, 3, [33, 52, 7]), (COMPARE, 2, [7, 33])],
)
def test_inside_an_option_every_item_without_a_label_is_as_likely(task, options, room):
    bandit = Bandit(three_groups(), task, pair=(2, 0))
    np.testing.assert_array_equal(bandit.room, room)
    chances = np.where(bandit.room > 0, rng().random(options), 0)
    chances /= chances.sum()
    cells = bandit.cells(chances)
    assert cells.sum() == pytest.approx(1)
    per_item = cells / np.maximum(bandit.arms.rest, 1)
    assert per_item[3] == 0
    if task != ESTIMATE:
        assert per_item[0] == pytest.approx(per_item[1])
    if task == COMPARE:
        assert cells[2] == 0
        assert cells[:2].sum() == pytest.approx(chances[1])


@pytest.mark.parametrize("task", [ESTIMATE, IDENTIFY, COMPARE])
def test_options_without_room_are_never_rewarded(task):
    arms = made("accuracy", [4, 9, 0], [[2, 2], [2, 1], [0, 0]], np.ones((3, 2)))
    bandit = Bandit(arms, task, pair=(0, 1))
    options = [0, 1] if task == COMPARE else [0, 1, 2]
    rewards = np.stack(
        [bandit.greedy(rng()), *bandit.rewards(dirichlet(arms.posterior, 2, rng()), rng())]
    )
    for option in options:
        assert (np.isfinite(rewards[:, option]) == (option == 1)).all()


@pytest.mark.parametrize("kind", ["accuracy", "cost", "confusion", "ece"])
@pytest.mark.parametrize("task", [ESTIMATE, COMPARE])
def test_many_studies_at_once_are_each_as_if_alone(kind, task):
    width = 2 if kind in ("accuracy", "ece") else 3
    known = rng().integers(0, 5, (6, 4, width)).astype(float)
    alone = made(
        kind, [20, 30, 20, 15], known[0], np.ones((4, width)), value=RIGHT if width == 2 else COSTS
    )
    whole = replace(alone, known=known, evidence=known)
    theta = dirichlet(whole.posterior, 3, rng())
    rewards = Bandit(whole, task, pair=(3, 1)).rewards(theta, rng())
    options = np.broadcast_to(
        [0.3, 0.7] if task == COMPARE else [0.1, 0.2, 0.3, 0.4], rewards.shape[1:]
    )
    cells = Bandit(whole, task, pair=(3, 1)).cells(options)
    for study in range(6):
        bandit = Bandit(
            replace(alone, known=known[study], evidence=known[study]), task, pair=(3, 1)
        )
        np.testing.assert_allclose(rewards[:, study], bandit.rewards(theta[:, study], rng()))
        np.testing.assert_allclose(cells[study], bandit.cells(options[study]))
        if kind != "confusion":
            assert np.isfinite(values(bandit.arms, expected(bandit.arms))).all()
