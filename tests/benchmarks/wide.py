"""Time and memory of a wide report: 20 metrics x 40 groups on a pool of a million items.

Makes FOLDER/wide-ROWS.parquet and a study of it unless they are there: 10 classes, 8 features, a
group column of 30 values; with the predicted class that makes 40 groups. Labels follow the
probabilities. Then measures a report with fixed intervals, and what gates with anytime-valid
intervals add. Every command is a process of its own; times are medians over the repeats.
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES, FEATURES, REGIONS = 10, 8, 30
METRICS = [
    "error",
    "accuracy",
    "log-loss",
    "brier",
    "f1[macro]",
    "f1[micro]",
    "f1[weighted]",
    "precision[macro]",
    "recall[macro]",
    "balanced-accuracy",
    "mcc",
    "kappa",
    "recall[3]",
    "precision[3]",
    "f1[3]",
    "specificity[3]",
    "top-k-error[2]",
    "ece",
    "calibration-error-squared",
    "false-positive-rate[3]",
]
GATES = ("error<=0.5", "recall[3]>=0.5", "accuracy@region=r7>=0.5")


def main() -> None:
    """Print one row per command."""
    benchmark.free_threads()
    options = benchmark.read_options(
        __doc__,
        "folder",
        rows=1_000_000,
        labels=500,
        batch=50,
        repeats=3,
    )
    pool = options.folder / f"wide-{options.rows}.parquet"
    truth = make_pool(pool, options.rows)
    study = options.folder / f"wide-{options.rows}-{options.labels}-{options.batch}"
    if not study.exists():
        buy(study, pool, truth, options)
    asked = [word for metric in METRICS for word in ("--metric", metric)]
    commands = {
        "status": ["status"],
        "report, the study's metrics": ["report"],
        f"report, {len(METRICS)} metrics x 40 groups": ["report", *asked],
    }
    for gate in GATES:
        words = ["report", "--metric", "error", "--require", gate]
        commands[f"report --metric error --require '{gate}'"] = words
    table = benchmark.Table(options, "command | seconds | peak MB")
    for name, words in commands.items():
        table.add(name, *timed(words, study, options.repeats))


def make_pool(path: Path, rows: int) -> np.ndarray:
    """Write the pool unless it is there; (rows,) its labels."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    logits = 3 * rng.standard_normal((rows, CLASSES), dtype=np.float32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs = powers / powers.sum(axis=1, keepdims=True)
    regions = rng.integers(REGIONS, size=rows)
    truth = (np.cumsum(probs, axis=1) > rng.random((rows, 1))).argmax(axis=1)
    if not path.exists():
        columns = {"id": np.arange(rows)}
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(features.ravel(), FEATURES)
        columns["prob"] = pa.FixedSizeListArray.from_arrays(probs.ravel(), CLASSES)
        columns["region"] = np.array([f"r{code}" for code in range(REGIONS)])[regions]
        pq.write_table(pa.table(columns), path, row_group_size=131_072)
    return truth


def buy(study: Path, pool: Path, truth: np.ndarray, options: argparse.Namespace) -> None:
    """A study with the labels bought, a batch at a time."""
    groups = ("--group", "region", "--group", "predicted")
    run(["init", str(pool), *groups, "--seed", "1", "--study", str(study)])
    batch = options.folder / "wide-batch.csv"
    batch.unlink(missing_ok=True)
    for _ in range(0, options.labels, options.batch):
        run(["next", "--n", str(options.batch), "-o", str(batch), "--study", str(study)])
        with open(batch, encoding="utf-8", newline="") as file:
            ids = [row["id"] for row in csv.DictReader(file)]
        with open(batch, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "label"), *((id, truth[int(id)]) for id in ids)])
        run(["ingest", str(batch), "--study", str(study)])


def timed(words: list[str], study: Path, repeats: int) -> tuple[str, str]:
    """Median seconds and the largest memory in MB of a command."""
    costs = [run([*words, "--study", str(study), "--format", "json"]) for _ in range(repeats)]
    seconds = statistics.median(cost for cost, _ in costs)
    return f"{seconds:.2f}", f"{max(memory for _, memory in costs):.0f}"


def run(words: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of one command; exit codes of gates are fine."""
    began = time.perf_counter()
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-m", "activetest", *words], stdout=subprocess.DEVNULL, env=here
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 3):
        raise SystemExit(f"activetest {' '.join(words)} failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
