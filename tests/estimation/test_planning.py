"""Plans say how many labels will be needed, and that is about how many are."""

import numpy as np
import pytest
from pytest import approx
from scipy.stats import t

from activetest.estimation import planning
from activetest.intervals import betting, korn_graubard
from activetest.nouns.estimate import Estimate, Increments


def estimate(values, size: int) -> Estimate:
    """LURE of uniform draws of these values from a pool of that size."""
    values = np.asarray(values, float)
    left = size - np.arange(len(values), dtype=float)
    terms = (np.cumsum(values) - values + values * left) / size
    weights = 1 / (left * (left - 1))
    weights /= weights.sum()
    mean = weights @ terms
    residual = weights * (terms - mean)
    return Estimate(
        mean=np.array([mean]),
        variance=np.array([[residual @ residual / (1 - weights @ weights)]]),
        terms=terms[:, None],
        weights=weights,
        guess=np.zeros((len(values), 1)),
        limits=np.array([[values.sum()], [values.sum() + size - len(values)]]) / size,
        inside=np.ones(len(values)),
        minority_count=min(values.sum(), (1 - values).sum()),
    )


def half(values, size: int) -> float:
    found = korn_graubard.interval(estimate(values, size), 0.95)
    return (found.upper - found.lower) / 2


def increments(values) -> Increments:
    """Uniform draws of 0/1 values from a pool without end."""
    values = np.asarray(values, float)
    nothing, one = np.zeros(len(values)), np.ones(len(values))
    return Increments(values, nothing, one, nothing, nothing, one)


# --- half-widths


def test_a_width_that_is_reached_needs_nothing_more():
    estimated = estimate(np.tile([0, 1], 20), 1000)
    assert planning.plan_half_width(estimated, half_width=0.1, goal=0.1, size=1000, level=0.9) == 0


def test_half_the_width_takes_four_times_the_labels():
    """Of a pool so large, and of an interval that is Student's, that nothing else matters."""
    estimated, size = estimate(np.tile([0, 1, 0], 200), 10**7), 10**7
    now = t.ppf(0.95, 599) * estimated.variance[0, 0] ** 0.5
    more = planning.plan_half_width(estimated, half_width=now, goal=now / 2, size=size, level=0.9)
    assert more == approx(1800, rel=0.01)


def test_a_small_pool_is_known_sooner():
    """The variance of uniform draws is that of one over M, times the share that is left."""
    values, size = np.tile([0, 1, 0], 40), 400
    estimated = estimate(values, size)
    now = t.ppf(0.975, 119) * estimated.variance[0, 0] ** 0.5
    more = planning.plan_half_width(estimated, half_width=now, goal=now / 2, size=size, level=0.95)
    # (1/M - 1/400) has to fall to a quarter of what it is at 120.
    assert 120 + more == approx(1 / ((1 / 120 - 1 / 400) / 4 + 1 / 400), rel=0.03)
    tiny = planning.plan_half_width(estimated, half_width=now, goal=1e-9, size=size, level=0.95)
    assert tiny == 280


def test_without_any_hit_it_falls_with_the_labels():
    estimated = estimate(np.zeros(60), 10_000)
    more = planning.plan_half_width(estimated, half_width=0.03, goal=0.01, size=10_000, level=0.95)
    assert more == 120
    # Labels are whole, and no more than what is left.
    more = planning.plan_half_width(estimated, half_width=0.03, goal=0.0199, size=9000, level=0.95)
    assert more == int(np.ceil(60 * (0.03 / 0.0199 - 1))) == 31
    tiny = planning.plan_half_width(
        estimate(np.zeros(60), 100), half_width=0.03, goal=0.001, size=100, level=0.95
    )
    assert tiny == 40


