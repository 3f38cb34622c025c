"""Credible intervals of the finite pool."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import betabinom

from activetest.wings.groups import credible
from activetest.wings.groups.arms import Arms, sample_values
from activetest.wings.groups.credible import outcome_share_intervals, value_intervals


def cell(known, unlabelled, prior) -> Arms:
    """One cell with these labels (2,), and so many items without one."""
    known = np.array([known], float)
    return Arms(
        kind="accuracy",
        groups=({"group": "a"},),
        arm_of_cell=np.array([0]),
        size=np.array([int(known.sum()) + unlabelled]),
        value=np.array([[1.0, 0.0]]),
        mean_confidence=np.array([0.5]),
        known_counts=known,
        exchangeable_counts=known,
        prior=np.array([prior], float),
    )


@pytest.mark.parametrize("known", [(0, 0), (3, 1), (40, 25)])
@pytest.mark.parametrize("unlabelled", [7, 60, 2000])
def test_shares_of_a_cell_have_the_quantiles_of_a_beta_binomial(known, unlabelled):
    arms = cell(known, unlabelled, (1.5, 0.5))
    mean, lower, upper = (each[0, 0] for each in outcome_share_intervals(arms, 0.95))
    exact = betabinom(unlabelled, 1.5 + known[0], 0.5 + known[1])
    size = sum(known) + unlabelled
    assert mean == pytest.approx((known[0] + exact.mean()) / size)
    for found, share in ((lower, 0.025), (upper, 0.975)):
        end = min(max(known[0] + exact.ppf(share), 0), size) / size
        assert abs(found - end) <= max(1.01 / size, 0.015)


def test_labels_that_all_agree_leave_the_most_likely_value_inside():
    """Quantiles of the posterior would end below 1 on one side, above 0 on the other."""
    _, lower, upper = (
        each[0] for each in outcome_share_intervals(cell((12, 0), 2000, (1, 1)), 0.95)
    )
    assert (upper[0], lower[1]) == (1, 0)
    assert lower[0] == pytest.approx((12 + betabinom(2000, 13, 1).ppf(0.025)) / 2012, abs=0.002)


def test_a_prior_that_is_all_but_sure_leaves_the_doubt_of_half_a_label():
    certain, half = cell((5, 0), 2000, (1.999, 0.001)), cell((5, 0), 2000, (1.999, 0.5))
    assert (
        outcome_share_intervals(certain, 0.95)[1][0, 0]
        == outcome_share_intervals(half, 0.95)[1][0, 0]
        < 0.9
    )
    assert outcome_share_intervals(certain, 0.95)[0][0, 0] > 0.999


def test_intervals_of_many_studies_are_those_of_each():
    studies = [cell(known, 200, (1.2, 0.8)) for known in ((0, 0), (4, 1), (9, 0))]
    together = replace(
        studies[0],
        size=np.array([200]),
        **{
            name: np.stack([getattr(one, name) for one in studies])
            for name in ("known_counts", "exchangeable_counts", "prior")
        },
    )
    for place, one in enumerate(studies):
        alone = outcome_share_intervals(replace(one, size=np.array([200])), 0.9)
        assert [each[place].tolist() for each in outcome_share_intervals(together, 0.9)] == [
            each.tolist() for each in alone
        ]


def test_ends_are_shares_that_the_pool_can_have_and_hold_the_mean():
    arms = cell((3, 0), 4, (1.999, 0.001))
    for mean, lower, upper in zip(
        *(each[0] for each in outcome_share_intervals(arms, 0.95)), strict=True
    ):
        assert lower <= mean <= upper
        assert {round(end * 7, 9) % 1 for end in (lower, upper) if end != mean} <= {0.0}


def test_what_is_fully_labelled_is_exact():
    mean, lower, upper = (
        each[0] for each in outcome_share_intervals(cell((3, 1), 0, (1, 1)), 0.95)
    )
    assert mean.tolist() == lower.tolist() == upper.tolist() == [0.75, 0.25]


def test_intervals_of_values_are_equal_tailed():
    arms, rng = cell((6, 4), 500, (1, 1)), np.random.default_rng(0)
    drawn = sample_values(arms, 40_000, rng)
    _, lower, upper = value_intervals(arms, drawn, 0.9, rng)
    exact = betabinom(500, 7, 5)
    assert lower[0] == pytest.approx((6 + exact.ppf(0.05)) / 510, abs=0.006)
    assert upper[0] == pytest.approx((6 + exact.ppf(0.95)) / 510, abs=0.006)


def test_the_interval_of_a_calibration_error_holds_where_all_draws_are_too_large():
    """A calibrated model: draws of the sum of distances lie above the truth nearly always."""
    rng = np.random.default_rng(1)
    mean_confidence, size = np.linspace(0.05, 0.95, 10), np.full(10, 300)
    held, above, apart = 0, 0, []
    for _ in range(40):
        right = rng.binomial(size, mean_confidence)
        truth = np.mean(np.abs(right / size - mean_confidence))
        hits = rng.hypergeometric(right, size - right, 8)
        known = np.stack([hits, 8 - hits], axis=1).astype(float)
        arms = replace(
            cell((0, 0), 0, (1, 1)),
            kind="ece",
            arm_of_cell=np.zeros(10, int),
            size=size,
            value=np.tile([1.0, 0.0], (10, 1)),
            mean_confidence=mean_confidence,
            known_counts=known,
            exchangeable_counts=known,
            prior=2 * np.stack([mean_confidence, 1 - mean_confidence], axis=1),
        )
        drawn = sample_values(arms, 2000, rng)
        (value,), (lower,), (upper,) = value_intervals(arms, drawn, 0.95, rng)
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
    believed = replace(cell((20, 0), 20, (1, 1)), observed_counts=np.array([[20, 15]]))
    mean, lower, upper = (each[0, 0] for each in outcome_share_intervals(believed, 0.95))
    assert (lower, upper) == (0.5, 0.625)
    assert lower <= mean <= upper
    partly = replace(cell((20, 0), 20, (1, 1)), observed_counts=np.array([[20, 2]]))
    assert outcome_share_intervals(partly, 0.95)[2][0, 0] == pytest.approx(0.95)


def test_what_labels_leave_possible_bounds_the_intervals_of_every_cell():
    """Twenty labels that were drawn in another way are known, of cells with other priors."""
    two = replace(
        cell((0, 0), 40, (1, 1)),
        groups=({"group": "a"}, {"group": "b"}),
        arm_of_cell=np.array([0, 1]),
        size=np.array([40, 25]),
        value=np.array([[1.0, 0.0]] * 2),
        mean_confidence=np.full(2, 0.5),
        known_counts=np.zeros((2, 2)),
        exchangeable_counts=np.zeros((2, 2)),
        observed_counts=np.array([[15.0, 5.0], [2.0, 18.0]]),
        prior=np.array([[9.0, 1.0], [1.0, 1.0]]),
    )
    mean, lower, upper = outcome_share_intervals(two, 0.95)
    assert (two.observed_counts / two.size[:, None] <= lower).all()
    for place in range(2):
        alone = replace(
            two,
            groups=two.groups[:1],
            arm_of_cell=np.array([0]),
            **{
                name: getattr(two, name)[place : place + 1]
                for name in (
                    "size", "value", "mean_confidence", "known_counts", "exchangeable_counts",
                    "observed_counts", "prior",
                )
            },
        )  # fmt: skip
        for found, whole in zip(
            outcome_share_intervals(alone, 0.95), (mean, lower, upper), strict=True
        ):
            np.testing.assert_allclose(found[0], whole[place])


def test_costs_have_the_quantiles_of_their_draws(monkeypatch):
    """Group by group, also of more groups than are looked at in a go; the value is inside."""
    one = cell((4, 2), 30, (1, 1))
    count = 5
    arms = replace(
        one,
        kind="cost",
        groups=tuple({"group": str(place)} for place in range(count)),
        arm_of_cell=np.arange(count),
        size=np.full(count, 36),
        value=np.tile([0.0, 7.0], (count, 1)),
        mean_confidence=np.full(count, 0.5),
        **{
            name: np.tile(getattr(one, name), (count, 1))
            for name in ("known_counts", "exchangeable_counts", "prior")
        },
    )
    rng = np.random.default_rng(0)
    drawn = rng.normal(2.5, [0.1, 0.2, 0.4, 0.8, 0.001], (4000, count))
    monkeypatch.setattr(credible, "_BLOCK", 2)
    value, lower, upper = value_intervals(arms, drawn, 0.9, rng)
    # Two of six labels cost, and three of eight with the prior.
    assert value == pytest.approx(7 * (2 + 30 * 3 / 8) / 36)
    assert lower == pytest.approx(np.minimum(np.quantile(drawn, 0.05, axis=0), value))
    assert upper == pytest.approx(np.maximum(np.quantile(drawn, 0.95, axis=0), value))
    assert upper[4] == value[4]
