"""A population that grows by a part every week: coverage in every part, in the newest and in all.

Ten weeks of items of our own making, whose error rises in week seven while the model stays as sure
of itself as before; or, with a folder of pools, each of them cut into ten parts as it stands. Every
week some labels are bought once its part has come, wherever draws lack most of their share.
"""

import concurrent.futures
import csv
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WEEKS, SIZE, CHANGE = 10, 2000, 7


def write_weeks(folder: Path, before: float, after: float) -> np.ndarray:
    """Write the pool, two classes with probabilities; (N,) whether the model is wrong."""
    rng = np.random.default_rng(7)
    count = WEEKS * SIZE
    doubt = rng.beta(0.5, 4.0, count)
    rate = np.where(np.arange(count) < (CHANGE - 1) * SIZE, before, after)
    wrong = rng.random(count) < np.minimum(rate * doubt / doubt.mean(), 1.0)
    pred, sure = rng.integers(0, 2, count), 1 - doubt / 2
    prob = np.where(pred == 1, sure, 1 - sure)
    table = {"id": [f"i{row}" for row in range(count)], "prob_no": 1 - prob, "prob_yes": prob}
    pq.write_table(pa.table(table), folder / "pool.parquet")
    return wrong


@dataclass
class Population:
    """A pool cut into parts, and the labels of its items."""

    cache: Any
    truth: np.ndarray
    wrong: np.ndarray


_built: dict[tuple, Population] = {}


def build(before: float, after: float) -> Population:
    """The weeks as one population; a process builds them once."""
    from activetest.cache.cache import build_cache
    from activetest.pool.pool import Pool

    if (before, after) not in _built:
        folder = Path(tempfile.mkdtemp())
        wrong = write_weeks(folder, before, after)
        cache = build_cache(Pool.open(str(folder / "pool.parquet")), folder / "cache")
        pred = cache.rows(0, cache.size).outputs.pred
        _built[before, after] = Population(cache, np.where(wrong, 1.0 - pred, pred), wrong)
    return cut(_built[before, after])


def open_pool(path: str) -> Population:
    """A pool with an answer key, cut into ten parts as it stands."""
    from activetest.cache.cache import build_cache
    from activetest.pool.pool import Pool

    if (path,) not in _built:
        place = Path(tempfile.mkdtemp())
        pool = Pool.open(path)
        cache = build_cache(pool, place / "cache")
        truth = read_labels(Path(path).with_suffix(".labels.csv"), cache)
        _built[path,] = Population(cache, truth, truth != cache.rows(0, cache.size).outputs.pred)
    return cut(_built[path,])


def read_labels(path: Path, cache: Any) -> np.ndarray:
    """(N,) codes of the labels in an answer key."""
    with open(path, newline="", encoding="utf-8") as lines:
        key = {row["id"]: row["label"] for row in csv.DictReader(lines)}
    codes = {name: code for code, name in enumerate(cache.classes)}
    return np.array([codes[key[id]] for id in cache.ids(np.arange(cache.size))], float)


def cut(found: Population) -> Population:
    """The population in ten parts of the same size."""
    ends = np.linspace(0, found.cache.size, WEEKS + 1).astype(int)[1:]
    found.cache.part_ends = tuple(ends.tolist())
    found.cache.part_names = tuple(f"week{week}" for week in range(1, WEEKS + 1))
    return found


def play(open_: Any, labels: int, acquisition: str, seed: int) -> np.ndarray:
    """(WEEKS + 2, 3) estimate and interval of each part, of all, and of the newest afresh."""
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.reporting.rows import HEADLINE, estimate_row
    from activetest.rounds.part_pool import PartPool
    from activetest.sampling.part_rounds import plan_rounds
    from activetest.sampling.plan import plan_round
    from activetest.simulation.simulate import answered

    population = open_()
    cache, truth, log = population.cache, population.truth, Log.empty()
    choices = Choices("error", ("error",), "agreement", acquisition)
    for week in range(1, WEEKS + 1):
        parts = range(1, week + 1)
        for each in plan_rounds(log, cache, choices, seed=seed, count=labels, among=parts):
            log = answered(log, each, truth)
    facts = specification.describe_pool(cache.roles, None, cache)
    metric = specification.find_metric("error", facts)
    view = build_view(log, cache, choices, [metric], seed=seed, own_view=False)
    rows = [estimate_row(each, metric, HEADLINE, level=0.95) for each in (*view.parts, view)]
    # A study of the newest part alone, with as many labels as it has here.
    newest, bought = PartPool(cache, WEEKS), len(view.parts[-1].log.rows)
    alone = Log.empty()
    drawn = plan_round(alone, newest, choices, seed=seed, count=bought)
    places = newest.find_positions(np.arange(newest.size))
    alone = answered(alone, drawn, truth[places])
    fresh = build_view(alone, newest, choices, [metric], seed=seed, own_view=False)
    rows.append(estimate_row(fresh, metric, HEADLINE, level=0.95))
    return np.array([[each.estimate, each.lower, each.upper] for each in rows])


