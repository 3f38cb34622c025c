"""How many more labels a question about groups needs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom

from activetest.wings.groups import planning
from activetest.wings.groups.acquisition import thompson
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.bandit import Bandit
from activetest.wings.groups.planning import (
    _answer_probability,
    _distribute_labels,
    _draw_outcomes,
    _restrict,
    _select_contenders,
    forecast_decision_labels,
)


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


@pytest.mark.parametrize(
    ("known", "shares", "looks", "expected"),
    [
        # The first look is after 5 labels, and each has twice as many as the one before.
        (10, (0, 0.2, 0.6), (5, 10, 20), 10 + 8),
        (10, (1.0,), (5,), 2),
        (10, (0.5,), (5,), 5),
        # Or after a tenth of those that are known.
        (75, (0.2, 0.4, 0.4, 0.9), (7, 14, 28, 56), 28 + 6),
        # The last look is where everything is labelled.
        (10, (0, 0, 0, 0.4, 0.45, 0.5), (5, 10, 20, 40, 80, 90), 90),
    ],
)
def test_half_of_the_futures_are_decided_between_two_looks(
    monkeypatch, known, shares, looks, expected
):
    seen = []

    def answer(groups, bandit, count, rng):
        decided = shares[len(seen)]
        seen.append(int(groups.known_counts[0].sum()) - known)
        futures = len(groups.known_counts)
        return np.where(np.arange(futures) < decided * futures, 0.9, 0.89)

    monkeypatch.setattr(planning, "_answer_probability", answer)
    right = known - 4
    groups = arms([right - 3, 3], [2, 2], [known - 5 + 40, 55])
    found = forecast(groups, level=0.9)
    assert tuple(seen) == looks
    assert found == expected


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
    # Decided after all four that are missing, and not before the first: half of them.
    assert forecast(arms([6, 6], [0, 0], [8, 8]), level=0.999) == 2


def test_labels_go_where_there_is_room_and_none_is_left_over():
    """In proportion to the probabilities, as long as a group has items; then to the others."""
    rng = np.random.default_rng(1)
    left = np.tile([1000, 4, 0, 1000], (500, 1))
    probs = np.tile([0.25, 0.25, 0.25, 0.25], (500, 1))
    allotted = _distribute_labels(probs, left, 60, rng)
    assert (allotted.sum(axis=1) == 60).all()
    assert (allotted <= left).all() and (allotted[:, 1] == 4).all()
    # The rest is shared evenly: 28 each, within four standard errors of 500 binomials.
    assert abs(allotted[:, 0].mean() - 28) < 4 * (60 / 4 / 500) ** 0.5
    # Cells of probability 0 get labels once nothing else has room.
    alone = _distribute_labels(np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)), left[:5], 1010, rng)
    assert (alone[:, 0] == 1000).all() and (alone.sum(axis=1) == 1010).all()
    # And no more are given than there are.
    everything = _distribute_labels(probs[:5], left[:5], 10**6, rng)
    assert (everything == left[:5]).all()


def test_labels_show_the_outcomes_of_the_items_they_were_given_to():
    """The hypergeometric mean, n K / N, within four standard errors of 4000 futures."""
    rng = np.random.default_rng(2)
    hidden, allotted = np.tile([[6, 3, 11], [0, 5, 1]], (4000, 1, 1)), np.tile([8, 6], (4000, 1))
    drawn = _draw_outcomes(hidden, allotted, rng)
    assert (drawn.sum(axis=-1) == allotted).all()
    assert (drawn <= hidden).all() and (drawn[:, 1] == [0, 5, 1]).all()
    for outcome, count in enumerate((6, 3, 11)):
        variance = hypergeom(20, count, 8).var()
        error = 4 * (variance / 4000) ** 0.5
        assert abs(drawn[:, 0, outcome].mean() - 8 * count / 20) < error


@pytest.mark.parametrize(
    ("likely", "worst", "expected"),
    [
        ([0.5, 0.02, 0.46, 0.02], 1, [0, 2]),
        ([0.5, 0.1, 0.35, 0.05], 1, [0, 1, 2]),
        ([0.98, 0.005, 0.01, 0.005], 1, [0, 2]),
        ([0.98, 0.005, 0.01, 0.005], 2, [0, 1, 2]),
        ([0.9, 0.04, 0.03, 0.03], 1, [0, 1, 2]),
        ([1.8, 0.08, 0.06, 0.06], 2, [0, 1, 2]),
    ],
)
def test_groups_that_hold_95_percent_of_the_answer_are_simulated(likely, worst, expected):
    """And at least one more than are asked for."""
    bandit = Bandit(arms([1] * 4, [1] * 4, [50] * 4), "identify", worst)
    assert _select_contenders(bandit, np.array(likely)).tolist() == expected


@pytest.mark.parametrize(
    ("count", "futures", "samples"), [(2, 50, 200), (20, 34, 137), (90, 16, 40)]
)
def test_many_groups_are_simulated_with_fewer_futures_and_samples(
    monkeypatch, count, futures, samples
):
    """2^18 over 2 K and 200 samples, or 50 futures, for the K groups that hold 95 %."""
    seen = []

    def watch(arms, bandit, samples, rng):
        seen.append((len(arms.known_counts), samples))
        return np.ones(len(arms.known_counts))

    monkeypatch.setattr(planning, "_answer_probability", watch)
    forecast_decision_labels(
        Bandit(arms([3] * count, [1] * count, [50] * count), "identify"),
        None,
        likely=np.ones(count),
        floor=0.1,
        level=0.95,
        rng=np.random.default_rng(1),
    )
    assert seen[0] == (futures, samples)


def test_the_items_of_other_groups_still_take_labels():
    groups = arms([5, 6, 7, 8], [5, 4, 3, 2], [30, 40, 50, 60])
    bandit = Bandit(groups, "compare", pair=(3, 1), rope=0.05)
    chosen, others = _restrict(bandit, _select_contenders(bandit, np.ones(4)))
    assert chosen.pair == (1, 0)
    assert chosen.arms.size.tolist() == [40, 60]
    assert others == 20 + 40


@pytest.mark.parametrize(("worst", "kind"), [(1, "accuracy"), (2, "accuracy"), (1, "error")])
def test_the_answer_of_a_future_is_as_likely_as_its_posterior_says(worst, kind):
    """Against draws of independent Betas, within four standard errors."""
    groups = replace(arms([4, 7, 15], [6, 3, 5], [10**7] * 3), kind=kind)
    if kind == "error":
        groups = replace(groups, value=1 - groups.value)
    rng = np.random.default_rng(4)
    counts = groups.known_counts[None]
    studies = replace(groups, known_counts=counts, exchangeable_counts=counts)
    found = _answer_probability(studies, Bandit(groups, "identify", worst), 20_000, rng)
    share = rng.beta([5, 8, 16], [7, 4, 6], (200_000, 3))
    exact = (share[:, :worst].max(axis=1) <= share[:, worst:].min(axis=1)).mean()
    assert found[0] == pytest.approx(exact, abs=4 * (0.25 / 20_000) ** 0.5)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_a_comparison_is_planned_whichever_group_is_named_first(pair):
    groups = arms([15, 18, 19], [5, 2, 1], [2000] * 3)
    assert 10 <= forecast(groups, "compare", pair=pair, rope=0.05) <= 2000


def test_the_plan_is_right_in_the_median():
    """Two groups, labelled uniformly until one is worse with probability 0.95."""
    rng, right, wrong = np.random.default_rng(3), np.array([12, 15]), np.array([8, 5])
    plans = [
        forecast(arms(right, wrong, [2000] * 2), allocate=None, seed=seed) for seed in range(16)
    ]
    needed = []
    for _ in range(160):
        # Truths as the labels so far make them likely.
        truth, now = rng.beta(right + 1, wrong + 1), (right, wrong)
        while max(share := _worse_probs(*now, rng)) < 0.95 and sum(map(sum, now)) < 4000:
            hits = rng.binomial(10, truth)
            now = now[0] + hits, now[1] + 10 - hits
        assert max(share) >= 0.95 or sum(map(sum, now)) >= 4000
        needed.append(sum(map(sum, now)) - 40)
    assert 0.75 <= np.median(plans) / np.median(needed) <= 1.5


def _worse_probs(right, wrong, rng) -> list[float]:
    """How likely either group is to be the worse one."""
    first, second = (rng.beta(right[place] + 1, wrong[place] + 1, 1000) for place in (0, 1))
    return [(first < second).mean(), (first > second).mean()]


def test_shares_of_the_next_labels_sum_to_one_at_every_floor(monkeypatch):
    seen = []

    def keep(probs, *rest):
        seen.append(probs)
        return _distribute_labels(probs, *rest)

    monkeypatch.setattr(planning, "_distribute_labels", keep)
    forecast(arms([8, 4], [2, 6], [40, 40]))
    assert seen
    for probs in seen:
        np.testing.assert_allclose(probs.sum(axis=1), 1)
