"""Looks of sequential gates: after which draws, at which time, and at which levels.

The plan is fixed after the first draw: the number of draws at the last look, how many looks there
are and how their error is spent are those that the first round was drawn with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from activetest.errors import StudyError
from activetest.nouns.choices import MOST_LOOKS, Choices, Interval, Spending
from activetest.nouns.log import PENDING, Log, count_usable_draws
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.rounds.fit import find_drawable_items, find_predicted_as
from activetest.rounds.objectives import find_drawn_classes

# Message after the last look.
_OVER = (
    "the last look of sequential gates is past: a gate that it left undecided stays so, unless "
    "every item gets a label (see the page on gates)"
)


@dataclass(frozen=True)
class Look:
    """One look that draws have reached.

    number   of those planned, from 1; a round that passes several has the last of them
    round    number of the round at whose end it is: a fixed interval must not end inside one
    draws    made until then
    """

    number: int
    round: int
    draws: int


@dataclass(frozen=True)
class LookPlan:
    """The looks of a study.

    looks      how many were asked for
    last       draws at the last one, at most the items that can be drawn
    spending   name of the function by which error is spent
    level      confidence of the study: gates err with 1 - level on either side
    size       items that the first round could draw: see plan_looks_of_log
    """

    looks: int
    last: int
    spending: str
    level: float
    size: int

    @property
    def due(self) -> tuple[int, ...]:
        """Draws after which the looks are due: equal steps, rounded up, each at least one draw."""
        steps = np.arange(1, self.looks + 1) * self.last
        return tuple(dict.fromkeys((-(-steps // self.looks)).tolist()))

    def find_time(self, draws: int, *, population: bool = False) -> float:
        """The share of the information at the last look that so many draws give, at most 1.

        It is the ratio of the sums of LURE's weights, n / (N - n) over that of the last look: the
        variance itself would let early draws that happen to agree spend too much. A population's is
        the ratio of draws. Where the last look is at every item, its value is exact and needs no
        error: the look before it is at time 1.
        """
        size = np.inf if population else float(self.size)
        last = self.last
        if last >= size:
            last = self.due[-2] if len(self.due) > 1 else self.size - 1
        if draws >= last:
            return 1.0
        return float(draws / (1 - draws / size) / (last / (1 - last / size)))

    def is_exact(self, draws: int, *, population: bool = False) -> bool:
        """Whether a look after so many draws knows every item that counts, so the value itself."""
        return draws >= self.size and not population

    def list_looks(self, rounds: Array) -> tuple[Look, ...]:
        """The looks that draws have reached, from the number of the round (D,) of each draw."""
        found: dict[int, Look] = {}
        for number, due in enumerate(self.due, 1):
            if due <= len(rounds):
                last = int(rounds[due - 1])
                draws = int(np.searchsorted(rounds, last, side="right"))
                found[last] = Look(number, last, draws)
        return tuple(found.values())

    def list_complete_looks(self, log: Log) -> tuple[Look, ...]:
        """The looks up to which every draw has an answer."""
        used, _ = count_usable_draws(log)
        return tuple(look for look in self.list_looks(log.round) if look.draws <= used)

    def list_coming(self, reached: int, answered: int) -> list[tuple[int, int]]:
        """(draws, labels until then) of every look after number `reached`.

        answered   draws that have an answer
        """
        return [(due, max(due - answered, 1)) for due in self.due[reached:]]

    def describe_next(self, rounds: Array, answered: Array) -> str:
        """The next look and when it comes, in words, or that the last one is past.

        rounds, answered   (D,) number of the round of each draw, and whether it has an answer
        """
        whole = int(np.argmin(answered)) if not answered.all() else len(answered)
        complete = [look.number for look in self.list_looks(rounds) if look.draws <= whole]
        coming = self.list_coming(max(complete, default=0), int(answered.sum()))
        if not coming:
            return "" if self.is_exact(self.last) else _OVER
        wait, number = coming[0][1], len(self.due) - len(coming) + 1
        return f"look {number} of {len(self.due)} after {wait:,} more label{'s' * (wait != 1)}"


def has_looks(choices: Choices) -> bool:
    """Whether a study plans looks whose first round is drawn with these choices."""
    return _find_last_look(choices) is not None


def plan_looks(choices: Choices, size: int) -> LookPlan | None:
    """The plan of a study with these choices; None without looks.

    choices   of the first round: those that it was drawn with, or will be
    size      items that it can draw

    Raises StudyError for a recorded plan that no choices allow.
    """
    last = _find_last_look(choices)
    if last is None:
        return None
    if not _may_be_plan(choices, last):
        raise StudyError(
            "the looks that the first round recorded cannot be planned",
            "restore the study from a backup: it is not what the round wrote",
        )
    # Without an item to draw there is no look, and no plan that could be wrong.
    size = max(size, 1)
    return LookPlan(choices.looks, min(int(last), size), choices.spending, choices.level, size)


def plan_looks_of_log(choices: Choices, log: Log, cache: PoolView) -> LookPlan | None:
    """The plan that the first round of a log was drawn with, or its next one will be.

    choices   for the rounds to come

    Draws can reach the items that have a weight, are predicted as a class that can change
    what the first round was for, and had no label before it. Others are never drawn: a look at all
    of these is exact, and a clock that counted others would go too slowly towards the end.

    Raises StudyError as plan_looks does.
    """
    codes: Sequence[int] | None = None
    if log.history:
        choices, codes = Choices.from_record(log.history[0].choices), log.history[0].drawn_from
    if not has_looks(choices):
        return None
    if not log.history:
        codes = find_drawn_classes(choices, cache.roles, cache)
    known = log.supplied_rows[log.supplied_round <= 1]
    begun = replace(log, rows=log.rows[:0], supplied_rows=known)
    drawable = find_drawable_items(begun, cache) & find_predicted_as(cache, codes)
    return plan_looks(choices, int(drawable.sum()))


def _find_last_look(choices: Choices) -> float | None:
    """Draws at the last look that these choices name; None without looks."""
    sequential = choices.interval == Interval.SEQUENTIAL
    return (choices.last_look or choices.budget) if sequential else None


def _may_be_plan(choices: Choices, last: float) -> bool:
    """Whether recorded choices are ones that a study can have: a ledger may come from anybody."""
    numbers = (choices.looks, last, choices.level)
    return (
        all(isinstance(each, int | float) for each in numbers)
        and choices.looks in range(1, MOST_LOOKS + 1)
        and 1 <= last < np.inf
        and 0.5 < choices.level < 1
        and choices.spending in tuple(Spending)
    )


def count_answered(log: Log) -> int:
    """Draws that have an answer."""
    return int((log.status != PENDING).sum())
