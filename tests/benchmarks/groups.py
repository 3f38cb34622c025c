"""Coverage and width of the intervals of groups, as a Markdown table.

    python tests/benchmarks/groups.py POOL KEY --group race [--metric accuracy] [--runs 500]

POOL is a Parquet file and KEY its answer key. Draws aim at the first metric. A group is shown where
it has 30 items or more, and a number of labels where its interval existed (10 labels inside) in 20
studies or more; the last row is the lowest coverage of all.
"""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

BUDGETS, SMALLEST, FEWEST = (50, 100, 200), 30, 20


def main() -> None:
    """Print one row per metric and group."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pool")
    parser.add_argument("key")
    parser.add_argument("--group", action="append", required=True)
    parser.add_argument("--metric", action="append")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    metrics = tuple(options.metric or ["accuracy"])

    from activetest.cache import cache
    from activetest.pool.pool import Pool
    from activetest.simulation.answer_key import read_answer_key

    pool = Pool.open(options.pool, groups=tuple(options.group))
    with TemporaryDirectory() as room:
        made = cache.build_cache(pool, Path(room) / "cache")
        labels = read_answer_key(made, options.key, unmatched=pool.schema.open_classes)
        job = partial(study, made.folder, labels, metrics)
        with ProcessPoolExecutor(options.workers, get_context("spawn")) as workers:
            found = [row for rows in workers.map(job, range(options.runs)) for row in rows]
        print("| metric | group | items | " + " | ".join(f"M = {b}" for b in BUDGETS) + " |")
        print("|---|---|---|" + "---|" * len(BUDGETS))
        table(made, labels, metrics, found)


def study(folder: Path, labels, metrics: tuple[str, ...], seed: int) -> list[tuple]:
    """(metric, group, budget, lower, upper) wherever an interval exists in one study."""
    from activetest.cache import cache
    from activetest.errors import NotEstimable
    from activetest.estimation.view import build_view
    from activetest.intervals.group_t import NEEDS_INSIDE
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.reporting.rows import count_labelled
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    made, log, rows = cache.open_cache(folder), Log.empty(), []
    choices = Choices(metrics[0], metrics, "agreement")
    wanted = [
        specification.find_metric(name, specification.describe_pool(made.roles, None, made))
        for name in metrics
    ]
    for budget in BUDGETS:
        while len(log.rows) < budget:
            log = answered(log, plan.plan_round(log, made, choices, seed=seed, count=10), labels)
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


def table(made, labels, metrics: tuple[str, ...], found: list[tuple]) -> None:
    """Print the rows; coverage, mean width and studies with an interval."""
    from activetest.estimation import samples
    from activetest.item_statistics.metric import evaluate

    rows = made.rows(0, made.size)
    lowest = 1.0
    for name in metrics:
        from activetest.item_statistics import specification

        metric = specification.find_metric(
            name, specification.describe_pool(made.roles, None, made)
        )
        for group in samples.list_groups(made)[1:]:
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
                line = [f"`{metric.title}`", group.name, f"{group.size:,}", *cells]
                print("| " + " | ".join(line) + " |")
    print(f"| lowest coverage | | | {lowest:.3f} | | |")


if __name__ == "__main__":
    main()
