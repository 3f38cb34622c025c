"""What a bettor needs of every draw: its exact range over all items that could have been drawn.

Waudby-Smith and Ramdas 2024; Shekhar, Xu, Lipton, Liang and Ramdas 2023. The range has to be one
that was known before the draw: it follows from the round's own surrogate and the strengths that the
rows had, both computed again in one pass over the pool for all rounds.
"""

from dataclasses import dataclass

import numpy as np

from activetest.bandits.partition import strengths
from activetest.errors import NotEstimable
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Wagers
from activetest.nouns.log import Log, Round
from activetest.nouns.rows import Array, Rows
from activetest.parallel import map_reduce
from activetest.rounds import race
from activetest.rounds.fit import known_before, restored
from activetest.rounds.objectives import target
from activetest.rounds.scores import scorer

# Sums up to which rows are looked at one by one: more are cheaper kind by kind.
_FEW = 2
# How far strengths that are computed again may differ from those that were drawn with.
_DRIFT = 1e-3


@dataclass(frozen=True)
class Stake:
    """What is bet on: the mean over a group of each of S weighted sums of 1 and statistics.

    weights          (S, 1 + d) of 1 and the statistics
    drawn, brought   (S, D) and (S, B) the sums at the log's items; 0 where they are not known,
                     where an item was declined, and outside the group
    """

    group: object
    statistics: tuple[Statistic, ...]
    weights: Array
    drawn: Array
    brought: Array


@dataclass(frozen=True)
class Reach:
    """What a round's draws could have come to, for S sums; pairs are (lowest, highest).

    ratio   (2, S) of (h - g) / strength over the group's rows that stayed in the pool
    rest    (2, S) sums of the bounds of h over the group's rows that were not known before
    guess   (S,) sums of g over the same rows
    """

    ratio: Array
    rest: Array
    guess: Array


def wagers(log: Log, cache, stake: Stake, *, used: int, seed: int) -> list[Wagers]:
    """The wagers on each of the S sums, from the first `used` draws, in one pass over the pool.

    Raises NotEstimable for a statistic without bounds, and for rounds that an older version drew,
    which say too little.
    """
    if not np.isfinite([[one.lower, one.upper] for one in stake.statistics]).all():
        raise NotEstimable(
            "an anytime-valid interval needs a bound on what one item can cost",
            hint="use --interval fixed",
        )
    last = log.round[:used].max(initial=0)
    # Nobody bets on items without a probability: they are known to the draws after them.
    history = [each for each in log.history if each.number <= last and not each.picked]
    if any(not each.aims or np.isnan(each.aims[0].total) for each in history):
        raise NotEstimable(
            "rounds drawn by an older version do not say enough for an anytime-valid interval",
            hint="use --interval fixed",
        )
    if not history:
        return [Wagers(*np.empty((6, 0))) for _ in stake.weights]
    # A label may be of a class that was never predicted, also where one class was.
    sums = _Sums(stake, max(len(cache.classes), 2) if cache.classes else 0, log.declined)
    scenes = [_Scene(each, log, cache, sums, seed) for each in history]

    def on_piece(piece):
        rows = cache.rows(*piece)
        member, kinds = stake.group.holds(rows.codes) > 0, sums.by_kind(rows)
        return [scene.reach(slice(*piece), rows, member, kinds) for scene in scenes]

    reached = map_reduce(cache.chunks(), on_piece, _joined)
    parts = [scene.wagers(reach, used) for scene, reach in zip(scenes, reached, strict=True)]
    fields = [np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)]
    return [Wagers(*(field[place] for field in fields)) for place in range(len(stake.weights))]


@dataclass(frozen=True)
class _Sums:
    """The S sums over rows; declined says whether items can turn out to be worth 0."""

    stake: Stake
    classes: int
    declined: bool

    def ends(self, rows: Rows) -> Array:
        """(2, S, R) smallest and largest sum of every row."""
        ends, kinds = self.by_kind(rows)
        return ends if kinds is None else ends[..., kinds]

    def by_kind(self, rows: Rows) -> tuple[Array, Array | None]:
        """(2, S, K) smallest and largest sum of every kind of row, and (R,) the kinds of rows.

        Rows of a kind are predicted alike, where that says all; else each is its own, and None.
        """
        stake, cells = self.stake, all(one.cells for one in self.stake.statistics)
        tables = np.stack(
            [
                one.matrix(self.classes) if cells else one.table(rows.outputs, self.classes)
                for one in stake.statistics
            ]
        )
        sums = stake.weights[:, :1, None] + np.tensordot(stake.weights[:, 1:], tables, 1)
        pairs = np.stack([sums.min(axis=2), sums.max(axis=2)])
        if self.declined:
            pairs = np.stack([np.minimum(pairs[0], 0), np.maximum(pairs[1], 0)])
        return pairs, rows.outputs.pred if cells else None

    def guess(self, surrogate, rows: Rows) -> Array:
        """(1 + d, R) what a surrogate expects of 1 and the statistics."""
        mean = surrogate.expected(rows, self.stake.statistics)
        return np.vstack([np.ones(mean.shape[1]), mean])


