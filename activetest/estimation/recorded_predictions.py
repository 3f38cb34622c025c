"""What was predictable before each draw, as the rounds of a log recorded it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import Log
from activetest.nouns.rows import Array


@dataclass(frozen=True)
class RecordedPredictions:
    """What rounds predicted, side by side: D draws, H rounds, G groups, T statistics.

    round     (D,) place of each draw's round
    start     (H,) place of each round's first draw
    imputed   (D, T) expectation of each statistic at the drawn item
    sums      (H, G, T) its sums over what was not known when the round began
    count     (H, G) number of such rows
    again     (H, G) whether another surrogate predicted the group, as in Round
    imputed_again   (D, T) what that one expects at the drawn item
    """

    round: Array
    start: Array
    imputed: Array
    sums: Array
    count: Array
    again: Array
    imputed_again: Array

    def of(self, group: int, member: Array, columns: list[int]) -> tuple[Array, Array, Array]:
        """Imputed (D, d), imputed_sum (D, d) and left (D,) of one group, as in Sample.

        member (D,) is 1.0 in the group; the column -1 stands for whether an item can be answered,
        which is imputed as certain.
        """
        # A round that recorded nothing about the group predicts nothing.
        member = member * (self.count[self.round, group] > 0)
        imputed = self.imputed
        if self.again[:, group].any():
            again = self.again[self.round, group]
            imputed = np.where(again[:, None], self.imputed_again, imputed)
        certain = np.column_stack([imputed, np.ones(len(member))])
        guess = certain[:, columns] * member[:, None]
        count = self.count[:, group]
        whole = np.column_stack([self.sums[:, group], count])[:, columns]
        return (
            guess,
            whole[self.round] - self._within(guess),
            count[self.round] - self._within(member),
        )

    def _within(self, values: Array) -> Array:
        """Sums over the earlier draws of the same round."""
        before = np.cumsum(values, axis=0) - values
        return before - before[self.start][self.round]


def collect_recorded(
    log: Log, statistics: Sequence[Statistic], groups: Sequence
) -> RecordedPredictions:
    """What the rounds recorded; zeros, as without a surrogate, where they recorded nothing."""
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


def find_places(names: Sequence[str], recorded: Sequence[str]) -> tuple[Array, Array]:
    """(K,) places of the names that a round recorded, and where it did."""
    places = {name: place for place, name in enumerate(recorded)}
    known = [place for place, name in enumerate(names) if name in places]
    return np.array(known, np.int64), np.array([places[names[each]] for each in known], np.int64)
