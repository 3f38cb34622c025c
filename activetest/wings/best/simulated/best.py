"""Simulated answers to which model is best: how right they are, and after how many labels."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from activetest import catalog
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array
from activetest.nouns.simulated_answer import AnswerLook, SimulatedAnswer, describe_strategy
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.objectives import list_of_models
from activetest.simulation.waits import find_first, find_first_for_good, measure_wait
from activetest.wings.best.choices import BestChoices
from activetest.wings.best.standing import find_judged, judge, make_rng, measure_standing

# In the place of an estimator.
KEY = "answer"
EVERY_ROUND = True
# Draws of the posterior at each look: a probability of 0.95 is then known to 0.005.
_DRAWS = 2_000
# Smaller than the difference of any two values, larger than rounding errors.
_TIE = 1e-12


class AnswerNumbers(NamedTuple):
    """Answer of one study at one look.

    right            1 where the named model is the best, or within the tolerance of it, else 0
    probability      of the answer, as the report states it
    reciprocal_rank  1 over the place of the best model
    regret           how much worse than the best the named model is
    """

    right: float
    probability: float
    reciprocal_rank: float
    regret: float


def name_answer(choices: Choices) -> str:
    """Subject of the answer: the metric that models are judged by."""
    return choices.metric


def check_compared(acquisitions: Sequence[str]) -> None:
    """Any acquisitions can be compared by their answers."""


def find_goodness(pool: PoolView, choices: Choices, truth: Array) -> Array:
    """(K,) how good each model is by all labels (N,), from 0, the best; found once."""

    def find() -> Array:
        statistics = list_of_models(find_judged(pool, choices), pool)
        sums = np.zeros(len(statistics))
        for start, stop in pool.chunks():
            rows = pool.rows(start, stop)
            labels = truth[start:stop, None]
            sums += [rows.mass @ each.value(rows.outputs, labels)[:, 0] for each in statistics]
        return np.asarray((sums.min() - sums) / pool.size)

    return pool.compute_once(("goodness of models", choices.metric), find)


def measure(
    log: Log,
    cache: PoolView,
    choices: Choices,
    truth: Array,
    *,
    seed: int,
    surrogate: Surrogate | None = None,
) -> AnswerNumbers:
    """How good the answer of a study is, which its report would give after these labels."""
    standing = measure_standing(log, cache, choices, seed=seed, surrogate=surrogate)
    draws = standing.draw(make_rng(seed, len(log.history) + 1), _DRAWS)
    contest = judge(draws, choices.of(BestChoices).tolerance)
    known = find_goodness(cache, choices, truth)
    return _describe_answer(contest.leader, contest.best, -contest.regret, known, choices)


def _describe_answer(
    leader: int, best: Array, ranked: Array, known: Array, choices: Choices
) -> AnswerNumbers:
    """The numbers of an answer; ranked (K,) is larger for models that are believed to be better."""
    regret = -float(known[leader])
    rank = 1 + np.count_nonzero(ranked > ranked[known >= -_TIE].max())
    return AnswerNumbers(
        right=float(regret <= choices.of(BestChoices).tolerance + _TIE),
        probability=float(best[leader]),
        reciprocal_rank=1 / rank,
        regret=regret,
    )


def play(
    cache: PoolView,
    truth: Array,
    choices: Choices,
    *,
    budgets: Sequence[int],
    batch: int,
    seed: int,
) -> dict[tuple[str, str, int], AnswerNumbers]:
    """Answers of a study whose acquisition chooses items by a belief of its own, as in simulate.

    One label at a time, with an answer as often as other studies have one.
    """
    known, found = find_goodness(cache, choices, truth), {}
    method = catalog.load("acquisition", choices.acquisition)
    selector = method.open_selector(cache, choices, seed)
    looks, labels = set(budgets), 0
    for budget in budgets:
        looks.update(range(labels + batch, budget, batch))
        labels = budget
    for number in range(1, max(budgets) + 1):
        item = selector.choose()
        selector.learn(item, truth[item])
        if number in looks:
            best = selector.best
            numbers = _describe_answer(int(best.argmax()), best, best, known, choices)
            found[KEY, name_answer(choices), number] = numbers
    return found


def summarise_runs(
    strategies: Sequence[Choices],
    budgets: Sequence[int],
    tables: Mapping[tuple[int, int], Sequence[Sequence[float]]],
) -> tuple[list[SimulatedStrategy], list[SimulatedAnswer]]:
    """No result for a strategy, and how each answered; tables {(strategy, labels): numbers}."""
    looks: dict[int, dict[int, Array]] = {}
    for (strategy, labels), numbers in tables.items():
        looks.setdefault(strategy, {})[labels] = np.array(numbers, float)
    return [], [summarise_answers(strategies[each], looks[each]) for each in looks]


def summarise_answers(choices: Choices, looks: Mapping[int, Array]) -> SimulatedAnswer:
    """How one strategy answered; looks {labels: (R, 4) numbers of every run, in the same order}."""
    budgets = np.array(sorted(looks))
    runs = min(map(len, looks.values()))
    numbers = np.array([looks[budget][:runs] for budget in budgets])
    right, probability = numbers[:, :, 0].T == 1, numbers[:, :, 1].T
    decided = probability >= choices.level
    ever = decided.any(axis=1)
    then = right[np.arange(runs), decided.argmax(axis=1)]
    return SimulatedAnswer(
        **describe_strategy(choices),
        floor=choices.floor,
        question=choices.question or "",
        metric=choices.metric,
        goal=catalog.load("questions", str(choices.question)).describe(choices),
        level=choices.level,
        runs=runs,
        until_right=measure_wait(budgets, find_first_for_good(right)),
        until_sure=measure_wait(budgets, find_first(decided & right)),
        until_decided=measure_wait(budgets, find_first(decided)),
        first_wrong=float((~then[ever]).mean()) if ever.any() else None,
        looks=tuple(_summarise_look(int(each), looks[each], choices) for each in budgets.tolist()),
    )


def _summarise_look(budget: int, numbers: Array, choices: Choices) -> AnswerLook:
    """One look; numbers (R, 4) as in AnswerNumbers."""
    right, probability, rank, regret = numbers.T
    decided = probability >= choices.level
    return AnswerLook(
        budget=budget,
        runs=len(numbers),
        right=float(right.mean()),
        decided=float(decided.mean()),
        decided_wrong=float((decided & (right == 0)).mean()),
        reciprocal_rank=float(rank.mean()),
        rmse=None,
        weighted_rmse=None,
        coverage=None,
        regret=float(regret.mean()),
    )
