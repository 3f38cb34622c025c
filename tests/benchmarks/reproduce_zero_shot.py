"""ASE (Kossen 2022), 7.3, Fig. 4, B.2 (accuracy), B.5 and section 5: a surrogate without labels.

FOLDER holds NAME.parquet, NAME.labels.csv and NAME.train.parquet. Every run draws a test pool of
--size items at random; the truth is the risk of all others, as in the paper, which holds out
20,000. The surrogate is fixed: `ensemble`, learned on so many training rows, and on none of the
pool; the paper has 40,000 rows, and 10,000 in B.5. `model` believes the black box.

pool limit    the risk of the whole test pool, with every label: what its size alone leaves
ase           what the surrogate expects there, without any label
ase, others   what it expects of the other items: a separate evaluation pool (section 5)
lure          draws of the test pool in proportion to the expected loss, with floor 0.2
uniform       the plain mean of as many uniform draws

Numbers are the median squared error, with the 10 % and 90 % quantiles in brackets, times 10,000.
"""

import argparse
import tempfile
from pathlib import Path

import benchmark
import numpy as np
from pyarrow import parquet
from staging import staged

from activetest.item_statistics import specification
from activetest.nouns.log import Log
from activetest.rounds.fit import get_surrogate

FLOOR = 0.2
DRAWS = (10, 25, 50)


def main() -> None:
    """Print one row per metric, surrogate and estimate."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pool="cifar10",
        rows="20000,5000",
        size=2000,
        runs=1000,
        metrics="log-loss,error",
        seed=0,
    )
    header = " | ".join(f"M = {count}" for count in DRAWS)
    table = benchmark.Table(options, "metric | surrogate | estimate | labels", header)
    surrogates = [("ensemble", int(count)) for count in options.rows.split(",")] + [("model", 0)]
    printed = set()
    for name, rows in surrogates:
        for metric, losses, expected in expect_losses(name, rows, options):
            found = play(losses, expected, options)
            label = f"{name}, {rows:,} rows" if rows else name
            for what, labels, squares in tabulate(found, options.size):
                alone = what in ("pool limit", "uniform")
                if alone and (metric, what) in printed:
                    continue
                printed.add((metric, what))
                cells = [describe(column) for column in squares.T]
                cells = cells if labels == "M" else [cells[0], *[""] * (len(cells) - 1)]
                words = [metric, "" if alone else label, what, labels, *cells]
                table.add(*words)


def expect_losses(name: str, count: int, options: argparse.Namespace):
    """(metric, (N,) losses, (N,) losses that the surrogate expects) of each metric."""
    file = options.folder / f"{options.pool}.parquet"
    metrics = options.metrics.split(",")
    with tempfile.TemporaryDirectory(prefix="activetest-benchmark-") as folder:
        place = Path(folder) / file.name
        for what in ("parquet", "labels.csv"):
            (Path(folder) / f"{options.pool}.{what}").symlink_to(
                file.with_name(f"{options.pool}.{what}").resolve()
            )
        if count:
            rows = parquet.read_table(file.with_name(f"{options.pool}.train.parquet"))
            chosen = np.random.default_rng(options.seed).permutation(rows.num_rows)[:count]
            parquet.write_table(
                rows.take(np.sort(chosen)), place.with_name(f"{options.pool}.train.parquet")
            )
        with staged(place, train=bool(count), metric=metrics[0], surrogate=name) as stage:
            made = stage.made
            surrogate = get_surrogate(Log.empty(), made, stage.choices, seed=options.seed)
            facts = specification.describe_pool(made.roles, None, made)
            rows = made.rows(0, made.size)
            for each in metrics:
                statistics = specification.find_metric(each, facts).statistics
                losses = statistics[0].value(rows.outputs, stage.truth[:, None])[:, 0]
                yield each, losses.astype(float), surrogate.expected(rows, statistics)[0]


def play(losses: np.ndarray, expected: np.ndarray, options: argparse.Namespace) -> dict:
    """{estimate: (runs, draws) squared errors}."""
    found: dict = {name: [] for name in ("pool limit", "ase", "ase, others", "lure", "uniform")}
    for run in range(options.runs):
        rng = np.random.default_rng([options.seed, run])
        order = rng.permutation(len(losses))
        pool, others = order[: options.size], order[options.size :]
        truth = losses[others].mean()
        weight = (1 - FLOOR) * expected[pool] / expected[pool].mean() + FLOOR
        estimates = {
            "pool limit": [losses[pool].mean()] * len(DRAWS),
            "ase": [expected[pool].mean()] * len(DRAWS),
            "ase, others": [expected[others].mean()] * len(DRAWS),
            "lure": draw_and_estimate(losses[pool], weight, rng),
            "uniform": [losses[pool][:count].mean() for count in DRAWS],
        }
        for name, values in estimates.items():
            found[name].append((np.array(values) - truth) ** 2)
    return {name: np.array(squares) for name, squares in found.items()}


def draw_and_estimate(losses: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> list:
    """LURE, eq. (3) of Active Testing, after each number of draws without replacement."""
    size, most = len(losses), DRAWS[-1]
    drawn = np.argsort(rng.exponential(size=size) / weight)[:most]
    left = weight.sum() - np.concatenate([[0], np.cumsum(weight[drawn])[:-1]])
    prob = weight[drawn] / left
    estimates = []
    for count in DRAWS:
        number = np.arange(1, count + 1)
        scale = (size - count) / (size - number)
        weights = 1 + scale * (1 / ((size - number + 1) * prob[:count]) - 1)
        estimates.append(float((weights * losses[drawn[:count]]).mean()))
    return estimates


def tabulate(found: dict, size: int):
    """(estimate, labels, squared errors) of each."""
    labels = {"pool limit": f"{size:,}", "ase": "0", "ase, others": "0"}
    for name, squares in found.items():
        yield name, labels.get(name, "M"), squares


def describe(squares: np.ndarray) -> str:
    """Median and outer quantiles, times 10,000."""
    low, middle, high = 1e4 * np.quantile(squares, (0.1, 0.5, 0.9))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
