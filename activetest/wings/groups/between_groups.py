"""Rounds that choose between groups: how likely each group is drawn, and with it every row of it.

Active Bayesian Assessment (Ji 2021), Algorithm 1: a group by the acquisition, then any of its rows.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.nouns.choices import Choices
from activetest.nouns.log import Allocation, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.rounds.fit import make_generator
from activetest.wings.groups.bandit import COMPARE, ESTIMATE, IDENTIFY, Bandit
from activetest.wings.groups.choices import QuestionChoices
from activetest.wings.groups.counts import GroupCounts, count_groups, task_group
from activetest.wings.groups.partition import Partition

# Posterior samples: fewer of many cells, as long as shares are still shares.
_SAMPLES, _FEWEST, _NUMBERS = 1000, 100, 2**17
# Parts of a batch, each chosen as if the labels of those before had come as expected.
_PARTS = 10


def allocate_draws(
    log: Log, cache: PoolView, choices: Choices, *, seed: int, number: int, count: int
) -> tuple[Allocation, Array]:
    """The allocation of a round of `count` draws, and (N,) each row's probability in the first.

    A group's probability is the share of the batch that the acquisition gives it, mixed with a draw
    from all rows that are free, neither drawn nor supplied; inside a cell all of these are alike:
    ((1 - floor) P + floor rest / all) / rest. Raises NotEstimable where only groups that the task
    does not ask about have rows left, and no floor allows to draw from them.
    """
    found = count_groups(log, cache, choices)
    taken = log.item_rows
    rest, gone = (
        np.bincount(cells, minlength=len(found.arms.size))
        for cells in (found.cells, found.cells[taken])
    )
    rest = rest - gone
    arms = replace(
        found.arms, size=found.arms.known_counts.sum(axis=-1) + rest, observed_counts=None
    )
    playing = make_bandit(replace(found, arms=arms), cache, choices)
    samples = max(min(_SAMPLES, _NUMBERS // len(rest)), _FEWEST)
    acquisition = catalog.load("acquisition", choices.acquisition)
    rng = make_generator(seed, number, "arms")
    cells = _allocate_batch(playing, acquisition.allocate, samples, count, rng)
    if not choices.floor and not cells.any():
        raise NotEstimable(
            "every item of the groups that the task asks about is drawn or labelled",
            hint="`study.report()`; `floor=0.1` draws from other groups too",
        )
    by_cell = (1 - choices.floor) * cells + choices.floor * rest / rest.sum()
    weight = by_cell / by_cell.sum() / np.maximum(rest, 1)
    partition, cells = found.partition, found.cells
    if choices.question != ESTIMATE:
        # Whole groups were chosen: their rows are alike, whatever they are cut into.
        first = np.searchsorted(found.arms.arm_of_cell, np.arange(len(found.arms.groups)))
        weight = np.maximum.reduceat(weight, first)
        partition, cells = Partition(partition.group), found.arms.arm_of_cell[cells]
    by_row = weight[cells]
    by_row[taken] = 0.0
    return Allocation(partition.group, partition.strata, tuple(weight.tolist())), by_row


def _allocate_batch(
    playing: Bandit,
    allocate: Callable[[Bandit, int, np.random.Generator], Array],
    samples: int,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """(L,) share of a batch that each cell is given.

    The first label of a batch may be worth most in one group and the tenth in another: after each
    part, labels are taken to have come as the posterior expects them.
    """
    parts = min(count, _PARTS)
    total = np.zeros(len(playing.arms.arm_of_cell))
    for _ in range(parts):
        cells = playing.spread_over_cells(allocate(playing, samples // parts, rng))
        total += cells / parts
        arms = playing.arms
        expected = arms.exchangeable_counts + (cells * count / parts)[:, None] * arms.mean
        playing = replace(playing, arms=replace(arms, exchangeable_counts=expected))
    return total


def make_bandit(found: GroupCounts, cache: PoolView, choices: Choices) -> Bandit:
    """The question about these groups. Raises ChoiceError where they are not all there."""
    check_groups(cache, choices, group=found.partition.group)
    values = [meaning[found.partition.group] for meaning in found.arms.groups]
    pair, own = None, choices.of(QuestionChoices)
    assert choices.question is not None
    if choices.question == COMPARE:
        first, second = own.compare
        pair = values.index(first), values.index(second)
    return Bandit(found.arms, choices.question, own.worst, pair, own.rope)


def check_groups(cache: PoolView, choices: Choices, group: str | None = None) -> None:
    """Raises ChoiceError where the task asks for groups that the pool does not have.

    So it does where the worst groups would be all there are.
    """
    group = group or task_group(choices)
    values = cache.group_values[Partition(group).find_column(cache)]
    own = choices.of(QuestionChoices)
    if choices.question == COMPARE:
        for value in own.compare:
            if value not in values:
                raise ChoiceError(
                    f"`compare`: {value!r} is no value of {group!r}",
                    f"its values are {_list_values(values)}",
                )
    if choices.question == IDENTIFY and own.worst >= len(values):
        count = f"{len(values)} group{'s' * (len(values) != 1)}"
        raise ChoiceError(
            f"`worst={own.worst}`: {group!r} has {count}",
            "ask for fewer than there are" if len(values) > 1 else "choose another for `groups`",
        )


def parse_compared_groups(text: str, values: list[str], group: str) -> tuple[str, str]:
    """The two values that A,B means; they may hold commas themselves.

    Raises ChoiceError where it is not two of the values, or could be several pairs.
    """
    parts = text.split(",")
    ways = [(",".join(parts[:place]), ",".join(parts[place:])) for place in range(1, len(parts))]
    fitting = [way for way in ways if way[0] in values and way[1] in values]
    if len(fitting) != 1:
        problem = "could be several pairs of" if fitting else "is not two"
        raise ChoiceError(
            f"`compare`: {text!r} {problem} values of {group!r}",
            f"its values are {_list_values(values)}",
        )
    return fitting[0]


def _list_values(values: list[str]) -> str:
    more = f" and {len(values) - 20} more" if len(values) > 20 else ""
    return ", ".join(values[:20]) + more


def resolve_compared_groups(choices: Choices, cache: PoolView, text: str | None) -> Choices:
    """The choices, with the two groups that `compare` means now that the pool's are known.

    Two values are in the choices already; a text "A,B" becomes two values here.

    Raises ChoiceError where the task asks for groups that the pool does not have.
    """
    group = choices.groups[0]
    if text is not None:
        values = cache.group_values[cache.group_names.index(group)]
        named: dict[str, Any] = {"compare": parse_compared_groups(text, values, group)}
        choices = replace(choices, **named)
    check_groups(cache, choices)
    return choices
