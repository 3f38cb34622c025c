"""activetest simulate: replay strategies on a pool whose labels are all known.

The draws and numbers come from the same code as those of `next` and `report`.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from activetest import catalog
from activetest.cache import auxiliary, cache
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.view import ANYTIME, FIXED, INTERVALS, OWN_VIEW, look
from activetest.item_statistics import specification
from activetest.item_statistics.defaults import default_metrics
from activetest.item_statistics.metric import Metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, Log, Round
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array
from activetest.parallel import processors
from activetest.pool.pool import Pool
from activetest.rounds.fit import surrogate_of
from activetest.sampling import plan as rounds
from activetest.sampling.between_groups import fitted
from activetest.simulation.answer_key import answers
from activetest.simulation.baseline import baseline, compared
from activetest.simulation.design import DRAW, Asked, Plan, strategies, with_replacement
from activetest.simulation.saved_runs import Found, SavedRuns, Task, header
from activetest.simulation.with_replacement import played
from activetest.simulation.workers import finished

ESTIMATORS = ("doubly-robust", "lure", "ase", "iid", "importance")
ACQUISITIONS = ("optimal", "uniform")


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
    selections: tuple[str, ...] = (DRAW,),
    powers: tuple[float, ...] = (1.0,),
    refit: str = Choices.refit,
    estimators: tuple[str, ...] = ESTIMATORS,
    metrics: tuple[str, ...] = (),
    aim: str | None = None,
    interval: str = FIXED,
    costs=None,
    floor: float | None = None,
    level: float = Choices.level,
    asked: Asked | None = None,
    train: str | None = None,
    others: str | None = None,
    save: str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[SimulatedStrategy]:
    """One result per strategy, estimator, metric and budget that exists.

    key     a label file with a row for every item
    train   a file of labelled rows from elsewhere, others one of other models' outputs: see
            supplements
    asked   what is asked of the pool's groups; for acquisitions that choose between them
    save    a file of finished runs: those in it are not made again, and the others are added

    Strategies are all pairs of surrogates, acquisitions, selections and powers. Same seed, same
    results, however many workers and interruptions. Raises LabelError for a key with gaps,
    ChoiceError for choices that make no sense or leave nothing to estimate and for a file that
    holds another simulation, and ActivetestError when a worker dies.
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
    if workers is not None and workers < 1:
        raise ChoiceError(f"{workers} workers cannot work", "--workers 1")
    roles = pool.schema.to_dict() | {"uri": pool.uri}
    metrics = metrics or default_metrics(roles["task"], roles["kind"])
    common = {"metric": aim or metrics[0], "metrics": metrics, "refit": refit, "costs": costs}
    common |= {"level": level} | ({} if floor is None else {"floor": floor})
    common |= {"groups": pool.schema.groups} | (asked.choices() if asked else {})
    common |= {"interval": ANYTIME if interval == ANYTIME else FIXED}
    for name in estimators:
        catalog.load("estimators", name)
    plan = Plan(
        strategies(
            common,
            roles,
            surrogates=surrogates or (_usual(roles),),
            acquisitions=acquisitions,
            selections=selections,
            powers=powers,
        ),
        estimators,
        tuple(metrics),
        tuple(sorted(set(budgets))),
        interval,
        batch,
        seed,
    )
    with tempfile.TemporaryDirectory(prefix="activetest-simulate-") as folder:
        made = cache.build(pool, Path(folder) / "cache")
        truth = answers(made, key, unmatched=pool.schema.open_classes)
        if plan.budgets[-1] > made.size:
            raise ChoiceError(
                f"a budget of {plan.budgets[-1]} is more than the pool's {made.size} items",
                "ask for less",
            )
        compare = asked.compare if asked else None
        meant = tuple(fitted(each, made, compare) for each in plan.strategies)
        plan = replace(plan, strategies=meant)
        names = {each.surrogate for each in plan.strategies}
        made = auxiliary.attach_auxiliary(made, pool, names, train=train, surrogates=others)
        tasks = list(product(range(len(plan.strategies)), range(runs)))
        # Every strategy's first run comes before any second one.
        tasks.sort(key=lambda task: task[::-1])
        outcomes = _outcomes(made, truth, plan, tasks, save, workers or processors(), progress)
        results = list(_results(made, truth, plan, outcomes))
    if not results:
        raise ChoiceError(
            f"no estimate by {', '.join(estimators)} exists for any of these draws",
            "top scores have ase alone, and draws with replacement importance: --estimator ase",
        )
    return results