class _Scene:
    """One round as it was when it was drawn from."""

    def __init__(self, each: Round, log: Log, cache, sums: _Sums, seed: int):
        self.round, self.log, self.cache, self.sums = each, log, cache, sums
        self.surrogate = restored(each, cache)
        self.choices = Choices(**each.choices)
        # A round that chose between groups gave rows no scores of their own.
        self.scorer = (
            None
            if each.shares
            else scorer(self.surrogate, self.choices, seed=seed, number=each.number)
        )
        self.targets = tuple(map(target, each.aims))
        self.totals = np.array([aim.total for aim in each.aims])
        self.peaks = np.array([aim.peak for aim in each.aims])
        self.free = np.ones(cache.size, bool)
        self.free[known_before(log, each.number)] = False
        self.stays = self.free.copy()
        self.stays[each.rows] = False

    def reach(self, piece: slice, rows: Rows, member: Array, kinds) -> Reach:
        """Of the rows of one chunk; member (R,), and kinds as _Sums.by_kind gives them."""
        free, stays = self.free[piece], self.stays[piece]
        weights, guess = self.sums.stake.weights, self.sums.guess(self.surrogate, rows)
        strength = self._strength(rows, free)
        inside, rest = member & free, np.flatnonzero(member & stays)
        ends, kind = kinds
        if kind is not None and len(weights) > _FEW:
            scaled = np.vstack([np.ones(len(rest)), guess[:, rest]]) / strength[rest]
            reached = _reached(ends, kind[rest], weights, scaled)
            sums = ends @ np.bincount(kind, inside, minlength=ends.shape[2])
        else:
            ends = ends if kind is None else ends[..., kind]
            ratio = (ends[..., rest] - weights @ guess[:, rest]) / strength[rest]
            reached = [ratio[0].min(axis=1, initial=np.inf), ratio[1].max(axis=1, initial=-np.inf)]
            sums = ends @ inside
        if (stays & ~member).any():
            # A row outside the group adds nothing, whatever its label.
            reached = [np.minimum(reached[0], 0), np.maximum(reached[1], 0)]
        return Reach(np.stack(reached), sums, weights @ (guess @ inside))

    def wagers(self, reach: Reach, used: int) -> tuple[Array, ...]:
        """(S, n) the fields of Wagers for the round's draws among the first `used`."""
        log, at = self.log, np.flatnonzero(self.log.round == self.round.number)
        stake = self.sums.stake
        rows = self.cache.take(log.rows[at])
        member = stake.group.holds(rows.codes)
        guess = stake.weights @ self.sums.guess(self.surrogate, rows) * member
        ends = self.sums.ends(rows) * member
        strength = self._strength(rows, np.ones(len(at), bool))
        left = strength / log.probs[at]
        # What was left at a draw is what was left at the one before, less what that one took.
        if not np.allclose(left[1:], left[:-1] - strength[:-1], rtol=_DRIFT):
            raise NotEstimable(
                f"the strengths of round {self.round.number} cannot be computed again: "
                "another version of a library does not predict what it did",
                hint="use --interval fixed",
            )
        # What could still be drawn: what stayed, this item, and those drawn after it in the round.
        after = ((ends - guess) / strength)[..., ::-1]
        lowest = np.minimum.accumulate(after[0], axis=1)[:, ::-1]
        highest = np.maximum.accumulate(after[1], axis=1)[:, ::-1]
        lowest = np.minimum(lowest, reach.ratio[0][:, None])
        highest = np.maximum(highest, reach.ratio[1][:, None])
        here = stake.drawn[:, at]
        before = stake.drawn[:, : at[0]].sum(axis=1)
        before += stake.brought[:, log.brought_round <= self.round.number].sum(axis=1)
        sums = reach.guess[:, None] - _before(guess)
        value = (here - guess) * left / strength + sums
        offset, rest = before[:, None] + _before(here), reach.rest[..., None] - _before(ends)
        parts = (value, lowest * left + sums, highest * left + sums, offset, *rest)
        return tuple(part[:, at < used] / stake.group.size for part in parts)

    def _strength(self, rows: Rows, free: Array) -> Array:
        """(R,) strengths the rows had in the round; 0 where they were not free."""
        if self.round.shares:
            return np.where(free, strengths(self.round.shares, rows, self.cache), 0.0)
        scores = self.scorer(rows, self.targets)
        scores = np.where(free, race.sharpened(scores, self.peaks, self.choices.power), 0.0)
        count = int(self.round.count[0])
        return race.blended(scores, free, self.choices.floor, self.totals, count)


def _reached(ends: Array, kind: Array, weights: Array, scaled: Array) -> list[Array]:
    """(S,) smallest and largest of (h - g) / strength, h from ends (2, S, K) by kind (n,).

    scaled (2 + d, n) are 1, 1 and the expected statistics, over strength: one product of matrices
    for each kind.
    """
    lowest, highest = np.full(len(weights), np.inf), np.full(len(weights), -np.inf)
    for code in np.unique(kind):
        some = scaled[:, kind == code]
        low, high = (np.column_stack([end[:, code], -weights]) @ some for end in ends)
        lowest = np.minimum(lowest, low.min(axis=1))
        highest = np.maximum(highest, high.max(axis=1))
    return [lowest, highest]


def _before(values: Array) -> Array:
    """Sums over earlier draws, along the last axis."""
    return np.cumsum(values, axis=-1) - values


def _joined(one: list[Reach], more: list[Reach]) -> list[Reach]:
    """What two chunks come to together, for every round."""
    return [
        Reach(
            np.stack([np.minimum(a.ratio[0], b.ratio[0]), np.maximum(a.ratio[1], b.ratio[1])]),
            a.rest + b.rest,
            a.guess + b.guess,
        )
        for a, b in zip(one, more, strict=True)
    ]
