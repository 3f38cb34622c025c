"""Simulations: replay strategies on a pool whose labels are all known.

The draws and numbers come from the same code as those of `next` and `report`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product, starmap
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from activetest import catalog
from activetest.cache import auxiliary, cache
from activetest.cache.votes import FurtherModel
from activetest.errors import ChoiceError, NotEstimable, StudyError
from activetest.estimation.beliefs import is_model_based
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.defaults import default_metrics
from activetest.item_statistics.metric import Metric, evaluate
from activetest.nouns.answer_fields import check_columns
from activetest.nouns.arguments import read_count, read_name, read_names, read_path, show
from activetest.nouns.choices import NO_QUESTION, Choices, Interval
from activetest.nouns.log import LABELLED, Log, Round
from activetest.nouns.report import SimulatedStrategy
from activetest.nouns.rows import Array
from activetest.nouns.signature import with_settings
from activetest.nouns.simulated_answer import SimulatedAnswer
from activetest.nouns.study_lists import Model
from activetest.nouns.surrogate import Surrogate
from activetest.pool import convert, frames
from activetest.pool.files import Files
from activetest.pool.groups import PREDICTED
from activetest.pool.pool import Pool
from activetest.pool.roles import lacks_outputs
from activetest.rounds.compared_pool import ComparedPool
from activetest.rounds.crossing import keep_crossed
from activetest.rounds.fit import find_predicted_as, get_surrogates
from activetest.rounds.objectives import find_drawn_classes
from activetest.rounds.weighted import find_counted
from activetest.sampling import plan as rounds
from activetest.sampling.question import find_fact, resolve_question
from activetest.sampling.settings import Settings, complete_task, read_settings
from activetest.simulation.answer_key import read_answer_key
from activetest.simulation.baseline import (
    add_surrogate_ratio,
    compare_with_uniform,
    compute_baseline,
    count_random_labels,
)
from activetest.simulation.design import (
    Plan,
    choices_of_groups,
    has_estimate,
    list_strategies,
    with_replacement,
)
from activetest.simulation.other_models import build_models, join_first
from activetest.simulation.results import Simulation
from activetest.simulation.saved_runs import RunKey, RunNumbers, SavedRuns, describe_simulation
from activetest.simulation.with_replacement import play_study
from activetest.simulation.workers import run_tasks
from activetest.system import atomic, overwrite
from activetest.system.parallel import one_blas_thread, processors
from activetest.system.progress import step

ESTIMATORS = ("doubly-robust", "lure", "ase", "iid", "importance")
# Runs that are played together.
_TOGETHER = 20


@with_settings(simulated=True)
def simulate(
    pool: Any,
    key: Any,
    *,
    budgets: int | Sequence[int] = (50, 100, 200),
    runs: int = 200,
    batch: int = 10,
    seed: int = 0,
    estimators: str | Sequence[str] = ESTIMATORS,
    metrics: str | Sequence[str] = (),
    aim: str | None = None,
    models: Mapping[str, Any] = MappingProxyType({}),
    interval: str = Interval.FIXED,
    save: str | Path | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **settings: Any,
) -> Simulation:
    """Replay ways to draw and estimate on a pool whose labels are all known.

    >>> found = at.simulate("digits.parquet", "digits.labels.csv", budgets=50, runs=4, workers=1,
    ...                     metrics="error", estimators="doubly-robust")
    >>> [(each.acquisition, each.budget) for each in found]
    [('optimal', 50), ('uniform', 50)]

    Strategies are all combinations of the surrogates, acquisitions, selections and powers given.
    Same seed, same results, however many workers and interruptions.

    Args:
        pool: The address of a pool, or a frame.
        key: The label of every item: a label file, a frame with the columns id and label, a mapping
            from id to label, or rows with the keys id and label.
        budgets: Draws after which to estimate. With 0, what the surrogate believes before any
            label, by the estimators that believe it.
        runs: Studies per strategy.
        batch: Labels per round.
        seed: Of every random number.
        estimators: Estimators to use.
        metrics: Metrics to estimate. Default: the usual metrics of the pool; with a question,
            what it is judged by.
        aim: The metric that draws aim at. Default: the first, and for metric-information all
            that `metrics` names.
        models: {name: outputs} of further models, for the question best: files or frames with the
            columns of ids and outputs that the pool has. Of a pool without outputs, the first one
            is the first model.
        interval: "fixed", "anytime" or "posterior".
        save: A file of finished runs: those in it are not repeated, and the others are added.
        columns: {field: column} of a key whose columns have other names, as {"label": "truth"}.
        workers: Processes. Default: one per processor.
        progress: Called with the number of finished runs, and of all.
        **settings: Named below; surrogate, acquisition, selection and power take several values.

    Returns:
        One result per strategy, estimator, metric and budget that exists. Its `answers` are those
        to a question, one per strategy.

    Raises:
        LabelError: The key has gaps, or labels that make no sense.
        ChoiceError: A setting has no meaning, a metric has no value for this pool, nothing is left
            to estimate, or `save` holds another simulation.
        PoolError: The pool or another file cannot be used.
        StorageError: `save` cannot be written, or is a file of a study or one that is read.
        ActivetestError: A worker died.
    """
    given = read_settings(settings, simulated=True)
    budgets = _read_budgets(budgets)
    runs, batch = read_count("runs", runs), read_count("batch", batch)
    seed = _read_seed(seed)
    workers = None if workers is None else read_count("workers", workers)
    save = None if save is None else read_path("save", save)
    estimators = read_names("estimators", estimators) or ESTIMATORS
    metrics, columns = read_names("metrics", metrics), check_columns(columns)
    models = _read_models(models, given.choices.get("question"))
    aim = None if aim is None else read_name("aim", aim)
    if not callable(progress):
        raise ChoiceError(f"progress is {show(progress)}", "it must be a function")
    if save is not None:
        inputs = {"the pool": pool, "the answer key": key, **given.files, "costs": given.costs}
        # The file's contents are looked at when it is opened.
        overwrite.check_target(save, lambda path: None, inputs=inputs)
    _check_numbers(budgets, runs, batch, workers)
    if read_name("interval", interval) == Interval.SEQUENTIAL:
        raise ChoiceError(
            "sequential gates are decided in studies, and a simulation has no gates",
            '`interval="fixed"` gives the intervals beside them',
        )
    if interval not in tuple(Interval):
        raise ChoiceError(
            f"there is no interval {interval!r}", catalog.nearest(interval, tuple(Interval))
        )
    for name in estimators:
        catalog.split_options("estimators", name)
    if not isinstance(pool, Pool):
        given = replace(given, columns=complete_task(given.columns, metrics))
    # Before the pool is opened: what is wrong with choices alone is known at once.
    of_groups = choices_of_groups(given, grouped="groups" in given.columns)
    grouped = bool(of_groups and find_fact(of_groups["question"], "GROUPED"))
    with _opened(pool, given, models, grouped=grouped) as (opened, first):
        roles = opened.schema.to_dict()
        # The usual metrics are there to be compared, and nobody asked for draws for all of them.
        further = metrics[1:] if aim is None else ()
        metrics = metrics or _find_usual_metrics(roles, of_groups.get("question"))
        plan = Plan(
            list_strategies(
                given, of_groups, opened, metrics, aim=aim, further=further, interval=interval
            ),
            tuple(estimators),
            metrics,
            tuple(sorted(set(budgets))),
            interval,
            batch,
            seed,
            first=first,
        )
        with one_blas_thread(), atomic.temporary_folder() as folder, ExitStack() as caches:
            built = cache.build_cache(opened, folder / "cache")
            caches.callback(built.close)
            truth = read_answer_key(
                built, key, unmatched=opened.schema.open_classes, columns=columns
            )
            _check_size(plan, built, find_counted(built))
            fitting = tuple(resolve_question(each, built, given.texts) for each in plan.strategies)
            plan = replace(plan, strategies=fitting)
            added = build_models(built, opened, models, folder, first)
            pairs = {first: (built, opened), **added}
            others = {
                name: _attach(pair, plan, given, caches, _list_further_models(name, pairs))
                for name, pair in pairs.items()
            }
            built = others.pop(first)
            plan = replace(plan, models=tuple((k, each.fingerprint) for k, each in others.items()))
            tasks = list(product(range(len(plan.strategies)), range(runs)))
            # Every strategy's first run comes before any second one.
            tasks.sort(key=lambda task: task[::-1])
            outcomes = _outcomes(
                built, others, truth, plan, tasks, save, workers or processors(), progress
            )
            results = _collect_results(built, truth, plan, outcomes)
    if not (results or results.answers):
        raise ChoiceError(
            f"no estimate by {', '.join(estimators)} exists for any of these draws",
            '`estimators=["ase"]` for top scores, "importance" for draws with replacement, "lure" '
            "of the metric they aim at for draws by true losses without a floor",
        )
    return results


def _find_usual_metrics(roles: Mapping[str, Any], question: str | None) -> tuple[str, ...]:
    """The metrics of a simulation that names none: with a question, what it is judged by alone."""
    usual = default_metrics(roles["task"], roles["kind"], roles["classes"])
    if question is None:
        return usual
    return ("accuracy",) if roles["classes"] else usual[:1]


def _read_budgets(budgets: Any) -> tuple[int, ...]:
    """One number of draws or several."""
    single = isinstance(budgets, str) or not isinstance(budgets, Iterable)
    return tuple(read_count("budgets", each) for each in ((budgets,) if single else budgets))


def _check_size(plan: Plan, built: cache.Cache, counted: Array | None) -> None:
    """Raises ChoiceError for more draws than items; counted (N,) are those of a weight above 0."""
    items = built.size if counted is None else int(np.count_nonzero(counted))
    if plan.budgets[-1] > items:
        which = "items" if counted is None else "items of a weight above 0"
        raise ChoiceError(
            f"a budget of {plan.budgets[-1]} is more than the pool's {items} {which}",
            "ask for less",
        )


def _attach(
    known: tuple[cache.Cache, Pool],
    plan: Plan,
    given: Settings,
    caches: ExitStack,
    further: Sequence[FurtherModel],
) -> cache.Cache:
    """The cache of a pool with what the strategies' surrogates need, which caches closes."""
    found = auxiliary.attach_auxiliary(
        *known,
        {each.surrogate for each in plan.strategies},
        train=given.files["train"],
        other_models=given.files["other_models"],
        further=further,
    )
    caches.callback(found.close)
    return found


