"""Squared gaps: the bias is taken off, and nothing is in doubt once everything is known."""

from dataclasses import replace

import numpy as np
from pytest import approx

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
    # What does not depend on the label is known of the whole pool.
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
