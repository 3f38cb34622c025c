"""Accuracy surfaces (Piratla 2021): squared errors and intervals of every method, as in Table 2.

    python tests/benchmarks/surfaces.py FOLDER [--pools adult,main,pairs,interactions,confidence]
        [--methods constant,beta,stacked] [--labels 500,1000,2000,3500] [--seeds 10]
        [--fewest 5] [--results surfaces.jsonl]

FOLDER holds adult.parquet with adult.labels.csv; the other pools are made: see surface_pools.py.
Labels are drawn uniformly; 1,000 labels contain the 500. Gold arms have --fewest items or more.

The method known knows the true accuracy of every arm of a synthetic pool: how often its intervals
hold is what whole numbers of items leave of 95 %.

The pool large, which is only made by name, is for time and memory: --pools large --labels 5000
--methods constant,stacked.

Tables: the squared error of arms times 1,000, mean ± standard deviation over seeds, by pool and
labels: macro, over gold arms; micro, by their items; worst, over the 50 gold arms of least true
accuracy; infrequent, over the 50 with fewest items; then the ratio of each to that of beta and of
constant, mean of the seeds' ratios ± its standard error; how often 95 % intervals of gold arms
contain the pool's accuracy there, in percent, by the labels inside; seconds of a fit and of a
warm one, and the peak memory in GB; and the quantiles of true accuracy over gold arms (Fig. 1).
Errors are against the true accuracy, of synthetic surfaces the probability that items were drawn
with; adult's is the share of its items, whose binomial noise no method without labels can foresee:
the floor. Error over the numbers of labels is Fig. 3.

Every cell is kept in --results as it is finished, and is not computed again.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from surface_pools import SYNTHETIC, SurfacePool, make_pool

from activetest import catalog
from activetest.estimation.surface_values import estimate_arms
from activetest.nouns.surface import Surface, SurfaceData

KNOWN = "known"
ERRORS = ("macro", "micro", "worst", "infrequent")
BANDS = {"0": (0, 1), "1-4": (1, 5), "5-19": (5, 20), "20+": (20, 10**9)}
SUBSET, LEVEL = 50, 0.95
# Seeds whose warm fit is timed.
WARM = 2
# Fewest items of gold arms.
GOLD = (5, 20)
QUANTILES = (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)


def main() -> None:
    """Compute what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pools", default=",".join(("adult", *SYNTHETIC)))
    parser.add_argument("--methods", default="constant,beta,stacked")
    parser.add_argument("--labels", default="500,1000,2000,3500")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--fewest", type=int, default=5, choices=GOLD)
    parser.add_argument("--results", type=Path, default=Path("surfaces.jsonl"))
    options = parser.parse_args()
    pools, methods = options.pools.split(","), options.methods.split(",")
    labels = [int(count) for count in options.labels.split(",")]
    cells = read_cells(options.results)
    for seed in range(options.seeds):
        for name in pools:
            wanted = [
                (method, count)
                for method in methods
                for count in labels
                if (name, method, count, seed) not in cells
            ]
            pool = make_pool(name, seed, options.folder) if wanted else None
            for method, count in wanted:
                assert pool is not None
                cell = {"pool": name, "method": method, "labels": count, "seed": seed}
                cell |= measure(pool, method, count, seed)
                cells[name, method, count, seed] = cell
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(cell) + "\n")
    for name in pools:
        print_pool(name, cells, methods, labels, options)