def _list_further_models(
    name: str, pairs: Mapping[str, tuple[cache.Cache, Pool]]
) -> list[FurtherModel]:
    """The other models, each with a vote in all rounds."""
    others = (each for model, (each, _) in pairs.items() if model != name)
    return [FurtherModel(each.fingerprint, 0, partial(_open_again, each)) for each in others]


def _open_again(built: cache.Cache) -> cache.Cache:
    """The cache itself."""
    return built


def _read_models(given: Any, question: str | None) -> dict[str, Any]:
    """The further models. Raises ChoiceError where the question is about several, or not."""
    if not isinstance(given, Mapping):
        raise ChoiceError("`models` is no mapping", "give names and outputs: {'v2': 'v2.parquet'}")
    several = question not in (None, NO_QUESTION) and find_fact(question, "OF_MODELS")
    if given and not several:
        raise ChoiceError("`models` are compared by the question best", "`question='best'`")
    if several and not given:
        raise ChoiceError(
            f"the question {question} is about several models, and there is one",
            "name the others with `models`",
        )
    return dict(given)


def _read_seed(value: Any) -> int:
    """A whole number that is not negative. Raises ChoiceError for anything else."""
    seed = read_count("seed", value)
    if seed < 0:
        raise ChoiceError(f"`seed={seed}` is negative", "it must be 0 or more")
    return seed


