"""Whether the gap between a judge and people varies with a column, from draws of any probability.

The gap of an item is the judge's verdict minus people's. A column enters by its ranks, as normal
scores (van der Waerden 1952): a few very long texts weigh no more than their rank, and the result
is the same for a length and its logarithm. The slope is that of a regression in which each labelled
item weighs what it does in LURE (Farquhar 2021), so that it is about all items whatever the draws'
probabilities were, and it is per standard deviation of the scores.

Its standard error is that of the score test: residuals are those without a slope. Of it, draws
show their martingale variance, and the pool's own sampling variance is added, as a column that
has nothing to do with the gap still has some slope in any pool (Binder 1983). The variance is at
least what it would be if gap and column were independent: where a column has a rare value, draws
may show too little. The quantiles are Student's, with fewer degrees of freedom where few draws make
most of the variance (Satterthwaite 1946). p-values are corrected for the number of columns
(Holm 1979).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from activetest.estimation.certain import sum_supplied_before
from activetest.estimation.evidence import Evidence
from activetest.estimation.samples import find_metric_steps, weigh_items
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import LABELLED, PENDING
from activetest.nouns.rows import Array
from activetest.rounds.fit import observe_statistics

# Labels with a value that a slope needs.
FEWEST = 20
TOO_FEW, CONSTANT = "too few labels", "one value alone"


@dataclass(frozen=True)
class Slope:
    """How the gap varies with one column.

    slope         change of the gap per standard deviation of the column's scores; None without
    lower, upper  its interval at the level asked for
    p_value       of no dependence
    p_corrected   for the number of columns that have a p-value (Holm 1979)
    labels        labelled items that have a value
    reason        why there is no slope
    """

    slope: float | None
    lower: float | None
    upper: float | None
    p_value: float | None
    p_corrected: float | None
    labels: int
    reason: str | None = None


def measure_slopes(
    evidence: Evidence,
    metric: Metric,
    gap: Statistic,
    columns: Mapping[str, Array],
    level: float,
) -> dict[str, Slope]:
    """The slope of the gap for each column, in their order.

    metric   one that every item can change: what draws serve it
    gap      of an item, from its outputs and label
    columns  (D + B,) values of drawn and then of supplied items; NaN where there is none
    """
    if not columns:
        return {}
    gaps = _weigh_gaps(evidence, metric, gap)
    found = {name: _measure_slope(gaps, values, level) for name, values in columns.items()}
    values = np.array([each.p_value for each in found.values() if each.p_value is not None])
    corrected = iter(correct_for_many(values).tolist())
    return {
        name: each
        if each.p_value is None
        else Slope(each.slope, each.lower, each.upper, each.p_value, next(corrected), each.labels)
        for name, each in found.items()
    }


def correct_for_many(values: Array) -> Array:
    """(K,) p-values corrected for there being K of them (Holm 1979)."""
    order = np.argsort(values, kind="stable")
    steps = values[order] * (len(values) - np.arange(len(values)))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


@dataclass(frozen=True)
class _Gaps:
    """Gaps of D drawn and B supplied items, and the M draws that estimates use.

    gap, weight, mass   (D + B,) gap, weight in an estimate of a sum (0 without a label), own weight
    steps, q, share     (M,) places among the D, probability and weight of each draw's step
    size                items of the pool, or the sum of their weights
    known               whether every item is known
    evidence            behind it
    """

    evidence: Evidence
    gap: Array
    weight: Array
    mass: Array
    steps: Array
    q: Array
    share: Array
    size: float
    known: bool

    def find_variance(self, values: Array) -> tuple[float, float]:
        """Variance of the estimated mean of item values (D + B,) whose mean is 0, and its freedom.

        The degrees of freedom are those of the draws, or fewer by the kurtosis of their terms.
        """
        values = values * self.mass * (self.weight > 0)
        roots = np.sqrt(self.weight / np.maximum(self.mass, 1e-300)) * values / self.size
        pool = float(roots @ roots)
        if self.known or len(self.steps) < 2:
            count = np.count_nonzero(self.weight)
            return pool, _find_freedom(roots[self.weight > 0], count - 1.0)
        drawn, supplied = np.split(values[:, None], [len(self.evidence.log.rows)])
        before = np.cumsum(drawn, axis=0) - drawn
        before += sum_supplied_before(self.evidence.log, supplied)
        terms = before[self.steps, 0] + drawn[self.steps, 0] / self.q
        parts = self.share * (terms - self.share @ terms) / self.size
        squares = float(self.share @ self.share)
        freedom = _find_freedom(parts, 1 / squares - 1)
        return float(parts @ parts) / (1 - squares) + pool, freedom


def _find_freedom(parts: Array, most: float) -> float:
    """Degrees of freedom of a sum of squares of parts, by their kurtosis (Satterthwaite 1946)."""
    squares = float((parts**2).sum())
    if squares <= 0:
        return max(most, 1.0)
    kurtosis = len(parts) * float((parts**4).sum()) / squares**2
    return max(min(most, 2 * len(parts) / max(kurtosis - 1, 1e-9)), 1.0)


def _weigh_gaps(evidence: Evidence, metric: Metric, gap: Statistic) -> _Gaps:
    log = evidence.log
    share, items = weigh_items(evidence, metric)
    steps = find_metric_steps(evidence, metric)
    labelled = log.item_status == LABELLED
    gaps = [
        observe_statistics(rows, np.nan_to_num(labels), (gap,))[:, 0]
        for rows, labels in (
            (evidence.drawn, log.labels),
            (evidence.supplied, log.supplied_labels),
        )
    ]
    return _Gaps(
        evidence,
        np.where(labelled, np.concatenate(gaps), 0.0),
        np.where(labelled, items, 0.0),
        evidence.mass,
        steps,
        log.q[steps],
        share,
        evidence.groups[0].total,
        bool((log.item_status != PENDING).sum() == evidence.groups[0].size),
    )


def _measure_slope(gaps: _Gaps, values: Array, level: float) -> Slope:
    there = (gaps.weight > 0) & np.isfinite(values)
    count = int(there.sum())
    if count < FEWEST or (len(gaps.steps) < FEWEST and not gaps.known):
        return Slope(None, None, None, None, None, count, TOO_FEW)
    weight = np.where(there, gaps.weight, 0.0) / gaps.weight[there].sum()
    scores = np.zeros(len(values))
    scores[there] = score_ranks(values[there], weight[there])
    scores = np.where(there, scores - weight @ scores, 0.0)
    spread = float(weight @ scores**2)
    if spread < 1e-12:
        return Slope(None, None, None, None, None, count, CONSTANT)
    scores /= np.sqrt(spread)
    residual = np.where(there, gaps.gap - weight @ gaps.gap, 0.0)
    slope = float(weight @ (scores * residual))
    # Means are over the items that have a value.
    scale = (gaps.size / gaps.weight[there].sum()) ** 2
    variance, freedom = gaps.find_variance(scores * residual)
    variance = scale * max(variance, gaps.find_variance(residual)[0])
    error = float(np.sqrt(variance))
    p_value = 2 * float(stdtr(freedom, -abs(slope) / error)) if error > 0 else 1.0
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return Slope(slope, slope - reach, slope + reach, p_value, None, count)


def score_ranks(values: Array, weight: Array) -> Array:
    """(K,) normal quantiles of the share of weight below each value, half of its ties included.

    weight (K,) sums to one.
    """
    ordered = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weight[ordered])])
    first = np.searchsorted(values[ordered], values, "left")
    last = np.searchsorted(values[ordered], values, "right")
    return np.asarray(ndtri((below[first] + below[last]) / 2))
