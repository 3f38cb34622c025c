"""Accuracy surfaces (Piratla 2021): squared errors and intervals of every method, as in Table 2.

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

Every cell is kept in --results as it is finished, a line of figures, and is not computed again; by
default that is results/surfaces.jsonl beside this script. All of a seed is computed before the next
one begins. --summary computes nothing, and prints what there is: rows are over the seeds that all
methods have.
"""

import argparse
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import benchmark
import numpy as np
from surface_pools import SYNTHETIC, SurfacePool, make_pool

from activetest import catalog
from activetest.nouns.surface import Surface, SurfaceData
from activetest.wings.surfaces.surface_values import estimate_arms

KNOWN = "known"
ERRORS = ("macro", "micro", "worst", "infrequent")
BANDS = {"0": (0, 1), "1-4": (1, 5), "5-19": (5, 20), "20+": (20, 10**9)}
SUBSET, LEVEL = 50, 0.95
# Seeds whose warm fit is timed.
WARM = 2
# Fewest items of gold arms.
GOLD = (5, 20)
QUANTILES = (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)
RESULTS = Path(__file__).parent / "results" / "surfaces.jsonl"

# {(pool, method, labels, seed): what measure found}, {(pool, seed): what describe found}
Cells = dict[tuple[str, str, int, int], dict]
Facts = dict[tuple[str, int], dict]


