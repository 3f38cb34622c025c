"""Before the first label: worlds in which a model errs as its own confidence says, or otherwise.

Labels that are not known yet have the probabilities that the model gives them, with the odds of an
error multiplied by a factor. A part of the doubt may also lie anywhere among the items predicted as
a class, rather than where the model says. In each such world the variance of draws is known, and
with it the width of an interval after so many labels.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, stdtrit
from scipy.stats import binom

from activetest.item_statistics.metric import Metric
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array

# Items that stand for the pool, evenly spread over it; and factors of the odds of an error.
_ITEMS = 50_000
_ODDS = 2.0 ** np.arange(-8, 9)
# The most labels that are searched for.
_MOST = 10_000_000


@dataclass(frozen=True)
class Worlds:
    """A metric in each of K worlds, and the variance of one draw about it.

    odds      (K,) factors of the odds of an error, increasing
    value     (K,) the metric
    single    (2, K) variance of one draw of a study: where errors are where the model's confidence
              says, and where a part of its doubt is spread evenly over each predicted class
    random    (K,) that of one random draw
    doubt     by which factor the odds may be off either way
    bounds    range of the metric
    size      items of the pool
    """

    odds: Array
    value: Array
    single: Array
    random: Array
    doubt: float
    bounds: tuple[float, float]
    size: int

    def list_likely(self, variances: Array) -> list[tuple[float, float]]:
        """The metric and a variance in each world that the doubt allows; between worlds as well."""
        at = np.log([1 / self.doubt, 1.0, self.doubt])
        known = np.log(self.odds)
        pairs = (np.interp(at, known, each) for each in (self.value, variances))
        return list(zip(*(each.tolist() for each in pairs), strict=True))

    def find_variances(self, value: float) -> tuple[Array, float]:
        """(2,) variance of a draw of a study, and that of a random one, where the metric is this.

        Where it is in no world, variances change with those of a share from the nearest.
        """
        order = np.argsort(self.value, kind="stable")
        known = self.value[order]
        single = np.array([np.interp(value, known, each[order]) for each in self.single])
        random = float(np.interp(value, known, self.random[order]))
        nearest = float(np.clip(value, known[0], known[-1]))
        low, high = self.bounds
        if nearest == value or not np.isfinite([low, high]).all():
            return single, random
        change = (value - low) * (high - value) / max((nearest - low) * (high - nearest), 1e-300)
        return single * change, random * change


def imagine_worlds(cache: PoolView, metric: Metric, *, floor: float, doubt: float) -> Worlds:
    """The worlds of a metric that is a function of means, for a pool with probabilities of classes.

    floor  of the draws, 1 for random ones
    doubt  1 for a model whose confidence is trusted: of another, the part 1 - 1 / doubt of what it
           doubts may be anywhere among the items that it predicts alike

    Draws follow q, a blend of the floor with what is proportional to the standard deviation of an
    item's own part in the metric (Sawade et al. 2010; Kossen et al. 2021): one of them has the
    variance sum Var / q / N^2 around guesses that are right on average, which no guess can improve.
    """
    rows = np.linspace(0, cache.size - 1, min(cache.size, _ITEMS)).astype(np.int64)
    here = cache.take(rows)
    outputs = here.outputs.in_double
    probs = outputs.known_probs
    weight = np.ones(len(rows)) if here.weight is None else here.weight / here.weight.mean()
    labels = np.broadcast_to(np.arange(probs.shape[1]), probs.shape)
    stats = np.stack([each.value(outputs, labels) for each in metric.statistics]) * weight[:, None]
    inside = np.zeros(probs.shape, bool)
    np.put_along_axis(inside, outputs.pred[:, None], True, axis=1)
    values, single, random = [], [], []
    for odds in _ODDS:
        own = _change_odds(probs, inside, odds)
        spread = (own + (doubt - 1) * _spread_evenly(own, outputs.pred)) / doubt
        mean = (stats * own).sum(axis=2).mean(axis=1)
        values.append(float(metric.smooth(mean)))
        part = np.tensordot(metric.gradient(mean), stats, 1)
        single.append([_measure_draw(part, each, weight, floor) for each in (own, spread)])
        centre = (part * own).sum(axis=1).mean()
        apart = (part - centre * weight[:, None]) ** 2 / weight[:, None]
        random.append(float((apart * own).sum(axis=1).mean()))
    return Worlds(
        _ODDS,
        np.array(values),
        np.array(single).T,
        np.array(random),
        doubt,
        (metric.lower, metric.upper),
        cache.size,
    )


def _change_odds(probs: Array, inside: Array, odds: float) -> Array:
    """(R, C) probabilities with the odds of all but the predicted class multiplied."""
    changed = np.where(inside, probs, odds * probs)
    return changed / changed.sum(axis=1, keepdims=True)


def _spread_evenly(probs: Array, pred: Array) -> Array:
    """(R, C) the mean probabilities of the items that are predicted as the same class."""
    classes = probs.shape[1]
    counts = np.maximum(np.bincount(pred, minlength=classes), 1)
    sums = np.stack([np.bincount(pred, each, minlength=classes) for each in probs.T], axis=1)
    return np.asarray((sums / counts[:, None])[pred])


def _measure_draw(part: Array, probs: Array, weight: Array, floor: float) -> float:
    """The variance of one draw around the right guesses: part (R, C) is an item's in the metric."""
    mean = (part * probs).sum(axis=1, keepdims=True)
    variance = ((part - mean) ** 2 * probs).sum(axis=1)
    score = np.sqrt(variance)
    total = score.sum()
    q = weight / len(weight) * floor + (score / total * (1 - floor) if total > 0 else 0.0)
    q /= q.sum()
    return float((variance / q).sum() / len(q) ** 2)


