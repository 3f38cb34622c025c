"""Active Bayesian Assessment (Ji 2021): how good is each group, by few labels.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. K groups that have items, and N
labels. Accuracies are posterior means in the finite pool; priors come from all scores and stay.

--tables accuracy: the root of the mean over items of the squared error of their group's accuracy,
in percent (Tables 3 and 8); how often 95 % intervals of groups hold, in percent, over groups and
over items; the error of the ECE with bins as groups, in percent of the ECE (Table 5), by the
posterior mean accuracy of every bin as in the paper, and by the posterior mean of the ECE. --tables
confusion: the same root for the columns of the confusion matrix, over that without any label
(Table 4), by Dirichlets that count as one label. --tables floors: the first root again, where
informative priors and Thompson sampling have a floor. --tables strengths: ten bins of equal width,
where informative priors count as so many labels (Figure 17), after 100 and 1,000 labels: the first
root, how often intervals hold over bins, and the error of the ECE by mean accuracies, in percent.
With --save, finished cells of this table are kept in FILE.

The last column is what the tool reports without a task, from --studies studies: uniform draws ten
at a time, surrogate agreement, the doubly robust estimate, groups drawn towards what the surrogate
foresees. Numbers are means over runs ± their standard errors; the lowest of the first four is bold,
and the last one where it is lower than all.
"""

import argparse
from pathlib import Path

import bandit_design
import benchmark
import numpy as np
from bandit_runs import (
    EQUAL_COUNT,
    EQUAL_WIDTH,
    FLOORS,
    INFORMATIVE,
    PAPERS,
    PREDICTED,
    THOMPSON,
    Board,
    Seat,
    Way,
    board,
    estimates,
    merged,
    noted,
    played,
    seated,
)

from activetest.wings.groups.arms import (
    CONFUSION,
    compute_values,
    expect_outcome_shares,
    sample_values,
)
from activetest.wings.groups.credible import outcome_share_intervals
from activetest.wings.groups.simulated.assessment import find_rmse

PER_GROUP = (2, 5, 10)
# Labels and ways of Figure 17: random draws as there, and Thompson sampling.
AMOUNTS = (100, 1000)
INFORMED = tuple(way for way in PAPERS if way.prior == INFORMATIVE)
SAMPLES, LEVEL = 1000, 0.95
# The ECE of this tool over the same bins.
ECES = {EQUAL_COUNT: "ece[equal-count,10]", EQUAL_WIDTH: "ece[10]"}
COLUMNS = {"adult": ("sex_race", *ECES)}
WITH_DESIGN = [*(way.name for way in PAPERS), "uniform draws, no task"]
TITLES = {
    "accuracy": "RMSE of accuracy, percent",
    "covered": "Coverage of 95 % intervals, percent: over groups, over items",
    "ece": "Error of the ECE, percent of it, by posterior mean accuracies",
    "mean": "Error of the ECE, percent of it, by its posterior mean",
    "confusion": "RMSE of the confusion matrix, over that without labels",
    "floors": "RMSE of accuracy, percent, by informative + Thompson with a floor",
}


def main() -> None:
    """Print the tables, all of them at the end, and how often Thompson sampling is best."""
    options = arguments()
    tables: dict[str, list[tuple[str, list]]] = {title: [] for title in TITLES}
    of_strengths: list[str] = []
    for name in options.pools.split(","):
        columns = COLUMNS.get(name, (PREDICTED, *ECES))
        with seated(options.folder / f"{name}.parquet", columns) as seat:
            if "accuracy" in options.tables:
                accuracies(name, seat, columns, options, tables)
            if "confusion" in options.tables and PREDICTED in columns:
                confusions(name, seat, options, tables)
            if "floors" in options.tables:
                floors(name, seat, columns, options, tables)
            if "strengths" in options.tables:
                of_strengths += strengths(name, seat, options)
    if of_strengths:
        names = [f"{way.name}: RMSE, coverage, ECE" for way in INFORMED]
        table = benchmark.Table(options, "pool | strength | N", *names)
        for row in of_strengths:
            table.add(row)
    for title, rows in tables.items():
        if rows:
            show(title, rows, options)


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    return benchmark.read_options(
        __doc__,
        "folder",
        runs=500,
        studies=200,
        pools="digits,cifar10,mnist_missing7,adult",
        tables="accuracy,confusion,floors",
        strengths="2,10,100",
        seed=0,
        save=Path,
    )


