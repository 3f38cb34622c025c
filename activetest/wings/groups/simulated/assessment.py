"""Simulated answers to questions about groups: how right and how sure, and after how many labels.

Active Bayesian Assessment (Ji 2021), Experiments. Axes: R runs, A groups, T looks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from activetest import catalog
from activetest.cache.cache import Cache
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.nouns.simulated_answer import (
    AnswerLook,
    SimulatedAnswer,
    describe_strategy,
)
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import make_generator
from activetest.simulation.waits import find_first, find_first_for_good, measure_wait
from activetest.wings.groups.arms import Arms, compute_values, expect_outcome_shares
from activetest.wings.groups.bandit import ESTIMATE, IDENTIFY
from activetest.wings.groups.between_groups import make_bandit
from activetest.wings.groups.choices import QuestionChoices
from activetest.wings.groups.comparison import count_regions
from activetest.wings.groups.counts import count_groups, task_group
from activetest.wings.groups.group_ranking import (
    find_region_chances,
    rank_groups,
    summarise_groups,
)

# In the place of an estimator.
KEY = "answer"
EVERY_ROUND = True
# Smaller than the difference of any two values, larger than rounding errors.
_TIE = 1e-12
# Draws of the posterior at each look: a probability of 0.95 is then known to 0.005. A report, which
# is one look, takes more.
_DRAWS = 2_000


class AnswerNumbers(NamedTuple):
    """Answer of one study at one look; NaN where the question has no such number.

    right             1 where the answer is right, else 0
    probability       of the answer, as the report states it
    reciprocal_rank, rmse, weighted_rmse, coverage    as in AnswerLook
    """

    right: float
    probability: float
    reciprocal_rank: float
    rmse: float
    weighted_rmse: float
    coverage: float


@dataclass(frozen=True)
class GroupTruth:
    """Truth about the groups of a question, from all labels.

    values       (A,) of the groups; NaN without an item
    items        (A,) how many each has
    worse_sign   1 if larger values are worse, -1 if smaller ones are
    """

    values: Array
    items: Array
    worse_sign: int

    @property
    def weight(self) -> Array:
        """(A,) share of the items that is in each group."""
        share: Array = self.items / self.items.sum()
        return share

    @property
    def worst_first(self) -> Array:
        """(A,) the groups, the worst one first and those without an item last."""
        badness = level_ties(self.worse_sign * np.nan_to_num(self.values))
        return np.lexsort((-badness, self.items == 0))


def name_answer(choices: Choices) -> str:
    """Subject of the answer: the metric that groups are judged by."""
    return choices.metric


def check_compared(acquisitions: Sequence[str]) -> None:
    """Any acquisitions can be compared by their answers."""


def find_group_truth(cache: Cache, choices: Choices, truth: Array) -> GroupTruth:
    """The groups of the question, by all labels (N,); found once for each pool."""

    def find() -> GroupTruth:
        rows = np.arange(cache.size)
        log = replace(
            Log.empty(),
            supplied_rows=rows,
            supplied_status=np.full(cache.size, LABELLED),
            supplied_labels=np.asarray(truth, float),
            supplied_round=np.ones(cache.size, np.int64),
        )
        return describe_truth(count_groups(log, cache, choices, kind=choices.metric).arms)

    return cache.compute_once(
        ("true groups", choices.metric, task_group(choices), choices.costs), find
    )


def describe_truth(arms: Arms) -> GroupTruth:
    """The truth about arms whose items are all labelled."""
    values = compute_values(arms, expect_outcome_shares(arms))
    return GroupTruth(values, arms.sum_cells(arms.size.astype(float)), arms.worse_sign)


def measure(
    log: Log,
    cache: Cache,
    choices: Choices,
    truth: Array,
    *,
    seed: int,
    surrogate: Surrogate | None = None,
    draws: int = _DRAWS,
) -> AnswerNumbers:
    """How good the answer of a study is, which its report would give after these labels.

    Labels (N,) are all known. surrogate is the one that was fitted to the labels of the log, draws
    the number of draws of the posterior.
    """
    known = find_group_truth(cache, choices, truth)
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    metric = specification.find_metric(choices.metric, facts)
    counts = count_groups(log, cache, choices, kind=choices.metric)
    view = None
    if counts.weighted.any():
        view = build_view(
            log, cache, choices, [metric], seed=seed, own_view=False, surrogate=surrogate
        )
    bandit = make_bandit(counts, cache, choices)
    rng = make_generator(seed, len(log.history) + 1, "groups")
    stands = summarise_groups(counts, view, metric, choices.level, rng, draws=draws)
    right = probability = rank = np.nan
    if choices.question == IDENTIFY:
        worst = choices.of(QuestionChoices).worst
        probability = rank_groups(stands, worst, choices.level, rng)[1].answer_probability
        right = names_worst(known, stands.order[:worst])
        rank = float(find_reciprocal_rank(known, stands.estimate[None], worst)[0])
    elif bandit.pair:
        chances = find_region_chances(stands, bandit.pair, bandit.rope)
        probability = float(chances.max())
        right = float(chances.argmax() == find_region(known, bandit.pair, bandit.rope))
    there = known.items > 0
    inside = (stands.lower - _TIE <= known.values) & (known.values <= stands.upper + _TIE)
    return AnswerNumbers(
        right=float(right),
        probability=probability,
        reciprocal_rank=rank,
        rmse=float(find_rmse(known, stands.estimate[None], weighted=False)[0]),
        weighted_rmse=float(find_rmse(known, stands.estimate[None])[0]),
        coverage=float(inside[there].mean()),
    )


def names_worst(truth: GroupTruth, named: Array) -> bool:
    """Whether no other group is worse in truth than any of those that are named (M,)."""
    badness = np.where(truth.items > 0, truth.worse_sign * np.nan_to_num(truth.values), -np.inf)
    others = np.delete(badness, named)
    return bool(others.max(initial=-np.inf) <= badness[named].min() + _TIE)


def find_region(truth: GroupTruth, pair: tuple[int, int], rope: float) -> int:
    """The region that the difference of two groups is in: 0 below, 1 within, 2 above."""
    first, second = pair
    apart = truth.values[first] - truth.values[second]
    return int(count_regions(np.array([apart]), rope).argmax())


def find_reciprocal_rank(truth: GroupTruth, estimates: Array, worst: int) -> Array:
    """(R,) mean reciprocal rank of the groups that are worst in truth, by estimates (R, A).

    Ji 2021, Identification of Extreme Classes. The other worst ones are left out of a rank. A group
    that seems as bad counts as worse.
    """
    order = truth.worst_first[: int((truth.items > 0).sum())]
    badness = truth.worse_sign * estimates
    looked_for, others = badness[:, order[:worst]], badness[:, order[worst:]]
    rank = 1 + (others[:, None, :] >= looked_for[:, :, None] - _TIE).sum(axis=-1)
    mean: Array = (1 / rank).mean(axis=-1)
    return mean


def find_rmse(truth: GroupTruth, estimates: Array, *, weighted: bool = True) -> Array:
    """(R,) root of the mean of squared errors of the groups' values (R, A).

    weighted  groups count by their items (Ji 2021, Table 3), and not alike
    """
    there = truth.items > 0
    weight = truth.weight[there] if weighted else np.full(there.sum(), 1 / there.sum())
    root: Array = np.sqrt((estimates[:, there] - truth.values[there]) ** 2 @ weight)
    return root


def summarise_runs(
    strategies: Sequence[Choices],
    budgets: Sequence[int],
    tables: Mapping[tuple[int, int], Sequence[Sequence[float]]],
) -> tuple[list[SimulatedStrategy], list[SimulatedAnswer]]:
    """No result for a strategy, and how each answered; tables {(strategy, labels): numbers}."""
    looks: dict[int, dict[int, list[AnswerNumbers]]] = {}
    for (strategy, labels), numbers in tables.items():
        looks.setdefault(strategy, {})[labels] = [AnswerNumbers(*each) for each in numbers]
    return [], [summarise_answers(strategies[each], looks[each]) for each in looks]


def summarise_answers(
    choices: Choices, looks: Mapping[int, Sequence[AnswerNumbers]]
) -> SimulatedAnswer:
    """How one strategy answered; looks {labels: numbers of every run, in the same order}."""
    budgets = np.array(sorted(looks))
    runs = min(map(len, looks.values()))
    numbers = np.array([looks[budget][:runs] for budget in budgets], float)
    right, probability = numbers[:, :, 0].T == 1, numbers[:, :, 1].T
    has_end = choices.question != ESTIMATE
    decided = probability >= choices.level
    until_decided, first_wrong = None, None
    if has_end:
        until_decided = measure_wait(budgets, find_first(decided))
        ever = decided.any(axis=1)
        if ever.any():
            then = right[np.arange(runs), decided.argmax(axis=1)]
            first_wrong = float((~then[ever]).mean())
    return SimulatedAnswer(
        **describe_strategy(choices),
        floor=choices.floor,
        question=choices.question or "",
        metric=choices.metric,
        goal=catalog.load("questions", str(choices.question)).describe(choices),
        level=choices.level,
        runs=runs,
        until_right=measure_wait(budgets, find_first_for_good(right)) if has_end else None,
        until_sure=measure_wait(budgets, find_first(decided & right)) if has_end else None,
        until_decided=until_decided,
        first_wrong=first_wrong,
        looks=tuple(
            _summarise_look(int(budget), np.array(looks[budget], float), choices)
            for budget in budgets
        ),
    )


def _summarise_look(budget: int, numbers: Array, choices: Choices) -> AnswerLook:
    """One look; numbers (R, 6) as in AnswerNumbers."""
    right, probability, rank, rmse, weighted, coverage = numbers.T
    has_end = choices.question != ESTIMATE
    decided = probability >= choices.level
    return AnswerLook(
        budget=budget,
        runs=len(numbers),
        right=float(right.mean()) if has_end else None,
        decided=float(decided.mean()) if has_end else None,
        decided_wrong=float((decided & (right == 0)).mean()) if has_end else None,
        reciprocal_rank=float(rank.mean()) if choices.question == IDENTIFY else None,
        rmse=float(rmse.mean()),
        weighted_rmse=float(weighted.mean()),
        coverage=float(coverage.mean()),
    )