def _check_numbers(budgets: Sequence[int], runs: int, batch: int, workers: int | None) -> None:
    if runs < 2 or batch < 1 or not budgets or any(each < 0 or each == 1 for each in budgets):
        raise ChoiceError(
            "a simulation needs 2 runs, batches of 1 and budgets of 2, or more; a budget of 0 "
            "shows what a surrogate says before any label",
            "`runs=200, budgets=[100]`",
        )
    if workers is not None and workers < 1:
        raise ChoiceError(f"{workers} workers cannot work", "`workers=1`")


@contextmanager
def _opened(
    pool: Any, given: Settings, models: dict[str, Any], *, grouped: bool
) -> Iterator[tuple[Pool, str]]:
    """The open pool, and the name of its first model.

    It is grouped by the predicted classes where it has to be and no group is named. Where the pool
    has no outputs, they are those of the first of the models, which is taken from the others.
    """
    if isinstance(pool, Pool):
        if given.columns:
            name = min(given.columns)
            raise ChoiceError(f"{name} was given for a pool that is open already", "leave it out")
        yield pool, Model.name
        return
    columns = ({"groups": (PREDICTED,)} if grouped else {}) | given.columns

    def read(path: str | Path, folder: Path, name: str | None = None) -> tuple[Pool, str]:
        files = Files(str(path))
        if not models or not lacks_outputs(files.schema, columns):
            return Pool.open(path, **columns, name=name), Model.name
        first = next(iter(models))
        joined = join_first(files, models.pop(first), columns, folder)
        return Pool.open(path, **columns, name=name, joined=joined), first

    with atomic.temporary_folder() as folder:
        if not isinstance(pool, str | PathLike):
            frames.save_frame(pool, folder / "pool.parquet")
            opened, first = read(folder / "pool.parquet", folder, "the frame")
            if opened.schema.id is None:
                frames.check_row_numbers(pool)
            yield opened, first
            return
        id, judge = given.columns.get("id"), given.columns.get("judge")
        with convert.open_as_parquet(str(pool), id=id, judge=judge) as path:
            yield read(path, folder)