def accuracies(name: str, seat: Seat, columns, options: argparse.Namespace, tables: dict) -> None:
    """Rows of the tables of accuracy, coverage and ECE."""
    boards = {column: board(seat, "accuracy", column) for column in columns}
    asked = {
        column: (on, ECES.get(column), tuple(each * len(on.names) for each in PER_GROUP))
        for column, on in boards.items()
    }
    seeds = range(options.seed * 1_000_003, options.seed * 1_000_003 + options.studies)
    studies = [bandit_design.groupwise(seat, asked, seed) for seed in seeds]
    for column, (on, ece, budgets) in asked.items():
        rng = np.random.default_rng(options.seed)
        found = [estimated(on, way, budgets, column in ECES, options.runs, rng) for way in PAPERS]
        actual = bandit_design.truth(seat, ece) if ece else np.nan
        for place, budget in enumerate(budgets):
            start = f"{name} | {column} | {PER_GROUP[place]} | {budget}"
            errors = [one[place][0] for one in found]
            if studies:
                said = np.array([one[column][place][0] for one in studies])
                errors.append(100 * find_rmse(on.truth, said))
            tables["accuracy"].append((start, [errors]))
            covers = [[one[place][which] for one in found] for which in (1, 2)]
            tables["covered"].append((start, covers))
            if ece:
                plugged = [one[place][3] for one in found]
                meant = [one[place][4] for one in found]
                said = np.array([one[column][place][1] for one in studies])
                if studies:
                    plugged.append(100 * np.abs(said - actual) / actual)
                tables["ece"].append((start, [plugged]))
                tables["mean"].append((start, [meant]))


def estimated(
    on: Board, way: Way, budgets: tuple[int, ...], binned: bool, runs: int, rng
) -> list[tuple[np.ndarray, ...]]:
    """Of every budget, (R,) each: error; coverage, twice over groups, items; errors of the ECE."""
    found = []
    for labels, arms in played(on, way, runs, rng, task="estimate"):
        if labels not in budgets:
            continue
        numbers = [100 * find_rmse(on.truth, estimates(arms))]
        _, low, high = outcome_share_intervals(arms, LEVEL)
        values = on.truth.values
        holds = (low[..., 0] - 1e-12 <= values) & (values <= high[..., 0] + 1e-12)
        numbers += [100 * holds.mean(axis=1), 100 * holds @ on.weight]
        if binned:
            one = merged(arms)
            actual = compute_values(one, on.shares)
            means = (estimates(one), sample_values(one, SAMPLES, rng).mean(axis=0))
            numbers += [100 * np.abs(mean / actual - 1)[:, 0] for mean in means]
        found.append(tuple(numbers))
        if labels == budgets[-1]:
            return found
    raise ValueError(f"a pool of {len(on.cell)} items has no {budgets[-1]} labels")


def confusions(name: str, seat: Seat, options: argparse.Namespace, tables: dict) -> None:
    """Rows of the table of confusion matrices."""
    on = board(seat, CONFUSION, PREDICTED)
    budgets = tuple(each * len(on.names) for each in PER_GROUP)
    unlabelled = spread(on, expect_outcome_shares(on.arms[INFORMATIVE])[None])[0]
    found = []
    for way in PAPERS:
        rng, rows = np.random.default_rng(options.seed), []
        for labels, arms in played(on, way, options.runs, rng, task="estimate"):
            if labels in budgets:
                rows.append(spread(on, expect_outcome_shares(arms)) / unlabelled)
            if labels == budgets[-1]:
                break
        found.append(rows)
    if options.studies:
        seeds = range(options.seed * 1_000_003, options.seed * 1_000_003 + options.studies)
        studies = np.array([bandit_design.confused(seat, on, budgets, seed) for seed in seeds])
        found.append([spread(on, studies[:, place]) / unlabelled for place in range(len(budgets))])
    for place, budget in enumerate(budgets):
        start = f"{name} | {PREDICTED} | {PER_GROUP[place]} | {budget}"
        tables["confusion"].append((start, [[one[place] for one in found]]))


