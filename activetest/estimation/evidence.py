"""Input of samples: a log in arrays, and the groups of its pool."""

from dataclasses import dataclass, replace

import numpy as np

from activetest.estimation.corrections import Correction
from activetest.estimation.recorded_predictions import CrossedPredictions, RecordedPredictions
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.once import Remembers
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.group_sums import list_group_names, measure_groups, sum_by_group
from activetest.system.parallel import map_reduce


@dataclass(frozen=True)
class Group:
    """The whole pool (no column), or the rows of one code in one column of the codes.

    name           "" for the whole pool, else as groups.name_of
    size           members
    mass, counted  sum of their weights, and how many are above 0; None where all count alike
    column, code   position in Rows.codes, and the code there; None for the whole pool
    meaning        {name of the column: value}; None for the whole pool
    """

    name: str
    size: int
    column: int | None = None
    code: int | None = None
    meaning: dict[str, str] | None = None
    mass: float | None = None
    counted: int | None = None

    @property
    def total(self) -> float:
        """Divisor of means over the group: its members, or the sum of their weights."""
        return self.size if self.mass is None else self.mass

    @property
    def items(self) -> int:
        """Members that can change a mean: those whose weight is above 0."""
        return self.size if self.counted is None else self.counted

    def membership(self, codes: Array) -> Array:
        """(R,) 1.0 where rows with these codes (R, columns) belong to the group."""
        if self.column is None:
            return np.ones(len(codes))
        return (codes[:, self.column] == self.code).astype(float)


@dataclass(frozen=True)
class Evidence(Remembers):
    """A log in arrays: T statistics of items and, last, whether the item could be answered.

    log, cache, seed       of the study
    used                   draws that estimates use: whole rounds, everything before them answered
    steps                  (M,) places of those among them that were drawn, not deterministic
    whole                  False where the answered beginning of an unfinished first round is used
    drawn                  the D rows drawn
    stats, supplied_stats  (D, T + 1) and (B, T + 1); zeros unless the item is labelled
    supplied               the B rows supplied
    statistics             (T,) what the columns are
    groups                 the whole pool first
    surrogate              the one that knows every label
    recorded               what the rounds predicted
    crossed                what they say of their items from their own labels, where they do
    classes                number of classes; 0 for regression
    open_classes           whether labels may be of other classes
    predicted              (G, C) items of each group by predicted class; None for regression
    counts_declined        whether items were declined that count, at the worst they could be
    correction             of labels of several annotators; None where labels are taken as they are
    """

    log: Log
    cache: PoolView
    seed: int
    used: int
    steps: Array
    whole: bool
    drawn: Rows
    stats: Array
    supplied_stats: Array
    supplied: Rows
    statistics: tuple[Statistic, ...]
    groups: tuple[Group, ...]
    surrogate: Surrogate
    recorded: RecordedPredictions
    crossed: CrossedPredictions
    classes: int = 0
    open_classes: bool = False
    predicted: Array | None = None
    counts_declined: bool = False
    correction: Correction | None = None

    @property
    def own_statistics(self) -> tuple[Statistic, ...]:
        """Those of the pool's own model alone."""
        return tuple(each for each in self.statistics if not each.terms)

    @property
    def codes(self) -> Array:
        """(D + B, columns) codes of the drawn and then of the supplied items, as in Rows."""
        return np.concatenate([self.drawn.codes, self.supplied.codes])

    @property
    def mass(self) -> Array:
        """(D + B,) their weights: 1.0 where all items count alike."""
        return np.concatenate([self.drawn.mass, self.supplied.mass])

    def count_known(self, group: Group) -> int:
        """Labels that are known in a group."""
        return int(group.membership(self.codes)[self.log.item_status == LABELLED].sum())

    def find_columns(self, metric: Metric) -> list[int]:
        """(d,) columns of the metric's statistics."""
        names = [each.name for each in self.statistics]
        return [names.index(each.name) for each in metric.statistics]

    def find_place(self, group: Group) -> int:
        """Position of a group among the groups."""
        return [each.name for each in self.groups].index(group.name)


def list_groups(cache: PoolView) -> tuple[Group, ...]:
    """The whole pool, then every value of every group column: the order in which rounds record."""

    def count(piece: tuple[int, int]) -> Array:
        codes = cache.rows(*piece).codes
        return sum_by_group(cache, codes, [np.ones(len(codes))])[:, 0]

    def find() -> tuple[Group, ...]:
        names = iter(list_group_names(cache))
        groups = [Group(next(names), cache.size)]
        sizes = map_reduce(cache.chunks(), count, np.add) if cache.group_names else []
        pairs = zip(cache.group_names, cache.group_values, strict=True)
        for column, (meaning, values) in enumerate(pairs):
            for code, value in enumerate(values):
                size = int(sizes[len(groups)])
                groups.append(Group(next(names), size, column, code, {meaning: value}))
        if (masses := measure_groups(cache)) is not None:
            weighted = zip(groups, masses.tolist(), strict=True)
            groups = [replace(each, mass=mass, counted=int(n)) for each, (mass, n) in weighted]
        return tuple(groups)

    return cache.compute_once("groups", find)
