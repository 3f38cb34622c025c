"""activetest simulate: replay strategies on a pool whose labels are all known.

The draws and numbers come from the same code as those of `next` and `report`.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from activetest import cache, catalog, labels, rounds, specs
from activetest.assess_view import ANYTIME, FIXED, INTERVALS, OWN_VIEW, look
from activetest.choices import checked, metrics_of
from activetest.errors import ChoiceError, LabelError, NotEstimable
from activetest.evidence import LABELLED, Array, Choices, Log, Round
from activetest.metrics._metric import Metric
from activetest.passes import processors
from activetest.pool import Pool
from activetest.report import SimulatedStrategy
from activetest.workflow._baseline import baseline, compared

ESTIMATORS = ("doubly-robust", "lure", "ase", "iid")
ACQUISITIONS = ("optimal", "uniform")
_PIECES_PER_WORKER = 8


@dataclass(frozen=True)
class Plan:
    """What every run does.

    strategies            choices to draw with, one study each
    estimators, metrics   what to estimate
    budgets               labels at which to estimate, increasing
    interval              kind of interval, see assess_view
    batch                 labels to buy at a time
    seed                  the runs' own seeds are derived from it
    """

    strategies: tuple[Choices, ...]
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    budgets: tuple[int, ...]
    interval: str
    batch: int
    seed: int


def simulate(
    pool: Pool,
    key: str | Path,
    *,
    budgets: tuple[int, ...] = (50, 100, 200),
    runs: int = 200,
    batch: int = 10,
    seed: int = 0,
    surrogates: tuple[str, ...] = (),
    acquisitions: tuple[str, ...] = ACQUISITIONS,
    estimators: tuple[str, ...] = ESTIMATORS,
    metrics: tuple[str, ...] = (),
    aim: str | None = None,
    interval: str = FIXED,
    costs=None,
    floor: float = Choices.floor,
    level: float = Choices.level,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[SimulatedStrategy]:
    """One result per surrogate, acquisition, estimator, metric and budget that exists.

    The answer key is a label file with a row for every item. Same seed, same results, however many
    workers. Raises LabelError for a key with gaps and ChoiceError for choices that make no sense.
    """
    if runs < 2 or batch < 1 or not budgets or min(budgets) < 2:
        raise ChoiceError(
            "a simulation needs 2 runs, batches of 1 and budgets of 2, or more",
            "--runs 200 --budget 100",
        )
    if interval not in INTERVALS:
        raise ChoiceError(
            f"there is no interval {interval!r}", f"choose from {', '.join(INTERVALS)}"
        )
    roles = pool.schema.to_dict() | {"uri": pool.uri}
    surrogates = surrogates or (("residual",) if roles["task"] == "regression" else ("agreement",))
    metrics = metrics or metrics_of(roles)
    strategies = [
        checked(
            {
                "metric": aim or metrics[0],
                "metrics": metrics,
                "surrogate": surrogate,
                "acquisition": acquisition,
            }
            | {"floor": floor, "level": level, "costs": costs}
            | {"interval": ANYTIME if interval == ANYTIME else FIXED},
            roles,
            where="--surrogate, --acquisition, --metric",
        )
        for surrogate, acquisition in product(surrogates, acquisitions)
    ]
    for name in estimators:
        catalog.load("estimators", name)
    plan = Plan(
        tuple(strategies),
        estimators,
        tuple(metrics),
        tuple(sorted(set(budgets))),
        interval,
        batch,
        seed,
    )
    with tempfile.TemporaryDirectory(prefix="activetest-simulate-") as folder:
        made = cache.build(pool, Path(folder) / "cache")
        truth = answers(made, key, strangers=pool.schema.open_classes)
        if plan.budgets[-1] > made.size:
            raise ChoiceError(
                f"a budget of {plan.budgets[-1]} is more than the pool's {made.size} items",
                "ask for less",
            )
        outcomes = _outcomes(made, truth, plan, runs, workers or processors(), progress)
        return list(_results(made, truth, plan, outcomes))


def answers(made: cache.Cache, key: str | Path, *, strangers: bool = False) -> Array:
    """(N,) class code or value of every item, from a label file.

    With strangers, labels may be of classes that the model never predicts. Raises LabelError for an
    item without a label, an id that is not in the pool and a label that makes no sense there.
    """
    rows = [row for row in labels.read(key) if row.status == LABELLED]
    at = made.find([row.id for row in rows])
    if (at < 0).any():
        raise LabelError(
            f"{key}: id {rows[int(np.argmin(at))].id!r} is not in the pool",
            "give this pool's answer key",
        )
    number, truth = labels.numbering(made.classes), np.full(made.size, np.nan)
    for row, place in zip(rows, at, strict=True):
        try:
            truth[place] = number(row.label)
            fits = strangers or not made.classes or truth[place] >= 0
        except ValueError:
            fits = False
        if not fits:
            raise LabelError(
                f"{key}, line {row.line}: {row.label!r} is not a label of this pool", "correct it"
            )
    if np.isnan(truth).any():
        missing = made.ids([int(np.argmax(np.isnan(truth)))])[0]
        raise LabelError(
            f"{key} has no label for {np.isnan(truth).sum()} of {made.size} items, "
            f"id {missing!r} first",
            "a simulation needs the label of every item",
        )
    return truth


def run(made: cache.Cache, truth: Array, plan: Plan, choices: Choices, seed: int) -> dict:
    """{(estimator, metric, budget): (estimate, lower, upper)} of one study.

    It buys its labels from the truth (N,). Estimates that do not exist are left out.
    """
    log, found = Log.empty(), {}
    metrics = _metrics(plan.metrics, made, choices)
    for budget in plan.budgets:
        while len(log.rows) < budget:
            count = min(plan.batch, budget - len(log.rows))
            log = answered(log, rounds.plan(log, made, choices, seed=seed, count=count), truth)
        view = look(log, made, choices, metrics, seed=seed, own_view=OWN_VIEW in plan.estimators)
        for metric in metrics:
            for estimator in plan.estimators:
                try:
                    value = view.value(metric, estimator)
                    interval = view.interval(value, choices.level, plan.interval)
                except NotEstimable:
                    continue
                found[estimator, metric.title, budget] = (
                    value.value,
                    interval.lower,
                    interval.upper,
                )
    return found


def answered(log: Log, drawn: Round, truth: Array) -> Log:
    """The log after a round whose items were all labelled."""
    count = len(drawn.rows)
    return replace(
        log,
        rows=np.append(log.rows, drawn.rows),
        probs=np.append(log.probs, drawn.probs),
        round=np.append(log.round, np.full(count, drawn.number)),
        status=np.append(log.status, np.full(count, LABELLED)),
        labels=np.append(log.labels, truth[drawn.rows]),
        history=(*log.history, drawn),
    )


def _outcomes(made, truth: Array, plan: Plan, runs: int, workers: int, progress) -> dict:
    """{(strategy, estimator, metric, budget): (runs, 3)}: estimate, lower and upper of every run.

    NaN where there was none.
    """
    size = max(1, runs // (workers * _PIECES_PER_WORKER))
    tasks = [
        (strategy, first, min(first + size, runs))
        for first in range(0, runs, size)
        for strategy in range(len(plan.strategies))
    ]
    outcomes: dict = {}
    done = 0
    for (strategy, first, stop), found in zip(
        tasks, _played(made, truth, plan, tasks, workers), strict=True
    ):
        for number, one in enumerate(found, start=first):
            for what, values in one.items():
                table = outcomes.setdefault((strategy, *what), np.full((runs, 3), np.nan))
                table[number] = values
        done += stop - first
        progress(done, runs * len(plan.strategies))
    return outcomes


def _played(made, truth: Array, plan: Plan, tasks: list, workers: int) -> Iterator[list[dict]]:
    """The runs of every task, in order; several workers are processes of their own."""
    if workers == 1:
        _prepare(str(made.folder), truth, plan)
        yield from map(_play, tasks)
        return
    # Spawned, not forked: a fork would inherit locks of threads that are not there.
    context = get_context("spawn")
    processors = context.SimpleQueue()
    for worker in range(workers):
        processors.put(worker)
    scene = (str(made.folder), truth, plan, processors)
    with ProcessPoolExecutor(workers, context, _prepare, scene) as pool:
        yield from pool.map(_play, tasks)


_scene: tuple = ()


def _prepare(folder: str, truth: Array, plan: Plan, processors=None) -> None:
    """Open the cache once per worker; a worker keeps to one processor, and so to one thread."""
    global _scene
    if processors is not None and hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {mine[processors.get() % len(mine)]})
    _scene = (cache.open(Path(folder)), truth, plan)


def _play(task: tuple[int, int, int]) -> list[dict]:
    """The runs of one task; run r of every strategy has the same seed."""
    made, truth, plan = _scene
    strategy, first, stop = task
    return [
        run(made, truth, plan, plan.strategies[strategy], (plan.seed * 1_000_003 + r) % 2**63)
        for r in range(first, stop)
    ]


def _metrics(names: tuple[str, ...], made, choices: Choices) -> list[Metric]:
    facts = specs.facts(made.roles, choices.costs, made)
    return [metric for name in names for metric in specs.metrics(name, facts)]


def _results(made, truth: Array, plan: Plan, outcomes: dict) -> Iterator[SimulatedStrategy]:
    """One result per table of outcomes, from the runs in which the estimate existed."""
    outputs = made.rows(0, made.size).outputs
    if outputs.probs is not None:
        outputs = replace(outputs, probs=outputs.probs.astype(float))
    baselines = {
        metric.title: baseline(
            metric, outputs, truth, plan.budgets, np.random.default_rng([plan.seed, 1])
        )
        for metric in _metrics(plan.metrics, made, plan.strategies[0])
    }
    for (strategy, estimator, title, budget), table in outcomes.items():
        choices, table = plan.strategies[strategy], table[~np.isnan(table[:, 0])]
        yield compared(choices, estimator, title, budget, table, baselines[title])
