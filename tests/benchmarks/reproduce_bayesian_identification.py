"""Active Bayesian Assessment (Ji 2021): labels until the worst groups are found.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. Judged by accuracy: Table 6 and
Figure 16 (--ways papers), floors as studies have them, and other acquisitions (Figure 15). By cost:
Figure 3, with two matrices, in which an expensive mistake costs 10 and another 1: one where those
about some true classes are expensive ("Human" in the paper), one where those across superclasses
are. --ratios lists what an expensive mistake costs (Tables 10 and 11). By ece: Table 9, ten bins of
equal width in each predicted class. --strengths lists how many labels priors count as (Figures 18
and 19).

As in the paper's code, groups are identified when the mean over runs of the mean reciprocal rank
exceeds 0.99. The mean can do so by chance, and before any label; so both are given, in percent of
the pool: when it first does, and, with a bootstrap standard error, since when it always does. The
last table is about single runs: since when the groups are ranked right in each, on average.
Nothing is played further once the mean was above for as many labels again, and 5 % of the pool.
With --save, finished cells are kept in FILE, and the same command goes on from there.
"""

import argparse
from pathlib import Path

import benchmark
import numpy as np
from bandit_runs import (
    FLOORS,
    INFORMATIVE,
    PAPERS,
    PREDICTED,
    THOMPSON,
    Board,
    Way,
    board,
    estimates,
    noted,
    played,
    seated,
)

from activetest.wings.groups.simulated.assessment import find_first_for_good, find_reciprocal_rank

ENOUGH, PATIENCE = 0.99, 0.05
GROUPS = {"adult": "sex_race"}
POOLS = "digits,cifar10,mnist_missing7,adult"
# Where one sample does not do, ten labels are drawn by the shares of a hundred.
OTHERS = (
    Way("Thompson", INFORMATIVE, THOMPSON, 0.0),
    Way("Thompson, 10 at a time", INFORMATIVE, THOMPSON, 0.0, 100, 10),
    Way("top-two, 10 at a time", INFORMATIVE, "top-two-thompson", 0.0, 100, 10),
    Way("epsilon-greedy", INFORMATIVE, "epsilon-greedy", 0.0),
    Way("Bayes-UCB, 10 at a time", INFORMATIVE, "bayes-ucb", 0.0, 100, 10),
)
WAYS = {"papers": PAPERS, "floors": FLOORS, "others": OTHERS}
# CIFAR-10: airplane, automobile, ship and truck; digits: those that are easily taken for each other
# by their strokes, and loops, lines and bows.
VEHICLES = (0, 1, 8, 9)
DEAR = {"cifar10": VEHICLES, "digits": (1, 7), "mnist_missing7": (1, 7)}
KINDS = {
    "cifar10": (VEHICLES, (2, 3, 4, 5, 6, 7)),
    "digits": ((0, 6, 8, 9), (1, 4, 7), (2, 3, 5)),
    "mnist_missing7": ((0, 6, 8, 9), (1, 4, 7), (2, 3, 5)),
}


def main() -> None:
    """Print one table for the mean over runs, and one for single runs."""
    options = arguments()
    ways, kept = WAYS[options.ways], benchmark.KeptCells(options.save)
    heads = ["pool | groups by | m | worst", *(way.name for way in ways)]
    table, alone = benchmark.Table(options, *heads), []
    for name in options.pools.split(","):
        with seated(options.folder / f"{name}.parquet", (GROUPS.get(name, PREDICTED),)) as seat:
            for title, on in boards(name, seat, options):
                for worst in map(int, options.worst.split(",")):
                    found = []
                    for way in ways:

                        def measure(on: Board = on, way: Way = way, worst: int = worst) -> tuple:
                            return identified(on, way, worst, options)

                        origin = {"pool": name, "groups": title, "m": worst, "way": way.name}
                        origin |= {"judged": options.judged, "runs": options.runs}
                        found.append(kept.compute(origin | {"seed": options.seed}, measure))
                    names = " ".join(on.names[each] for each in on.truth.worst_first[:worst])
                    start = name, title, worst, names
                    table.add(*start, *(cells for cells, _ in found))
                    alone.append([*start, *(each for _, each in found)])
    table = benchmark.Table(None, *heads)
    for row in alone:
        table.add(*row)


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        judged={"choices": ("accuracy", "cost", "ece"), "default": "accuracy"},
        ways={"choices": tuple(WAYS), "default": "papers"},
        runs=500,
        pools="",
        worst="1,3",
        ratios="10",
        strengths="",
        seed=0,
        save=Path,
    )
    usual = POOLS if options.judged == "accuracy" else POOLS.removesuffix(",adult")
    options.pools = options.pools or usual
    return options


