"""Studies of items with weights, or of labels with prices, as Markdown tables.

The pool is simulated. Its traffic is Zipf's, 1 / rank, and goes to confident items rather than to
others; labels follow the confidence. Saved is the mean squared error of draws in proportion to the
traffic, without replacement, over that of the study; missed is how often the truth lies below the
interval, and above it. With --prices an item's label costs from 0.2 to 20, and --price is compared
with draws that do not know it, seed by seed: mean cost times mean squared error, the smaller the
better, with the bootstrap's standard error of the ratio.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.cache.cache import Cache, build_cache
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool
from activetest.simulation.baseline import compute_baseline
from activetest.simulation.design import Plan
from activetest.simulation.simulate import run

METRICS = ("error", "recall[1]", "f1[1]", "log-loss")
_SIZE, _RESAMPLES = 1500, 2000


def make_table(size: int, seed: int = 0) -> tuple[pa.Table, Array]:
    """A binary pool with the columns score, traffic and price, and its labels (N,)."""
    rng = np.random.default_rng(seed)
    confidence = 0.5 + 0.5 * rng.beta(3, 1, size)
    positive = rng.random(size) < 0.3
    score = np.where(positive, confidence, 1 - confidence)
    right = rng.random(size) < confidence
    label = np.where(right, positive, ~positive).astype(float)
    rank = 1 + np.argsort(np.argsort(-confidence + rng.normal(0, 0.15, size)))
    price = np.exp(rng.uniform(np.log(0.2), np.log(20), size))
    columns = {"score": score, "traffic": size / rank, "price": price}
    return pa.table({"id": [f"item-{row}" for row in range(size)], **columns}), label


def build(folder: Path, table: pa.Table, **columns: str) -> Cache:
    """The cache of the table; columns are roles of Pool.open."""
    path = folder / "pool.parquet"
    pq.write_table(table, path)
    unused = {"traffic", "price"} - set(columns.values())
    pool = Pool.open(path, features=(), **columns)
    return build_cache(pool, folder / f"cache-{'-'.join(sorted(unused))}")


def play(cache: Cache, truth: Array, options: argparse.Namespace, metrics: tuple) -> dict:
    """{(metric, budget): (runs, 3) estimate, lower and upper} of the doubly robust estimate."""
    choices = Choices(options.aim, metrics, "agreement", acquisition=options.acquisition)
    plan = Plan(
        (choices,),
        ("doubly-robust",),
        metrics,
        options.budget,
        "fixed",
        options.batch,
        options.seed,
    )
    found: dict = {}
    for number in range(options.runs):
        for (_, metric, budget), numbers in run(
            cache, truth, plan, choices, plan.seed_of(number)
        ).items():
            found.setdefault((metric, budget), []).append(numbers[:3])
    return {what: np.array(numbers) for what, numbers in found.items()}


def compare_weights(folder: Path, options: argparse.Namespace) -> None:
    """Print a row for every metric and budget of a study with weights."""
    table, truth = make_table(options.size)
    cache = build(folder, table, weight="traffic")
    facts = specification.describe_pool(cache.roles, None, cache)
    rows = cache.rows(0, cache.size)
    found = play(cache, truth, options, METRICS)
    table = benchmark.Table(
        options, "metric | labels | truth | bias | saved | coverage | missed below, above | width"
    )
    for name in METRICS:
        metric = specification.find_metric(name, facts)
        rng = np.random.default_rng(1)
        baseline = compute_baseline(metric, rows.outputs, truth, options.budget, rng, rows.weight)
        for budget in options.budget:
            estimate, lower, upper = found[metric.title, budget].T
            error = estimate - baseline.truth
            below, above = baseline.truth < lower - 1e-12, baseline.truth > upper + 1e-12
            standard_error = estimate.std(ddof=1) / np.sqrt(len(estimate))
            cells = (
                metric.title,
                str(budget),
                f"{baseline.truth:.4f}",
                f"{error.mean():+.4f} +- {standard_error:.4f}",
                f"{baseline.error(budget) / (error**2).mean():.2f}",
                f"{1 - (below | above).mean():.3f}",
                f"{below.mean():.3f}, {above.mean():.3f}",
                f"{(upper - lower).mean():.3f}",
            )
            table.add(*cells)


def play_costs(cache: Cache, truth: Array, prices: Array, options: argparse.Namespace) -> Array:
    """(budgets, runs, 2) money spent and squared error of each study."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics.metric import evaluate
    from activetest.nouns.log import Log

    choices = Choices(options.aim, (options.aim,), "agreement", acquisition=options.acquisition)
    metric = specification.find_metric(
        options.aim, specification.describe_pool(cache.roles, None, cache)
    )
    value = evaluate(metric, cache.rows(0, cache.size).outputs, truth)
    found = np.empty((len(options.budget), options.runs, 2))
    for number in range(options.runs):
        log, seed = Log.empty(), options.seed + number
        for place, budget in enumerate(options.budget):
            about = log, cache, choices, truth
            log = benchmark.buy_labels(*about, labels=budget, batch=options.batch, seed=seed)
            view = build_view(log, cache, choices, [metric], seed=seed, own_view=False)
            error = view.value(metric, "doubly-robust").value - value
            found[place, number] = prices[log.rows].sum(), error**2
    return found


def compare_prices(folder: Path, options: argparse.Namespace) -> None:
    """Print a row for every budget: draws that know prices against draws that do not."""
    table, truth = make_table(options.size)
    prices = table["price"].to_numpy()
    known, unknown = (
        play_costs(build(folder, table, **columns), truth, prices, options)
        for columns in ({"price": "price"}, {})
    )
    table = benchmark.Table(
        options, "labels | cost with, without | rmse with, without | cost x mse, with / without"
    )
    rng = np.random.default_rng(2)
    for place, budget in enumerate(options.budget):
        pair = known[place], unknown[place]

        def ratio(pick: Array, pair: tuple[Array, Array] = pair) -> float:
            first, second = (each[pick].mean(axis=0).prod() for each in pair)
            return float(first / second)

        picks = rng.integers(options.runs, size=(_RESAMPLES, options.runs))
        spread = np.std([ratio(pick) for pick in picks])
        costs = ", ".join(f"{each[:, 0].mean():.1f}" for each in pair)
        errors = ", ".join(f"{each[:, 1].mean() ** 0.5:.4f}" for each in pair)
        whole = ratio(np.arange(options.runs))
        table.add(budget, costs, errors, f"{whole:.3f} +- {spread:.3f}")


def main() -> None:
    """Print one table."""
    options = benchmark.read_options(
        __doc__,
        prices=False,
        runs=2000,
        size=_SIZE,
        budget={"type": int, "action": "append"},
        batch=25,
        aim="error",
        acquisition="optimal",
        seed=0,
    )
    options.budget = tuple(options.budget or (50, 100, 200))
    with tempfile.TemporaryDirectory() as folder:
        (compare_prices if options.prices else compare_weights)(Path(folder), options)


if __name__ == "__main__":
    main()
