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
    assert gate(HALF, 0.4) == approx(gate(HALF, 0.6), rel=0.3)
    assert gate(HALF, 0.4) == gate(HALF, 0.4, at_least=False)


def test_everything_that_remains_is_enough():
    assert gate(HALF, 0.45, remaining=40) == 40


def test_one_draw_says_nothing_about_the_next():
    assert gate([1.0], 0.5) is None


@pytest.mark.parametrize(("rate", "threshold"), [(0.3, 0.4), (0.1, 0.15), (0.9, 0.8)])
def test_gates_are_decided_after_about_as_many_labels(rate, threshold):
    """Where the estimate after 80 labels is the truth, by chance, a plan is right in the median."""
    rng, planned, needed = np.random.default_rng(int(100 * rate)), [], []
    for seed in range(40):
        first = rng.permutation(np.repeat([1.0, 0.0], [round(80 * rate), round(80 * (1 - rate))]))
        if betting.decide_verdict(increments(first), threshold, at_least=True, alpha=0.05).draws:
            continue
        values = np.append(first, rng.random(6000) < rate)
        found = betting.decide_verdict(increments(values), threshold, at_least=True, alpha=0.05)
        planned.append(gate(first, threshold, seed=seed))
        needed.append(found.draws - 80)
    assert len(planned) > 20
    assert 0.6 <= np.median(planned) / np.median(needed) <= 1.6
