"""Coverage and width of the intervals of groups, as a Markdown table.

POOL is a Parquet file and KEY its answer key. Draws aim at the first metric. A group is shown where
it has 30 items or more, and a number of labels where its interval existed (10 labels inside) in 20
studies or more; the last row is the lowest coverage of all.

--explore draws for the accuracy of every combination of the groups (`surface-variance`): nearly all
labels of a group are of items that were drawn on purpose.

--together asks how often all intervals of a column hold together: each at 95 %; at the level of
`report --simultaneous`; and at that level had all groups of all columns shared the error. Without
POOL the pool is one of its own: 4,000 items in 24 groups, the largest 24 times the smallest, and in
6 groups of another column; error rates of the groups differ.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import benchmark
import numpy as np

BUDGETS, SMALLEST, FEWEST = (50, 100, 200), 30, 20
TOGETHER = (100, 200, 400)


def main() -> None:
    """Print one row per metric and group."""
    options = benchmark.read_options(
        __doc__,
        ("pool", {"nargs": "?"}),
        ("key", {"nargs": "?"}),
        group={"action": "append"},
        explore=False,
        together=False,
        metric={"action": "append"},
        runs=500,
        workers={"type": int, "default": os.cpu_count()},
    )
    metrics = tuple(options.metric or ["accuracy"])

    from activetest.cache import cache
    from activetest.pool.pool import Pool
    from activetest.simulation.answer_key import read_answer_key

    with TemporaryDirectory() as room:
        if options.pool is None:
            options.pool, options.key = write_uneven(Path(room))
            options.group = ["region", "shift"]
        pool = Pool.open(str(options.pool), groups=tuple(options.group))
        made = cache.build_cache(pool, Path(room) / "cache")
        labels = read_answer_key(made, options.key, unmatched=pool.schema.open_classes)
        job = partial(study, made.folder, labels, metrics, explore=options.explore)
        if options.together:
            job = partial(study_together, made.folder, labels, metrics[0])
            with ProcessPoolExecutor(options.workers, get_context("spawn")) as workers:
                studies: list[dict] = []
                for each in workers.map(job, range(options.runs)):
                    studies.append(each)
                    if len(studies) % 100 == 0:
                        print(f"{len(studies)} studies", file=sys.stderr)
            table_together(studies, options)
            return
        with ProcessPoolExecutor(options.workers, get_context("spawn")) as workers:
            found = [row for rows in workers.map(job, range(options.runs)) for row in rows]
        table = benchmark.Table(options, "metric | group | items", *(f"M = {b}" for b in BUDGETS))
        for row in list_rows(made, labels, metrics, found):
            table.add(*row)


def make_uneven(rng: np.random.Generator) -> tuple[dict, np.ndarray]:
    """Columns of a pool with two columns of groups, the sizes of the first uneven, and labels."""
    size, shares = 4000, 1 / np.arange(1, 25)
    region = rng.choice(24, size, p=shares / shares.sum())
    shift = rng.integers(6, size=size)
    confidence = rng.uniform(0.55, 1, size)
    chance = np.clip((1 - confidence) * rng.uniform(0.3, 2, 24)[region], 0, 1)
    pred = rng.integers(2, size=size)
    labels = np.where(rng.random(size) < chance, 1 - pred, pred)
    probs = np.where(pred == 1, confidence, 1 - confidence)
    columns = {"prob_0": 1 - probs, "prob_1": probs}
    columns |= {"region": [f"r{each}" for each in region], "shift": [f"s{each}" for each in shift]}
    return columns, labels


def write_uneven(folder: Path) -> tuple[Path, Path]:
    """The pool of make_uneven and its answer key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, labels = make_uneven(np.random.default_rng(14))
    columns = {"id": range(len(labels))} | columns
    pq.write_table(pa.table(columns), folder / "uneven.parquet")
    lines = "".join(f"{item},{label}\n" for item, label in enumerate(labels))
    (folder / "uneven.labels.csv").write_text("id,label\n" + lines)
    return folder / "uneven.parquet", folder / "uneven.labels.csv"


