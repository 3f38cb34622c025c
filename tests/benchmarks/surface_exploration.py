"""Exploration of accuracy surfaces (Piratla 2021, Fig. 4): surface-variance against uniform draws.

FOLDER holds adult.parquet with adult.labels.csv; the other pools are made: see surface_pools.py.
Both strategies begin without a label. surface-variance is the acquisition of that name, in batches
of --step labels, each planned from a surface that is fitted anew; top is the paper's rule: arms by
their own variance, and no floor. Of the same seed the surface, the answers and, of synthetic pools,
the items are the same.

Tables: macro squared error of gold arms (5 items or more) times 1,000, as in surfaces.py, mean ±
standard deviation over seeds; the difference to uniform, paired over seeds, ± its standard error;
and the labels that surface-variance needs for the error that uniform draws reach with so many, in
percent, found between looks on logarithmic scales: mean over seeds ± standard error.

Every study is kept in --results as it is finished, and is not played again.
"""

import argparse
import time
from pathlib import Path

import benchmark
import numpy as np
from surface_pools import SurfacePool, make_pool

from activetest import catalog
from activetest.nouns.surface import Surface, SurfaceData
from activetest.wings.surfaces.acquisition.surface_variance import ArmCounts, rank_arms
from activetest.wings.surfaces.surface_values import estimate_arms

FEWEST = 5
UNIFORM = "uniform"


