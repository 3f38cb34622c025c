"""Time and memory of every verb on a pool of a million items, as ratios to one scan of its columns.

Makes FOLDER/pool-ROWS-LAYOUT.parquet unless it is there: int64 ids, 64 standard normal features
and 10 class probabilities, both float32 and uncompressed, as two list columns or as 74 plain
columns; labels follow the probabilities. Every verb is a process of its own, so that each time
holds Python's start; times are medians over the repeats, memory is the largest of any repeat.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES, CLASSES, ROW_GROUP = 64, 10, 131_072
MANY = 10_000


@dataclass(frozen=True)
class Cost:
    """Seconds, the peak of resident memory in MB, and processor seconds."""

    seconds: float
    memory: float
    processor: float


def make_pool(path: Path, rows: int, layout: str) -> None:
    """Write the pool piece by piece; the same rows give the same pool."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=path.parent) as beside:
        unfinished = Path(beside) / path.name
        writer = None
        for start in range(0, rows, ROW_GROUP):
            size = min(ROW_GROUP, rows - start)
            table = _piece(rng, start, size, layout)
            if writer is None:
                writer = pq.ParquetWriter(
                    unfinished, table.schema, compression="none", use_dictionary=False
                )
            writer.write_table(table, row_group_size=ROW_GROUP)
        writer.close()
        unfinished.replace(path)


def _piece(rng: np.random.Generator, start: int, size: int, layout: str) -> pa.Table:
    features = rng.standard_normal((size, FEATURES), dtype=np.float32)
    logits = 3 * features[:, :CLASSES] + rng.standard_normal((size, CLASSES), dtype=np.float32)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs = powers / powers.sum(axis=1, keepdims=True)
    columns = {"id": np.arange(start, start + size)}
    if layout == "lists":
        columns["embedding"] = pa.FixedSizeListArray.from_arrays(features.ravel(), FEATURES)
        columns["prob"] = pa.FixedSizeListArray.from_arrays(probs.ravel(), CLASSES)
    else:
        columns |= {f"feature_{number}": column for number, column in enumerate(features.T)}
        columns |= {f"prob_{number}": column for number, column in enumerate(probs.T)}
    return pa.table(columns)


def scan(path: Path) -> float:
    """Seconds for reading every column once, to numpy arrays."""
    began = time.perf_counter()
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        for column in file.read_row_group(group).combine_chunks().columns:
            for chunk in column.chunks:
                flat = chunk.flatten() if pa.types.is_fixed_size_list(chunk.type) else chunk
                flat.to_numpy()
    return time.perf_counter() - began


# A process inherits the peak of the one that started it, so a small one starts every command.
LAUNCHER = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
spent = time.perf_counter() - began, usage.ru_maxrss, usage.ru_utime + usage.ru_stime
print(json.dumps([*spent, os.waitstatus_to_exitcode(status)]))
"""


def run(*words: str, folder: Path) -> Cost:
    """One command in a process of its own, which must succeed."""
    return run_python("-m", "activetest", *words, folder=folder)


def run_python(*words: str, folder: Path) -> Cost:
    """Python with these arguments in a process of its own, which must succeed."""
    launch = [sys.executable, "-S", "-c", LAUNCHER, sys.executable, *words]
    done = subprocess.run(launch, cwd=folder, capture_output=True, text=True, check=True)
    seconds, memory, processor, code = json.loads(done.stdout)
    if code:
        raise SystemExit(f"python {' '.join(words)}\n{done.stderr}")
    return Cost(seconds, memory / (1024 if sys.platform != "darwin" else 1024**2), processor)


def repeated(costs: list[Cost]) -> Cost:
    """The median times and the largest memory."""
    seconds, processor = (
        statistics.median(getattr(cost, name) for cost in costs)
        for name in ("seconds", "processor")
    )
    return Cost(seconds, max(cost.memory for cost in costs), processor)


def measure(pool: Path, folder: Path, rows: int, repeats: int) -> dict[str, Cost]:
    """Every verb's cost, in the order of the loop."""
    truth = _labels(pool)
    costs = {}
    init = [run("init", str(pool), folder=_fresh(folder, number)) for number in range(repeats)]
    costs["init"] = repeated(init)
    study = folder / "0"
    costs["first next --n 10"] = run("next", "--n", "10", "-o", "batch.csv", folder=study)
    drawn = [int(line.split(",")[0]) for line in (study / "batch.csv").read_text().split()[1:]]
    _write_labels(study / "answers.csv", drawn, truth)
    costs["ingest of 10"] = run("ingest", "answers.csv", folder=study)

    def again(*words: str) -> Cost:
        return repeated([run(*words, folder=study) for _ in range(repeats)])

    costs["status"] = again("status")
    costs["later next --n 10"] = again("next", "--new", "--n", "10")
    costs["report"] = again("report")
    shuffled = np.random.default_rng(1).permutation(rows)
    many = []
    for number in range(repeats):
        _write_labels(study / "many.csv", shuffled[number * MANY : (number + 1) * MANY], truth)
        many.append(run("ingest", "many.csv", folder=study))
    costs[f"ingest of {MANY:,}"] = repeated(many)
    costs[f"next, {repeats * MANY:,} labels"] = run("next", "--new", "--n", "10", folder=study)
    costs[f"report, {repeats * MANY:,} labels"] = run("report", folder=study)
    return costs


