"""Active Bayesian Assessment (Ji 2021): labels until two predicted classes are told apart.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. All pairs of classes are as frequent
among the runs, which are at least so many. As in Table 7, a run ends with the first label after
which the most probable of the three regions of the difference is the one that all labels of the
pair name, and its probability, lambda, within 5 % of what they make it. The posterior is that of
the population, as in the paper. Labels are drawn uniformly from what is left of the pair, or from
the class of the larger expected lambda.

The last column is what the tool says without a task, of a pool that is the pair alone: uniform
draws, ten at a time, and the doubly robust difference once each class has ten labels; its lambda is
that of a normal as wide as the interval, its target that of the informative prior.
"""

import argparse
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import bandit_design
import benchmark
import numpy as np
from bandit_runs import (
    INFORMATIVE,
    PAPERS,
    PREDICTED,
    RANDOM,
    Board,
    Seat,
    Way,
    board,
    noted,
    seated,
)
from pyarrow import parquet
from scipy.special import ndtr, ndtri

from activetest import catalog
from activetest.cache import cache
from activetest.pool.pool import Pool
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.bandit import COMPARE, Bandit
from activetest.wings.groups.comparison import compare_arms

TOLERANCE = 0.05


def main() -> None:
    """Print a row per pool."""
    options = arguments()
    names = [*(way.name for way in PAPERS), "uniform draws, no task"]
    table = benchmark.Table(options, "pool | pairs", *names)
    for name in options.pools.split(","):
        file = options.folder / f"{name}.parquet"
        with seated(file, (PREDICTED,)) as seat:
            on = board(seat, "accuracy", PREDICTED)
            pairs = np.array(list(combinations(range(len(on.names)), 2)))
            found = [told_apart(on, way, pairs, options) for way in PAPERS]
            if options.studies:
                found.append(by_design(seat, on, file, pairs, options))
        table.add(name, len(pairs), *(noted(each, 1) for each in found))


def arguments() -> argparse.Namespace:
    """The command line; lists are separated by commas."""
    return benchmark.read_options(
        __doc__,
        "folder",
        runs=500,
        studies=90,
        pools="digits,cifar10,mnist_missing7",
        rope=0.05,
        seed=0,
    )


def told_apart(on: Board, way: Way, pairs: np.ndarray, options) -> np.ndarray:
    """(R,) labels of each run; runs of one pair come one after the other."""
    rng = np.random.default_rng(options.seed)
    pair = np.repeat(pairs, -(-options.runs // len(pairs)), axis=0)
    arms = endless(on, way.prior, pair)
    known, gives = np.zeros(arms.known_counts.shape), [_queues(on, one, rng) for one in pair]
    region, certainty = goal(on, way.prior, pair, options.rope)
    size, labels = on.known[pair].sum(axis=-1), np.zeros(len(pair))
    active = np.arange(len(pair))
    while len(active):
        rest = size[active] - known[active].sum(axis=-1)
        side = _side(_now(arms, known, active), way, rest, options.rope, rng)
        for run, one in zip(active, side, strict=True):
            known[run, one, gives[run][one].pop()] += 1
        labels[active] += 1
        masses = compare_arms(_now(arms, known, active), (0, 1), options.rope, np.zeros((2, 2)))
        open_ = ~reached(masses, region[active], certainty[active]) & (rest.sum(axis=1) > 1)
        active = active[open_]
    return labels


def endless(on: Board, prior: str, pair: np.ndarray) -> Arms:
    """Two arms of R runs whose pairs (R, 2) differ; there is no end to their items."""
    several = on.arms[prior].prior[pair]
    none, whole = np.zeros(several.shape), np.full(2, np.inf)
    meaning, value = ({}, {}), on.arms[prior].value[:2]
    return Arms("accuracy", meaning, np.arange(2), whole, value, whole, none, none, several)


def goal(on: Board, prior: str, pair: np.ndarray, rope: float) -> tuple[np.ndarray, np.ndarray]:
    """(R,) the most probable region and lambda, by all labels of the pairs (R, 2)."""
    arms = _now(endless(on, prior, pair), on.known[pair], slice(None))
    masses = compare_arms(arms, (0, 1), rope, np.zeros((2, 2)))
    return masses.argmax(axis=-1), masses.max(axis=-1)


def reached(masses: np.ndarray, region: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """(R,) whether probabilities of the regions (R, 3) are good enough."""
    close = np.abs(masses.max(axis=-1) - certainty) <= TOLERANCE * certainty
    return close & (masses.argmax(axis=-1) == region)


def by_design(seat: Seat, on: Board, file: Path, pairs: np.ndarray, options) -> np.ndarray:
    """(R,) labels of studies that draw uniformly from one pair each."""
    regions, certainties = goal(on, INFORMATIVE, pairs, options.rope)
    found = []
    for pair, region, certainty in zip(pairs, regions, certainties, strict=True):
        names = [on.names[each] for each in pair]
        with tempfile.TemporaryDirectory(prefix="activetest-pair-") as folder:
            small = _alone(seat, file, names, Path(folder))
            for study in range(-(-options.studies // len(pairs))):
                seed = options.seed * 1_000_003 + study
                found.append(_decided(small, region, certainty, options.rope, seed))
    return np.array(found, float)


def _decided(small: Seat, region: int, certainty: float, rope: float, seed: int) -> int:
    """Labels of one study of a pair; all of them where the goal is never reached."""
    for labels, apart, half in bandit_design.compared(small, PREDICTED, seed):
        deviation = max(half / ndtri(0.975), 1e-12)
        below, above = ndtr((-rope - apart) / deviation), ndtr((apart - rope) / deviation)
        if reached(np.array([below, 1 - below - above, above]), region, certainty):
            return labels
    return small.made.size


def _alone(seat: Seat, file: Path, names: list[str], folder: Path) -> Seat:
    """The pool of two predicted classes alone."""
    table = parquet.read_table(file)
    codes = [seat.made.classes.index(name) for name in names]
    inside = np.isin(table["pred"].to_numpy(), codes)
    parquet.write_table(table.filter(inside), folder / file.name)
    made = cache.build_cache(
        Pool.open(str(folder / file.name), groups=(PREDICTED,)), folder / "cache"
    )
    return Seat(made, seat.truth[seat.made.find(made.ids(np.arange(made.size)))])


def _now(arms: Arms, known: np.ndarray, some) -> Arms:
    """The arms of some runs, with what is known of all (R, 2, 2)."""
    return replace(
        arms, known_counts=known[some], exchangeable_counts=known[some], prior=arms.prior[some]
    )


def _side(arms: Arms, way: Way, rest: np.ndarray, rope: float, rng) -> np.ndarray:
    """(R,) which of the two the next label is of, where rest (R, 2) are left."""
    chance = rest
    if way.acquisition != RANDOM:
        bandit = Bandit(arms, COMPARE, pair=(0, 1), rope=rope)
        shares = catalog.load("acquisition", way.acquisition).allocate(bandit, 1, rng) * (rest > 0)
        chance = np.where(shares.any(axis=1, keepdims=True), shares, rest)
    return (rng.random(len(rest)) * chance.sum(axis=1) >= chance[:, 0]).astype(np.intp)


def _queues(on: Board, pair: np.ndarray, rng) -> list[list[int]]:
    """Labels of each class of a pair, last first."""
    return [rng.permutation(on.outcome[on.cell == cell]).tolist() for cell in pair]


if __name__ == "__main__":
    main()
