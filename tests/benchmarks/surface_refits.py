"""What a surface loses, and how much time it saves, where a fit continues an earlier one.

    python tests/benchmarks/surface_refits.py FOLDER [--pools main,pairs,adult]
        [--methods stacked] [--labels 200,1000] [--growths 1.06,1.25,1.5,1.9] [--seeds 10]
        [--results surface_refits.jsonl]

FOLDER holds adult.parquet with adult.labels.csv; the other pools are made: see surface_pools.py.
A surface is fitted to --labels uniform labels, as `refit` does. When labels have grown by a factor,
the surface is fitted anew, and from the state of that fit, as between refits.

Table: the macro squared error of gold arms (5 items or more) times 1,000, where the surface is
fitted anew, where it continues, and their difference, paired by seed, ± its standard error; and
seconds of one processor for both.

Every cell is kept in --results as it is finished, and is not computed again.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from surface_pools import SurfacePool, make_pool
from surfaces import fit

FEWEST = 5


def main() -> None:
    """Compute what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pools", default="main,pairs,adult")
    parser.add_argument("--methods", default="stacked")
    parser.add_argument("--labels", default="200,1000")
    parser.add_argument("--growths", default="1.06,1.25,1.5,1.9")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=Path("surface_refits.jsonl"))
    options = parser.parse_args()
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
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "found": cells[key]}) + "\n")
    print("| pool | method | labels | then | anew | continued | difference | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, method, count in kinds:
        for growth in growths:
            found = np.array(
                [cells[f"{name} {method} {count} {s}"][growth] for s in range(options.seeds)]
            )
            anew, continued, *seconds = found.mean(axis=0)
            gap = found[:, 1] - found[:, 0]
            error = gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else 0.0
            print(
                f"| {name} | {method} | {count:,} | {int(count * float(growth)):,} | {anew:.2f} "
                f"| {continued:.2f} | {gap.mean():.2f} ± {error:.2f} "
                f"| {seconds[0]:.2f}, {seconds[1]:.2f} |"
            )


def read_cells(file: Path) -> dict[str, dict]:
    """What was computed before."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {cell["key"]: cell["found"] for cell in map(json.loads, lines)}


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
