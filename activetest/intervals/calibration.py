"""Calibration: sums of absolute gaps between what happened and what was claimed, bin by bin.

The sum over estimated gaps is too large, because every estimated gap is nearly never zero (Kumar,
Liang and Ma 2019): an interval around it, or a posterior of the sum, can miss the truth always.
Here the sum is compared with what sums look like that noise was added to: those of folded normals
(Leone, Nelson and Nottingham 1961).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array

OF_GAPS = True
REMOVES_BIAS = True

# Imaginary draws in every bin, as noisy as its claim makes them: bins that were met rarely, or
# never, would seem to be known.
_PSEUDO_DRAWS = 5.0
# Times the noise of uniform draws that all bins together show; beyond, they are too few to say.
_LEAST, _MOST = 0.2, 10.0
_STEPS = 60
# The part of a claim that single precision may put outside its bin.
_ROUNDING = 1e-6


def interval(estimate: Estimate, level: float) -> Quantity:
    """Interval for sum_b |a_b - c_b|, from means (2B,): a what happened, and c what was claimed.

    A claim is known of every item, so that its guess is its value. One more mean, where
    there is one, is the share of items that can be answered; the sum is then about those.

    upper   the largest sum for which one as small as the estimated sum T is plausible, however it
            is spread over bins: noise adds least where gaps are in proportion to their noise
    lower   the larger of T less what noise alone adds, and of |sum_b (a_b - c_b)| less its error:
            the sum is at least the gap between the overall shares

    It holds T. Needs no draws in a bin; then the noise is what the claim makes it.
    """
    found = estimate_gaps(estimate)
    total = float(np.abs(found.mean).sum())
    if estimate.exact:
        return Quantity(total, total, total, level, "exact", variance=0.0)
    freedom = min(estimate.freedom, max(int(np.count_nonzero(estimate.inside)), 3) - 1)
    times, rarely = -stdtrit(freedom, np.array([1 - level, (1 - level) / 2]) / 2)
    upper = max(total, _find_sum_behind(total, np.sqrt(found.variance), times))
    # An error that no draw has met yet is in the claim.
    careful = np.maximum(found.variance, found.claimed)
    noise = np.sqrt(careful).sum() * _folded_normal_mean(0.0)
    noise += times * np.sqrt(careful.sum() * (1 - _folded_normal_mean(0.0) ** 2))
    # Two ways to be too high share their error, and this one can be so on both sides of zero.
    overall = abs(found.mean.sum()) - rarely * np.sqrt(max(careful.sum(), found.overall))
    lower = max(0.0, total - noise, overall)
    variance = float(found.variance.sum())
    return Quantity(total, float(lower), float(upper), level, "calibration", variance=variance)


def remove_bias(estimate: Estimate) -> float:
    """The sum of gaps to which noise adds, on average, what makes the estimated sum T.

    At least the gap between the overall shares, at most T, and in the interval of every level.
    """
    found = estimate_gaps(estimate)
    total = float(np.abs(found.mean).sum())
    if estimate.exact:
        return total
    return max(_find_sum_behind(total, np.sqrt(found.variance), 0.0), abs(float(found.mean.sum())))


@dataclass(frozen=True)
class Gaps:
    """Estimated gaps of B bins.

    mean       (B,) what happened less what was claimed
    variance   (B,) of the mean, steadied by imaginary draws
    claimed    (B,) the variance if claims are right, at least that of uniform draws
    overall    observed variance of the sum of the means
    """

    mean: Array
    variance: Array
    claimed: Array
    overall: float


def estimate_gaps(estimate: Estimate, *, blocks: int = 2) -> Gaps:
    """The gaps of B bins; of several blocks of B means the first two are compared."""
    weights, bins = estimate.weights, len(estimate.mean) // blocks
    happened, claimed = slice(bins), slice(bins, 2 * bins)
    terms = estimate.terms[:, happened] - estimate.terms[:, claimed]
    mean = estimate.mean[happened] - estimate.mean[claimed]
    if len(estimate.mean) > blocks * bins:
        # Over the items that can be answered: ratios, linearised.
        answered = estimate.mean[-1]
        mean = mean / answered
        terms = mean + (terms - estimate.terms[:, -1:] * mean) / answered
    if estimate.exact:
        return Gaps(mean, np.zeros(bins), np.zeros(bins), 0.0)
    residual = weights[:, None] * (terms - weights @ terms)
    scale = 1 / (1 - (weights**2).sum())
    observed = scale * (residual**2).sum(axis=0)
    overall = scale * (residual.sum(axis=1) ** 2).sum()
    claims = estimate.guess[:, claimed]
    count = (claims > _ROUNDING).sum(axis=0)
    uniform = _uniform_variance(estimate.mean[claimed], claims, count) / max(
        estimate.inside.sum(), 1
    )
    if not uniform.any():
        return Gaps(mean, observed, observed, overall)
    noise = np.clip(observed.sum() / uniform.sum(), _LEAST, _MOST)

    def steadied(noise: float) -> Array:
        values: Array = (count * observed + _PSEUDO_DRAWS * noise * uniform) / (
            count + _PSEUDO_DRAWS
        )
        return values

    return Gaps(mean, steadied(noise), steadied(max(noise, 1.0)), overall)


def _uniform_variance(claimed: Array, claims: Array, count: Array) -> Array:
    """(B,) variance of one uniform draw where what is claimed (B,) is right.

    claims (M, B) at the drawn items, above zero in their bin; count (B,) how many. A bin that no
    draw fell into claims, per item, what lies between its neighbours. Zeros without any claim.
    """
    met = np.flatnonzero(count)
    if not len(met):
        return np.zeros(len(count))
    rate = np.interp(np.arange(len(count)), met, claims.sum(axis=0)[met] / count[met])
    share = np.clip(claimed, 0, rate) / rate
    values: Array = share * rate * (1 - rate)
    return values


def _find_sum_behind(total: float, deviation: Array, times: float) -> float:
    """The sum of gaps, in proportion to deviation (B,), whose noisy sum is `total` at its low end.

    The low end is the mean less `times` standard deviations; 0 where no sum is that small.
    """
    scale, variance = deviation.sum(), (deviation**2).sum()
    if scale == 0:
        return total

    def low(gap: float) -> float:
        mean = _folded_normal_mean(gap)
        return float(scale * mean - times * np.sqrt(variance * max(1 + gap**2 - mean**2, 0.0)))

    inner, outer = 0.0, (total + times * np.sqrt(variance)) / scale
    for _ in range(_STEPS):
        middle = (inner + outer) / 2
        inner, outer = (middle, outer) if low(middle) <= total else (inner, middle)
    return scale * outer if inner > 0 else 0.0


def _folded_normal_mean(gap: float) -> float:
    """Mean of |gap + standard normal noise|."""
    return float(np.sqrt(2 / np.pi) * np.exp(-(gap**2) / 2) + gap * (1 - 2 * ndtr(-gap)))
