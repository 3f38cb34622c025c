"""Nominal levels of sequential looks, against the constants of textbooks and against chance."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

from activetest.estimation import spending
from activetest.estimation.looks import LookPlan
from activetest.estimation.spending import (
    find_conditional_power,
    find_look_levels,
    find_nominal_levels,
)

FIFTHS = (0.2, 0.4, 0.6, 0.8, 1.0)


def find_crossing_probabilities(times: list[float], limits: list[float]) -> np.ndarray:
    """(K,) probability that a look is the first at which a standardised sum reaches its limit.

    times, limits   (K,) of the looks: the sum at time t is normal with mean 0 and variance t, and
                    divided by the root of t it is compared with the limit

    The probabilities are those where the drift is 0.
    """
    paths, found = None, []
    for place, (time, limit) in enumerate(zip(times, limits, strict=True)):
        earlier = times[place - 1] if place else 0.0
        found.append(spending._find_crossing(paths, earlier, time, limit))
        if place + 1 < len(times):
            paths = spending._continue_paths(paths, earlier, time, times[place + 1], limit)
    return np.array(found)


def walk(times, *, runs: int, seed: int, drift: float = 0.0) -> np.ndarray:
    """(runs, K) standardised sums at these times, with this drift."""
    steps = np.diff([0.0, *times])
    noise = np.random.default_rng(seed).standard_normal((runs, len(times)))
    sums = np.cumsum(noise * steps**0.5 + drift * steps, axis=1)
    return sums / np.sqrt(times)


def test_the_cube_spends_what_the_recursion_leaves_for_five_looks():
    levels = find_nominal_levels(FIFTHS, 0.05, "cubic")
    assert levels == approx([0.00040, 0.00296, 0.00938, 0.02175, 0.04250], abs=5e-6)


def test_pococks_spending_has_the_limits_of_the_textbook():
    """Lan and DeMets 1983, alpha .025 on one side, five looks; as in Jennison and Turnbull 2000."""
    limits = -ndtri(find_nominal_levels(FIFTHS, 0.025, "pocock"))
    assert limits == approx([2.438, 2.427, 2.410, 2.397, 2.386], abs=6e-4)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        # Pocock 1977 and O'Brien and Fleming 1979: .05 on both sides, five looks.
        ([2.413] * 5, 0.025),
        ([2.040 * (5 / look) ** 0.5 for look in range(1, 6)], 0.025),
        # Pocock, ten looks, .01 on both sides.
        ([3.117] * 10, 0.005),
        # Armitage, McPherson and Rowe 1969: ten looks at .05 on both sides err 19.3 % of the time,
        # and on one side so often, by the same recursion (both sides are rarely reached).
        ([1.960] * 5, 0.142 / 2),
    ],
)
def test_crossing_probabilities_are_those_that_classical_limits_were_made_for(limits, error):
    times = np.arange(1, len(limits) + 1) / len(limits)
    total = find_crossing_probabilities(times.tolist(), limits).sum()
    assert total == approx(error, abs=4e-4)


def test_each_look_is_the_first_to_reject_as_often_as_its_share_of_the_error_says():
    times = (0.05, 0.3, 0.31, 0.7, 1.0)
    levels = find_nominal_levels(times, 0.05, "cubic")
    new = find_crossing_probabilities(times, (-ndtri(levels)).tolist())
    assert np.cumsum(new) == approx([0.05 * time**3 for time in times], abs=1e-9)
    reached = walk(times, runs=100_000, seed=1) >= -ndtri(levels)
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), len(times))
    for look, share in enumerate(new):
        error = (share / 100_000) ** 0.5
        assert (first == look).mean() == approx(share, abs=4 * error + 1e-6)


def test_a_look_that_is_skipped_leaves_its_error_to_the_next():
    whole = find_nominal_levels(FIFTHS, 0.05, "cubic")
    skipping = find_nominal_levels((0.2, 0.6, 0.8, 1.0), 0.05, "cubic")
    assert skipping[0] == whole[0]
    assert skipping[1] > whole[2] * 1.02
    new = find_crossing_probabilities((0.2, 0.6), (-ndtri(skipping[:2])).tolist())
    assert new.sum() == approx(0.05 * 0.6**3)


def test_a_single_look_has_the_whole_error_and_earlier_looks_do_not_see_later_ones():
    assert find_nominal_levels([1.0], 0.05, "cubic") == approx([0.05])
    assert find_nominal_levels([0.5], 0.05, "cubic") == approx([0.05 / 8])
    few, many = (find_nominal_levels(FIFTHS[:count], 0.05, "pocock") for count in (3, 5))
    assert few == approx(many[:3], abs=1e-12)


@pytest.mark.parametrize("times", [(), (0.5, 0.5), (0.6, 0.4), (0.0, 1.0), (0.5, 1.1)])
def test_times_that_are_none_are_refused(times):
    with pytest.raises(ValueError, match="times of looks increase"):
        find_nominal_levels(times, 0.05, "cubic")


def test_looks_that_are_close_together_and_many_of_them_add_up():
    times = sorted({*np.linspace(0.05, 1, 20).tolist(), 0.5001, 0.99999})
    for name, spent in (("cubic", 0.05), ("pocock", 0.05)):
        levels = find_nominal_levels(times, 0.05, name)
        total = find_crossing_probabilities(times, (-ndtri(levels)).tolist()).sum()
        assert total == approx(spent, rel=1e-4)


@pytest.mark.parametrize("time", [0.01, 0.5, 0.999])
def test_two_looks_are_those_of_a_normal_pair(time):
    """Also where one step is far longer than the other."""
    stays, reaches = 0.3, 0.8
    pair = multivariate_normal(cov=[[1, time**0.5], [time**0.5, 1]])
    exact = ndtr(stays) - pair.cdf([stays, reaches])
    found = find_crossing_probabilities((time, 1.0), (stays, reaches))
    assert found == approx([ndtr(-stays), exact], abs=2e-6)


def test_conditional_power_is_how_often_the_last_look_rejects_if_the_trend_goes_on():
    time, statistic, level = 0.4, 1.1, 0.0425
    drift = statistic / time**0.5
    rest = np.random.default_rng(2).standard_normal(400_000) * (1 - time) ** 0.5
    last = statistic * time**0.5 + rest + drift * (1 - time)
    assert find_conditional_power(statistic, time, level) == approx(
        (last >= -ndtri(level)).mean(), abs=0.003
    )
    # At the limit itself, the trend leads beyond it.
    assert find_conditional_power(-ndtri(level), 0.4, level) > 0.9
    assert find_conditional_power(0.0, 0.9999, 0.05) == approx(float(ndtr(ndtri(0.05) / 0.01)))


def test_a_look_at_every_item_needs_no_error_so_the_one_before_it_spends_all():
    plan = LookPlan(looks=4, last=100, spending="cubic", level=0.95, size=100)
    levels = find_look_levels(plan, plan.due)
    before = find_nominal_levels(
        [plan.find_time(25), plan.find_time(50), plan.find_time(75)], 0.05, "cubic"
    )
    assert plan.find_time(75) == 1.0
    assert levels == approx([*before, 0.05])
    assert find_look_levels(plan, [25], gates=2) == approx(find_look_levels(plan, [25]) / 2)


def test_values_of_a_population_are_never_known_so_its_last_look_needs_error():
    plan = LookPlan(looks=2, last=100, spending="cubic", level=0.95, size=100)
    assert find_look_levels(plan, [50, 100], population=True) == approx(
        find_nominal_levels([0.5, 1.0], 0.05, "cubic")
    )
