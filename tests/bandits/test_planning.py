"""How many more labels a question about groups needs."""

import numpy as np
import pytest

from activetest.bandits.arms import Arms
from activetest.bandits.bandit import Bandit
from activetest.bandits.planning import forecast_decision_labels
from activetest.bandits.policies import thompson


def arms(right, wrong, size) -> Arms:
    """Groups with so many right and wrong labels."""
    known = np.stack([right, wrong], axis=1).astype(float)
    count = len(known)
    return Arms(
        kind="accuracy",
        groups=tuple({"group": str(place)} for place in range(count)),
        arm_of_cell=np.arange(count),
        size=np.array(size),
        value=np.tile([1.0, 0.0], (count, 1)),
        mean_confidence=np.full(count, 0.8),
        known_counts=known,
        exchangeable_counts=known,
        prior=np.ones((count, 2)),
    )


def forecast(groups, question="identify", allocate=thompson.allocate, level=0.95, seed=0, **bandit):
    likely = np.linspace(1, 0.1, len(groups.groups))
    return forecast_decision_labels(
        Bandit(groups, question, **bandit),
        allocate,
        likely=likely,
        floor=0.1,
        level=level,
        rng=np.random.default_rng(seed),
    )


def test_groups_that_are_far_apart_need_fewer_labels():
    near = forecast(arms([14, 16, 17], [6, 4, 3], [2000] * 3))
    far = forecast(arms([4, 18, 18], [16, 2, 2], [2000] * 3), level=0.999)
    assert 1 <= far < near <= 10_000


def test_more_certainty_needs_more_labels():
    groups = arms([10, 16, 17], [10, 4, 3], [3000] * 3)
    easy, hard = (forecast(groups, level=level) for level in (0.9, 0.99))
    assert easy < hard


def test_labels_that_are_aimed_decide_sooner_than_uniform_ones():
    groups = arms(np.full(12, 8), np.arange(12)[::-1] // 2, np.full(12, 2000))
    assert forecast(groups) < forecast(groups, allocate=None)


def test_equal_groups_of_a_large_pool_need_more_than_can_be_said():
    same = [np.full(2, 4000), np.full(2, 1000), [10_000_000] * 2]
    assert forecast(arms(*same)) is None


def test_too_many_groups_that_could_be_the_worst_are_more_than_can_be_said():
    count = 300
    same = arms(np.full(count, 4), np.ones(count), np.full(count, 100))
    bandit, rng = Bandit(same, "identify"), np.random.default_rng(0)
    options = {"floor": 0.1, "level": 0.95, "rng": rng}
    assert (
        forecast_decision_labels(
            bandit, thompson.allocate, likely=np.full(count, 1 / count), **options
        )
        is None
    )
    few = np.where(np.arange(count) < 2, 0.49, 0.02 / (count - 2))
    assert forecast_decision_labels(bandit, thompson.allocate, likely=few, **options) is not None


def test_labelling_everything_is_enough():
    groups = arms([3, 4], [2, 1], [15, 15])
    assert 1 <= forecast(groups, level=0.999) <= 20


def test_groups_that_tie_are_decided_once_all_is_labelled():
    """With one label missing in each of two alike groups, most futures end in a tie."""
    assert 1 <= forecast(arms([6, 6], [0, 0], [7, 7]), level=0.999) <= 2


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_a_comparison_is_planned_whichever_group_is_named_first(pair):
    groups = arms([15, 18, 19], [5, 2, 1], [2000] * 3)
    assert 10 <= forecast(groups, "compare", pair=pair, rope=0.05) <= 2000


def test_the_plan_is_right_in_the_median():
    """Two groups, labelled uniformly until one is worse with probability 0.95."""
    rng, right, wrong = np.random.default_rng(3), np.array([12, 15]), np.array([8, 5])
    plans = [
        forecast(arms(right, wrong, [2000] * 2), allocate=None, seed=seed) for seed in range(5)
    ]
    needed = []
    for _ in range(60):
        # Truths as the labels so far make them likely.
        truth, now = rng.beta(right + 1, wrong + 1), (right, wrong)
        while max(share := _worse_probs(*now, rng)) < 0.95 and sum(map(sum, now)) < 4000:
            hits = rng.binomial(10, truth)
            now = now[0] + hits, now[1] + 10 - hits
        assert max(share) >= 0.95 or sum(map(sum, now)) >= 4000
        needed.append(sum(map(sum, now)) - 40)
    assert 0.4 <= np.median(plans) / np.median(needed) <= 2.5


def _worse_probs(right, wrong, rng) -> list[float]:
    """How likely either group is to be the worse one."""
    first, second = (rng.beta(right[place] + 1, wrong[place] + 1, 1000) for place in (0, 1))
    return [(first < second).mean(), (first > second).mean()]
