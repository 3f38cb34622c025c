"""Predictions before each draw, as the rounds of a log recorded them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, sum_before
from activetest.rounds.crossing import count_whole
from activetest.rounds.group_sums import measure_groups, sum_by_group


@dataclass(frozen=True)
class RecordedPredictions:
    """Predictions of rounds, side by side: D draws, H rounds, G groups, T statistics.

    round     (D,) place of each draw's round
    start     (H,) place of each round's first draw
    imputed   (D, T) expectation of each statistic at the drawn item
    sums      (H, G, T) its sums over what was not known when the round began
    count     (H, G) number of such rows
    again     (H, G) whether another surrogate predicted the group, as in Round
    imputed_again   (D, T) what that one expects at the drawn item
    mass      (D,) weight of each drawn item; None where all items count alike
    left      (H, G) sum of the weights of the rows that count has; likewise
    """

    round: Array
    start: Array
    imputed: Array
    sums: Array
    count: Array
    again: Array
    imputed_again: Array
    mass: Array | None = None
    left: Array | None = None

    def of(self, group: int, member: Array, columns: list[int]) -> tuple[Array, Array, Array]:
        """Imputed (D, d), imputed_sum (D, d) and left (D,) of one group, as in Sample.

        member (D,) is 1.0 in the group; the column -1, the last if it is there, stands for whether
        an item can be answered, which is imputed as certain.
        """
        # A round that recorded nothing about the group predicts nothing.
        member = member * (self.count[self.round, group] > 0)
        own = [column for column in columns if column >= 0]
        imputed = self.imputed[:, own]
        if self.again[:, group].any():
            again = self.again[self.round, group]
            imputed = np.where(again[:, None], self.imputed_again[:, own], imputed)
        mass, weights = np.ones(len(member)) if self.mass is None else self.mass, self.count
        if self.left is not None:
            weights = self.left
        before, whole = weights[:, group], self.sums[:, group][:, own]
        if len(own) < len(columns):
            imputed, whole = np.column_stack([imputed, mass]), np.column_stack([whole, before])
        guess = imputed * member[:, None]
        left = before[self.round] - self._within(member * mass)
        if self.mass is not None:
            # Sums of weights leave a little where nothing is left.
            count = self.count[self.round, group] - self._within(member * (mass > 0))
            left = np.where(count > 0, np.maximum(left, 0.0), 0.0)
        return guess, whole[self.round] - self._within(guess), left

    def _within(self, values: Array) -> Array:
        """Sums over the earlier draws of the same round."""
        before = sum_before(values)
        return before - before[self.start][self.round]


@dataclass(frozen=True)
class CrossedPredictions:
    """Predictions of rounds' items from their own labels: see rounds.crossing. Axes as above.

    whole       (H,) bool: those whose labels may say something of each other's items
    rounds      (H,) bool: those that have predictions from them
    used        (D,) bool: draws of these whose labels are known
    imputed     (D, T) expectation of each statistic at the drawn item
    sums        (H, G, T) its sums over what was not known when the round began
    share       (D,) of it in what is expected of the drawn item; the rest is as it was recorded
    rest_share  (H,) the same for items that the round did not draw
    """

    whole: Array
    rounds: Array
    used: Array
    imputed: Array
    sums: Array
    share: Array
    rest_share: Array

    def without(self, numbers: Array) -> "CrossedPredictions":
        """The same without those of rounds with these numbers."""
        others = ~np.isin(np.arange(len(self.rounds)) + 1, numbers)
        return replace(self, whole=self.whole & others, rounds=self.rounds & others)

    def find_draws(self, recorded: RecordedPredictions) -> Array:
        """(D,) whether the prediction of a draw follows from its own round."""
        found: Array = self.rounds[recorded.round] & self.used
        return found

    def blend(
        self, recorded: RecordedPredictions, group: int, member: Array, columns: list[int]
    ) -> tuple[Array, Array, Array]:
        """As RecordedPredictions.of, with what rounds say from their own labels."""
        guess, rest, left = recorded.of(group, member, columns)
        draws = self.find_draws(recorded)
        if not draws.any():
            return guess, rest, left
        crossed = replace(
            recorded, imputed=self.imputed, sums=self.sums, again=np.zeros_like(recorded.again)
        )
        own, own_rest, _ = crossed.of(group, member, columns)
        mixed = guess + self.share[:, None] * (own - guess)
        rounds, start = recorded.round, recorded.start[recorded.round]

        def sum_from(values: Array) -> Array:
            """Sums over this draw and those after it in its round."""
            sums = np.zeros((len(self.rounds), values.shape[1]))
            np.add.at(sums, rounds[draws], values[draws])
            before = np.cumsum(np.where(draws[:, None], values, 0.0), axis=0)
            before -= np.where(draws[:, None], values, 0.0)
            found: Array = sums[rounds] - (before - before[start])
            return found

        undrawn, own_undrawn = rest[start] - sum_from(guess)[start], own_rest[start]
        own_undrawn = own_undrawn - sum_from(own)[start]
        undrawn = undrawn + self.rest_share[rounds][:, None] * (own_undrawn - undrawn)
        chosen = draws[:, None]
        return (
            np.where(chosen, mixed, guess),
            np.where(chosen, undrawn + sum_from(mixed), rest),
            left,
        )


def collect_crossed(
    log: Log, statistics: Sequence[Statistic], groups: Sequence
) -> CrossedPredictions:
    """Rounds' predictions of all these statistics and groups from their own labels."""
    history, names = log.history, [each.name for each in statistics]
    whole, rounds = np.zeros((2, len(history)), bool)
    used, share = np.zeros(len(log.rows), bool), np.zeros(len(log.rows))
    imputed, rest_share = np.zeros((len(log.rows), len(names))), np.zeros(len(history))
    sums = np.zeros((len(history), len(groups), len(names)))
    for place, each in enumerate(history):
        whole[place] = count_whole(log, each) > 0
        found = each.crossed
        if found is None or not {*names} <= {*found.statistics}:
            continue
        columns = [found.statistics.index(name) for name in names]
        there = [found.groups.index(group.name) for group in groups]
        start = int(np.searchsorted(log.round, each.number))
        here = slice(start, start + len(found.share))
        rounds[place], used[here], share[here] = True, True, found.share
        imputed[here], rest_share[place] = found.imputed[:, columns], found.rest_share
        sums[place] = found.sums[np.ix_(there, columns)]
    return CrossedPredictions(whole, rounds, used, imputed, sums, share, rest_share)