def study_together(folder: Path, labels, name: str, seed: int) -> dict[tuple, tuple]:
    """{(column, budget): intervals, groups, and by level: (all hold, mean width)} of one study."""
    from activetest.cache import cache
    from activetest.errors import NotEstimable
    from activetest.estimation.view import FIXED, build_view
    from activetest.intervals.group_t import NEEDS_INSIDE
    from activetest.item_statistics import specification
    from activetest.item_statistics.metric import evaluate
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.reporting.rows import count_intervals, count_labelled

    made, log, found = cache.open_cache(folder), Log.empty(), {}
    choices, rows = Choices(name, (name,), "agreement"), made.rows(0, made.size)
    metric = specification.find_metric(name, specification.describe_pool(made.roles, None, made))
    for budget in TOGETHER:
        log = benchmark.buy_labels(log, made, choices, labels, labels=budget, batch=50, seed=seed)
        view = build_view(log, made, choices, [metric], seed=seed, own_view=False)
        groups = view.evidence.groups[1:]
        for column in made.group_names:
            inside = [group for group in groups if column in group.meaning]
            counts = 1, count_intervals(view, inside, FIXED), len(groups)
            held, widths = [True] * 3, [[], [], []]
            for group in inside:
                if count_labelled(view, group) < NEEDS_INSIDE:
                    continue
                try:
                    value = view.value(metric, "doubly-robust", group)
                except NotEstimable:
                    continue
                member = group.membership(rows.codes) > 0
                truth = evaluate(metric, rows.outputs[member], labels[member])
                for place, count in enumerate(counts):
                    ends = view.interval(value, 1 - 0.05 / max(count, 1), group=group)
                    held[place] &= ends.lower - 1e-12 <= truth <= ends.upper + 1e-12
                    widths[place].append(ends.upper - ends.lower)
            if widths[0]:
                mean = [float(np.mean(each)) for each in widths]
                found[column, budget] = (len(widths[0]), len(inside), held, mean)
    return found


def table_together(studies: list[dict[tuple, tuple]], options: argparse.Namespace) -> None:
    """Print a row per column and number of labels."""
    shares = "all hold: each at 95 % | all hold: simultaneous | all hold: over the table"
    widths = shares.replace("all hold", "width")
    table = benchmark.Table(
        options, f"column | groups | M | studies | intervals | {shares} | {widths}"
    )
    for column, budget in sorted({key for each in studies for key in each}):
        cells = [each[column, budget] for each in studies if (column, budget) in each]
        shown = np.mean([cell[0] for cell in cells])
        held = np.mean([cell[2] for cell in cells], axis=0)
        width = np.mean([cell[3] for cell in cells], axis=0)
        numbers = [f"{each:.3f}" for each in (*held, *width)]
        line = [column, str(cells[0][1]), str(budget), str(len(cells)), f"{shown:.1f}", *numbers]
        table.add(*line)


def study(
    folder: Path, labels, metrics: tuple[str, ...], seed: int, *, explore: bool = False
) -> list[tuple]:
    """(metric, group, budget, lower, upper) wherever an interval exists in one study."""
    from activetest.cache import cache
    from activetest.errors import NotEstimable
    from activetest.estimation.view import build_view
    from activetest.intervals.group_t import NEEDS_INSIDE
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.reporting.rows import count_labelled

    made, log, rows = cache.open_cache(folder), Log.empty(), []
    choices = Choices(metrics[0], metrics, "agreement")
    if explore:
        names = tuple(made.group_names)
        explored = {"question": "surface", "groups": names, "attributes": names, "surface": "beta"}
        choices = replace(choices, acquisition="surface-variance", floor=0.1, **explored)
    wanted = [
        specification.find_metric(name, specification.describe_pool(made.roles, None, made))
        for name in metrics
    ]
    for budget in BUDGETS:
        log = benchmark.buy_labels(log, made, choices, labels, labels=budget, batch=10, seed=seed)
        view = build_view(log, made, choices, wanted, seed=seed, own_view=False)
        for group in view.evidence.groups[1:]:
            if count_labelled(view, group) < NEEDS_INSIDE:
                continue
            for metric in wanted:
                try:
                    value = view.value(metric, "doubly-robust", group)
                except NotEstimable:
                    continue
                interval = view.interval(value, choices.level, group=group)
                rows.append((metric.title, group.name, budget, interval.lower, interval.upper))
    return rows


def list_rows(made, labels, metrics: tuple[str, ...], found: list[tuple]) -> Iterator[list[str]]:
    """Coverage, mean width and studies with an interval, of each group."""
    from activetest.estimation.evidence import list_groups
    from activetest.item_statistics.metric import evaluate

    rows = made.rows(0, made.size)
    lowest = 1.0
    for name in metrics:
        from activetest.item_statistics import specification

        metric = specification.find_metric(
            name, specification.describe_pool(made.roles, None, made)
        )
        for group in list_groups(made)[1:]:
            inside = group.membership(rows.codes) > 0
            if group.size < SMALLEST:
                continue
            truth = evaluate(metric, rows.outputs[inside], labels[inside])
            cells = []
            for budget in BUDGETS:
                key = (metric.title, group.name, budget)
                ends = np.array([row[3:] for row in found if row[:3] == key])
                if len(ends) < FEWEST:
                    cells.append("-")
                    continue
                held = ((ends[:, 0] - 1e-12 <= truth) & (truth <= ends[:, 1] + 1e-12)).mean()
                lowest = min(lowest, held)
                width = (ends[:, 1] - ends[:, 0]).mean()
                cells.append(f"{held:.3f}, {width:.3f} ({len(ends)})")
            if set(cells) != {"-"}:
                yield [metric.title, group.name, f"{group.size:,}", *cells]
    yield ["lowest coverage", "", "", f"{lowest:.3f}", *[""] * (len(BUDGETS) - 1)]


if __name__ == "__main__":
    main()