def run(built: cache.Cache, truth: Array, plan: Plan, choices: Choices, seed: int) -> RunNumbers:
    """{(estimator, metric, budget): (estimate, lower, upper, labels)} of one study.

    For the KEY of a question in place of an estimator, the numbers are those that its answer is
    measured by. It buys its labels from the truth (N,). Estimates that do not exist are left out.
    """
    return run_together(built, truth, plan, choices, [seed])[0]


def run_together(
    built: cache.Cache, truth: Array, plan: Plan, choices: Choices, seeds: Sequence[int]
) -> list[RunNumbers]:
    """Results of run for each seed: the studies advance side by side, a round at a time.

    So the surrogates of a round can be fitted together.
    """
    metrics = _metrics(plan.metrics, built, choices)
    if with_replacement(choices.acquisition):
        return [dict(play_study(built, truth, plan, choices, metrics, seed)) for seed in seeds]
    if catalog.fact("acquisition", choices.acquisition, "SELECTS_MODELS"):
        method = _load_simulated(choices)
        return [
            dict(
                method.play(
                    built, truth, choices, budgets=plan.budgets, batch=plan.batch, seed=seed
                )
            )
            for seed in seeds
        ]
    studies = [_Study(seed) for seed in seeds]
    # Of items that matter there may be fewer than labels to spend.
    drawable = int(find_predicted_as(built, find_drawn_classes(choices, built.roles, built)).sum())
    for budget in plan.budgets:
        while going := [each for each in studies if len(each.log.rows) < min(budget, drawable)]:
            for study in _with_surrogates(going, built, choices):
                count = min(plan.batch, min(budget, drawable) - len(study.log.rows))
                study.draw(built, truth, choices, count)
            if _answers_every_round(choices):
                for study in _with_surrogates(going, built, choices):
                    study.answer(built, truth, choices)
        for study in _with_surrogates(studies, built, choices):
            study.look(built, truth, plan, choices, metrics, budget)
    return [each.found for each in studies]


@dataclass
class _Study:
    """A study that is played.

    seed       of its random numbers
    log        what was drawn, and its labels
    surrogate  the one that knows all of them, once it is fitted
    found      as in run
    """

    seed: int
    log: Log = field(default_factory=Log.empty)
    surrogate: Surrogate | None = None
    found: RunNumbers = field(default_factory=dict)

    def draw(self, built: cache.Cache, truth: Array, choices: Choices, count: int) -> None:
        """Play a round of so many draws at most."""
        drawn = rounds.plan_round(
            self.log,
            built,
            choices,
            seed=self.seed,
            count=count,
            surrogate=self.surrogate,
            key=truth,
        )
        self.log, self.surrogate = answered(self.log, drawn, truth), None

    def answer(self, built: cache.Cache, truth: Array, choices: Choices) -> None:
        """Add how good the answer to the study's question is now to what was found."""
        method = _load_simulated(choices)
        self.found[method.KEY, method.name_answer(choices), len(self.log.rows)] = method.measure(
            self.log, built, choices, truth, seed=self.seed, surrogate=self.surrogate
        )

    def look(
        self,
        built: cache.Cache,
        truth: Array,
        plan: Plan,
        choices: Choices,
        metrics: Sequence[Metric],
        budget: int,
    ) -> None:
        """Add the estimates of the metrics after this budget to what was found."""
        facts = specification.describe_pool(built.roles, choices.costs, built)
        aim = specification.find_metric(choices.metric, facts)
        own_view = any(map(is_model_based, plan.estimators))
        view = build_view(
            self.log,
            built,
            choices,
            metrics,
            seed=self.seed,
            own_view=own_view,
            surrogate=self.surrogate,
        )
        self.log = keep_crossed(self.log, view.evidence.log)
        for metric in metrics:
            for estimator in plan.estimators:
                if not has_estimate(choices, estimator, metric, aim):
                    continue
                try:
                    value = view.value(metric, estimator)
                    interval = view.interval(value, choices.level, plan.interval)
                except NotEstimable:
                    continue
                numbers = value.value, *interval.find_ends(), float(len(self.log.rows))
                paid = count_random_labels(built, self.log.rows)
                self.found[estimator, metric.title, budget] = numbers + paid
        if choices.question and not _answers_every_round(choices):
            self.answer(built, truth, choices)