def collect_recorded(
    log: Log, statistics: Sequence[Statistic], groups: Sequence
) -> RecordedPredictions:
    """Predictions of the rounds; zeros, as without a surrogate, where they recorded nothing."""
    history, names = log.history, [each.name for each in statistics]
    imputed = np.zeros((len(log.rows), len(names)))
    imputed_again = np.zeros((len(log.rows), len(names)))
    again = np.zeros((len(history), len(groups)), bool)
    sums = np.zeros((len(history), len(groups), len(names)))
    count = np.zeros((len(history), len(groups)))
    # Most rounds record the same: where it stands is looked up once.
    found: dict[tuple, tuple[Array, ...]] = {}
    for place, each in enumerate(history):
        key = each.statistics, each.groups
        if key not in found:
            found[key] = (
                *find_places(names, each.statistics),
                *find_places([group.name for group in groups], each.groups),
            )
        columns, recorded_columns, known, recorded = found[key]
        here = slice(*np.searchsorted(log.round, (each.number, each.number + 1)))
        imputed[here, columns] = each.imputed[:, recorded_columns]
        sums[place, known[:, None], columns] = each.imputed_sum[recorded[:, None], recorded_columns]
        count[place, known] = each.count[recorded]
        if each.imputed_again is not None:
            imputed_again[here, columns] = each.imputed_again[:, recorded_columns]
            again[place] = [group.name in each.again for group in groups]
    numbers = np.array([each.number for each in history], np.int64)
    return RecordedPredictions(
        round=np.searchsorted(numbers, log.round),
        start=np.searchsorted(log.round, numbers),
        imputed=imputed,
        sums=sums,
        count=count,
        again=again,
        imputed_again=imputed_again,
    )


def weigh_recorded(recorded: RecordedPredictions, log: Log, cache: PoolView) -> RecordedPredictions:
    """The same with the weights of items, where the pool has any."""
    masses = measure_groups(cache)
    if masses is None:
        return recorded
    drawn, supplied = cache.take(log.rows), cache.take(log.supplied_rows)
    left, rest, last = np.zeros(recorded.count.shape), masses[:, 0].copy(), 0
    for place, each in enumerate(log.history):
        for rows, rounds, before in (
            (drawn, log.round, each.number - 1),
            (supplied, log.supplied_round, each.number),
        ):
            since = last - (rows is drawn)
            here = rows[np.flatnonzero((rounds > since) & (rounds <= before))]
            rest -= sum_by_group(cache, here.codes, [here.mass])[:, 0]
        left[place], last = np.where(recorded.count[place] > 0, rest, 0.0), each.number
    return replace(recorded, mass=drawn.mass, left=left)


def find_places(names: Sequence[str], recorded: Sequence[str]) -> tuple[Array, Array]:
    """(K,) places of the names that a round recorded, and where it did."""
    places = {name: place for place, name in enumerate(recorded)}
    known = [place for place, name in enumerate(names) if name in places]
    return np.array(known, np.int64), np.array([places[names[each]] for each in known], np.int64)
