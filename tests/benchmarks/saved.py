"""Labels saved and coverage on every pool of a folder, as Markdown tables.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Draws aim at the first metric unless
--aim names another. Saved is the mean squared error of uniform draws (in closed form for a mean,
else simulated) over that of the method, and +- its Monte-Carlo standard error; labels is the number
of uniform labels that reach the method's error, over its own. --help lists the other options:
budgets, floor, interval, surrogates, acquisitions, estimators, seed.
"""

import argparse
from pathlib import Path

import benchmark


def main() -> None:
    """Print one table, a row at a time."""
    options = arguments()
    header = [f"M = {budget}: saved, labels, coverage, width" for budget in options.budget]
    table = benchmark.Table(options, "pool | metric | acquisition | estimator", *header)
    for file in benchmark.find_pools(options.folder, options.pools):
        for row in list_rows(file, options):
            table.add(*row)


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas, budgets repeat the option."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        runs=2000,
        pools="",
        budget={"type": int, "action": "append"},
        metric={"action": "append"},
        interval="fixed",
        aim="",
        floor=0.35,
        surrogate="",
        acquisition="optimal",
        estimator="doubly-robust",
        batch=10,
        seed=0,
    )
    options.budget = tuple(options.budget or (50, 100, 200))
    return options


def list_rows(file: Path, options: argparse.Namespace) -> list[list[str]]:
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