def _with_surrogates(
    studies: list[_Study], built: cache.Cache, choices: Choices
) -> Iterator[_Study]:
    """The studies, each with the surrogate that knows all its labels.

    A look and the round after it know the same labels: one fit serves both.
    """
    without = [each for each in studies if each.surrogate is None]
    if without:
        logs, seeds = [each.log for each in without], [each.seed for each in without]
        for study, surrogate in zip(
            without, get_surrogates(logs, built, choices, seeds=seeds), strict=True
        ):
            study.surrogate = surrogate
    yield from studies


def answered(log: Log, drawn: Round, truth: Array) -> Log:
    """The log after a round whose items were all labelled."""
    count = len(drawn.rows)
    return replace(
        log,
        rows=np.concatenate([log.rows, drawn.rows]),
        q=np.concatenate([log.q, drawn.q]),
        round=np.concatenate([log.round, np.full(count, drawn.number)]),
        status=np.concatenate([log.status, np.full(count, LABELLED)]),
        labels=np.concatenate([log.labels, truth[drawn.rows]]),
        history=(*log.history, drawn),
    )


def _outcomes(
    built: cache.Cache,
    others: Mapping[str, cache.Cache],
    truth: Array,
    plan: Plan,
    tasks: list[RunKey],
    save: str | Path | None,
    workers: int,
    progress: Callable[[int, int], None],
) -> dict[RunKey, RunNumbers]:
    """Results of every run; those that a file holds already are not repeated.

    Raises ChoiceError where there is nothing to compare what they would find with.
    """
    _find_defined(built, truth, plan)
    saved = SavedRuns(save, describe_simulation(plan, built, truth)) if save else None
    done = {task: saved.runs[task] for task in tasks if task in saved.runs} if saved else {}
    caches = [(name, each.folder.absolute(), each.parts) for name, each in others.items()]
    scene = (built.folder.absolute(), built.parts, truth, plan, caches)
    left = [block for block in _list_blocks(plan, tasks) if any(each not in done for each in block)]
    progress(len(done), len(tasks))
    counted = step("simulating", len(tasks), unit="runs", done=len(done))
    outcomes = run_tasks(_prepare, scene, _play, left, min(workers, len(left) or 1))
    with saved or nullcontext(), counted as runs, closing(outcomes):
        for task, found in chain.from_iterable(starmap(zip, outcomes)):
            # A block is played whole, whatever of it a file holds: rounding follows from a block.
            if task in done:
                continue
            done[task] = found
            if saved:
                saved.add(task, found)
            runs.advance()
            progress(len(done), len(tasks))
    return done


def _list_blocks(plan: Plan, tasks: Sequence[RunKey]) -> list[tuple[RunKey, ...]]:
    """The tasks in blocks that are played together, in their order.

    They are runs of one strategy whose surrogates can be fitted together; else each is alone.
    """
    blocks: dict[tuple[int, int], list[RunKey]] = {}
    together = [
        hasattr(catalog.load("surrogates", catalog.bare_name(each.surrogate)), "fit_together")
        for each in plan.strategies
    ]
    for strategy, number in tasks:
        place = number // _TOGETHER if together[strategy] else number
        blocks.setdefault((strategy, place), []).append((strategy, number))
    return list(map(tuple, blocks.values()))