def main() -> None:
    """Play the studies that are missing, and print the tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="main,pairs,adult",
        method="stacked",
        labels="250,500,750,1000,1500,2000",
        step=60,
        floor=0.1,
        seeds=10,
        strategies="uniform,surface-variance",
        results=Path("surface_exploration.jsonl"),
    )
    pools, strategies = options.pools.split(","), options.strategies.split(",")
    labels = [int(count) for count in options.labels.split(",")]
    found = read_studies(options.results)
    for seed in range(options.seeds):
        for name in pools:
            for strategy in strategies:
                key = make_key(name, strategy, seed, options)
                if not {*map(str, labels)} <= {*found.get(key, {}).get("errors", {})}:
                    pool = make_pool(name, seed, options.folder)
                    found[key] = play(pool, strategy, labels, seed, options)
                    benchmark.append_lines(options.results, [{"key": key, **found[key]}])
    for name in pools:
        print_pool(name, found, labels, strategies, options)


def make_key(name: str, strategy: str, seed: int, options: argparse.Namespace) -> str:
    """The name of a study among the others; batches and floors do not matter to uniform draws."""
    how = "" if strategy == UNIFORM else f" {options.step} {options.floor:g}"
    return f"{name} {options.method} {strategy} {seed}{how}"


def read_studies(file: Path) -> dict[str, dict]:
    """The studies that were played before."""
    return {record["key"]: record for record in benchmark.read_lines(file)}


def play(
    pool: SurfacePool, strategy: str, labels: list[int], seed: int, options: argparse.Namespace
) -> dict:
    """{"errors": {labels: macro squared error}, "seconds": of the fits} of one study."""
    rng, start = np.random.default_rng([seed, 7]), time.process_time()
    errors: dict[str, float] = {}
    order = pool.order[:0]
    while len(order) < labels[-1]:
        target = next(count for count in labels if count > len(order))
        if strategy == UNIFORM:
            order = pool.order[:target]
        else:
            count = min(options.step, target - len(order))
            drawn = draw_batch(pool, order, count, strategy, rng, options)
            order = np.append(order, drawn)
        if len(order) == target:
            data = label_items(pool, order)
            errors[str(target)] = measure(pool, fit(data, options.method, seed), data)
    return {"errors": errors, "seconds": time.process_time() - start}


def label_items(pool: SurfacePool, items: np.ndarray) -> SurfaceData:
    """The pool with the labels of these items, all drawn uniformly inside their arm."""
    data = pool.data
    return SurfaceData(
        arms=data.arms,
        items=items,
        values=pool.right[items].astype(float),
        weights=np.ones(len(items)),
        confidence=data.confidence,
        predicted=data.predicted,
        classes=data.classes,
    )


def fit(data: SurfaceData, method: str, seed: int) -> Surface:
    """The surface of a method."""
    name, keywords = catalog.split_options("surfaces", method)
    surface: Surface = catalog.load("surfaces", name).fit(
        data, rng=np.random.default_rng(seed), **keywords
    )
    return surface


def draw_batch(
    pool: SurfacePool,
    items: np.ndarray,
    count: int,
    strategy: str,
    rng: np.random.Generator,
    options: argparse.Namespace,
) -> np.ndarray:
    """The items of a batch, by successive draws without replacement."""
    data = label_items(pool, items)
    arms, of_item = data.arms, data.arms.of_item
    free = np.ones(len(of_item), bool)
    free[items] = False
    left = np.bincount(of_item[free], minlength=len(arms))
    known = np.bincount(of_item[items], minlength=len(arms))
    surface = fit(data, options.method, len(items))
    counts, top = ArmCounts(arms.support, known, left), strategy == "top"
    share = rank_arms(surface, counts, FEWEST, count, rng, alone=top)
    floor = 0.0 if top else options.floor
    weight = (1 - floor) * (share / np.maximum(left, 1))[of_item] + floor / free.sum()
    keys = np.where(free, rng.exponential(size=len(of_item)) / np.maximum(weight, 1e-300), np.inf)
    if top:
        return take_turns(of_item, share, free, count, rng)
    return np.argsort(keys)[:count]


def take_turns(
    of_item: np.ndarray, share: np.ndarray, free: np.ndarray, count: int, rng: np.random.Generator
) -> np.ndarray:
    """One item of each arm, those with the largest share first, then a second of each."""
    shuffled = rng.permutation(np.flatnonzero(free & (share > 0)[of_item]))
    arm = of_item[shuffled]
    by_arm = np.argsort(arm, kind="stable")
    starts = np.searchsorted(arm[by_arm], arm[by_arm])
    turn = np.arange(len(by_arm)) - starts
    order = np.lexsort((-share[arm[by_arm]], turn))
    return shuffled[by_arm[order[:count]]]


def measure(pool: SurfacePool, surface: Surface, data: SurfaceData) -> float:
    """The macro squared error of gold arms: synthetic ones against what items come from."""
    mean = surface.mean if pool.synthetic else estimate_arms(surface, data, 0.95).mean
    gold = data.arms.support >= FEWEST
    return float(((mean - pool.rho) ** 2)[gold].mean())


def find_labels(errors: np.ndarray, labels: np.ndarray, error: float) -> float:
    """The labels at which errors (L,) have come down to `error`; beyond the looks the last two.

    Errors are taken never to rise again.
    """
    falling = np.log(np.minimum.accumulate(errors))
    at, counts = np.log(error), np.log(labels)
    if falling[0] <= at:
        return float(labels[0])
    place = int(np.argmax(falling <= at)) if (falling <= at).any() else len(labels) - 1
    low, high = falling[place - 1], falling[place]
    if low == high:
        return float(labels[place])
    step = (low - at) / (low - high)
    return float(np.exp(counts[place - 1] + step * (counts[place] - counts[place - 1])))


def print_pool(
    name: str,
    found: dict[str, dict],
    labels: list[int],
    strategies: list[str],
    options: argparse.Namespace,
) -> None:
    """The table of one pool."""

    def collect(strategy: str) -> np.ndarray:
        studies = (
            found[make_key(name, strategy, seed, options)]["errors"]
            for seed in range(options.seeds)
        )
        return np.array([[each[str(count)] for count in labels] for each in studies])

    counts = np.array(labels, float)
    base = collect(UNIFORM)
    print(f"\n{name}, {options.method}, {options.seeds} seeds, batches of {options.step}\n")
    table = benchmark.Table(options, "pool | labels", *strategies, "difference | labels needed, %")
    others = [each for each in strategies if each != UNIFORM]
    for place, count in enumerate(labels):
        cells = [describe(collect(strategy)[:, place], spread=True) for strategy in strategies]
        difference, needed = [], []
        for strategy in others:
            errors = collect(strategy)
            difference.append(describe((errors - base)[:, place], spread=False))
            share = [
                100 * find_labels(own, counts, float(uniform[place])) / count
                for own, uniform in zip(errors, base, strict=True)
            ]
            needed.append(describe(np.array(share) / 1000, spread=False, digits=0))
        table.add(name, f"{count:,}", *cells, "; ".join(difference), "; ".join(needed))


def describe(values: np.ndarray, *, spread: bool, digits: int = 2) -> str:
    """The mean times 1,000 ± the standard deviation, or the standard error."""
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    error = deviation if spread else deviation / np.sqrt(len(values))
    return f"{1000 * values.mean():.{digits}f} ± {1000 * error:.{digits}f}"


if __name__ == "__main__":
    main()
