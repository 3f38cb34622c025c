"""How often `report --population` holds the value of the process that makes pools.

A process makes pools of N items with a confidence and a label; with clusters, of about ten items
with common luck. In every run a new pool is made and a study drawn from it with the defaults, and
the 95 % intervals of the process's own value are counted that hold it: those of the population
(with `cluster` where there are clusters), those of the population without `cluster`, and those of
the pool, which are not meant to. "all" are studies in which every item is labelled.

low, high   share of runs in which the value lies below, or above, the population's interval
width       mean width of the population's interval; pool: that of the pool's
ratio       width over 3.92 standard deviations of the estimate over pools and draws
"""

import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache import cache as caches
from activetest.errors import NotEstimable
from activetest.estimation.evidence import list_groups
from activetest.estimation.population import Population
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.pool import Pool

_METRICS = ("error", "f1[yes]", "log-loss")
_LARGE = 2_000_000
_BATCH = 100


def make_items(rng: np.random.Generator, size: int, *, clustered: bool) -> dict[str, np.ndarray]:
    """Probability of "yes", label, kind and cluster of `size` items."""
    lengths = rng.integers(5, 16, size // 5 + 1) if clustered else np.ones(size, int)
    cluster = np.repeat(np.arange(len(lengths)), lengths)[:size]
    common = rng.normal(size=(3, len(lengths)))[:, cluster] * clustered
    own = np.sqrt(1 - 0.5 * clustered)
    signal = 2.2 * (own * rng.normal(size=size) + np.sqrt(0.5) * common[0]) - 1.2
    luck = 0.9 * (own * rng.normal(size=size) + np.sqrt(0.5) * common[1])
    label = rng.random(size) < 1 / (1 + np.exp(-1.6 * signal - luck))
    kind = own * rng.normal(size=size) + np.sqrt(0.5) * common[2] > 0.3
    return {"p": 1 / (1 + np.exp(-signal)), "label": label, "kind": kind, "cluster": cluster}


def measure_truth(items: dict[str, np.ndarray]) -> dict[str, float]:
    """{name: value} of every metric."""
    p, label = items["p"].astype(np.float32).astype(float), items["label"]
    pred = p > 0.5
    wrong, hits = pred != label, (pred & label).mean()
    given = np.clip(np.where(label, p, 1 - p), 1e-7, None)
    kind = items["kind"]
    return {
        "error": wrong.mean(),
        "f1[yes]": 2 * hits / (pred.mean() + label.mean()),
        "log-loss": -np.log(given).mean(),
        "error@kind=1": wrong[kind].mean(),
        "error, difference": wrong[kind].mean() - wrong[~kind].mean(),
    }


def play(seed: int, size: int, budgets: list[int], *, clustered: bool, folder: Path) -> dict:
    """{(budget, name): (estimate, three intervals)} of one pool and study."""
    items = make_items(np.random.default_rng([seed, size, clustered]), size, clustered=clustered)
    file = folder / "pool.parquet"
    columns = {"id": np.arange(size).astype(str), "prob_no": 1 - items["p"], "prob_yes": items["p"]}
    pq.write_table(pa.table(columns | {"kind": items["kind"].astype(int)}), file)
    pool = caches.build_cache(Pool.open(str(file), groups=("kind",), features=()), folder / "cache")
    truth = items["label"].astype(float)
    facts = specification.describe_pool(pool.roles, None, pool)
    metrics = [specification.find_metric(name, facts) for name in _METRICS]
    choices = Choices(metric="error", metrics=_METRICS, surrogate="agreement")
    log, found = Log.empty(), {}
    for budget in [*budgets, size] if size <= 500 else budgets:
        batch = _BATCH if budget < size else size
        log = benchmark.buy_labels(log, pool, choices, truth, labels=budget, batch=batch, seed=seed)
        view = build_view(log, pool, choices, metrics, seed=seed, own_view=False)
        # Without clusters, the first two are one.
        populations = [Population(items["cluster"])] * clustered + [Population(), None]
        views = [_list_intervals(replace(view, population=each), metrics) for each in populations]
        for name in views[0]:
            intervals = [each[name] for each in views]
            found[budget, name] = intervals if clustered else [intervals[0], *intervals]
    return found


def _list_intervals(view, metrics) -> dict[str, tuple[float, float, float]]:
    """{name: (estimate, lower, upper)}; NaN where there is none."""
    groups = list_groups(view.cache)
    found = {}
    for metric in metrics:
        value = view.value(metric, "doubly-robust")
        interval = view.interval(value, 0.95)
        found[metric.title] = value.value, interval.lower, interval.upper
    try:
        values = [view.value(metrics[0], "doubly-robust", groups[code]) for code in (2, 1)]
        interval = view.interval(values[0], 0.95, group=groups[2])
        found["error@kind=1"] = values[0].value, interval.lower, interval.upper
        interval = view.difference(*values, (groups[2], groups[1]), 0.95)
        found["error, difference"] = interval.estimate, interval.lower, interval.upper
    except NotEstimable:
        pass
    return found


def main() -> None:
    """Play and print a row per process, size, number of labels and metric."""
    options = benchmark.read_options(
        __doc__,
        runs=2000,
        sizes="500,2000",
        clusters="0,1",
        budget="100,200,400",
    )
    header = "clusters | items | labels | metric | truth | runs | coverage | low | high "
    header += "| without cluster | pool | width | width of the pool | ratio"
    table = benchmark.Table(options, header)
    budgets = list(map(int, options.budget.split(",")))
    for clustered in map(bool, map(int, options.clusters.split(","))):
        truths = measure_truth(make_items(np.random.default_rng(0), _LARGE, clustered=clustered))
        for size in map(int, options.sizes.split(",")):
            cells = defaultdict(list)
            for seed in range(options.runs):
                with tempfile.TemporaryDirectory() as folder:
                    found = play(seed, size, budgets, clustered=clustered, folder=Path(folder))
                for key, value in found.items():
                    cells[key].append(value)
            for (budget, name), values in cells.items():
                cell = _describe(size, budget, name, truths[name], np.array(values))
                table.add("yes" if clustered else "no", *cell)


def _describe(size, budget, name, truth, values) -> tuple:
    """values (R, 3, 3): run; population, without clusters, pool; estimate, lower, upper."""
    low, high = truth < values[:, :, 1], truth > values[:, :, 2]
    held, width = 1 - (low | high).mean(axis=0), (values[..., 2] - values[..., 1]).mean(axis=0)
    ratio = width[0] / (3.92 * values[:, 0, 0].std())
    labels = "all" if budget == size else budget
    return (
        size,
        labels,
        name,
        f"{truth:.4f}",
        len(values),
        f"{held[0]:.3f}",
        f"{low[:, 0].mean():.3f}",
        f"{high[:, 0].mean():.3f}",
        f"{held[1]:.3f}",
        f"{held[2]:.3f}",
        f"{width[0]:.4f}",
        f"{width[2]:.4f}",
        f"{ratio:.2f}",
    )


if __name__ == "__main__":
    main()
