"""Loss of a surface, and time saved, where a fit continues an earlier one.

FOLDER holds adult.parquet with adult.labels.csv; the other pools are made: see surface_pools.py.
A surface is fitted to --labels uniform labels, as `refit` does. When labels have grown by a factor,
the surface is fitted anew, and from the state of that fit, as between refits.

Table: the macro squared error of gold arms (5 items or more) times 1,000, where the surface is
fitted anew, where it continues, and their difference, paired by seed, ± its standard error; and
seconds of one processor for both.

Every cell is kept in --results as it is finished, and is not computed again.
"""

import time
from pathlib import Path

import benchmark
import numpy as np
from surface_pools import SurfacePool, make_pool
from surfaces import fit

FEWEST = 5


def main() -> None:
    """Compute what is missing, and print the table."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools="main,pairs,adult",
        methods="stacked",
        labels="200,1000",
        growths="1.06,1.25,1.5,1.9",
        seeds=10,
        results=Path("surface_refits.jsonl"),
    )
    labels = [int(count) for count in options.labels.split(",")]
    growths = options.growths.split(",")
    cells = read_cells(options.results)
    kinds = [
        (pool, method, count)
        for pool in options.pools.split(",")
        for method in options.methods.split(",")
        for count in labels
    ]
    for seed in range(options.seeds):
        for name, method, count in kinds:
            key = f"{name} {method} {count} {seed}"
            if not {*growths} <= {*cells.get(key, {})}:
                cells[key] = measure(
                    make_pool(name, seed, options.folder), method, count, growths, seed
                )
                benchmark.append_lines(options.results, [{"key": key, "found": cells[key]}])
    table = benchmark.Table(
        options, "pool | method | labels | then | anew | continued | difference | seconds"
    )
    for name, method, count in kinds:
        for growth in growths:
            found = np.array(
                [cells[f"{name} {method} {count} {s}"][growth] for s in range(options.seeds)]
            )
            anew, continued, *seconds = found.mean(axis=0)
            gap = found[:, 1] - found[:, 0]
            error = gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else 0.0
            table.add(
                name,
                method,
                f"{count:,}",
                f"{int(count * float(growth)):,}",
                f"{anew:.2f}",
                f"{continued:.2f}",
                f"{gap.mean():.2f} ± {error:.2f}",
                f"{seconds[0]:.2f}, {seconds[1]:.2f}",
            )


def read_cells(file: Path) -> dict[str, dict]:
    """Cells that were computed before."""
    return {cell["key"]: cell["found"] for cell in benchmark.read_lines(file)}


def measure(
    pool: SurfacePool, method: str, labels: int, growths: list[str], seed: int
) -> dict[str, list[float]]:
    """{growth: errors anew and continued, and the seconds of both}."""
    begun = fit(pool, method, pool.label(labels), seed)
    gold = pool.data.arms.support >= FEWEST
    found = {}
    for growth in growths:
        data = pool.label(int(labels * float(growth)))
        errors, seconds = [], []
        for state in (None, begun.state):
            start = time.process_time()
            surface = fit(pool, method, data, seed + 1000, state)
            seconds.append(time.process_time() - start)
            errors.append(1000 * float(((surface.mean - pool.rho) ** 2)[gold].mean()))
        found[growth] = [*errors, *seconds]
    return found


if __name__ == "__main__":
    main()