def _prepare(
    folder: Path,
    parts: tuple[str, ...],
    truth: Array,
    plan: Plan,
    others: Sequence[tuple[str, Path, tuple[str, ...]]],
) -> tuple:
    """Data for every run of a worker: a cache is opened once, and one of each further model.

    Raises StudyError where the worker does not see it.
    """
    built = _open_cache(folder, parts)
    pools = {name: _open_cache(place, kept) for name, place, kept in others}
    joined = ComparedPool(plan.first, built, pools, Log.empty()) if pools else built
    return joined, truth, plan


def _open_cache(folder: Path, parts: tuple[str, ...]) -> cache.Cache:
    built = cache.open_cache(folder, parts)
    if built is None:
        raise StudyError(
            f"a worker cannot read the cache {folder}",
            "set TMPDIR to a folder that every worker sees under this path",
        )
    return built


def _play(scene: tuple, block: Sequence[RunKey]) -> list[RunNumbers]:
    built, truth, plan = scene
    seeds = [plan.seed_of(number) for _, number in block]
    return run_together(built, truth, plan, plan.strategies[block[0][0]], seeds)


def _metrics(names: tuple[str, ...], built: cache.Cache, choices: Choices) -> list[Metric]:
    facts = specification.describe_pool(built.roles, choices.costs, built)
    return [metric for name in names for metric in specification.find_metrics(name, facts)]


def _find_defined(built: cache.Cache, truth: Array, plan: Plan) -> list[Metric]:
    """The metrics that have a value where all labels are known: there is a truth to compare with.

    Raises ChoiceError where none has.
    """
    outputs, weights = built.rows(0, built.size).outputs.in_double, built.rows(0, built.size).weight
    found = [
        each
        for each in _metrics(plan.metrics, built, plan.strategies[0])
        if np.isfinite(evaluate(each, outputs, truth, weights))
    ]
    if not found:
        raise ChoiceError(
            f"{', '.join(plan.metrics)} has no value for this pool, even with all of its labels: "
            "none of the items that it is about is there",
            "`metrics` names others, for example error",
        )
    return found


def _results(
    built: cache.Cache, truth: Array, plan: Plan, outcomes: dict
) -> Iterator[SimulatedStrategy]:
    """One result per strategy, budget, metric and estimator, from the runs in which it existed."""
    rows = built.rows(0, built.size)
    outputs = built.rows(0, built.size).outputs.in_double
    baselines = {
        metric.title: compute_baseline(
            metric,
            outputs,
            truth,
            plan.budgets,
            np.random.default_rng([plan.seed, 1]),
            rows.weight,
        )
        for metric in _find_defined(built, truth, plan)
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
            yield compare_with_uniform(
                choices, estimator, title, budget, np.array(table), baselines[title]
            )


def _collect_results(
    built: cache.Cache, truth: Array, plan: Plan, outcomes: dict[RunKey, RunNumbers]
) -> Simulation:
    """The results of all runs; what was asked about comes first."""
    of_question, answers = _summarise_question(plan, outcomes)
    return Simulation(
        add_surrogate_ratio([*of_question, *_results(built, truth, plan, outcomes)]),
        tuple(answers),
    )


def _summarise_question(
    plan: Plan, outcomes: dict[RunKey, RunNumbers]
) -> tuple[list[SimulatedStrategy], list[SimulatedAnswer]]:
    """Results and answers about the question, which come first; none without one."""
    if not plan.strategies[0].question:
        return [], []
    method = _load_simulated(plan.strategies[0])
    tables: dict[tuple[int, int], list[tuple[float, ...]]] = {}
    for (strategy, _), found in sorted(outcomes.items()):
        for (estimator, _, labels), numbers in found.items():
            if estimator == method.KEY:
                tables.setdefault((strategy, labels), []).append(numbers)
    results, answers = method.summarise_runs(plan.strategies, plan.budgets, tables)
    return results, answers


def _load_simulated(choices: Choices) -> Any:
    """Module that measures and sums up answers to the study's question, of the family `simulated`.

    It has a KEY, which stands in the place of an estimator, name_answer(choices), measure(log, ...)
    and summarise_runs(strategies, budgets, tables); EVERY_ROUND where it looks at every round.
    """
    return catalog.load("simulated", find_fact(choices.question, "FINDING"))


def _answers_every_round(choices: Choices) -> bool:
    """Whether the answer to the study's question is looked at after every round."""
    finding = find_fact(choices.question, "FINDING")
    return bool(finding and catalog.fact("simulated", finding, "EVERY_ROUND"))
