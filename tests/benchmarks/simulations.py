"""Processor seconds of three simulations, and of next and report, by one installed version or more.

FOLDER holds NAME.parquet and NAME.labels.csv for digits, mammography and cifar10. Each PYTHON is an
interpreter with one version of activetest and the same versions of everything else (default: the
one that runs this). Versions take turns, each command is a process of its own that may use one
thread, and times are medians over the repeats, of user and system together.

First, RUNS runs of 100 labels with two strategies, optimal and uniform, by the default surrogate in
batches of ten: the usual metrics, but f1 on mammography. The start is the same command with two
runs of ten labels: the interpreter, the cache of the pool, and the errors of uniform draws. Then
`next --new -n 10` and `report` after 100 labels, with all of their start.
"""

import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import benchmark
import pyarrow.parquet as pq

# Options of the simulation on each pool.
SIMULATIONS = {"digits": (), "mammography": ("--metric", "f1"), "cifar10": ()}
# Pools that are studied: the rows that are taken of each, all without a number.
STUDIED = {"digits": 1000, "cifar10": None}
LABELS, BATCH = 100, 10
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    """Print both tables."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        python=sys.executable,
        runs=200,
        repeats=3,
    )
    # Of commands that run elsewhere; symbolic links stay, for they are what environments are.
    pythons = [os.path.abspath(each) for each in options.python.split(",")]
    folder = options.folder.resolve()
    versions = [f"version {number + 1}" for number in range(len(pythons))]
    heads = [f"{version} | {version}: start" for version in versions]
    table = benchmark.Table(options, "simulation", *heads)
    for name in SIMULATIONS:
        whole = measure(pythons, options.repeats, simulate(folder, name, options.runs))
        start = measure(pythons, options.repeats, simulate(folder, name, 2, BATCH))
        table.add(name, *(f"{a:.2f} s | {b:.2f} s" for a, b in zip(whole, start, strict=True)))
    table = benchmark.Table(options, "command | pool", *versions)
    for name, rows in STUDIED.items():
        with tempfile.TemporaryDirectory() as place:
            pool, studies = take_rows(folder, name, rows, Path(place)), []
            for number, python in enumerate(pythons):
                studies.append(Path(place) / str(number))
                make_study(python, pool, folder / f"{name}.labels.csv", studies[-1])
            for words in (["next", "--new", "-n", "10"], ["report"]):
                times = measure(pythons, options.repeats, words, studies)
                table.add(" ".join(words), name, *(f"{each:.2f} s" for each in times))


def simulate(folder: Path, name: str, runs: int, labels: int = LABELS) -> list[str]:
    """The words of a simulation."""
    pool = [str(folder / f"{name}.parquet"), "--labels", str(folder / f"{name}.labels.csv")]
    size = ["--runs", str(runs), "--budget", str(labels), "--workers", "1"]
    return ["simulate", *pool, *size, *SIMULATIONS[name]]


def measure(
    pythons: list[str], repeats: int, words: list[str], folders: list[Path] | None = None
) -> list[float]:
    """Median processor seconds of a command by each interpreter, in turns."""
    spent: list[list[float]] = [[] for _ in pythons]
    for _ in range(repeats):
        for number, python in enumerate(pythons):
            spent[number].append(run(python, words, folders[number] if folders else None))
    return list(map(statistics.median, spent))


def run(python: str, words: list[str], folder: Path | None = None) -> float:
    """Processor seconds of a command, which must succeed; in a folder of its own unless given."""
    with tempfile.TemporaryDirectory() as own:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [python, "-m", "activetest", *words]
        environment = os.environ | ONE_THREAD
        done = subprocess.run(
            command, cwd=folder or own, env=environment, capture_output=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr.decode()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def take_rows(folder: Path, name: str, rows: int | None, place: Path) -> Path:
    """The pool, or a file of its first rows."""
    pool = folder / f"{name}.parquet"
    if rows is None:
        return pool
    some = place / pool.name
    pq.write_table(pq.read_table(pool).slice(0, rows), some)
    return some


def make_study(python: str, pool: Path, key: Path, place: Path) -> None:
    """Make a folder with a study of this pool that has 100 labels."""
    place.mkdir()
    with open(key, encoding="utf-8", newline="") as file:
        labels = {row["id"]: row["label"] for row in csv.DictReader(file)}
    run(python, ["init", str(pool), "--seed", "1"], place)
    for _ in range(LABELS // BATCH):
        run(python, ["next", "-n", str(BATCH), "-o", "batch.csv"], place)
        with open(place / "batch.csv", encoding="utf-8", newline="") as file:
            rows = [(row["id"], labels[row["id"]]) for row in csv.DictReader(file)]
        with open(place / "answers.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "label"), *rows])
        run(python, ["ingest", "answers.csv"], place)


if __name__ == "__main__":
    main()
