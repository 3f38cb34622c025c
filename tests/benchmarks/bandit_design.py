"""The tool without a task: uniform draws, surrogate agreement, doubly robust."""

from collections.abc import Iterator

import benchmark
import numpy as np
from bandit_runs import Board, Seat

from activetest.estimation.view import FIXED, build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.reporting.rows import HEADLINE, estimate_differences, estimate_groups

ACCURACY = "accuracy"


def uniform(metrics: tuple[str, ...]) -> Choices:
    """The choices of a study that draws uniformly; the first metric is its headline."""
    return Choices(metrics[0], metrics, "agreement", acquisition="uniform")


def grown(log: Log, seat: Seat, chosen: Choices, budget: int, seed: int) -> Log:
    """The log with so many labels, in rounds of ten, as `next --n 10` makes them."""
    return benchmark.buy_labels(
        log, seat.made, chosen, seat.truth, labels=budget, batch=10, seed=seed
    )


def groupwise(
    seat: Seat, asked: dict[str, tuple[Board, str, tuple[int, ...]]], seed: int
) -> dict[str, list]:
    """The report of one study about each column: {column: [(accuracies (A,), value of a metric)]}.

    asked is {column: (board of accuracy, the metric, budgets)}. Accuracies are drawn towards what
    the surrogate foresees, as `report --groups` has them.
    """
    made, log = seat.made, Log.empty()
    metrics = (ACCURACY, *(metric for _, metric, _ in asked.values() if metric))
    wanted = [
        specification.find_metric(name, specification.describe_pool(made.roles, None, made))
        for name in metrics
    ]
    chosen, found = uniform(metrics), {column: [] for column in asked}
    for budget in sorted({budget for *_, budgets in asked.values() for budget in budgets}):
        log = grown(log, seat, chosen, budget, seed)
        view = build_view(log, made, chosen, wanted, seed=seed, own_view=False)
        for column, (on, name, budgets) in asked.items():
            if budget in budgets:
                lines = estimate_groups(view, wanted[:1], (column,), FIXED, simultaneous=False)
                shrunk = {line.group[column]: line.shrunk for line in lines}
                metric = wanted[metrics.index(name)] if name else None
                value = view.value(metric, HEADLINE).value if metric else np.nan
                accuracies = np.array([shrunk[each] for each in on.names])
                found[column].append((accuracies, value))
    return found


def confused(seat: Seat, on: Board, budgets: tuple[int, ...], seed: int) -> np.ndarray:
    """(budgets, L, J) shares of the true classes in each predicted one, as one study reports them.

    Every cell of the matrix is a share of the pool, and here one of its column.
    """
    made, log, found = seat.made, Log.empty(), []
    wanted = specification.find_metrics(
        "confusion", specification.describe_pool(made.roles, None, made)
    )
    chosen = uniform((ACCURACY, "confusion"))
    for budget in budgets:
        log = grown(log, seat, chosen, budget, seed)
        view = build_view(log, made, chosen, wanted, seed=seed, own_view=False)
        cells = {each.class_name: view.value(each, HEADLINE).value for each in wanted}
        matrix = [[cells[f"{true} as {said}"] for true in made.classes] for said in on.names]
        found.append(np.array(matrix) / on.weight[:, None])
    return np.array(found)


def compared(seat: Seat, column: str, seed: int) -> Iterator[tuple[int, float, float]]:
    """(labels, difference in accuracy, half-width) of two groups after every ten labels.

    Nothing comes while either has fewer labels than a report needs.
    """
    made, log, chosen = seat.made, Log.empty(), uniform((ACCURACY,))
    wanted = [
        specification.find_metric(ACCURACY, specification.describe_pool(made.roles, None, made))
    ]
    while len(log.rows) < made.size:
        log = grown(log, seat, chosen, min(len(log.rows) + 10, made.size), seed)
        view = build_view(log, made, chosen, wanted, seed=seed, own_view=False)
        for line in estimate_differences(view, wanted, (column,), simultaneous=False):
            yield len(log.rows), line.estimate, (line.upper - line.lower) / 2


def truth(seat: Seat, name: str) -> float:
    """A metric of the whole pool."""
    metric = specification.find_metric(
        name, specification.describe_pool(seat.made.roles, None, seat.made)
    )
    return evaluate(metric, seat.made.rows(0, seat.made.size).outputs, seat.truth)