def _fresh(folder: Path, number: int) -> Path:
    (folder / str(number)).mkdir()
    return folder / str(number)


def _labels(pool: Path) -> np.ndarray:
    """(N,) a label for every item, drawn from its probabilities."""
    file = pq.ParquetFile(pool)
    names = [name for name in file.schema_arrow.names if name.startswith("prob")]
    table = file.read(columns=names)
    if names == ["prob"]:
        probs = table["prob"].combine_chunks().flatten().to_numpy().reshape(-1, CLASSES)
    else:
        probs = np.column_stack([table[name].to_numpy() for name in names])
    chance = np.random.default_rng(2).random((len(probs), 1))
    return np.minimum((probs.cumsum(axis=1) < chance).sum(axis=1), CLASSES - 1)


def _write_labels(path: Path, items, truth: np.ndarray) -> None:
    lines = (f"{item},{truth[item]}\n" for item in items)
    path.write_text("id,label\n" + "".join(lines))


def modules(code: str) -> int:
    """Modules that a fresh interpreter holds after running code."""
    code += "\nimport sys; sys.stderr.write(str(len(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stderr)


def main() -> None:
    """Make the pool, run everything, print the table."""
    benchmark.free_threads()
    chosen = benchmark.read_options(
        __doc__,
        "folder",
        rows=1_000_000,
        repeats=5,
        layout={"choices": ["lists", "columns"], "default": "lists"},
    )
    pool = chosen.folder.resolve() / f"pool-{chosen.rows}-{chosen.layout}.parquet"
    if not pool.exists():
        make_pool(pool, chosen.rows, chosen.layout)
    # Before and after, so that both know a neighbour that came or went.
    scans = [scan(pool) for _ in range(chosen.repeats)]
    with tempfile.TemporaryDirectory(dir=chosen.folder) as studies:
        costs = measure(pool, Path(studies), chosen.rows, chosen.repeats)
    scans += [scan(pool) for _ in range(chosen.repeats)]
    print_table(costs, statistics.median(scans), chosen)
    start = modules("from activetest.cli.app import main; main(['--help'])")
    print(
        f"\nmodules: activetest --help {start}, python -c 'import typer' {modules('import typer')}"
    )


def print_table(costs: dict[str, Cost], one_scan: float, options: argparse.Namespace) -> None:
    """A row for every command, in seconds and in scans of the same columns."""
    status = costs["status"].seconds
    print(f"one scan of the columns: {one_scan:.3f} s")
    table = benchmark.Table(
        options, "verb | seconds | in scans | beyond status, in scans | peak MB"
    )
    for verb, cost in costs.items():
        scans, beyond = cost.seconds / one_scan, (cost.seconds - status) / one_scan
        numbers = f"{cost.seconds:.2f} | {scans:.1f} | {beyond:.1f} | {cost.memory:.0f}"
        table.add(verb, numbers)


if __name__ == "__main__":
    main()
