"""Errors of uniform draws without replacement, with which a simulation compares its strategies.

Where items have weights these are draws in proportion to the weights, estimated by LURE: as good as
random labels can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activetest.item_statistics.metric import Metric, evaluate
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.pool import PoolView
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array, Outputs
from activetest.nouns.simulated_answer import describe_strategy
from activetest.rounds.weighted import find_prices, find_rates

# Simulated studies for metrics that are not a mean, and sample sizes at which they are evaluated.
_RUNS, _SIZES = 1000, 24
# Acquisition and estimator that tell what the surrogate saves from what active draws add.
_UNIFORM, _DOUBLY_ROBUST = "uniform", "doubly-robust"
# Relative errors that are none.
_ROUNDING = 1e-12
# In place of an error of zero on a logarithmic scale.
_SMALLEST_ERROR = 1e-300


@dataclass(frozen=True)
class Baseline:
    """Mean squared errors of uniform draws.

    truth     the metric on the whole pool
    budgets   increasing numbers of labels
    errors    mean squared error at each, without runs in which the metric was undefined
    exact     whether errors have a closed form or are simulated
    medians   {budget: median squared error}, always simulated
    """

    truth: float
    budgets: Array
    errors: Array
    exact: bool
    medians: dict[int, float]

    def error(self, budget: float) -> float:
        """Mean squared error with `budget` labels, interpolated on a log-log scale."""
        return float(np.exp(np.interp(np.log(budget), np.log(self.budgets), np.log(self.errors))))

    def labels(self, error: float) -> float:
        """Labels that uniform draws need for a mean squared error."""
        # Of equal errors the most labels first: without errors one label is enough.
        order = np.lexsort((-self.budgets, self.errors))
        known = np.log(self.errors[order]), np.log(self.budgets[order])
        return float(np.exp(np.interp(np.log(error), *known)))


def compute_baseline(
    metric: Metric,
    outputs: Outputs,
    truth: Array,
    budgets: tuple[int, ...],
    rng: np.random.Generator,
    weights: Array | None = None,
) -> Baseline:
    """The baseline of a metric for a pool whose labels (N,) are known.

    A mean, or a map of one, has a closed form (to first order); everything else is simulated, and
    so is every metric of items with weights (N,). Draws are from the whole pool, also from items
    that strategies leave out because they cannot change the metric.
    """
    if weights is not None:
        # Nobody draws items that do not count.
        counted = weights > 0
        outputs, truth, weights = outputs[counted], truth[counted], weights[counted]
    value = evaluate(metric, outputs, truth, weights)
    size = len(truth)
    # Who has seen every item makes no error.
    budgets = tuple(budget for budget in budgets if 0 < budget <= size) or (size,)
    smallest = min(max(2, min(budgets) // 16), size)
    points = np.unique(np.geomspace(smallest, max(size - 1, 1), _SIZES).astype(int))
    points = np.union1d(points, np.array([each for each in budgets if each < size], int))
    exact = len(metric.statistics) == 1 and weights is None
    sizes = np.array(budgets) if exact else np.union1d(points, budgets)
    squares = np.full((_RUNS, len(sizes)), np.nan)
    # An item's part of a sum is the same in every sample; its part of a curve is not.
    stats = None if metric.refine else _list_stats(metric, outputs, truth)
    for run in range(_RUNS):
        found = _follow_sample(metric, outputs, truth, sizes, rng, weights, stats=stats)
        squares[run] = (found - value) ** 2
    # With few labels the metric may be undefined in all runs.
    defined = np.isfinite(squares).any(axis=0)
    sizes, squares = sizes[defined], squares[:, defined]
    medians = dict(zip(sizes.tolist(), np.nanmedian(squares, axis=0).tolist(), strict=True))
    if exact:
        values = _list_stats(metric, outputs, truth)[:, 0]
        slope = metric.gradient(np.array([values.mean()]))[0]
        means = slope**2 * values.var(ddof=1) / points * (1 - points / size)
    else:
        smaller = sizes < size
        points, means = sizes[smaller], np.nanmean(squares[:, smaller], axis=0)
    return Baseline(value, points, np.maximum(means, _SMALLEST_ERROR), exact, medians)


def count_random_labels(cache: PoolView, rows: Array) -> tuple[float, ...]:
    """(1,) how many random labels cost as much as those of rows (n,); nothing without prices."""
    prices = find_prices(cache)
    if prices is None:
        return ()
    return (float(prices[rows].sum() / np.average(prices, weights=find_rates(cache))),)


def compare_with_uniform(
    choices: Choices, estimator: str, title: str, budget: int, table: Array, uniform: Baseline
) -> SimulatedStrategy:
    """Errors against the truth, and against those of uniform draws.

    table (runs, 4): estimate, lower, upper and labels of each run; where labels have prices there
    is a column more, see count_random_labels, and uniform draws are as many as cost as much. If
    nothing is random, as with top scores, all runs are the same, and there are no standard errors.
    """
    paid = float(table[:, 4].mean()) if table.shape[1] > 4 else budget
    apart = table[:, 0] - uniform.truth
    # Draws that leave no error, or labels of all items: what is left is rounding.
    apart[np.abs(apart) <= _ROUNDING * abs(uniform.truth)] = 0.0
    errors = apart**2
    lower_quartile, median, upper_quartile = np.quantile(errors, [0.25, 0.5, 0.75]).tolist()
    mse = errors.mean()
    # Without a label, uniform draws have no estimate to compare with.
    expected = uniform.error(paid) if budget else np.nan
    saved = expected / mse if mse > 0 else np.inf
    runs_differ = np.ptp(table[:, 0]) > _ROUNDING * np.abs(table[:, 0]).max()
    spread = errors.std(ddof=1) / np.sqrt(len(table))
    standard_error = saved * spread / mse if runs_differ and mse > 0 else None
    covered = (table[:, 1] - _ROUNDING <= uniform.truth) & (
        uniform.truth <= table[:, 2] + _ROUNDING
    )
    return SimulatedStrategy(
        **describe_strategy(choices),
        estimator=estimator,
        metric=title,
        budget=budget,
        n_labeled=float(table[:, 3].mean()),
        runs=len(table),
        rmse=float(np.sqrt(mse)),
        bias=float(apart.mean()),
        median=median,
        quartiles=(lower_quartile, upper_quartile),
        mse_ratio=float(saved),
        mse_ratio_se=None if standard_error is None else float(standard_error),
        labels_saved=float(uniform.labels(mse) / paid) if mse > 0 and budget else np.inf,
        coverage=float(covered.mean())
        if runs_differ or choices.selection != Selection.TOP
        else None,
        width=float((table[:, 2] - table[:, 1]).mean()),
        uniform_mse=expected,
        uniform_median=uniform.medians.get(budget, np.nan),
    )


def add_surrogate_ratio(results: Sequence[SimulatedStrategy]) -> list[SimulatedStrategy]:
    """The results; doubly robust ones with what uniform draws save, read in the same way."""
    alone = {
        (result.surrogate, result.metric, result.budget): result.mse_ratio
        for result in results
        if (result.acquisition, result.estimator) == (_UNIFORM, _DOUBLY_ROBUST)
    }
    return [
        replace(
            result, surrogate_mse_ratio=alone.get((result.surrogate, result.metric, result.budget))
        )
        if result.estimator == _DOUBLY_ROBUST
        else result
        for result in results
    ]


def _list_stats(metric: Metric, outputs: Outputs, truth: Array) -> Array:
    """(N, d) the statistics of all items."""
    return np.column_stack(
        [each.value(outputs, truth[:, None])[:, 0] for each in metric.statistics]
    )


def _follow_sample(
    metric: Metric,
    outputs: Outputs,
    truth: Array,
    sizes: Array,
    rng: np.random.Generator,
    weights: Array | None = None,
    *,
    stats: Array | None,
) -> Array:
    """(points,) the metric on growing random samples of the pool; stats (N, d) but for a curve."""
    if weights is None:
        order = rng.choice(len(truth), sizes[-1], replace=False)
    else:
        # Successive draws in proportion to the weights (Efraimidis and Spirakis 2006).
        order = np.argsort(rng.exponential(size=len(truth)) / weights)[: sizes[-1]]
    if stats is None:
        shares = [None if weights is None else _weigh_order(weights, order, n) for n in sizes]
        return np.array(
            [
                evaluate(metric, outputs[order[:n]], truth[order[:n]], share)
                for n, share in zip(sizes, shares, strict=True)
            ]
        )
    stats = stats[order]
    if weights is None:
        return metric.smooth(np.cumsum(stats, axis=0)[sizes - 1] / sizes[:, None])
    means = [_weigh_order(weights, order, n) @ stats[:n] for n in sizes]
    return metric.smooth(np.array(means) / weights.sum())


def _weigh_order(weights: Array, order: Array, count: int) -> Array:
    """(n,) LURE's weights of the first n items that were drawn in proportion to their weights.

    A draw weighs the mass that was left at it, and its own weight at each draw after it.
    """
    if count == len(weights):
        return weights[order]
    drawn = weights[order[:count]]
    left = weights.sum() - np.cumsum(drawn) + drawn
    ahead = len(weights) - np.arange(count, dtype=float)
    steps = 1 / (ahead * (ahead - 1))
    steps /= steps.sum()
    after = np.cumsum(steps[::-1])[::-1] - steps
    values: Array = steps * left + after * drawn
    return values
