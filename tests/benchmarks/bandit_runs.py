"""Many studies of one pool at once, whose labels are bought group by group: see reproduce_bayesian.

Axes as in activetest.wings.groups.arms, with R runs in front of them. Nothing here knows
posteriors or scores: arms, rewards and shares are those of the package, and so are the scores of
answers. The order in which a cell gives its items away is drawn once per run, so that a choice of a
cell is a uniform draw inside it. `activetest simulate --question` plays whole studies, one by one.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from activetest import catalog
from activetest.cache import cache
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.pool.pool import Pool
from activetest.simulation.answer_key import read_answer_key
from activetest.wings.groups.arms import (
    CONFUSION,
    COST,
    ECE,
    Arms,
    compute_values,
    expect_outcome_shares,
)
from activetest.wings.groups.bandit import Bandit
from activetest.wings.groups.counts import count_groups
from activetest.wings.groups.simulated.assessment import GroupTruth, describe_truth

UNIFORM, INFORMATIVE = "uniform", "informative"
RANDOM, THOMPSON = "random", "thompson"
# Ten bins of the confidence: equally many items in each, and equally wide.
EQUAL_COUNT, EQUAL_WIDTH = "score_bin", "confidence"
PREDICTED = "predicted"
_BINS = 10


@dataclass(frozen=True)
class Way:
    """How labels are bought and what is believed before any.

    acquisition   RANDOM, or the name of one that chooses between groups
    floor         as in a study; None: as in the paper, where the m worst groups are looked for by
                  one label from each of m
    samples       of the posterior, for the shares of a choice; one is as good as many where an
                  acquisition plays what wins a single sample
    batch         labels drawn by the same shares; those of `next --n 10`, and cheaper
    """

    name: str
    prior: str
    acquisition: str = RANDOM
    floor: float | None = None
    samples: int = 1
    batch: int = 1


PAPERS = (
    Way("uniform prior", UNIFORM),
    Way("informative prior", INFORMATIVE),
    Way("informative + Thompson", INFORMATIVE, THOMPSON),
    Way("uniform + Thompson", UNIFORM, THOMPSON),
)
# As in a study, one label at a time: of the m worst groups of a sample any one is played.
FLOORS = tuple(
    Way(f"floor {floor}", INFORMATIVE, THOMPSON, floor) for floor in (0.0, 0.05, 0.1, 0.2, 0.35)
)


@dataclass(frozen=True)
class Seat:
    """A pool whose labels are all known: its cache, and the truth (N,) as class codes."""

    made: cache.Cache
    truth: np.ndarray


@contextmanager
def seated(file: Path, groups: tuple[str, ...]) -> Iterator[Seat]:
    """The pool in a folder that lives as long as the block.

    file is NAME.parquet, beside it NAME.labels.csv; EQUAL_COUNT is a column that is made here.
    """
    with tempfile.TemporaryDirectory(prefix="activetest-bandits-") as folder:
        table = parquet.read_table(file)
        kept = Path(folder) / file.name
        made = cache.build_cache(
            Pool.open(str(file), groups=(EQUAL_WIDTH,)), Path(folder) / "plain"
        )
        order = np.argsort(made.scores(), kind="stable")
        bins = np.empty(made.size, np.int64)
        bins[order] = np.arange(made.size) * _BINS // made.size
        parquet.write_table(table.append_column(EQUAL_COUNT, pa.array(bins.astype(str))), kept)
        pool = Pool.open(str(kept), groups=groups)
        made = cache.build_cache(pool, Path(folder) / "cache")
        key = file.with_name(f"{file.stem}.labels.csv")
        yield Seat(made, read_answer_key(made, key, unmatched=pool.schema.open_classes))


@dataclass(frozen=True)
class Board:
    """The groups of one column before any label, and the key.

    arms      {prior: the arms}; priors are those of the whole pool, nothing of which is labelled,
              and stay as they are, as in the paper
    cell      (N,) cell of every item
    outcome   (N,) its outcome
    """

    arms: dict[str, Arms]
    cell: np.ndarray
    outcome: np.ndarray

    @cached_property
    def known(self) -> np.ndarray:
        """(L, J) what would be known if all were labelled."""
        counts = np.zeros(self.arms[UNIFORM].prior.shape)
        np.add.at(counts, (self.cell, self.outcome), 1)
        return counts

    @cached_property
    def shares(self) -> np.ndarray:
        """(L, J) shares of the outcomes in truth."""
        return self.known / np.maximum(self.arms[UNIFORM].size, 1)[:, None]

    @cached_property
    def truth(self) -> GroupTruth:
        """The values of the groups, of a kind that has values."""
        counts = {"known_counts": self.known, "exchangeable_counts": self.known}
        return describe_truth(replace(self.arms[UNIFORM], **counts))

    @cached_property
    def weight(self) -> np.ndarray:
        """(A,) share of the pool that is in each group."""
        size = self.arms[UNIFORM].sum_cells(self.arms[UNIFORM].size.astype(float))
        return size / size.sum()

    @property
    def names(self) -> list[str]:
        """(A,) the groups."""
        return [value for each in self.arms[UNIFORM].groups for value in each.values()]


def board(seat: Seat, kind: str, group: str, costs=None, strength: float | None = None) -> Board:
    """The board of a group column, judged by a kind that count_groups knows.

    Groups without items are left out. Priors count as `strength` labels, usually as in a study.
    """
    common = Choices("accuracy", ("accuracy",), "agreement", groups=(group,), costs=costs)
    common = replace(common, prior_strength=strength)
    made, empty = seat.made, Log.empty()
    found = {
        prior: count_groups(empty, made, replace(common, prior=prior), kind=kind, group=group)
        for prior in (UNIFORM, INFORMATIVE)
    }
    rows, partition = made.rows(0, made.size), found[UNIFORM].partition
    arms, wrong = found[UNIFORM].arms, seat.truth != rows.outputs.pred
    outcome = (seat.truth if arms.kind in (COST, CONFUSION) else wrong).astype(np.intp)
    there = np.flatnonzero(arms.sum_cells(arms.size.astype(float))[arms.arm_of_cell] > 0)
    place = np.full(len(arms.size), -1)
    place[there] = np.arange(len(there))
    return Board(
        {prior: _some(each.arms, there) for prior, each in found.items()},
        place[partition.assign_cells(rows, made)],
        outcome,
    )


def merged(bins: Arms) -> Arms:
    """Bins, judged by accuracy, as the cells of one group, the pool, that is judged by its ECE."""
    return replace(bins, kind=ECE, groups=({},), arm_of_cell=np.zeros(len(bins.size), np.int64))


def played(
    on: Board, way: Way, runs: int, rng: np.random.Generator, *, task: str, worst: int = 1
) -> Iterator[tuple[int, Arms]]:
    """(labels, arms) after 0, m, 2 m, ... labels of every run, until fewer than m are left.

    m is the number of groups to identify. The arms' counts (R, L, J) go on changing.
    """
    arms, gives = on.arms[way.prior], _Cells(on, runs, rng)
    counts = np.zeros((runs, *arms.prior.shape))
    arms = replace(arms, known_counts=counts, exchangeable_counts=counts)
    bandit = Bandit(arms, task, worst=worst)
    everyone, total = np.arange(runs), len(on.cell)
    each = way.floor is None and way.acquisition != RANDOM
    batch = bandit.plays_per_sample if each else way.batch
    for labels in range(total + 1):
        if labels % bandit.plays_per_sample == 0:
            yield labels, arms
        if labels + bandit.plays_per_sample - labels % bandit.plays_per_sample > total:
            return
        rest = arms.unlabelled
        if labels % batch == 0:
            weight = _strength(bandit, way, rng)
        chance = weight * rest
        # Where every group that was to be played is used up, any item will do.
        chance = np.where(chance.any(axis=1, keepdims=True), chance, rest)
        cell = _drawn(chance, rng)
        counts[everyone, cell, gives.outcome(cell)] += 1
        if each:
            weight = weight * (arms.arm_of_cell != arms.arm_of_cell[cell][:, None])


def estimates(arms: Arms) -> np.ndarray:
    """(R, A) posterior means; of calibration, that of the mean accuracies, as in the paper."""
    return compute_values(arms, expect_outcome_shares(arms))


def noted(numbers: np.ndarray, digits: int = 2) -> str:
    """Mean and its standard error over runs."""
    error = np.std(numbers, ddof=1) / np.sqrt(len(numbers))
    return f"{np.mean(numbers):.{digits}f} ± {error:.{digits}f}"


class _Cells:
    """The next label of every cell, in every run."""

    def __init__(self, on: Board, runs: int, rng: np.random.Generator):
        parts = [on.outcome[on.cell == cell].astype(np.int8) for cell in range(len(on.known))]
        self.queue = np.hstack([rng.permuted(np.tile(one, (runs, 1)), axis=1) for one in parts])
        self.start = np.concatenate([[0], np.cumsum([len(one) for one in parts])[:-1]])
        self.given = np.zeros((runs, len(parts)), np.int64)

    def outcome(self, cell: np.ndarray) -> np.ndarray:
        """(R,) the outcome of the next item of these cells (R,)."""
        runs = np.arange(len(cell))
        place = self.start[cell] + self.given[runs, cell]
        self.given[runs, cell] += 1
        return self.queue[runs, place]


def _strength(bandit: Bandit, way: Way, rng: np.random.Generator) -> np.ndarray:
    """(R, L) strength of one row of each cell."""
    rest = np.asarray(bandit.arms.unlabelled, float)
    chance = rest / rest.sum(axis=1, keepdims=True)
    if way.acquisition != RANDOM:
        module = catalog.load("acquisition", way.acquisition)
        shares = bandit.spread_over_cells(module.allocate(bandit, way.samples, rng))
        floor = way.floor or 0.0
        chance = (1 - floor) * shares + floor * chance
    return chance / np.maximum(rest, 1)


def _drawn(chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(R,) a column for each row of chances (R, L) of any scale."""
    edges = np.cumsum(chance, axis=1)
    total = edges[:, -1:]
    # Rounding must not lead beyond the last column that has a chance.
    level = np.minimum(rng.random((len(chance), 1)) * total, np.nextafter(total, 0))
    return (edges <= level).sum(axis=1)


def _some(arms: Arms, cells: np.ndarray) -> Arms:
    """The arms that these cells belong to, with all their cells."""
    groups, owner = np.unique(arms.arm_of_cell[cells], return_inverse=True)
    return replace(
        arms,
        groups=tuple(arms.groups[group] for group in groups),
        arm_of_cell=owner,
        **{
            name: getattr(arms, name)[cells]
            for name in (
                "size",
                "value",
                "mean_confidence",
                "known_counts",
                "exchangeable_counts",
                "prior",
            )
        },
    )
