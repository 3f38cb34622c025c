"""A metric's value: what an estimate says of it, what else it could be, and for whom it holds."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from activetest.estimation.evidence import Evidence
from activetest.item_statistics.metric import Metric, take_mean
from activetest.nouns.estimate import Estimate, Sample
from activetest.nouns.rounding import is_above, is_below
from activetest.nouns.rows import Array

# Passes that show a spread.
FEWEST_PASSES = 2


@dataclass(frozen=True)
class WorstCase:
    """Worst case of a value once missing answers come, or were declined items to count.

    low, high   the values with the labels that make the estimate smallest and largest; None where
                the metric is undefined with them
    ends        smallest and largest estimate, on the scale of Value.estimate; infinite where
                nothing bounds what labels could make of it
    evidence    with these labels, smallest and largest; None where nobody asks for it
    """

    low: "Value | None"
    high: "Value | None"
    ends: tuple[float, float]
    evidence: tuple[Evidence, Evidence] | None = None

    @property
    def bounded(self) -> bool:
        """Whether there are ends."""
        return bool(np.isfinite(self.ends).all())

    def change(self, change: "Callable[[Value], Value]") -> "WorstCase":
        """The same, with both values changed."""
        low, high = (None if each is None else change(each) for each in (self.low, self.high))
        return replace(self, low=low, high=high)


@dataclass(frozen=True)
class Value:
    """A metric's value, and what its interval is made of.

    metric     what it is a value of
    value      the metric's own value
    estimate   the estimate (d = 1) that intervals are made for: of the mean where the metric is a
               map of one mean, else of the metric itself, linearised
    means      the estimate (d,) of the means behind it
    sample     what it was estimated from
    worst      what it could be where answers are missing; None where none is
    declined   what it could be over all items, with declined ones at their least and their most;
               None where these are ignored, and where none can change it
    sampled    for a value of the population behind the pool: what the pool's sampling adds to it
    """

    metric: Metric
    value: float
    estimate: Estimate
    means: Estimate
    sample: Sample
    worst: WorstCase | None = None
    declined: WorstCase | None = None
    sampled: "SampledPool | None" = None

    @property
    def of_pool(self) -> "Value":
        """The value for this pool, which is the value itself unless it is the population's."""
        return self if self.sampled is None else self.sampled.value

    @property
    def plain(self) -> "Value":
        """The value alone, without what it could be at worst."""
        return replace(self, worst=None, declined=None)

    @property
    def possible(self) -> tuple[float, float]:
        """Range of the metric that what is known leaves possible."""
        whole = self.metric.lower, self.metric.upper
        return whole if self.sampled else self.sample.possible or whole

    @property
    def relevant(self) -> int | None:
        """Number of items that can change the metric; None where all can."""
        return self.sample.relevant

    @property
    def answered(self) -> float | None:
        """Share of the items that can be answered; None where none was declined."""
        if len(self.means.mean) == len(self.metric.statistics):
            return None
        share = float(self.means.limited_mean[-1])
        return min(share, 1.0) if is_below(share, 1.0) or is_above(share, 1.0) else None

    @property
    def over_all(self) -> tuple[float, float]:
        """The value over all items with declined ones at their least and most, where bounded."""
        if self.declined is None or not self.declined.bounded:
            return self.value, self.value
        low, high = sorted(self.find_ends(self.declined))
        return low, high

    def find_ends(self, worst: WorstCase) -> list[float]:
        """The metric at both ends of a worst case."""
        ends = np.array([float(self.metric.transform(np.array([end]))) for end in worst.ends])
        found: list[float] = np.clip(ends, self.metric.lower, self.metric.upper).tolist()
        return found

    @property
    def several(self) -> bool:
        """Whether the metric is a function of several means, or a difference of two."""
        return len(self.metric.statistics) > 1 or len(self.metric.models) > 1

    @property
    def predicted(self) -> float:
        """The metric that the surrogate of the last draw expected; NaN where none is recorded."""
        sample = self.sample
        if not len(sample.left) or (sample.unknown and not sample.left[-1]):
            return np.nan
        means = (sample.known_sum[-1] + sample.imputed_sum[-1]) / sample.size
        return float(self.metric.smooth(means[: len(self.metric.statistics)]))

    @property
    def is_share(self) -> bool:
        """Whether it is one mean of a statistic that is 0 or 1."""
        statistics = self.metric.statistics
        return len(statistics) == 1 and statistics[0].is_indicator

    @property
    def spread(self) -> float | None:
        """Standard deviation of the metric over draws of the posterior, or over passes.

        None for estimates from draws of items, and of a single pass.
        """
        draws = self.estimate.draws
        if draws is None or len(draws) < FEWEST_PASSES:
            return 0.0 if draws is not None and self.estimate.exact else None
        return float(np.std(self.metric.transform(draws), ddof=1))

    @property
    def slope(self) -> float:
        """Derivative of the metric by its linear estimate."""
        if self.metric.transform is take_mean:
            return 1.0
        return float(self.metric.gradient(self.estimate.limited_mean)[0])


@dataclass(frozen=True)
class KnownItems:
    """The K items about which something is known, and the M draws they were known to.

    since     (K,) first draw that knew the item before it was made; M for none
    drawn     (K,) the draw that drew it; -1 for items that have no probability
    inverse   (M,) 1 / q of each draw
    weights   (M,) of each draw, summing to one
    all       these are all items that count
    """

    since: Array
    drawn: Array
    inverse: Array
    weights: Array
    all: bool

    @property
    def item_weights(self) -> Array:
        """(K,) the weight of each item in a sum over the pool, as LURE gives it."""
        if self.all:
            return np.ones(len(self.since))
        ahead = np.append(np.cumsum(self.weights[::-1])[::-1], 0.0)
        own = np.append(self.weights * self.inverse, 0.0)
        return np.asarray(ahead[self.since] + own[self.drawn])


@dataclass(frozen=True)
class SampledPool:
    """Effect of the pool's own sampling on a value that is about the population.

    value       the value for this pool
    influence   (K,) u of every known item, zero outside the group
    known       which items these are
    items       variance of the pool's value if its items are independent
    clustered   the same if only clusters are; 0 without clusters
    freedom     degrees of freedom of the variance
    """

    value: Value
    influence: Array
    known: KnownItems
    items: float
    clustered: float
    freedom: float

    @property
    def variance(self) -> float:
        """The variance of the pool's value."""
        return max(self.items, self.clustered)

    @property
    def skewness(self) -> float:
        """Skewness of the pool's value; items of a cluster are taken to be alike."""
        weights, u = self.known.item_weights, self.influence
        spread = weights @ u**2
        alike = self.variance / self.items if self.items > 0 else 1.0
        return float(weights @ u**3 / spread**1.5 * alike**0.5) if spread > 0 else 0.0

    @property
    def spread_freedom(self) -> float:
        """Degrees of freedom that the kurtosis of the items leaves, as in Estimate."""
        parts = self.known.item_weights * self.influence**2
        total, count = parts.sum(), np.count_nonzero(parts)
        relative = (parts**2).sum() / total**2 - 1 / count if total > 0 else 0.0
        return float(min(max(2 / relative, 3.0), self.freedom) if relative > 0 else self.freedom)