def floors(name: str, seat: Seat, columns, options: argparse.Namespace, tables: dict) -> None:
    """Rows of the table of floors."""
    for column in columns:
        on, found = board(seat, "accuracy", column), []
        budgets = [each * len(on.names) for each in PER_GROUP]
        for way in FLOORS:
            rng = np.random.default_rng(options.seed)
            going = played(on, way, options.runs, rng, task="estimate")
            every = zip(range(budgets[-1] + 1), going, strict=False)
            found.append(
                [
                    100 * find_rmse(on.truth, estimates(arms))
                    for at, (_, arms) in every
                    if at in budgets
                ]
            )
        for place, budget in enumerate(budgets):
            start = f"{name} | {column} | {PER_GROUP[place]} | {budget}"
            tables["floors"].append((start, [[one[place] for one in found]]))


def strengths(name: str, seat: Seat, options: argparse.Namespace) -> list[str]:
    """Rows of the table of strengths."""
    kept, rows = benchmark.KeptCells(options.save), []
    budgets = tuple(each for each in AMOUNTS if each < seat.made.size)
    for strength in map(float, options.strengths.split(",")):
        on, found = board(seat, "accuracy", EQUAL_WIDTH, strength=strength), []
        for way in INFORMED:

            def measure(on: Board = on, way: Way = way) -> list[str]:
                rng = np.random.default_rng(options.seed)
                looks = estimated(on, way, budgets, True, options.runs, rng)
                return [
                    f"{noted(rmse)}, {covered.mean():.1f}, {noted(ece, 1)}"
                    for rmse, covered, _, ece, _ in looks
                ]

            origin = {"pool": name, "strength": strength, "way": way.name}
            origin |= {"runs": options.runs, "seed": options.seed}
            found.append(kept.compute(origin, measure))
        rows += [
            f"{name} | {strength:g} | {budget} | {' | '.join(each[place] for each in found)}"
            for place, budget in enumerate(budgets)
        ]
    return rows


def spread(on: Board, shares: np.ndarray) -> np.ndarray:
    """(R,) as find_rmse for columns (R, L, J) of a confusion matrix, errors of a column summed."""
    return np.sqrt(((shares - on.shares) ** 2).sum(axis=-1) @ on.weight)


def show(title: str, rows: list[tuple[str, list]], options: argparse.Namespace) -> None:
    """Print one table; a cell has as many numbers as there are lists of columns (R,)."""
    widest = max(len(columns) for _, cells in rows for columns in cells)
    names = [way.name for way in FLOORS] if title == "floors" else WITH_DESIGN[:widest]
    print(f"\n{TITLES[title]}")
    # The page shows the first table alone; the others have the same columns.
    shown = options if title == "accuracy" else None
    table = benchmark.Table(shown, "pool | groups by | N/K | N", *names)
    digits = {"covered": 1, "ece": 1, "mean": 1, "confusion": 3}.get(title, 2)
    best, plain = [], title in ("covered", "floors")
    for start, lists in rows:
        marked = [marks(columns, digits, not plain) for columns in lists]
        padded = [[*cells, *[""] * (widest - len(cells))] for cells in marked]
        cells = [", ".join(filter(None, each)) for each in zip(*padded, strict=True)]
        table.add(start, *cells)
        best.append(np.argmin([column.mean() for column in lists[0][: len(PAPERS)]]))
    thompson = [way.acquisition == THOMPSON and way.prior == INFORMATIVE for way in PAPERS]
    if not plain:
        won = sum(thompson[each] for each in best)
        print(f"\nInformative + Thompson is the lowest of the four in {won} of {len(rows)} rows.")


def marks(columns: list[np.ndarray], digits: int, low: bool) -> list[str]:
    """Cells of a row; bold the lowest of the papers' ways, and what is lower than all of them."""
    means = [column.mean() for column in columns]
    least = min(means[: len(PAPERS)])
    bold = [low and (mean <= least) for mean in means]
    return [
        f"**{noted(column, digits)}**" if strong else noted(column, digits)
        for column, strong in zip(columns, bold, strict=True)
    ]


if __name__ == "__main__":
    main()