def plan_by_hand(estimated: Estimate, now: float, goal: float, size: int, level: float) -> int:
    """The first number of draws at which the width, computed draw by draw, is the goal."""
    terms = estimated.terms[:, 0]
    used = len(terms)
    # How far a draw was off where nothing was known: what is left of the pool shrinks it.
    off = [
        ((term - estimated.mean[0]) * size / (size - place)) ** 2
        for place, term in enumerate(terms)
    ]
    latest, excess = float(np.mean(off[used // 2 :])), None
    for draws in range(used, size):
        off += [latest] * (draws - len(off))
        left = size - np.arange(draws)
        weights = 1.0 / (left * (left - 1))
        weights /= weights.sum()
        variance = (weights**2 * (left / size) ** 2) @ off / (1 - weights @ weights)
        width = t.ppf(1 - (1 - level) / 2, 1 / (weights @ weights) - 1) * variance**0.5
        excess = now / width - 1 if excess is None else excess
        if draws > used and width * (1 + excess * (used / draws) ** 0.5) <= goal:
            return draws - used
    return size - used


@pytest.mark.parametrize(
    ("wider", "share", "level"), [(1.0, 0.7, 0.9), (1.3, 0.5, 0.95), (1.1, 0.95, 0.8)]
)
@pytest.mark.parametrize("size", [60, 400])
def test_a_plan_is_the_first_number_of_labels_whose_width_is_small_enough(
    wider, share, level, size
):
    """Of values whose spread changes halfway: the later half is what goes on."""
    values = np.r_[np.tile([0, 1], 6), np.zeros(6), np.tile([1, 0, 0], 4)]
    estimated = estimate(values, size)
    now = wider * t.ppf(1 - (1 - level) / 2, estimated.freedom) * estimated.variance[0, 0] ** 0.5
    found = planning.plan_half_width(
        estimated, half_width=now, goal=share * now, size=size, level=level
    )
    assert found == plan_by_hand(estimated, now, share * now, size, level) > 0


def test_where_every_item_was_drawn_none_is_left_to_draw():
    """Doubt about labels remains, and no more draws take it away."""
    estimated = estimate(np.tile([0, 1], 20), 1000)
    assert planning.plan_half_width(estimated, half_width=0.1, goal=0.01, size=40, level=0.9) == 0


def test_a_half_width_has_to_be_above_zero():
    with pytest.raises(ValueError, match="above zero"):
        planning.plan_half_width(
            estimate([0, 1, 0], 10), half_width=0.1, goal=0.0, size=10, level=0.95
        )


@pytest.mark.parametrize("rate", [0.08, 0.2, 0.5])
def test_planned_labels_are_about_those_that_it_then_takes(rate):
    """Half of 40 plans are right within a factor 1.4, and in the median within 1.25."""
    rng, size, ratios = np.random.default_rng(int(100 * rate)), 5000, []
    for _ in range(40):
        values = (rng.random(size) < rate) * 1.0
        now = half(values[:100], size)
        planned = planning.plan_half_width(
            estimate(values[:100], size), half_width=now, goal=0.6 * now, size=size, level=0.95
        )
        needed = next(m for m in range(105, size, 5) if half(values[:m], size) <= 0.6 * now) - 100
        ratios.append(planned / needed)
    assert 0.8 <= np.median(ratios) <= 1.25
    assert np.mean(np.abs(np.log(ratios)) < np.log(1.4)) >= 0.5


# --- gates


def gate(values, threshold, *, seed=0, remaining=100_000, at_least=True, estimate=None):
    return planning.plan_gate(
        increments(values),
        threshold,
        estimate=np.mean(values) if estimate is None else estimate,
        at_least=at_least,
        alpha=0.05,
        gates=1,
        remaining=remaining,
        rng=np.random.default_rng(seed),
    )


HALF = np.tile([0.0, 1.0], 50)


def test_at_the_threshold_no_number_of_labels_is_promised():
    assert gate(HALF, 0.5) is None
    assert gate(HALF, 0.5, remaining=3000) == 3000


def test_farther_from_the_threshold_it_takes_fewer():
    more = [gate(HALF, threshold) for threshold in (0.43, 0.41, 0.38)]
    assert 2000 > more[0] > 1.5 * more[1] > 4 * more[2] > 0


def test_above_and_below_are_alike_and_so_are_both_directions():
    assert gate(HALF, 0.4) == gate(1 - HALF, 0.6) == gate(1 - HALF, 0.6, at_least=False)
    assert gate(HALF, 0.4) == gate(HALF, 0.4, at_least=False)


def test_everything_that_remains_is_enough():
    assert gate(HALF, 0.45, remaining=40) == 40
    more = gate(HALF, 0.43)
    assert more > 120
    for remaining in (60, 101, more - 40):
        assert gate(HALF, 0.43, remaining=remaining) == remaining
    assert gate(HALF, 0.43, remaining=more + 60) == more
    # Where 10,000 more would not be enough, nothing is promised beyond them.
    assert gate(HALF, 0.5, remaining=10_000) == 10_000


def count_by_hand(values, threshold: float, estimate: float, bar: float) -> int:
    """Draws until four bettors together have reached the bar, all later draws being alike.

    Stakes are 0.5, 0.25, 0.13 and 0.05 over the standard deviation, and lose 95 % at most; the
    deviation is what the draws so far say before each, and stays what it is for those to come. Two
    imaginary draws were half a range away from the mean. Later draws are late ones, moved to the
    estimate.
    """
    capital, squares, seen = {0.5: 0.2, 0.25: 0.35, 0.13: 0.35, 0.05: 0.1}, 2 * 0.25, []
    late = values[len(values) // 2 :]
    assert len(set(late)) == 1
    moved = estimate - late[0]
    future = [(late[0] - threshold + moved, threshold - moved)] * 10_000
    for place, (gain, room) in enumerate([(x - threshold, threshold) for x in values] + future):
        spread = (squares / (2 + len(seen))) ** 0.5
        for stake in capital:
            capital[stake] *= 1 + min(stake / spread, 0.95 / room) * gain
        if place >= len(values) and sum(capital.values()) >= bar:
            return place - len(values) + 1
        if place < len(values):
            seen.append(values[place])
            squares += (seen[-1] - sum(seen) / len(seen)) ** 2
    raise AssertionError("never decided")


@pytest.mark.parametrize(
    ("values", "threshold", "estimate"),
    [
        ([1.0] * 6, 0.6, 1.0),
        ([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0], 0.5, 0.9),
        ([0.0, 0.0, 1.0, 1.0, 1.0], 0.55, 0.7),
    ],
)
def test_where_later_draws_are_alike_the_plan_is_a_sum(values, threshold, estimate):
    values = np.array(values)
    more = count_by_hand(values, threshold, estimate, 20)
    assert gate(values, threshold, estimate=estimate) == more > 1
    mirrored = gate(1 - values, 1 - threshold, estimate=1 - estimate, at_least=False)
    assert mirrored == more
    # Three gates fail at a third of the error, and pass as before.
    harder = count_by_hand(values, threshold, estimate, 60)
    for at_least, expected in ((True, more), (False, harder)):
        found = planning.plan_gate(
            increments(values),
            threshold,
            estimate=estimate,
            at_least=at_least,
            alpha=0.05,
            gates=3,
            remaining=10**6,
            rng=np.random.default_rng(1),
        )
        assert found == expected
    assert harder > more


def test_one_draw_says_nothing_about_the_next():
    assert gate([1.0], 0.5) is None


@pytest.mark.parametrize(("rate", "threshold"), [(0.3, 0.4), (0.1, 0.15), (0.9, 0.8)])
def test_gates_are_decided_after_about_as_many_labels(rate, threshold):
    """Where the estimate after 80 labels is the truth, by chance, a plan is right in the median."""
    rng, planned, needed = np.random.default_rng(int(100 * rate)), [], []
    for seed in range(80):
        first = rng.permutation(np.repeat([1.0, 0.0], [round(80 * rate), round(80 * (1 - rate))]))
        if betting.decide_verdict(increments(first), threshold, at_least=True, alpha=0.05).draws:
            continue
        values = np.append(first, rng.random(6000) < rate)
        found = betting.decide_verdict(increments(values), threshold, at_least=True, alpha=0.05)
        planned.append(gate(first, threshold, seed=seed))
        needed.append(found.draws - 80)
    assert len(planned) > 40
    assert 0.75 <= np.median(planned) / np.median(needed) <= 1.35


# --- ranges


def test_squares_of_later_terms_have_the_deviation_of_a_variance_and_of_change():
    """Four alike have 8 degrees of freedom: a logarithm with a variance of 2 / 8 and 0.15^2."""
    spread = np.array([5.0, 5, 5, 5, 2, 2, 2, 2])
    assert planning.spread_later(spread, 0.5) == approx(2.0)
    deviation = (2 / 8 + 0.15**2) ** 0.5
    assert planning.spread_later(spread, 0.8) == approx(2 * np.exp(0.8416 * deviation), rel=1e-3)
    assert planning.spread_later(np.array([3.0, 0.0]), 0.5) == approx(1.5)


def test_more_futures_need_more_labels():
    estimated = estimate(np.tile([0, 1, 0], 40), 5000)
    about = {"half_width": 0.09, "goal": 0.05, "size": 5000, "level": 0.95}
    found = [
        planning.plan_half_width(estimated, quantile=each, **about) for each in (0.2, 0.5, 0.8)
    ]
    assert found[0] < found[1] < found[2]
    assert found[1] == planning.plan_half_width(estimated, **about)


def test_expected_half_widths_are_those_that_the_number_of_labels_comes_from():
    estimated = estimate(np.tile([0, 1, 0], 40), 5000)
    about = {"half_width": 0.09, "size": 5000, "level": 0.95, "quantile": 0.8}
    more = planning.plan_half_width(estimated, goal=0.05, **about)
    widths = planning.expect_half_widths(estimated, [120, 119 + more, 120 + more, 5000], **about)
    assert widths[0] == approx(0.09)
    assert widths[1] > 0.05 >= widths[2] and widths[3] == 0
    # Without a hit it falls in proportion to labels.
    nothing = planning.expect_half_widths(estimate(np.zeros(50), 5000), [100, 5000], **about)
    assert nothing.tolist() == approx([0.045, 0.0])
