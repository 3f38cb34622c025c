"""The delta method: the value and variance of a smooth map of estimated means."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from activetest.errors import NotEstimable
from activetest.item_statistics.metric import Metric, divide
from activetest.nouns.estimate import ENOUGH_RESIDUALS, Estimate, Excess, Sample, Sides
from activetest.nouns.rounding import MARGIN, round_count
from activetest.nouns.rows import Array

# Relative error of a slope that differences of a metric gave.
_SLOPE_ERROR = 1e-7
# Part of the largest residual below which one is none, and of the statistics themselves.
_NEGLIGIBLE, _SINGLE = 0.1, 1e-5


def divide_by_answered(metric: Metric, smooth: Callable[[Array], Array], sample: Sample) -> Metric:
    """The metric with a map of (d,) means; with declined items, of their ratios to the last."""
    declined = sample.stats.shape[1] > len(metric.statistics)

    def ratio(mean: Array) -> Array:
        below = np.where(mean[..., -1:] > 0, mean[..., -1:], np.nan)
        return smooth(mean[..., :-1] / below)

    return replace(metric, smooth=ratio if declined else smooth)


def linearise_metric(
    means: Estimate, sample: Sample, metric: Metric, bounds: tuple[float, float]
) -> Estimate:
    """The estimate (d = 1) of the metric's map of (d,) means.

    The variance is that of gradient . mean. Raises NotEstimable where the map has no value.
    """
    mean = means.limited_mean
    answered = sample.stats.shape[1] > len(metric.statistics)
    if answered and mean[-1] <= 0:
        raise NotEstimable("every labelled item was declined", hint="`study.next(10)`")
    if answered and not (sample.counted.any() or means.exact or means.draws is not None):
        raise NotEstimable("none of the drawn items here has a label", hint="`study.next(10)`")
    at = float(metric.smooth(mean))
    slope = np.ones(1) if len(mean) == 1 else _find_slope(metric, mean)
    if not (np.isfinite(at) and np.isfinite(slope).all()):
        raise NotEstimable(
            metric.undefined or "it is not defined for these labels", "`study.next(10)`"
        )
    same = len(mean) == 1
    doubt = sample.label_variance(slope)
    # Where annotators disagree, knowing their answers is not knowing the labels.
    exact = means.exact and not doubt
    known = same and not (means.exact and doubt)
    limits = means.limits[:, :1] if known else np.array([bounds]).T
    draws = means.draws
    if draws is not None:
        draws = metric.smooth(np.clip(draws, *means.limits))
        draws = draws[np.isfinite(draws), None]
    variance = slope @ means.variance @ slope
    of_model: dict[str, Any] = {}
    if draws is None:
        variance = variance + doubt
        of_model = _find_model_variance(means, mean, sample, metric, slope, doubt)
    return Estimate(
        mean=np.array([at]) if not same else means.mean,
        variance=variance[None, None],
        terms=at + ((means.terms - mean) @ slope)[:, None],
        weights=means.weights,
        guess=(means.guess @ slope)[:, None],
        limits=limits,
        inside=sample.counted if answered and len(means.inside) else means.inside,
        draws=draws,
        exact=exact,
        **of_model,
    )


def average_passes(means: Estimate, metric: Metric, bounds: tuple[float, float]) -> Estimate:
    """The estimate (d = 1) of the metric's map of (d,) means: its mean over the K draws of them.

    Draws in which it has no value are left out. Raises NotEstimable where it has none in any.
    """
    if means.draws is None:
        raise ValueError("an estimate without draws has no mean over them")
    values = metric.smooth(np.clip(means.draws, *means.limits))
    found = values[np.isfinite(values)]
    if not len(found):
        raise NotEstimable(
            metric.undefined or "it is not defined for these labels", "`study.next(10)`"
        )
    spread = found.var(ddof=1) if len(found) > 1 else 0.0
    limits = means.limits if means.limits.shape[1] == 1 else np.array([bounds]).T
    return replace(
        means,
        mean=np.array([found.mean()]),
        variance=np.array([[spread]]),
        terms=np.empty((0, 1)),
        guess=np.empty((0, 1)),
        limits=limits,
        draws=found[:, None],
        undefined=len(values) - len(found),
    )


def _find_slope(metric: Metric, mean: Array) -> Array:
    """(d,) derivative of the metric's map at the means: of a ratio of means without rounding.

    The rounding of differences would pass for pulls of labels that cannot change it.
    """
    if metric.ratio is None or len(metric.statistics) < len(mean):
        return metric.gradient(mean)
    above, below = np.array(metric.ratio)
    pull = above[1:] - float(metric.smooth(mean)) * below[1:]
    return divide(pull, below[0] + mean @ below[1:])


def _find_model_variance(
    means: Estimate, mean: Array, sample: Sample, metric: Metric, slope: Array, doubt: float
) -> dict[str, Any]:
    """{field of Estimate: value} of what the surrogate and the labels say about its variance.

    mean (d,) is that of the means within their limits, doubt the variance that disagreeing
    annotators leave.

    Each draw's squared residual is replaced by its expectation under the surrogate: the variance
    sum_m w_m^2 sum_{R_m} E[(h - guess)^2] (1 / q - 1) / N^2, the inner sum estimated from the item
    drawn (its term over q). It is smooth where the observed variance collapses.
    """
    expected, noise = sample.expect(slope)
    inverse, mass = 1 / sample.q, sample.drawn_mass
    square = noise + sample.inside * _find_shifts(means, sample, slope, expected) ** 2
    model = (sample.weights**2 * (inverse - 1) * inverse) @ square / sample.size**2
    model = float(model) if sample.unknown else 0.0
    opened = sample.left[0] if len(sample.left) and sample.left[0] > 0 else np.inf
    known, share = 0.0, 1.0
    if len(mean) == 1 and np.isfinite(opened):
        known, share = sample.known_sum[0, 0] / sample.size, opened / sample.size
    drawn, weighed = sample.inside.sum(), mass.sum()
    # Known items pull at nothing: the centre is the mean of what was open.
    apart = sample.per_unit(sample.stats) - (mean - known) / share
    pull = sample.counted * (apart @ slope)
    reach = np.abs(apart) @ np.abs(slope)
    above, below = find_sides(pull, reach)
    sides = np.where([below, above], pull, 0.0)
    rarity = _compare_with_uniform(sample)
    shown, weight = np.minimum(rarity, 1), sample.weights * rarity
    squares = sides**2 @ weight
    total = squares.sum()
    guess = means.guess @ slope
    off = sample.per_unit(sample.stats) @ slope - guess
    residuals = _describe_residuals(
        off, apart @ slope, sample.counted * shown, float(reach.max(initial=0))
    )
    hidden = sample.bounded or residuals["residual_count"] < ENOUGH_RESIDUALS
    return {
        "model_variance": model + doubt,
        "doubt": doubt,
        "one_draw": sample.spread(slope, mean) if sample.spread else np.nan,
        "minority_count": _count_rarer(sides),
        "weighted_minority_count": _count_rarer(sides * (mass * inverse)),
        "sides": Sides(
            _count_sides(sides, shown), _as_pair(squares / total if total > 0 else 0 * squares)
        ),
        "excess": _find_excess(sample, guess, weight, shown) if hidden else None,
        **residuals,
        "unmet": _limit_unmet(metric, mean, sample, rarity),
        "uniform_count": round_count(float(sample.counted @ shown)),
        "max_weight": round_count((rarity * (sample.inside > 0)).max(initial=1.0)),
        "floor": sample.floor,
        "known": float(known),
        "open_share": float(share),
        "open_items": float(opened * drawn / weighed if weighed > 0 else opened),
    }


def _limit_unmet(metric: Metric, mean: Array, sample: Sample, rarity: Array) -> float:
    """Of a share of means: how much items of a kind that no draw met may add below its line.

    In parts of what is there, for one item that a draw was expected to meet, had all draws been as
    unlikely as the least likely one in the group, by rarity (M,). 0.0 for other metrics.
    """
    if metric.ratio is None or metric.ratio[1][0] or (metric.lower, metric.upper) != (0.0, 1.0):
        return 0.0
    below = np.array(metric.ratio[1][1:])
    base, size = float(mean[: len(below)] @ below), len(below)
    unit = float((sample.per_unit(sample.stats)[:, :size] @ below).max(initial=0.0))
    met = sample.size * float((1 / sample.drawable[sample.drawable > 0]).sum())
    least_likely = float((rarity * (sample.inside > 0)).max(initial=0.0))
    return unit * least_likely / (base * met) if base > 0 and met > 0 else 0.0


def _find_shifts(means: Estimate, sample: Sample, slope: Array, expected: Array) -> Array:
    """(M,) the surrogate's expectation (M,) of each drawn item less its guess.

    Where the guess follows earlier draws, these know better than the surrogate how far it is off,
    and that it was tells nothing about the draws to come.
    """
    shift = expected - sample.drawn_mass * (means.guess @ slope)
    if means.follows is None:
        return shift
    held, rest = slope * ~means.follows.any(axis=0), np.zeros(len(shift))
    if held.any():
        rest = sample.expect(held)[0] - sample.drawn_mass * (means.guess @ held)
    return np.where(means.follows.any(axis=1), rest, shift)


def _compare_with_uniform(sample: Sample) -> Array:
    """(M,) probability of a uniform draw over that of each draw; 1.0 where that is not known.

    Where items have weights, a uniform draw is one in proportion to them.
    """
    remaining = sample.drawable
    weight = 1.0 if sample.mass is None else sample.mass
    return weight / np.where(remaining > 0, sample.q * remaining, 1.0)


def find_sides(pulls: Array, reach: Array | None = None) -> tuple[Array, Array]:
    """(M,) where pulls are above zero, and where below; what rounding left of zero is neither.

    reach (M,) are the sums of the sizes of what pulls are sums of, by slopes that differences gave.
    """
    least = MARGIN * np.abs(pulls).max(initial=0)
    if reach is not None:
        least = max(least, _SLOPE_ERROR * reach.max(initial=0))
    relevant = np.abs(pulls) > least
    return relevant & (pulls > 0), relevant & (pulls < 0)


def _find_excess(sample: Sample, guess: Array, weight: Array, shown: Array) -> Excess | None:
    """How far labels moved a loss, and could have; None for other statistics.

    guess (M,) of the items, weight (M,) of the draws in proportion, shown (M,) how often each of
    them counts.
    """
    counted = sample.counted > 0
    if sample.reach is None or not counted.any():
        return None
    start, end = sample.reach(guess).swapaxes(0, 1)
    signs = np.array([[-1.0], [1.0]])
    moved = counted * np.maximum(signs * (sample.per_unit(sample.stats)[:, 0] - start), 0)
    room, share = (signs * (end - start))[:, counted], weight[counted] / weight[counted].sum()
    if not np.isfinite(room).all():
        return None
    mean, room_mean = moved[:, counted] @ share, room @ share
    most = room**2 @ share / np.where(room_mean > 0, room_mean, 1.0)
    # Many small moves are no large ones: of items that can move it far, none may have been met.
    scaled = moved / np.where(most > 0, most, 1.0)[:, None]
    large = np.minimum(scaled, 1.0) ** 2 @ shown
    of_share = not sample.graded[0] if sample.graded is not None else True
    counts = np.minimum(_count_sides(moved**2, shown), np.round(large, 9))
    return Excess(_as_pair(mean), _as_pair(most), _as_pair(counts), sample.bounded, of_share)


def _describe_residuals(
    residual: Array, pull: Array, counts: Array, size: float
) -> dict[str, float]:
    """How many labels were as far off as matters, and the tail index of the distances.

    residual (M,) are statistics less what they were taken to be, pull (M,) the statistics from
    their mean, counts (M,) how often each counts, size is that of the statistics. Both have to be
    far from their median, which a shift of the level moves for all: more than a tenth of the
    largest distance. The index is that of the largest tenth of residuals (Hill 1975): infinite
    where they are all alike, and below 2 where they are so uneven that a variance of them need not
    exist.
    """
    labelled = counts > 0
    counts, found = counts[labelled], []
    for values in (residual[labelled], pull[labelled]):
        apart = np.abs(values - np.median(values)) if len(values) else values
        largest = float(apart.max(initial=0.0))
        # Predictions are recorded in single precision.
        if largest <= _SINGLE * size:
            return {"residual_count": 0.0, "tail_index": np.inf}
        found.append((apart, apart > _NEGLIGIBLE * largest * (1 + MARGIN)))
    (apart, far), (_, of_pulls) = found
    top = np.sort(apart)[-max(min(len(apart) // 10, int(np.count_nonzero(far)) - 1), 1) - 1 :]
    spread = float(np.log(top[1:] / top[0]).mean()) if top[0] > 0 else np.inf
    return {
        "residual_count": round_count(min(float(counts @ far), float(counts @ of_pulls))),
        "tail_index": round_count(1 / spread if spread > MARGIN else np.inf),
    }


def _count_rarer(sides: Array) -> float:
    """The smaller effective number of two sides (2, M) of pulls, which are 0 elsewhere."""
    return min(_count_sides(sides, 1.0))


def _count_sides(sides: Array, counts: Array | float) -> tuple[float, float]:
    """(2,) effective numbers of two sides (2, M); counts is how often each draw counts."""
    counted = counts * sides
    sums, squares = counted.sum(axis=1).tolist(), (counted * sides).sum(axis=1).tolist()
    below, above = (_divide_squares(*each) for each in zip(sums, squares, strict=True))
    return below, above


def _as_pair(values: Array) -> tuple[float, float]:
    below, above = values.tolist()
    return below, above


def count_effectively(pulls: Array, counts: Array | float = 1.0) -> float:
    """The number of equal pulls with the same sum and sum of squares: (sum p)^2 / sum p^2.

    counts is how often each of them counts.
    """
    counted = counts * pulls
    return _divide_squares(float(counted.sum()), float(counted @ pulls))


def _divide_squares(total: float, squares: float) -> float:
    return round_count(total**2 / squares) if squares > 0 else 0.0