def boards(name: str, seat, options: argparse.Namespace) -> list[tuple[str, Board]]:
    """Boards of a pool: (title, board), for every cost and every strength of priors."""
    group = GROUPS.get(name, PREDICTED)
    strengths = [float(each) for each in filter(None, options.strengths.split(","))]
    found = []
    for strength in strengths or [None]:
        more = "" if strength is None else f", strength {strength:g}"
        if options.judged == "accuracy":
            on = board(seat, "accuracy", group, strength=strength)
            found.append((f"{group}{more}", on))
        elif options.judged == "ece":
            on = board(seat, "ece[10]", group, strength=strength)
            found.append((f"{group}, ECE{more}", on))
        else:
            found += [
                (f"{group}, {title}{more}", board(seat, "cost", group, matrix, strength))
                for title, matrix in matrices(name, len(seat.made.classes), options.ratios)
            ]
    return found


def matrices(name: str, classes: int, ratios: str) -> list[tuple[str, tuple]]:
    """(title, matrix of costs), for both kinds of expensive mistakes and every ratio."""
    kinds = {
        "dear classes": [(each, set(DEAR[name])) for each in range(10)],
        "superclasses": [(each, _others(KINDS[name], each)) for each in range(10)],
    }
    listed = [float(each) for each in ratios.split(",")]
    return [
        (title if listed == [10] else f"{title} x {ratio:g}", costs(classes, dear, ratio))
        for title, dear in kinds.items()
        for ratio in listed
    ]


def costs(
    classes: int, dear: list[tuple[int, set[int]]], ratio: float
) -> tuple[tuple[float, ...], ...]:
    """(C, C) cost of a prediction (row) by truth; dear names the expensive truths of each row."""
    matrix = np.ones((classes, classes))
    for said, truths in dear:
        if said < classes:
            matrix[said, sorted(truths)] = ratio
    np.fill_diagonal(matrix, 0)
    return tuple(map(tuple, matrix.tolist()))


def identified(on: Board, way: Way, worst: int, options: argparse.Namespace) -> tuple[str, str]:
    """Cells of both tables: first, for good; and of single runs."""
    rng, size = np.random.default_rng([options.seed, worst]), len(on.cell)
    ranks, low = [], 0
    for labels, arms in played(on, way, options.runs, rng, task="identify", worst=worst):
        ranks.append(find_reciprocal_rank(on.truth, estimates(arms), worst).astype(np.float32))
        if ranks[-1].mean() <= ENOUGH:
            low = labels
        if labels > 2 * low + PATIENCE * size:
            break
    ranks, percent = np.stack(ranks, axis=1), 100 * worst / size
    curve = ranks.mean(axis=0)
    first = int(np.argmax(curve > ENOUGH)) * percent
    draws = rng.multinomial(options.runs, np.full(options.runs, 1 / options.runs), 200)
    means = draws.astype(np.float32) @ ranks / options.runs
    error = find_first_for_good(means > ENOUGH).std(ddof=1) * percent
    since = find_first_for_good(curve[None] > ENOUGH)[0] * percent
    whole = f"{first:.1f}, {since:.1f} ± {error:.1f}"
    return whole, noted(find_first_for_good(ranks > ENOUGH) * percent, 1)


def _others(kinds: tuple[tuple[int, ...], ...], one: int) -> set[int]:
    """The classes that are of another kind than this one."""
    return {each for kind in kinds if one not in kind for each in kind}


if __name__ == "__main__":
    main()
