"""Squared gaps: the bias is taken off, and nothing is in doubt once everything is known."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import t

from activetest.intervals import calibration_squared
from activetest.nouns.estimate import Estimate

SHARE = np.array([0.5, 0.3, 0.2])
CLAIM = SHARE * np.array([0.6, 0.8, 0.95])


def estimate(right, *, draws: int = 400, seed: int = 0, exact: bool = False) -> Estimate:
    """Three bins; uniform draws whose accuracies are `right` (3,)."""
    rng = np.random.default_rng(seed)
    bins = rng.choice(3, p=SHARE, size=draws)
    inside = np.eye(3)[bins]
    hits = inside * (rng.random(draws) < np.asarray(right)[bins])[:, None]
    claims = inside * (CLAIM / SHARE)
    # Terms that do not depend on the label are known of the whole pool.
    known = np.tile(np.concatenate([CLAIM, SHARE]), (draws, 1))
    terms = np.hstack([hits, known])
    return Estimate(
        mean=terms.mean(axis=0),
        variance=np.cov(terms, rowvar=False) / draws,
        terms=terms,
        weights=np.full(draws, 1 / draws),
        guess=np.hstack([0 * hits, claims, inside]),
        limits=np.array([[0.0] * 9, [1.0] * 9]),
        inside=np.ones(draws),
        exact=exact,
    )


def test_estimation_errors_add_nothing_on_average():
    right = np.array([0.4, 0.7, 0.9])
    truth = (SHARE * (right - CLAIM / SHARE) ** 2).sum()
    found = [calibration_squared.remove_bias(estimate(right, seed=seed)) for seed in range(200)]
    error = np.std(found) / len(found) ** 0.5
    assert np.mean(found) == approx(truth, abs=4 * error + 0.1 * truth)
    means = [estimate(right, seed=seed).mean[:3] for seed in range(200)]
    plain = [((mean - CLAIM) ** 2 / SHARE).sum() for mean in means]
    assert np.mean(plain) > np.mean(found)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    right = np.array([0.45, 0.75, 0.9])
    truth = (SHARE * (right - CLAIM / SHARE) ** 2).sum()
    interval = [
        calibration_squared.interval(estimate(right, seed=seed), 0.9) for seed in range(300)
    ]
    held = np.mean([one.lower <= truth <= one.upper for one in interval])
    assert held > 0.9 - 3 * (0.09 / 300) ** 0.5


def test_what_is_known_is_exact():
    one = replace(estimate([0.5, 0.5, 0.5], exact=True))
    truth = ((one.mean[:3] - CLAIM) ** 2 / SHARE).sum()
    interval = calibration_squared.interval(one, 0.95)
    assert interval.lower == interval.upper == approx(truth)
    assert interval.method == "exact"


def test_the_estimate_lies_inside_and_a_higher_level_is_wider():
    one = estimate([0.5, 0.7, 0.9])
    narrow, wide = (calibration_squared.interval(one, level) for level in (0.5, 0.95))
    assert wide.lower <= narrow.lower <= calibration_squared.remove_bias(one) <= narrow.upper
    assert narrow.upper < wide.upper


def spread_by_hand(one: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """(B,) gaps and their variances: of uniform draws, steadied by five imaginary ones a bin."""
    terms = one.terms[:, :3] - one.terms[:, 3:6]
    gaps, draws = terms.mean(axis=0), len(terms)
    observed = terms.var(axis=0, ddof=1) / draws
    claims = one.guess[:, 3:6]
    count = (claims > 0).sum(axis=0)
    # Of one draw: in the bin and right, as the claim has it.
    rate = claims.sum(axis=0) / count
    claimed = SHARE * rate * (1 - rate) / draws
    noise = np.clip(observed.sum() / claimed.sum(), 0.2, 10)
    steadied = [
        (count * observed + 5 * times * claimed) / (count + 5) for times in (noise, max(noise, 1))
    ]
    return gaps, np.maximum(*steadied)


@pytest.mark.parametrize("right", [[0.62, 0.8, 0.9], [0.3, 0.5, 0.6]])
def test_its_variance_and_ends_are_those_of_a_sum_of_squares_of_normals(right):
    """Var d^2 is 4 d^2 v + 2 v^2 for a normal gap d: near zero the second term is most of it."""
    one = estimate(right, draws=60, seed=3)
    gaps, variance = spread_by_hand(one)
    value = ((gaps**2 - variance) / SHARE).sum()
    total = ((4 * gaps**2 * variance + 2 * variance**2) / SHARE**2).sum()
    found = calibration_squared.interval(one, 0.9)
    assert found.variance == approx(total)
    # 60 draws of equal weight: 59 degrees of freedom.
    half = t.ppf(0.95, 59) * total**0.5
    assert found.upper == approx(max(value, 0) + half)
    assert found.lower == approx(max(max(value, 0) - half, 0))


def test_declined_items_leave_the_error_over_those_that_can_be_answered():
    """One more mean says how many those are: of half of the pool, gaps and shares are halves."""
    one = estimate([0.3, 0.5, 0.6], draws=60, seed=3)
    answered = np.full((60, 1), 0.5)
    halved = replace(
        one,
        mean=np.append(one.mean / 2, 0.5),
        terms=np.hstack([one.terms / 2, answered]),
        guess=np.hstack([one.guess, answered]),
    )
    # Gaps are over the answered items, and shares are of the whole pool.
    assert calibration_squared.remove_bias(halved) == approx(
        2 * calibration_squared.remove_bias(one)
    )


def test_the_draws_inside_limit_the_degrees_of_freedom():
    """Seven draws inside have six; where there are fewer than three, two."""
    one = estimate([0.3, 0.5, 0.6], draws=60, seed=3)
    for inside, freedom in ((7, 6), (3, 2), (1, 2)):
        within = replace(one, inside=np.repeat([1.0, 0.0], [inside, 60 - inside]))
        found = calibration_squared.interval(within, 0.9)
        value = calibration_squared.remove_bias(within)
        assert found.upper - value == approx(t.ppf(0.95, freedom) * found.variance**0.5)
