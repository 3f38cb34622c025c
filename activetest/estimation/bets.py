"""The increments of e-processes: each draw with its range over all items that could be drawn.

Waudby-Smith and Ramdas 2024; Shekhar, Xu, Lipton, Liang and Ramdas 2023. The range has to be one
that was known before the draw: it follows from the round's own surrogate and the weights that the
rows had, both computed again in one pass over the pool for all rounds.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.estimation.evidence import Evidence, Group
from activetest.item_statistics.compared import find_differing, list_told_apart
from activetest.item_statistics.statistic import Statistic, tabulate
from activetest.nouns.choices import Choices, FloorRule
from activetest.nouns.estimate import Increments
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.question import Question
from activetest.nouns.rows import Array, Rows, sum_before
from activetest.nouns.surrogate import Surrogate
from activetest.rounds import race
from activetest.rounds.fit import (
    find_disagreeing,
    find_predicted_as,
    list_known_before,
    restore_surrogate,
)
from activetest.rounds.scores import make_scorer
from activetest.rounds.weighted import find_counted
from activetest.system.parallel import map_reduce

# Up to so many sums rows are handled one by one; more are cheaper by kind of row.
_FEW = 2
# How far weights that are computed again may differ from those that were drawn with.
_DRIFT = 1e-3


@dataclass(frozen=True)
class TestedMean:
    """The tested mean: over a group, of each of S weighted sums of 1 and statistics.

    weights          (S, 1 + d) of 1 and the statistics
    drawn, supplied   (S, D) and (S, B) the sums at the log's items; 0 where they are not known,
                     where an item was declined, outside the group, and where relevant is False
    relevant         (C,) whether items predicted as the class can change the sums; None: all can
    apart            a difference of two models, to which items on which they do the same add
                     nothing; None for other means
    certain          (S,) the sums over the group's other items
    declined         where declined items count: (K,) and (L,) their places among the log's drawn
                     and supplied items, and (S,) whether they are at their least (0) or most (1)
    outcomes         number of classes that labels may have; 0 where labels are numbers
    answerable       whether the mean is over answerable items: those that were declined count as 0
    """

    group: Group
    statistics: tuple[Statistic, ...]
    weights: Array
    drawn: Array
    supplied: Array
    relevant: Array | None = None
    certain: Array | None = None
    declined: tuple[Array, Array, Array] | None = None
    apart: Statistic | None = None
    outcomes: int = 0
    answerable: bool = False

    def membership(self, rows: Rows) -> Array:
        """(R,) 1.0 where rows belong to the group and can change the sums."""
        inside = self.group.membership(rows.codes)
        inside = inside if self.apart is None else inside * find_differing(rows.outputs, self.apart)
        return inside if self.relevant is None else inside * self.relevant[rows.outputs.pred]

    @property
    def classes(self) -> frozenset[int] | None:
        """Predicted classes whose items can change the sums; None: all."""
        return None if self.relevant is None else frozenset(np.flatnonzero(self.relevant).tolist())

    def count_declined(self, log: Log, cache: PoolView) -> "TestedMean":
        """The same with sums of declined items, where they count, at their least or most."""
        if self.declined is None:
            return self
        drawn, supplied, sides = self.declined
        each, values = np.arange(len(sides)), (self.drawn.copy(), self.supplied.copy())
        places = (drawn, log.rows), (supplied, log.supplied_rows)
        for sums, (at, positions) in zip(values, places, strict=True):
            if len(at):
                rows = cache.take(positions[at])
                ends = self.range_by_row(rows)[sides, each]
                sums[:, at] = ends * self.membership(rows)
        return replace(self, drawn=values[0], supplied=values[1])

    def range_by_row(self, rows: Rows) -> Array:
        """(2, S, R) smallest and largest sum of every row."""
        ends, kinds = self.by_kind(rows)
        ends = ends if kinds is None else ends[..., kinds]
        return ends if rows.weight is None else ends * rows.weight

    def by_kind(self, rows: Rows) -> tuple[Array, Array | None]:
        """(2, S, K) smallest and largest sum of every kind of row, and (R,) the kinds of rows.

        Sums are those of an item of weight 1.
        Rows of a kind are predicted alike, where that says all; else each is its own, and None.
        """
        cells = all(each.cells for each in self.statistics)
        tables = (
            tabulate(self.statistics, self.outcomes)
            if cells
            else np.stack([each.table(rows.outputs, self.outcomes) for each in self.statistics])
        )
        sums = self.weights[:, :1, None] + np.tensordot(self.weights[:, 1:], tables, 1)
        pairs = np.stack([sums.min(axis=2), sums.max(axis=2)])
        if self.answerable:
            pairs = np.stack([np.minimum(pairs[0], 0), np.maximum(pairs[1], 0)])
        return pairs, rows.outputs.pred if cells else None

    def guess(self, surrogate: Surrogate, rows: Rows) -> Array:
        """(1 + d, R) what a surrogate expects of 1 and the statistics."""
        mean = surrogate.expected(rows, self.statistics)
        return np.vstack([rows.mass, mean])


@dataclass(frozen=True)
class IncrementRange:
    """The range of a round's draws, for S sums; pairs are (lowest, highest).

    ratio   (2, S) of (h - g) / weight over the group's rows that stayed in the pool
    rest    (2, S) sums of the bounds of h over the group's rows that were not known before
    guess   (S,) sums of g over the same rows
    """

    ratio: Array
    rest: Array
    guess: Array


def compute_increments(evidence: Evidence, tested: TestedMean) -> list[Increments]:
    """The increments on each of the S sums, from the draws that are used, in one pass.

    Raises NotEstimable for a statistic without bounds. Draws that came with a log make no
    increments.
    """
    if not np.isfinite([[each.lower, each.upper] for each in tested.statistics]).all():
        raise NotEstimable(
            "an anytime-valid interval needs a bound on what one item can cost",
            hint='use `interval="fixed"`',
        )
    log, cache, used = evidence.log, evidence.cache, evidence.used
    last, models = log.round[:used].max(initial=0), list_told_apart(tested.statistics)
    # Items without a probability make no increments: they are known to the draws after them.
    # So are those of rounds that left out items which can change the sums.
    history = [
        each
        for each in log.history
        if each.number <= last and not each.deterministic and each.serves(tested.classes, models)
    ]
    # And so are those of another program, which does not say what probability other items had.
    history = [each for each in history if not each.lacks_weights]
    if not history:
        return [Increments(*np.empty((6, 0))) for _ in tested.weights]
    tested = tested.count_declined(log, cache)
    replayed = [_ReplayedRound(each, log, cache, tested, evidence.seed) for each in history]

    def on_piece(piece: tuple[int, int]) -> list[IncrementRange]:
        rows = cache.rows(*piece)
        member, kinds = tested.membership(rows) > 0, tested.by_kind(rows)
        return [each.increment_range(slice(*piece), rows, member, kinds) for each in replayed]

    ranges = map_reduce(cache.chunks(), on_piece, _merge_ranges, title="replaying the rounds")
    parts = [
        each.increments(increment_range, used)
        for each, increment_range in zip(replayed, ranges, strict=True)
    ]
    fields = [np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)]
    return [Increments(*(field[place] for field in fields)) for place in range(len(tested.weights))]


class _ReplayedRound:
    """A past round: its surrogate and the weights it drew with, computed again."""

    def __init__(
        self, each: Round, log: Log, cache: PoolView, tested: TestedMean, seed: int
    ) -> None:
        self.round, self.log, self.cache, self.tested = each, log, cache, tested
        self.surrogate = restore_surrogate(each, cache)
        self.choices = Choices.from_record(each.choices)
        # A round that chose between groups gave rows no scores of their own.
        self.scorer = (
            None
            if each.allocation
            else make_scorer(self.surrogate, self.choices, seed=seed, number=each.number)
        )
        self.totals = np.array([objective.total for objective in each.objectives])
        self.peaks = np.array([objective.peak for objective in each.objectives])
        counted = find_counted(cache)
        self.free = np.ones(cache.size, bool) if counted is None else counted.copy()
        self.free[list_known_before(log, each.number)] = False
        self.free &= find_predicted_as(cache, each.drawn_from)
        self.free &= find_disagreeing(cache, each.among)
        self.stays = self.free.copy()
        self.stays[each.rows] = False
        self.count = int(self.free.sum()) if each.left_out else int(each.count[0])
        self.clips = each.allocation is None and self.choices.floor_rule == FloorRule.CLIP
        self.level = self._find_level() if self.clips else 0.0

    def increment_range(
        self, piece: slice, rows: Rows, member: Array, kinds: tuple[Array, Array | None]
    ) -> IncrementRange:
        """Of the rows of one chunk; member (R,), and kinds as TestedMean.by_kind gives them."""
        free, stays = self.free[piece], self.stays[piece]
        weights, guess = self.tested.weights, self.tested.guess(self.surrogate, rows)
        weight = self._weight(rows, free)
        inside, rest = member & free, np.flatnonzero(member & stays)
        ends, kind = kinds
        if kind is not None and len(weights) > _FEW:
            scaled = np.vstack([guess[:1, rest], guess[:, rest]]) / weight[rest]
            reached = _ratio_range(ends, kind[rest], weights, scaled)
            sums = ends @ np.bincount(kind, inside * rows.mass, minlength=ends.shape[2])
        else:
            ends = ends if kind is None else ends[..., kind]
            ends = ends if rows.weight is None else ends * rows.weight
            ratio = (ends[..., rest] - weights @ guess[:, rest]) / weight[rest]
            reached = [ratio[0].min(axis=1, initial=np.inf), ratio[1].max(axis=1, initial=-np.inf)]
            sums = ends @ inside
        if (stays & ~member).any():
            # A row outside the group adds nothing, whatever its label.
            reached = [np.minimum(reached[0], 0), np.maximum(reached[1], 0)]
        return IncrementRange(np.stack(reached), sums, weights @ (guess @ inside))

    def increments(self, increment_range: IncrementRange, used: int) -> tuple[Array, ...]:
        """(S, n) the fields of Increments for the round's draws among the first `used`."""
        log, at = self.log, np.flatnonzero(self.log.round == self.round.number)
        tested = self.tested
        rows = self.cache.take(log.rows[at])
        member = tested.membership(rows)
        guess = tested.weights @ tested.guess(self.surrogate, rows) * member
        ends = tested.range_by_row(rows) * member
        weight = self._weight(rows, np.ones(len(at), bool))
        left = weight / log.q[at]
        # The weight left at a draw is that at the draw before, less what that draw took.
        if not np.allclose(left[1:], left[:-1] - weight[:-1], rtol=_DRIFT):
            raise NotEstimable(
                f"the weights of round {self.round.number} cannot be computed again: "
                "another version of a library does not predict what it did",
                hint='use `interval="fixed"`',
            )
        # Drawable items: those that stayed, this item, and those drawn after it in the round.
        after = ((ends - guess) / weight)[..., ::-1]
        lowest = np.minimum.accumulate(after[0], axis=1)[:, ::-1]
        highest = np.maximum.accumulate(after[1], axis=1)[:, ::-1]
        lowest = np.minimum(lowest, increment_range.ratio[0][:, None])
        highest = np.maximum(highest, increment_range.ratio[1][:, None])
        here = tested.drawn[:, at]
        before = tested.drawn[:, : at[0]].sum(axis=1)
        before += tested.supplied[:, log.supplied_round <= self.round.number].sum(axis=1)
        before += 0.0 if tested.certain is None else tested.certain
        sums = increment_range.guess[:, None] - sum_before(guess, -1)
        value = (here - guess) * left / weight + sums
        offset, rest = (
            before[:, None] + sum_before(here, -1),
            increment_range.rest[..., None] - sum_before(ends, -1),
        )
        parts = (value, lowest * left + sums, highest * left + sums, offset, *rest)
        return tuple(part[:, at < used] / tested.group.total for part in parts)

    def _weight(self, rows: Rows, free: Array) -> Array:
        """(R,) weights the rows had in the round; 0 where they were not free."""
        if self.round.allocation:
            question: Question = catalog.load("questions", str(self.choices.question))
            weight = question.weigh_rows(self.round.allocation, rows, self.cache, self.choices)
            return np.where(free, weight, 0.0)
        weight = self._blend(rows, free)
        if self.clips:
            weight = race.clip_weights(weight, free, self.level)
        return weight if rows.weight is None else weight * rows.weight

    def _blend(self, rows: Rows, free: Array) -> Array:
        """(R,) the blended scores of the rows, see race.blend_scores: weights but for rates."""
        assert self.scorer is not None
        scores = self.scorer(rows, self.round.objectives)
        scores = np.where(free, race.sharpen_scores(scores, self.peaks, self.choices.power), 0.0)
        floor = 0.0 if self.clips else self.choices.floor
        return race.blend_scores(scores, free, floor, self.totals, self.count)

    def _find_level(self) -> float:
        """Level that low weights were raised to: the floor's share of the mean that rows had."""

        def on_piece(piece: tuple[int, int]) -> Array:
            rows, free = self.cache.rows(*piece), self.free[slice(*piece)]
            return np.array([(self._blend(rows, free) * rows.mass).sum(), rows.mass[free].sum()])

        total, count = map_reduce(self.cache.chunks(), on_piece, np.add)
        return float(self.choices.floor * total / count)


def _ratio_range(ends: Array, kind: Array, weights: Array, scaled: Array) -> list[Array]:
    """(S,) smallest and largest of (h - g) / weight, h from ends (2, S, K) by kind (n,).

    scaled (2 + d, n) are the item's own weight twice and the expected statistics, over weight: one
    product of matrices for each kind.
    """
    lowest, highest = np.full(len(weights), np.inf), np.full(len(weights), -np.inf)
    for code in np.unique(kind):
        of_kind = scaled[:, kind == code]
        low, high = (np.column_stack([end[:, code], -weights]) @ of_kind for end in ends)
        lowest = np.minimum(lowest, low.min(axis=1))
        highest = np.maximum(highest, high.max(axis=1))
    return [lowest, highest]


def _merge_ranges(left: list[IncrementRange], right: list[IncrementRange]) -> list[IncrementRange]:
    """The ranges of two chunks as one, for every round."""
    return [
        IncrementRange(
            np.stack([np.minimum(a.ratio[0], b.ratio[0]), np.maximum(a.ratio[1], b.ratio[1])]),
            a.rest + b.rest,
            a.guess + b.guess,
        )
        for a, b in zip(left, right, strict=True)
    ]
