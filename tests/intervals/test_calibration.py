"""Calibration: how far what happened is from what was claimed, bin by bin."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.optimize import brentq
from scipy.stats import foldnorm, t

from activetest.intervals import calibration
from activetest.nouns.estimate import Estimate


def study(share, claim, rate, *, draws: int, seed: int, size: int = 20_000) -> Estimate:
    """Uniform draws from bins (B,) with these shares, claims and rates of what happens."""
    rng = np.random.default_rng(seed)
    share, claim, rate = (np.asarray(each, float) for each in (share, claim, rate))
    bins = rng.choice(len(share), size=draws, p=share)
    inside = np.eye(len(share))[bins]
    happened = (rng.random(draws) < rate[bins])[:, None] * inside
    # A guess that is the claim: terms are its mean and, for the drawn bin, what it missed.
    terms = np.hstack(
        [share * claim + happened - claim * inside, np.tile(share * claim, (draws, 1))]
    )
    left = size - np.arange(draws)
    weights = 1 / (left * (left - 1.0))
    weights /= weights.sum()
    count = 2 * len(share)
    return Estimate(
        mean=weights @ terms,
        variance=np.zeros((count, count)),
        terms=terms,
        weights=weights,
        guess=np.hstack([claim * inside, claim * inside]),
        limits=np.array([np.zeros(count), np.ones(count)]),
        inside=np.ones(draws),
    )


def error(share, claim, rate) -> float:
    return float(np.abs(np.asarray(share) * (np.asarray(claim) - np.asarray(rate))).sum())


TEN = np.full(10, 0.1)
CLAIMS = np.linspace(0.5, 0.95, 10)


def test_when_everything_is_known_it_is_the_error_itself():
    known = replace(study(TEN, CLAIMS, CLAIMS - 0.1, draws=100, seed=1), exact=True)
    known = replace(known, mean=np.concatenate([TEN * (CLAIMS - 0.1), TEN * CLAIMS]))
    found = calibration.interval(known, 0.95)
    assert (found.lower, found.upper, found.variance) == (approx(0.1), approx(0.1), 0.0)
    assert calibration.remove_bias(known) == approx(0.1)


def test_one_bin_far_from_its_claim_gets_students_t():
    """Nothing is folded there: the error is the gap, up to its sign."""
    estimated = study([1.0], [0.9], [0.2], draws=400, seed=2)
    found = calibration.interval(estimated, 0.9)
    gap = 0.9 - estimated.mean[0]
    half = t.ppf(0.95, estimated.freedom) * found.variance**0.5
    hits = estimated.mean[0]
    # Five imaginary draws have the same variance as the 400.
    assert found.variance == approx(hits * (1 - hits) / 399, rel=1e-3)
    assert found.upper == approx(gap + half, rel=1e-6)
    # The lower end trusts no smaller variance than the claim's.
    assert gap - 1.1 * half < found.lower <= gap - half + 1e-9


def compute_by_hand(one: Estimate, level: float, freedom: int) -> tuple[float, float, float]:
    """Lower end, upper end and debiased sum from the formulas that the module documents."""
    bins = len(one.mean) // 2
    gaps = one.mean[:bins] - one.mean[bins:]
    off = (one.terms[:, :bins] - one.terms[:, bins:]) - gaps
    scale = 1 / (1 - (one.weights**2).sum())
    observed = scale * (one.weights**2) @ off**2
    together = scale * (one.weights**2) @ off.sum(axis=1) ** 2
    claims = one.guess[:, bins:]
    count = (claims > 0).sum(axis=0)
    met = np.flatnonzero(count)
    # A bin that no draw fell into claims what lies between its neighbours.
    rate = np.interp(np.arange(bins), met, claims[:, met].sum(axis=0) / count[met])
    share = one.mean[bins:] / rate
    uniform = share * rate * (1 - rate) / one.inside.sum()
    noise = min(max(observed.sum() / uniform.sum(), 0.2), 10.0)
    variance = (count * observed + 5 * noise * uniform) / (count + 5)
    careful = np.maximum(variance, (count * observed + 5 * max(noise, 1) * uniform) / (count + 5))
    total, spread = np.abs(gaps).sum(), np.sqrt(variance)

    def behind(times: float) -> float:
        def low(gap: float) -> float:
            mean = foldnorm.mean(gap)
            return spread.sum() * mean - times * np.sqrt(variance.sum() * foldnorm.var(gap)) - total

        return spread.sum() * brentq(low, 0, 1e3) if low(0.0) < 0 else 0.0

    times, rarely = t.ppf(1 - (1 - level) / 2, freedom), t.ppf(1 - (1 - level) / 4, freedom)
    upper = max(total, behind(times))
    nothing = np.sqrt(careful).sum() * foldnorm.mean(0)
    nothing += times * np.sqrt(careful.sum() * foldnorm.var(0))
    overall = abs(gaps.sum()) - rarely * np.sqrt(max(careful.sum(), together))
    return max(0.0, total - nothing, overall), upper, max(behind(0.0), abs(gaps.sum()))


@pytest.mark.parametrize("off", [0.0, 0.05, 0.1, 0.3, -0.04])
@pytest.mark.parametrize("draws", [15, 40, 150])
def test_its_ends_solve_the_equations_of_folded_normals(draws, off):
    estimated = study(TEN, CLAIMS, CLAIMS - off, draws=draws, seed=11)
    for level in (0.5, 0.95):
        found = calibration.interval(estimated, level)
        lower, upper, centre = compute_by_hand(estimated, level, draws - 1)
        assert (found.lower, found.upper) == approx((lower, upper), rel=1e-4, abs=1e-9)
    assert calibration.remove_bias(estimated) == approx(centre, rel=1e-4)


@pytest.mark.parametrize(("inside", "freedom"), [(12, 11), (3, 2), (1, 2)])
def test_the_draws_inside_limit_its_degrees_of_freedom(inside, freedom):
    """Those of a group that few draws fell into: one less than these, and at least two."""
    estimated = study(TEN, CLAIMS, CLAIMS - 0.3, draws=60, seed=12)
    within = replace(estimated, inside=np.repeat([1.0, 0.0], [inside, 60 - inside]))
    found = calibration.interval(within, 0.9)
    lower, upper, _ = compute_by_hand(within, 0.9, freedom)
    assert (found.lower, found.upper) == approx((lower, upper), rel=1e-4, abs=1e-9)


def test_without_miscalibration_the_estimated_sum_is_what_noise_makes_it():
    """The mean of 10 folded normals; debiased, little of it is left."""
    sums, levelled = [], []
    for seed in range(60):
        estimated = study(TEN, CLAIMS, CLAIMS, draws=200, seed=seed)
        sums.append(np.abs(estimated.mean[:10] - estimated.mean[10:]).sum())
        levelled.append(calibration.remove_bias(estimated))
    noise = np.sqrt(0.1 * CLAIMS * (1 - CLAIMS) / 200)
    assert np.mean(sums) == approx(foldnorm.mean(0, scale=noise).sum(), rel=0.05)
    assert np.mean(levelled) < 0.65 * np.mean(sums)


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_the_debiased_error_and_the_estimated_one_and_widens_with_the_level(seed):
    estimated = study(TEN, CLAIMS, CLAIMS - 0.05, draws=80, seed=seed)
    total = np.abs(estimated.mean[:10] - estimated.mean[10:]).sum()
    widths = []
    for level in (0.5, 0.8, 0.95):
        found = calibration.interval(estimated, level)
        assert 0 <= found.lower <= calibration.remove_bias(estimated) <= total <= found.upper
        widths.append(found.upper - found.lower)
    assert widths == sorted(widths)


def test_more_draws_narrow_it():
    widths = []
    for draws in (50, 200, 800, 3200):
        found = calibration.interval(study(TEN, CLAIMS, CLAIMS - 0.1, draws=draws, seed=4), 0.95)
        widths.append(found.upper - found.lower)
    assert widths[-1] < 0.4 * widths[1] < 0.4 * widths[0]


def test_the_gap_between_overall_shares_bounds_it_from_below():
    """Every bin claims 0.3 too much: the sum of the gaps needs no bins to be seen."""
    estimated = study(TEN, CLAIMS, CLAIMS - 0.3, draws=60, seed=5)
    overall = abs((estimated.mean[:10] - estimated.mean[10:]).sum())
    assert 0.06 < calibration.interval(estimated, 0.95).lower < overall


def test_a_bin_that_no_draw_fell_into_is_as_noisy_as_its_claim_makes_it():
    share = np.append(np.full(9, 0.11), 0.01)
    estimated = next(
        estimated
        for estimated in (study(share, CLAIMS, CLAIMS, draws=40, seed=seed) for seed in range(99))
        if not estimated.guess[:, 19].any()
    )
    found = calibration.interval(estimated, 0.95)
    without = replace(
        estimated,
        mean=np.delete(estimated.mean, [9, 19]),
        terms=np.delete(estimated.terms, [9, 19], axis=1),
        guess=np.delete(estimated.guess, [9, 19], axis=1),
    )
    assert found.variance > calibration.interval(without, 0.95).variance


def test_rounding_outside_a_bin_is_no_draw_in_it():
    """A surrogate of single precision expects a claim of next to nothing where there is none."""
    estimated = study(TEN, CLAIMS, CLAIMS, draws=100, seed=6)
    one, rounded, drawn = (
        calibration.interval(
            replace(estimated, guess=np.where(estimated.guess == 0, least, estimated.guess)), 0.95
        )
        for least in (0.0, 0.9e-6, 1.1e-6)
    )
    assert (rounded.lower, rounded.upper) == approx((one.lower, one.upper), abs=1e-5)
    # A millionth is a claim.
    assert drawn.variance != approx(one.variance, rel=1e-3)


def test_errors_that_no_draw_has_met_yet_leave_doubt():
    """Twenty draws that were all right do not refute a claim of 95 %."""
    estimated = study([0.5, 0.5], [0.93, 0.97], [1.0, 1.0], draws=20, seed=6)
    found = calibration.interval(estimated, 0.95)
    assert found.lower == 0
    assert found.upper > 0.06


def test_declined_items_leave_the_error_over_those_that_can_be_answered():
    """Half of the pool can be answered, and there every gap is what it was."""
    estimated = study(TEN, CLAIMS, CLAIMS - 0.1, draws=300, seed=7)
    answered = np.full((300, 1), 0.5)
    halved = replace(
        estimated,
        mean=np.append(estimated.mean / 2, 0.5),
        terms=np.hstack([estimated.terms / 2, answered]),
        guess=np.hstack([estimated.guess, answered]),
    )
    one, other = (calibration.interval(each, 0.95) for each in (estimated, halved))
    assert other.lower == approx(one.lower, abs=0.01)
    assert other.upper == approx(one.upper, abs=0.01)


@pytest.mark.parametrize(
    "rate",
    [
        CLAIMS,
        CLAIMS - 0.05,
        CLAIMS - 0.2,
        CLAIMS + 0.04 * np.tile([1, -1], 5),
        CLAIMS.mean() * TEN * 10,
    ],
    ids=["calibrated", "overconfident", "far off", "up and down", "ignorant"],
)
@pytest.mark.parametrize("draws", [50, 200])
def test_it_holds_the_truth(rate, draws):
    truth, held = error(TEN, CLAIMS, rate), 0
    for seed in range(300):
        estimated = study(TEN, CLAIMS, rate, draws=draws, seed=1000 * draws + seed)
        found = calibration.interval(estimated, 0.95)
        held += found.lower <= truth <= found.upper
    assert held / 300 >= 0.93
