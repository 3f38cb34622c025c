"""What uniform draws without replacement would have done: the yardstick of a simulation."""

from dataclasses import dataclass

import numpy as np

from activetest.item_statistics.metric import Metric, evaluate
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array, Outputs

# Simulated studies behind each error of a metric that is not a mean, and sizes they are looked at.
_RUNS, _POINTS = 1000, 24
# Stands for no error at all where errors are compared on a logarithmic scale.
_NOTHING = 1e-300


@dataclass(frozen=True)
class Baseline:
    """Mean squared errors of uniform draws.

    truth     the metric on the whole pool
    budgets   increasing numbers of labels
    errors    mean squared error at each; runs in which the metric was undefined do not count
    exact     a closed form, not a simulation
    medians   {budget that was asked for: median squared error}, always simulated
    """

    truth: float
    budgets: Array
    errors: Array
    exact: bool
    medians: dict[int, float]

    def error(self, budget: float) -> float:
        """Mean squared error with that many labels, between points on a log-log line."""
        return float(np.exp(np.interp(np.log(budget), np.log(self.budgets), np.log(self.errors))))

    def labels(self, error: float) -> float:
        """Labels with which uniform draws reach a mean squared error."""
        # Of equal errors the most labels first: without any error, one label is as good as all.
        order = np.lexsort((-self.budgets, self.errors))
        known = np.log(self.errors[order]), np.log(self.budgets[order])
        return float(np.exp(np.interp(np.log(error), *known)))


def baseline(
    metric: Metric, outputs: Outputs, truth: Array, budgets: tuple[int, ...], rng
) -> Baseline:
    """The baseline of a metric for a pool whose labels (N,) are known.

    A mean, or a map of one, has a closed form (to first order); everything else is simulated.
    """
    size, value = len(truth), evaluate(metric, outputs, truth)
    least = max(2, min(budgets) // 16)
    points = np.unique(np.geomspace(least, size - 1, _POINTS).astype(int))
    points = np.union1d(points, [budget for budget in budgets if budget < size])
    exact = len(metric.statistics) == 1
    looks = np.array(budgets) if exact else np.union1d(points, budgets)
    squares = np.full((_RUNS, len(looks)), np.nan)
    for run in range(_RUNS):
        squares[run] = (_path(metric, outputs, truth, looks, rng) - value) ** 2
    # A few labels may never define it.
    there = np.isfinite(squares).any(axis=0)
    looks, squares = looks[there], squares[:, there]
    medians = dict(zip(looks.tolist(), np.nanmedian(squares, axis=0).tolist(), strict=True))
    if exact:
        stats = metric.statistics[0].value(outputs, truth[:, None])[:, 0]
        slope = metric.gradient(np.array([stats.mean()]))[0]
        means = slope**2 * stats.var(ddof=1) / points * (1 - points / size)
    else:
        inside = looks < size
        points, means = looks[inside], np.nanmean(squares[:, inside], axis=0)
    return Baseline(value, points, np.maximum(means, _NOTHING), exact, medians)


def compared(
    choices: Choices, estimator: str, title: str, budget: int, table: Array, uniform: Baseline
) -> SimulatedStrategy:
    """Errors against the truth, and against those of uniform draws.

    table (runs, 4): estimate, lower, upper and labels of each run. Top scores of a surrogate
    without anything random make every run the same study, of which chance can tell nothing.
    """
    errors = (table[:, 0] - uniform.truth) ** 2
    quarter, middle, most = np.quantile(errors, [0.25, 0.5, 0.75]).tolist()
    mse = errors.mean()
    saved = uniform.error(budget) / mse if mse > 0 else np.inf
    differ = np.ptp(table[:, 0]) > 1e-12 * np.abs(table[:, 0]).max()
    doubt = saved * errors.std(ddof=1) / mse / np.sqrt(len(table)) if differ else None
    inside = (table[:, 1] - 1e-12 <= uniform.truth) & (uniform.truth <= table[:, 2] + 1e-12)
    return SimulatedStrategy(
        surrogate=choices.surrogate,
        acquisition=choices.acquisition,
        selection=choices.selection,
        power=choices.power,
        refit=choices.refit,
        estimator=estimator,
        metric=title,
        budget=budget,
        labels=float(table[:, 3].mean()),
        runs=len(table),
        rmse=float(np.sqrt(mse)),
        bias=float(table[:, 0].mean() - uniform.truth),
        median=middle,
        quartiles=(quarter, most),
        labels_saved=float(saved),
        labels_saved_se=None if doubt is None else float(doubt),
        label_ratio=float(uniform.labels(mse) / budget) if mse > 0 else np.inf,
        coverage=float(inside.mean()) if differ or choices.selection != Selection.TOP else None,
        width=float((table[:, 2] - table[:, 1]).mean()),
        uniform_mse=uniform.error(budget),
        uniform_median=uniform.medians.get(budget, np.nan),
    )


def _path(metric: Metric, outputs: Outputs, truth: Array, points: Array, rng) -> Array:
    """(points,) the metric on growing uniform samples of the pool."""
    order = rng.choice(len(truth), points[-1], replace=False)
    if metric.refine:
        return np.array([evaluate(metric, outputs[order[:n]], truth[order[:n]]) for n in points])
    labels = truth[order, None]
    stats = np.column_stack(
        [each.value(outputs[order], labels)[:, 0] for each in metric.statistics]
    )
    return metric.smooth(np.cumsum(stats, axis=0)[points - 1] / points[:, None])