def _usual(roles: dict) -> str:
    return "residual" if roles["task"] == "regression" else "agreement"


def run(made: cache.Cache, truth: Array, plan: Plan, choices: Choices, seed: int) -> Found:
    """{(estimator, metric, budget): (estimate, lower, upper, labels)} of one study.

    It buys its labels from the truth (N,). Estimates that do not exist are left out.
    """
    metrics = _metrics(plan.metrics, made, choices)
    if with_replacement(choices.acquisition):
        return dict(played(made, truth, plan, choices, metrics, seed))
    log, found, surrogate = Log.empty(), {}, None
    for budget in plan.budgets:
        while len(log.rows) < budget:
            count = min(plan.batch, budget - len(log.rows))
            drawn = rounds.plan(log, made, choices, seed=seed, count=count, surrogate=surrogate)
            log, surrogate = answered(log, drawn, truth), None
        # The look and the round after it know the same labels: one fit serves both.
        surrogate = surrogate_of(log, made, choices, seed=seed)
        own_view = OWN_VIEW in plan.estimators
        view = look(log, made, choices, metrics, seed=seed, own_view=own_view, surrogate=surrogate)
        for metric in metrics:
            for estimator in plan.estimators:
                try:
                    value = view.value(metric, estimator)
                    interval = view.interval(value, choices.level, plan.interval)
                except NotEstimable:
                    continue
                numbers = value.value, interval.lower, interval.upper, float(budget)
                found[estimator, metric.title, budget] = numbers
    return found


def answered(log: Log, drawn: Round, truth: Array) -> Log:
    """The log after a round whose items were all labelled."""
    count = len(drawn.rows)
    return replace(
        log,
        rows=np.append(log.rows, drawn.rows),
        prob=np.append(log.prob, drawn.prob),
        round=np.append(log.round, np.full(count, drawn.number)),
        status=np.append(log.status, np.full(count, LABELLED)),
        labels=np.append(log.labels, truth[drawn.rows]),
        history=(*log.history, drawn),
    )


def _outcomes(
    made, truth: Array, plan: Plan, tasks: list[Task], save, workers: int, progress
) -> dict[Task, Found]:
    """What every run found; those that a file holds already are not made again."""
    saved = SavedRuns(save, header(plan, made, truth)) if save else None
    done = {task: saved.runs[task] for task in tasks if task in saved.runs} if saved else {}
    scene = (str(made.folder), made.parts, truth, plan)
    left = [task for task in tasks if task not in done]
    progress(len(done), len(tasks))
    with saved or nullcontext():
        for task, found in finished(_prepare, scene, _play, left, min(workers, len(left) or 1)):
            done[task] = found
            if saved:
                saved.add(task, found)
            progress(len(done), len(tasks))
    return done


def _prepare(folder: str, parts: tuple[str, ...], truth: Array, plan: Plan) -> tuple:
    """What every run of a worker needs: a cache is opened once."""
    return cache.open(Path(folder), parts), truth, plan


def _play(scene: tuple, task: Task) -> Found:
    made, truth, plan = scene
    strategy, number = task
    return run(made, truth, plan, plan.strategies[strategy], plan.seed_of(number))


def _metrics(names: tuple[str, ...], made, choices: Choices) -> list[Metric]:
    facts = specification.facts(made.roles, choices.costs, made)
    return [metric for name in names for metric in specification.metrics(name, facts)]


def _results(made, truth: Array, plan: Plan, outcomes: dict) -> Iterator[SimulatedStrategy]:
    """One result per strategy, budget, metric and estimator, from the runs in which it existed."""
    outputs = made.rows(0, made.size).outputs
    if outputs.probs is not None:
        outputs = replace(outputs, probs=outputs.probs.astype(float))
    baselines = {
        metric.title: baseline(
            metric, outputs, truth, plan.budgets, np.random.default_rng([plan.seed, 1])
        )
        for metric in _metrics(plan.metrics, made, plan.strategies[0])
    }
    tables: dict = {}
    for (strategy, _), found in sorted(outcomes.items()):
        for what, numbers in found.items():
            tables.setdefault((strategy, *what), []).append(numbers)
    for strategy, budget, title, estimator in product(
        range(len(plan.strategies)), plan.budgets, baselines, plan.estimators
    ):
        # Of one run alone nothing can be said.
        if len(table := tables.get((strategy, estimator, title, budget), ())) > 1:
            choices = plan.strategies[strategy]
            yield compared(choices, estimator, title, budget, np.array(table), baselines[title])
