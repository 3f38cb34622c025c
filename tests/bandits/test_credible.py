"""Credible intervals of the finite pool."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.bandits.arms import Arms, samples
from activetest.bandits.credible import entries, intervals


def cell(known, rest, prior) -> Arms:
    """One cell with these labels (2,), and so many items without one."""
    known = np.array([known], float)
    return Arms(
        kind="accuracy",
        meaning=({"group": "a"},),
        owner=np.array([0]),
        size=np.array([int(known.sum()) + rest]),
        value=np.array([[1.0, 0.0]]),
        score=np.array([0.5]),
        known=known,
        evidence=known,
        prior=np.array([prior], float),
    )


@pytest.mark.parametrize("known", [(0, 0), (3, 1), (40, 25)])
@pytest.mark.parametrize("rest", [7, 60, 2000])
def test_shares_of_a_cell_have_the_quantiles_of_a_beta_binomial(known, rest):
    some = cell(known, rest, (1.5, 0.5))
    mean, lower, upper = (each[0, 0] for each in entries(some, 0.95))
    exact = betabinom(rest, 1.5 + known[0], 0.5 + known[1])
    size = sum(known) + rest
    assert mean == pytest.approx((known[0] + exact.mean()) / size)
    for found, share in ((lower, 0.025), (upper, 0.975)):
        end = min(max(known[0] + exact.ppf(share), 0), size) / size
        assert abs(found - end) <= max(1.01 / size, 0.015)


def test_labels_that_all_agree_leave_the_most_likely_value_inside():
    """Quantiles of the posterior would end below 1 on one side, above 0 on the other."""
    _, lower, upper = (each[0] for each in entries(cell((12, 0), 2000, (1, 1)), 0.95))
    assert (upper[0], lower[1]) == (1, 0)
    assert lower[0] == pytest.approx((12 + betabinom(2000, 13, 1).ppf(0.025)) / 2012, abs=0.002)


def test_a_prior_that_is_all_but_sure_leaves_the_doubt_of_half_a_label():
    sure, half = cell((5, 0), 2000, (1.999, 0.001)), cell((5, 0), 2000, (1.999, 0.5))
    assert entries(sure, 0.95)[1][0, 0] == entries(half, 0.95)[1][0, 0] < 0.9
    assert entries(sure, 0.95)[0][0, 0] > 0.999


def test_intervals_of_many_studies_are_those_of_each():
    studies = [cell(known, 200, (1.2, 0.8)) for known in ((0, 0), (4, 1), (9, 0))]
    together = replace(
        studies[0],
        size=np.array([200]),
        **{
            name: np.stack([getattr(one, name) for one in studies])
            for name in ("known", "evidence", "prior")
        },
    )
    for place, one in enumerate(studies):
        alone = entries(replace(one, size=np.array([200])), 0.9)
        assert [each[place].tolist() for each in entries(together, 0.9)] == [
            each.tolist() for each in alone
        ]


def test_ends_are_shares_that_the_pool_can_have_and_hold_the_mean():
    some = cell((3, 0), 4, (1.999, 0.001))
    for mean, lower, upper in zip(*(each[0] for each in entries(some, 0.95)), strict=True):
        assert lower <= mean <= upper
        assert {round(end * 7, 9) % 1 for end in (lower, upper) if end != mean} <= {0.0}


def test_what_is_fully_labelled_is_exact():
    mean, lower, upper = (each[0] for each in entries(cell((3, 1), 0, (1, 1)), 0.95))
    assert mean.tolist() == lower.tolist() == upper.tolist() == [0.75, 0.25]


def test_intervals_of_values_are_equal_tailed():
    some, rng = cell((6, 4), 500, (1, 1)), np.random.default_rng(0)
    drawn = samples(some, 40_000, rng)
    _, lower, upper = intervals(some, drawn, 0.9, rng)
    exact = betabinom(500, 7, 5)
    assert lower[0] == pytest.approx((6 + exact.ppf(0.05)) / 510, abs=0.006)
    assert upper[0] == pytest.approx((6 + exact.ppf(0.95)) / 510, abs=0.006)


def test_the_interval_of_a_calibration_error_holds_where_all_draws_are_too_large():
    """A calibrated model: draws of the sum of distances lie above the truth nearly always."""
    rng = np.random.default_rng(1)
    score, size = np.linspace(0.05, 0.95, 10), np.full(10, 300)
    held, above, apart = 0, 0, []
    for _ in range(40):
        right = rng.binomial(size, score)
        truth = np.mean(np.abs(right / size - score))
        hits = rng.hypergeometric(right, size - right, 8)
        known = np.stack([hits, 8 - hits], axis=1).astype(float)
        some = replace(
            cell((0, 0), 0, (1, 1)),
            kind="ece",
            owner=np.zeros(10, int),
            size=size,
            value=np.tile([1.0, 0.0], (10, 1)),
            score=score,
            known=known,
            evidence=known,
            prior=2 * np.stack([score, 1 - score], axis=1),
        )
        drawn = samples(some, 2000, rng)
        (value,), (lower,), (upper,) = intervals(some, drawn, 0.95, rng)
        held += lower <= truth <= upper
        above += np.quantile(drawn, 0.025) > truth
        apart.append((value - truth, drawn.mean() - truth))
        assert lower <= value <= upper
    assert above >= 36
    assert held >= 38
    of_means, of_draws = np.mean(apart, axis=0)
    assert 0 < of_means < 0.75 * of_draws


def test_ends_are_what_the_labels_leave_possible():
    """Whatever was believed; where that is ruled out, all that is possible."""
    believed = replace(cell((20, 0), 20, (1, 1)), told=np.array([[20, 15]]))
    mean, lower, upper = (each[0, 0] for each in entries(believed, 0.95))
    assert (lower, upper) == (0.5, 0.625)
    assert lower <= mean <= upper
    partly = replace(cell((20, 0), 20, (1, 1)), told=np.array([[20, 2]]))
    assert entries(partly, 0.95)[2][0, 0] == pytest.approx(0.95)
