"""Gates looked at after every batch: how often they pass wrongly, and how soon they decide.

FOLDER holds NAME.parquet with NAME.labels.csv, the answer key. For every pool three gates on the
error, each judged after every batch from the whole log: one whose threshold is the truth itself,
which may pass in 5 % of all studies at most; one that the truth meets with --margin to spare; and
one that it misses by as much. Draws with --interval anytime are compared with uniform ones. Labels
are those after which the gate was decided, at the batch's end; undecided studies count as more than
all of them.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import benchmark
import numpy as np


def main() -> None:
    """Print a table row per pool, kind of draws and gate."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        pools={"required": True},
        runs=1000,
        labels=1000,
        batch=10,
        margin=0.03,
        acquisition="optimal,uniform",
        workers={"type": int, "default": os.cpu_count()},
    )
    table = benchmark.Table(
        options, "pool | draws | gate | right | wrong | undecided | labels, median"
    )
    for name in options.pools.split(","):
        for acquisition in options.acquisition.split(","):
            for row in pool_rows(options, name, acquisition):
                table.add(name, acquisition, *row)


def pool_rows(options: argparse.Namespace, name: str, acquisition: str) -> list[list[str]]:
    """One row of cells per gate."""
    from activetest.cache import cache
    from activetest.pool.pool import Pool
    from activetest.simulation.answer_key import read_answer_key

    pool, key = Pool.open(str(options.folder / f"{name}.parquet")), f"{name}.labels.csv"
    with TemporaryDirectory() as room:
        made = cache.build_cache(pool, Path(room) / "cache")
        truth = read_answer_key(made, options.folder / key, unmatched=pool.schema.open_classes)
        error = float((made.rows(0, made.size).outputs.pred != truth).mean())
        # The claim error <= threshold: at the truth itself it is not to pass.
        gates = {
            "at the truth": error,
            "met": error + options.margin,
            "missed": error - options.margin,
        }
        gates = {gate: threshold for gate, threshold in gates.items() if threshold > 0}
        job = partial(
            study, Path(room) / "cache", truth, tuple(gates.values()), acquisition, options
        )
        with ProcessPoolExecutor(options.workers, get_context("spawn")) as workers:
            found = np.array(list(workers.map(job, range(options.runs), chunksize=5)))
    return [row(gate, found[:, place]) for place, gate in enumerate(gates)]


def study(folder: Path, truth, thresholds, acquisition: str, options, seed: int) -> list:
    """(verdict: 1 pass, -1 fail, 0 undecided; labels) for every threshold of one study."""
    from activetest.cache import cache
    from activetest.estimation.anytime import compute_increments_at
    from activetest.estimation.view import build_view
    from activetest.intervals import betting
    from activetest.item_statistics import specification
    from activetest.nouns.choices import Choices
    from activetest.nouns.log import Log
    from activetest.sampling import plan
    from activetest.simulation.simulate import answered

    made = cache.open_cache(folder)
    choices = Choices(
        metric="error",
        metrics=("error",),
        surrogate="agreement",
        acquisition=acquisition,
        interval="anytime",
    )
    metric, log = (
        specification.find_metric("error", specification.describe_pool(made.roles, None, made)),
        Log.empty(),
    )
    while len(log.rows) < min(options.labels, made.size):
        drawn = plan.plan_round(log, made, choices, seed=seed, count=options.batch)
        log = answered(log, drawn, truth)
    view = build_view(log, made, choices, [metric], seed=seed, own_view=False)
    increments = compute_increments_at(view.evidence, metric, view.evidence.groups[0], thresholds)
    found = []
    for each in increments:
        # The verdict of the whole log is that of the first look at which any was possible.
        verdict = betting.decide_verdict(each, 0.0, at_least=False, alpha=0.05)
        word = {"pass": 1, "fail": -1, "undecided": 0}[verdict.word]
        batches = np.inf if verdict.draws is None else -(-verdict.draws // options.batch)
        found.append((word, batches * options.batch))
    return found


def row(gate: str, found: np.ndarray) -> list[str]:
    """Cells: the gate, shares of right, wrong and no verdicts, median labels to a verdict."""
    words, labels = found.T
    # At the truth, to pass is wrong; to fail is right in the limit, and rare.
    right = -1 if gate in ("missed", "at the truth") else 1
    shares = [(words == right).mean(), (words == -right).mean(), (words == 0).mean()]
    median = np.median(labels)
    shown = f"{median:.0f}" if np.isfinite(median) else "more than all"
    return [gate, *(f"{share:.3f}" for share in shares), shown]


if __name__ == "__main__":
    main()
