"""ASE (Kossen 2022), 7.3, on cifar10: five networks trained elsewhere, fixed, as the surrogate.

FOLDER holds cifar10.parquet, .labels.csv and .surrogates.parquet. In the paper the five are as
good as the black box; here they are weaker, and ASE believes them. Next to them: `stack` and
`agreement`, which learn from the labels. Draws aim at the metric that is estimated. Saved is the
mean squared error of uniform draws over that of the method, +- its Monte-Carlo standard error.
"""

from pathlib import Path

import benchmark

# Acquisition and floor: as the papers draw, and as this program does by default.
WAYS = {"expected-loss": 0.2, "optimal": None}
ESTIMATORS = ("ase", "lure", "doubly-robust")


def main() -> None:
    """Print one row per metric, surrogate, acquisition and estimator."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pool="cifar10",
        surrogate="external,stack,agreement,model",
        runs=1000,
        budget={"type": int, "action": "append"},
        seed=0,
        save=Path,
    )
    options.budget = tuple(sorted(options.budget or (50, 100, 200)))
    header = [f"M = {budget}: saved, bias, coverage" for budget in options.budget]
    table = benchmark.Table(options, "metric | surrogate | acquisition | estimator", *header)
    for metric in ("log-loss", "accuracy"):
        for surrogate in options.surrogate.split(","):
            for acquisition, floor in WAYS.items():
                for names, cells in rows(metric, surrogate, acquisition, floor, options):
                    table.add(metric, surrogate, names, *cells)


def rows(metric: str, surrogate: str, acquisition: str, floor: float | None, options):
    """(names, cells) of every estimator."""
    from activetest.pool.pool import Pool
    from activetest.simulation.simulate import simulate

    file = options.folder / f"{options.pool}.parquet"
    wishes = {} if floor is None else {"floor": floor}
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        wishes["save"] = options.save / f"{options.pool}-{metric}-{surrogate}-{acquisition}.jsonl"
    results = simulate(
        Pool.open(str(file)),
        file.with_name(f"{file.stem}.labels.csv"),
        budgets=options.budget,
        runs=options.runs,
        seed=options.seed,
        surrogate=(surrogate,),
        acquisition=(acquisition,),
        estimators=ESTIMATORS,
        metrics=(metric,),
        other_models=str(file.with_name(f"{file.stem}.surrogates.parquet")),
        **wishes,
    )
    found: dict = {}
    for one in results:
        saved = f"{one.mse_ratio:.2f} +- {one.mse_ratio_se:.2f}"
        cell = f"{saved}, {one.bias:+.4f}, {one.coverage:.3f}"
        found.setdefault(f"{acquisition} | {one.estimator}", []).append(cell)
    return found.items()


if __name__ == "__main__":
    main()