def main() -> None:
    """Compute what is missing, and print the tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools=",".join(("adult", *SYNTHETIC)),
        methods="constant,beta,stacked",
        labels="500,1000,2000,3500",
        seeds=10,
        fewest={"type": int, "default": 5, "choices": GOLD},
        results=RESULTS,
        summary={"action": "store_true", "help": "compute nothing"},
    )
    pools, options.methods = options.pools.split(","), options.methods.split(",")
    options.labels = [int(count) for count in options.labels.split(",")]
    cells, facts = read_results(options.results)
    wanted = [
        (name, method, count, seed)
        for seed in range(options.seeds)
        for name in pools
        for method in options.methods
        for count in options.labels
        if (name, method, count, seed) not in cells
    ]
    opened: tuple[str, int] | None = None
    for name, method, count, seed in [] if options.summary else wanted:
        if opened != (name, seed):
            pool, opened = make_pool(name, seed, options.folder), (name, seed)
        if (name, seed) not in facts:
            facts[name, seed] = describe(pool)
            record = {"pool": name, "seed": seed, "facts": facts[name, seed]}
            benchmark.append_lines(options.results, [record])
        cells[name, method, count, seed] = measure(pool, method, count, seed)
        about = {"pool": name, "method": method, "labels": count, "seed": seed}
        benchmark.append_lines(options.results, [about | cells[name, method, count, seed]])
    for name in pools:
        print_pool(name, cells, facts, options)


def read_results(file: Path) -> tuple[Cells, Facts]:
    """Cells and facts that were computed before."""
    cells, facts = {}, {}
    for found in benchmark.read_lines(file):
        if "facts" in found:
            facts[found["pool"], found["seed"]] = found["facts"]
        else:
            cells[found["pool"], found["method"], found["labels"], found["seed"]] = found
    return cells, facts


def shorten(value: float) -> float:
    """A number to four digits."""
    return float(f"{value:.4g}")


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
    cell: dict = {
        "seconds": shorten(seconds),
        "warm": None if warm is None else shorten(warm),
        "memory": shorten(memory),
        "parts": {name: shorten(part) for name, part in dict(surface.parts).items()},
    }
    for fewest in GOLD:
        gold = find_gold(pool, fewest)
        if not len(gold):
            continue
        support = data.arms.support[gold]
        worst = gold[np.argsort(pool.rho[gold], kind="stable")[:SUBSET]]
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
            "macro": shorten(error[gold].mean()),
            "micro": shorten(support @ error[gold] / support.sum()),
            "worst": shorten(error[worst].mean()),
            "infrequent": shorten(error[rare].mean()),
            "bands": bands,
            "width": shorten((values.upper - values.lower)[gold].mean()),
        }
    return cell


def find_gold(pool: SurfacePool, fewest: int) -> np.ndarray:
    """Numbers of the arms with so many items or more."""
    return np.flatnonzero(pool.data.arms.support >= fewest)


def describe(pool: SurfacePool) -> dict:
    """{fewest items: quantiles, means and number of gold arms, and the floor} of a pool."""
    found = {}
    for fewest in GOLD:
        gold = find_gold(pool, fewest)
        if len(gold):
            support, truth = pool.data.arms.support[gold], pool.rho[gold]
            floor = 0.0 if pool.synthetic else float((truth * (1 - truth) / support).mean())
            means = (truth.mean(), support @ truth / support.sum())
            found[str(fewest)] = {
                "quantiles": [shorten(value) for value in np.quantile(truth, QUANTILES)],
                "means": [shorten(value) for value in means],
                "floor": shorten(floor),
                "arms": len(gold),
            }
    return found


def print_pool(
    name: str,
    cells: Cells,
    facts: Facts,
    options: argparse.Namespace,
) -> None:
    """The tables of one pool, over the seeds that every method has."""
    gold = str(options.fewest)
    wanted = [(method, count) for method in options.methods for count in options.labels]
    seeds = [
        seed
        for seed in range(options.seeds)
        if all((name, method, count, seed) in cells for method, count in wanted)
    ]
    if not seeds:
        print(f"\n{name}: no seed that every method has")
        return

    def collect(method: str, count: int, error: str) -> np.ndarray:
        return np.array([cells[name, method, count, seed][gold][error] for seed in seeds])

    about = [facts[name, seed][gold] for seed in seeds]
    arms, floor = (np.mean([each[word] for each in about]) for word in ("arms", "floor"))
    print(f"\n{name}: {arms:.0f} gold arms, floor {1000 * floor:.1f}, {len(seeds)} seeds\n")
    table = benchmark.Table(options, "pool | labels | method", *ERRORS)
    for count in options.labels:
        for method in options.methods:
            row = [show_mean(1000 * collect(method, count, error)) for error in ERRORS]
            table.add(name, f"{count:,}", method, *row)
    for base in ("beta", "constant"):
        if base in options.methods:
            print_ratios(base, name, collect, options)
    found = {
        (method, count): [cells[name, method, count, seed] for seed in seeds]
        for method, count in wanted
    }
    print_coverage(found, name, gold, options)
    quantiles = np.mean([each["quantiles"] for each in about], axis=0)
    means = np.mean([each["means"] for each in about], axis=0)
    print("accuracy, quantiles", *QUANTILES, "macro, micro:", *np.round([*quantiles, *means], 3))


def show_mean(values: np.ndarray) -> str:
    """Mean and standard deviation of values (S,) over seeds."""
    return f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else "")


def print_ratios(
    base: str,
    name: str,
    collect: Callable[[str, int, str], np.ndarray],
    options: argparse.Namespace,
) -> None:
    """Errors over those of one method; collect gives those of a method over seeds."""
    table = benchmark.Table(options, f"pool | labels | over {base}", *ERRORS)
    for count in options.labels:
        for method in (each for each in options.methods if each != base):
            text = []
            for error in ERRORS:
                ratio = collect(method, count, error) / collect(base, count, error)
                spread = f" ± {ratio.std(ddof=1) / len(ratio) ** 0.5:.3f}" if len(ratio) > 1 else ""
                text.append(f"{ratio.mean():.3f}{spread}")
            table.add(name, f"{count:,}", method, *text)


def print_coverage(
    cells: dict[tuple[str, int], list[dict]], name: str, gold: str, options: argparse.Namespace
) -> None:
    """How often intervals hold, how long fits take, and what the last method is made of.

    cells   {(method, labels): what measure found for each seed}
    """
    bands = [f"{band} labels" for band in BANDS]
    table = benchmark.Table(options, "pool | labels | method", *bands, "seconds, warm, GB")
    for count in options.labels:
        for method in options.methods:
            found = cells[method, count]
            text = []
            for band in BANDS:
                held, total = np.sum([cell[gold]["bands"][band] for cell in found], axis=0)
                text.append(f"{100 * held / total:.1f}" if total >= 50 else "")
            warm = [cell["warm"] for cell in found if cell["warm"] is not None]
            spent = f"{np.median([cell['seconds'] for cell in found]):.1f}"
            spent += f", {np.median(warm):.1f}" if warm else ", "
            spent += f", {max(cell.get('memory', 0) for cell in found):.1f}"
            table.add(name, f"{count:,}", method, *text, spent)
    parts: dict[str, float] = {}
    last = [cell for count in options.labels for cell in cells[options.methods[-1], count]]
    for cell in last:
        for part, share in cell["parts"].items():
            parts[part] = parts.get(part, 0) + share / len(last)
    print(
        "\nparts of", options.methods[-1] + ":", ", ".join(f"{k} {v:.2f}" for k, v in parts.items())
    )


if __name__ == "__main__":
    main()
