"""Labels saved and coverage on every pool of a folder, as Markdown tables.

python tests/benchmarks/saved.py FOLDER [--runs 2000] [--pools NAME,...] [--metric error ...]

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Draws aim at the first metric unless
--aim names another. Saved is the mean squared error of uniform draws (in closed form for a mean,
else simulated) over that of the method, and +- its Monte-Carlo standard error; labels is the number
of uniform labels that reach the method's error, over its own. --help lists the other options:
budgets, floor, interval, surrogates, acquisitions, estimators, seed.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))


def main() -> None:
    """Print one table, a row at a time."""
    options = arguments()
    header = [f"M = {budget}: saved, labels, coverage, width" for budget in options.budget]
    print(f"| pool | metric | acquisition | estimator | {' | '.join(header)} |")
    print(f"|{'---|' * (4 + len(header))}")
    for file in pools(options):
        for row in table(file, options):
            print("| " + " | ".join(row) + " |", flush=True)


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas, budgets repeat the option."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--pools", default="")
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--metric", action="append")
    parser.add_argument("--interval", default="fixed")
    parser.add_argument("--aim", default="")
    parser.add_argument("--floor", type=float, default=0.35)
    parser.add_argument("--surrogate", default="")
    parser.add_argument("--acquisition", default="optimal")
    parser.add_argument("--estimator", default="doubly-robust")
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.budget = tuple(options.budget or (50, 100, 200))
    return options


def pools(options: argparse.Namespace) -> list[Path]:
    """The pools that have an answer key, by name."""
    wanted = options.pools.split(",") if options.pools else None
    keyed = sorted(
        key.with_name(key.name.removesuffix(".labels.csv"))
        for key in options.folder.glob("*.labels.csv")
    )
    return [
        file.with_name(f"{file.name}.parquet")
        for file in keyed
        if wanted is None or file.name in wanted
    ]


def table(file: Path, options: argparse.Namespace) -> list[list[str]]:
    """One row of cells per metric, acquisition and estimator."""
    from activetest.pool.pool import Pool
    from activetest.simulation.simulate import simulate

    pool = Pool.open(str(file))
    metrics = options.metric or ["rmse" if pool.schema.task == "regression" else "error"]
    surrogates = {"surrogate": options.surrogate.split(",")} if options.surrogate else {}
    results = simulate(
        pool,
        file.with_name(f"{file.stem}.labels.csv"),
        budgets=options.budget,
        runs=options.runs,
        batch=options.batch,
        seed=options.seed,
        acquisition=tuple(options.acquisition.split(",")),
        estimators=tuple(options.estimator.split(",")),
        metrics=tuple(metrics),
        interval=options.interval,
        aim=options.aim or None,
        floor=options.floor,
        **surrogates,
    )
    rows: dict = {}
    for one in results:
        saved = f"{one.mse_ratio:.2f} +- {one.mse_ratio_se:.2f}"
        missing = f" ({one.runs} runs)" if one.runs < options.runs else ""
        cell = f"{saved}, {one.labels_saved:.2f}, {one.coverage:.3f}, {one.width:.4f}{missing}"
        rows.setdefault((one.metric, one.acquisition, one.estimator), []).append(cell)
    return [[file.stem, *names, *cells] for names, cells in rows.items()]


if __name__ == "__main__":
    main()