def expect_half_width(
    value: float,
    single: float,
    counts: Array,
    *,
    size: int,
    level: float,
    bounds: tuple[float, float],
) -> Array:
    """(K,) half-width of an interval after so many labels (K,), of draws without replacement.

    single  the variance of one draw

    Between bounds it is that of Clopper and Pearson (1934) at the effective number of labels (Korn
    and Graubard 1998), else Student's.
    """
    counts = np.asarray(counts, float)
    left = single * np.maximum(1 / counts - 1 / size, 0.0)
    low, high = bounds
    if not np.isfinite([low, high]).all():
        return np.asarray(-stdtrit(np.maximum(counts - 1, 1), (1 - level) / 2) * np.sqrt(left))
    span = high - low
    share = np.clip((value - low) / span, MARGIN, 1 - MARGIN)
    effective = count_effective(share, left / span**2)
    ends = limit_share(share * effective, effective, (1 - level) / 2)
    found = span * (ends[1] - ends[0]) / 2
    return np.where(counts >= size, 0.0, found)


def count_effective(share: float, variance: Array) -> Array:
    """Random draws of a large pool that would leave such a variance of a share."""
    return np.asarray(share * (1 - share) / np.maximum(variance, 1e-300))


def limit_share(hits: Array, count: Array, alpha: float) -> tuple[Array, Array]:
    """Both limits of Clopper and Pearson, each with an error of alpha; counts need not be whole."""
    hits, count = np.minimum(hits, 1e15), np.minimum(count, 1e15)
    missed = np.maximum(count - hits, 0.0)
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-12), missed + 1, alpha), 0.0)
    upper = np.where(missed > 0, betaincinv(hits + 1, np.maximum(missed, 1e-12), 1 - alpha), 1.0)
    return lower, upper


def count_labels(
    value: float,
    single: float,
    *,
    half_width: float,
    size: int,
    level: float,
    bounds: tuple[float, float],
) -> int:
    """The fewest labels with which an interval is expected to be as narrow."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        width = expect_half_width(
            value, single, np.array([middle]), size=size, level=level, bounds=bounds
        )
        low, high = (low, middle) if width[0] <= half_width * (1 + MARGIN) else (middle, high)
    return high


def count_gate_labels(
    threshold: float,
    truth: float,
    single: float,
    *,
    power: float,
    alpha: float,
    size: int,
    bounds: tuple[float, float],
) -> int:
    """Labels with which one look decides a gate with this probability, if the truth is this.

    single  the variance of one draw there

    The limit of Clopper and Pearson on the side of the threshold, at the effective number of
    labels, has to exclude it; the number of hits is binomial.
    """
    low, high = bounds
    span = high - low
    share, limit = (truth - low) / span, (threshold - low) / span
    if share > limit:
        share, limit = 1 - share, 1 - limit
    effective = _count_binomial(share, limit, power, alpha)
    # s (1 - s) / (V (1 / n - 1 / N)) effective labels.
    inverse = share * (1 - share) * span**2 / max(single * effective, 1e-300) + 1 / size
    return min(int(np.ceil(1 / inverse - MARGIN)), size)


def _count_binomial(share: float, limit: float, power: float, alpha: float) -> int:
    """The fewest independent draws whose upper limit is below `limit` with probability `power`."""

    def decides(count: int) -> bool:
        most = binom.ppf(power, count, share)
        return bool(limit_share(np.array(most), np.array(count), alpha)[1] <= limit)

    high = 1
    while not decides(high) and high < _MOST:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