def read_cells(file: Path) -> dict[tuple, dict]:
    """What was computed before."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    found = map(json.loads, lines)
    return {(cell["pool"], cell["method"], cell["labels"], cell["seed"]): cell for cell in found}


def fit(
    pool: SurfacePool,
    method: str,
    data: SurfaceData,
    seed: int,
    earlier: Mapping[str, np.ndarray] | None = None,
) -> Surface:
    """The surface of a method, or the true one."""
    if method == KNOWN:
        assert pool.synthetic, "of real arms nobody knows more than the share of their items"
        scale = np.full((1, 1), 1e9)
        return Surface(KNOWN, pool.rho, pool.rho[None], scale, lambda codes: (codes, codes))
    name, keywords = catalog.split_options("surfaces", method)
    found: Surface = catalog.load("surfaces", name).fit(
        data, rng=np.random.default_rng(seed), earlier=earlier, **keywords
    )
    return found


def measure(pool: SurfacePool, method: str, labels: int, seed: int) -> dict:
    """Errors and coverage of one method with so many labels."""
    data = pool.label(labels)
    start = time.perf_counter()
    surface = fit(pool, method, data, seed)
    seconds = time.perf_counter() - start
    warm = None
    if seed < WARM:
        # As between refits: a dozen labels more, and the surface from before.
        start = time.perf_counter()
        fit(pool, method, pool.label(labels + 12), seed, surface.state)
        warm = time.perf_counter() - start
    values = estimate_arms(surface, data, LEVEL)
    share = np.bincount(data.arms.of_item, pool.right) / data.arms.support
    # A synthetic surface is what items come from; what is known of the pool's own items is no part.
    error = ((surface.mean if pool.synthetic else values.mean) - pool.rho) ** 2
    inside = (values.lower <= share + 1e-9) & (share - 1e-9 <= values.upper)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    cell: dict = {"seconds": seconds, "warm": warm, "memory": memory, "parts": dict(surface.parts)}
    for fewest in GOLD:
        gold = np.flatnonzero(data.arms.support >= fewest)
        if not len(gold):
            continue
        support, truth = data.arms.support[gold], pool.rho[gold]
        worst = gold[np.argsort(truth, kind="stable")[:SUBSET]]
        rare = gold[np.argsort(support, kind="stable")[:SUBSET]]
        known = values.known[gold]
        bands = {
            band: [
                int(inside[gold][(known >= low) & (known < high)].sum()),
                int(((known >= low) & (known < high)).sum()),
            ]
            for band, (low, high) in BANDS.items()
        }
        cell[str(fewest)] = {
            "macro": float(error[gold].mean()),
            "micro": float(support @ error[gold] / support.sum()),
            "worst": float(error[worst].mean()),
            "infrequent": float(error[rare].mean()),
            "bands": bands,
            "width": float((values.upper - values.lower)[gold].mean()),
            "quantiles": np.quantile(truth, QUANTILES).tolist(),
            "means": [float(truth.mean()), float(support @ truth / support.sum())],
            "floor": 0.0 if pool.synthetic else float((truth * (1 - truth) / support).mean()),
            "arms": len(gold),
        }
    return cell


def print_pool(
    name: str,
    cells: dict[tuple, dict],
    methods: list[str],
    labels: list[int],
    options: argparse.Namespace,
) -> None:
    """The tables of one pool."""
    gold = str(options.fewest)

    def collect(method: str, count: int, error: str) -> np.ndarray:
        return np.array([cells[name, method, count, seed][gold][error] for seed in seeds])

    seeds = range(options.seeds)
    first = [cells[name, methods[0], labels[0], seed][gold] for seed in seeds]
    arms, floor = (np.mean([each[word] for each in first]) for word in ("arms", "floor"))
    print(f"\n{name}: {arms:.0f} gold arms, floor {1000 * floor:.1f}, {options.seeds} seeds\n")
    print("| labels | method | " + " | ".join(ERRORS) + " |")
    print("|" + "---|" * (2 + len(ERRORS)))
    for count in labels:
        for method in methods:
            row = [1000 * collect(method, count, error) for error in ERRORS]
            text = [f"{each.mean():.1f} ± {each.std(ddof=1):.1f}" for each in row]
            print(f"| {count:,} | {method} | " + " | ".join(text) + " |")
    for base in ("beta", "constant"):
        if base in methods:
            print_ratios(base, collect, methods, labels)
    print_coverage(name, cells, methods, labels, options)
    quantiles = np.mean([each["quantiles"] for each in first], axis=0)
    means = np.mean([each["means"] for each in first], axis=0)
    print("accuracy, quantiles", *QUANTILES, "macro, micro:", *np.round([*quantiles, *means], 3))


def print_ratios(
    base: str,
    collect: Callable[[str, int, str], np.ndarray],
    methods: list[str],
    labels: list[int],
) -> None:
    """Errors over those of one method; collect gives those of a method over seeds."""
    print(f"\n| labels | over {base} | " + " | ".join(ERRORS) + " |")
    print("|" + "---|" * (2 + len(ERRORS)))
    for count in labels:
        for method in (each for each in methods if each != base):
            text = []
            for error in ERRORS:
                ratio = collect(method, count, error) / collect(base, count, error)
                spread = ratio.std(ddof=1) / len(ratio) ** 0.5
                text.append(f"{ratio.mean():.3f} ± {spread:.3f}")
            print(f"| {count:,} | {method} | " + " | ".join(text) + " |")


def print_coverage(
    name: str,
    cells: dict[tuple, dict],
    methods: list[str],
    labels: list[int],
    options: argparse.Namespace,
) -> None:
    """How often intervals hold, how long fits take, and what the last method is made of."""
    gold, seeds = str(options.fewest), range(options.seeds)
    print(
        "\n| labels | method | "
        + " | ".join(f"{band} labels" for band in BANDS)
        + " | seconds, warm, GB |"
    )
    print("|" + "---|" * (3 + len(BANDS)))
    for count in labels:
        for method in methods:
            found = [cells[name, method, count, seed] for seed in seeds]
            text = []
            for band in BANDS:
                held, total = np.sum([cell[gold]["bands"][band] for cell in found], axis=0)
                text.append(f"{100 * held / total:.1f}" if total >= 50 else "")
            warm = [cell["warm"] for cell in found if cell["warm"] is not None]
            spent = f"{np.median([cell['seconds'] for cell in found]):.1f}, {np.median(warm):.1f}"
            spent += f", {max(cell.get('memory', 0) for cell in found):.1f}"
            print(f"| {count:,} | {method} | " + " | ".join(text) + f" | {spent} |")
    parts: dict[str, float] = {}
    for count in labels:
        for seed in seeds:
            for part, share in cells[name, methods[-1], count, seed]["parts"].items():
                parts[part] = parts.get(part, 0) + share / options.seeds / len(labels)
    print("\nparts of", methods[-1] + ":", ", ".join(f"{k} {v:.2f}" for k, v in parts.items()))


if __name__ == "__main__":
    main()