def watch(open_: Any, labels: int, acquisition: str, seed: int) -> list[float]:
    """The e-value against no change after each week from the second on."""
    from activetest.estimation.changes import measure_constancy
    from activetest.estimation.view import build_view
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.sampling.part_rounds import plan_rounds
    from activetest.simulation.simulate import answered

    population = open_()
    cache, truth, log = population.cache, population.truth, Log.empty()
    choices, found = Choices("error", ("error",), "agreement", acquisition), []
    facts = specification.describe_pool(cache.roles, None, cache)
    metric = specification.find_metric("error", facts)
    for week in range(1, WEEKS + 1):
        parts = range(1, week + 1)
        for each in plan_rounds(log, cache, choices, seed=seed, count=labels, among=parts):
            log = answered(log, each, truth)
        if week > 1:
            view = build_view(log, cache, choices, [metric], seed=seed, own_view=False)
            found.append(measure_constancy(view.parts[:week], metric))
    return found


def list_alarms(runs: np.ndarray) -> tuple[str, ...]:
    """Share of studies (runs, WEEKS - 1) with an alarm before the change, and weeks after it."""
    alarms = np.maximum.accumulate(runs, axis=1) >= 1 / 0.05
    before = alarms[:, CHANGE - 3].mean()
    weeks = [alarms[:, week - 2].mean() for week in range(CHANGE, WEEKS + 1)]
    return (f"{before:.3f}", *(f"{each:.3f}" for each in weeks))


def describe(found: np.ndarray, truth: float) -> tuple[str, ...]:
    """Truth, mean estimate, root mean squared error, coverage and half-width of a row's runs."""
    estimate, lower, upper = found.T
    error = float(np.sqrt(((estimate - truth) ** 2).mean()))
    covered = float(((lower <= truth) & (truth <= upper)).mean())
    half = float((upper - lower).mean() / 2)
    numbers = truth, float(estimate.mean()), error
    return (*(f"{each:.4f}" for each in numbers), f"{covered:.3f}", f"{half:.4f}")


def main() -> None:
    """Play all studies and print a row for each part of each population."""
    folder = ("folder", {"type": Path, "nargs": "?"})
    options = benchmark.read_options(
        __doc__,
        folder,
        runs=1000,
        workers=2,
        labels=60,
        pools="cifar10",
        acquisitions="optimal",
        changes=False,
    )
    if options.changes:
        return find_changes(options)
    table = benchmark.Table(
        options, "population | draws | part | truth | mean | RMSE | coverage | half-width"
    )
    ways: dict[str, Any] = {
        f"{before:g} % to {after:g} %": partial(build, before / 100, after / 100)
        for before, after in ((2.0, 6.0), (10.0, 14.0))
    }
    if options.folder:
        found = benchmark.find_pools(options.folder, options.pools)
        ways = {path.stem: partial(open_pool, str(path)) for path in found}
    with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        for name, open_ in ways.items():
            population = open_()
            ends = [0, *population.cache.part_ends]
            truths = [float(population.wrong[a:b].mean()) for a, b in pairwise(ends)]
            truths += [float(population.wrong.mean()), truths[-1]]
            for acquisition in options.acquisitions.split(","):
                job = partial(play, open_, options.labels, acquisition)
                runs = np.array(list(workers.map(job, range(options.runs), chunksize=4)))
                names = [*population.cache.part_names, "all", f"week{WEEKS} in a study of its own"]
                for place, (part, truth) in enumerate(zip(names, truths, strict=True)):
                    table.add(name, acquisition, part, *describe(runs[:, place], truth))


def find_changes(options: Any) -> None:
    """Look at every study each week, and print how many say that there is a change."""
    weeks = " | ".join(f"week {week}" for week in range(CHANGE, WEEKS + 1))
    table = benchmark.Table(options, f"error | labels a week | before | {weeks}")
    with concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        for before, after in ((5.0, 5.0), (2.0, 6.0), (10.0, 14.0), (5.0, 20.0)):
            open_ = partial(build, before / 100, after / 100)
            job = partial(watch, open_, options.labels, options.acquisitions)
            runs = np.array(list(workers.map(job, range(options.runs), chunksize=4)))
            table.add(f"{before:g} % to {after:g} %", options.labels, *list_alarms(runs))


if __name__ == "__main__":
    main()
