"""Processor seconds, seconds and memory of every verb on thin pools of growing size.

Makes FOLDER/thin-ROWS.parquet for each of ROWS unless it is there: int64 ids and float32 scores of
one class of two. Every verb is a process of its own, run REPEATS times; bare imports, started like
a verb, stand at the head, and one decode of the pool's columns stands beside its verbs. Resident
memory counts mapped pages of the cache, which the system may take back. Last, with LABELS of a pool
of the first of ROWS, the verbs again.

With --models, studies of so many models instead: FOLDER/thin-ROWS-model-NUMBER.parquet are the
further ones, which have 20 % of its scores in disarray. Five rounds of 20 labels are drawn, and a
sixth one for the differences to the first model. A verb that is the first to need what it keeps in
the study is timed alone. Times are compared with the same verb of the first of these numbers.
"""

import argparse
import csv
import statistics
import tempfile
import time
from pathlib import Path

import benchmark
import loop
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_GROUP, _LABELS, _ROUNDS = 2**18, 100, 5
_IMPORTS = ("numpy", "numpy, pyarrow.dataset, scipy.special", "typer")
_METRICS = ("error", "log-loss", "brier", "recall", "precision")


def make_thin_pool(path: Path, rows: int) -> None:
    """Write the pool piece by piece; the same rows give the same pool."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=path.parent) as place:
        unfinished, writer = Path(place) / path.name, None
        for start in range(0, rows, _GROUP):
            size = min(_GROUP, rows - start)
            score = rng.beta(0.3, 0.9, size).astype(np.float32)
            table = pa.table({"id": np.arange(start, start + size), "score": score})
            writer = writer or pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
        writer.close()
        unfinished.replace(path)


def make_models(folder: Path, rows: int, count: int) -> list[Path]:
    """Files of further models, with ids and scores; the same number gives the same model."""
    pool, found = pq.read_table(folder / f"thin-{rows}.parquet"), []
    for number in range(2, count + 1):
        path = folder / f"thin-{rows}-model-{number}.parquet"
        found.append(path)
        if path.exists():
            continue
        rng, score = np.random.default_rng(number), pool["score"].to_numpy()
        moved = np.where(rng.random(rows) < 0.2, rng.permutation(score), score)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            unfinished = Path(place) / path.name
            pq.write_table(pa.table({"id": pool["id"], "score": moved}), unfinished)
            unfinished.replace(path)
    return found


def repeat(repeats: int, *words: str, folder: Path) -> loop.Cost:
    """Medians of the times of a command, and the largest memory."""
    return loop.repeated([loop.run(*words, folder=folder) for _ in range(repeats)])


def scan(path: Path) -> float:
    """Processor seconds of reading every column once, to numpy arrays."""
    began = time.process_time()
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        for column in file.read_row_group(group, use_threads=False).columns:
            column.to_numpy()
    return time.process_time() - began


def label_batch(folder: Path) -> None:
    """Write an answer to each item of batch.csv, by chance."""
    rng = np.random.default_rng(1)
    with open(folder / "batch.csv", newline="", encoding="utf-8") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    lines = (
        f"{id},{answer}\n" for id, answer in zip(ids, rng.integers(0, 2, len(ids)), strict=True)
    )
    (folder / "answers.csv").write_text("id,label\n" + "".join(lines), encoding="utf-8")


def measure(pool: Path, folder: Path, repeats: int) -> dict[str, loop.Cost]:
    """The cost of each verb on a pool, in the order of the loop."""
    metrics = [word for name in _METRICS for word in ("--metric", name)]
    costs = {}
    for number in range(repeats):
        (folder / str(number)).mkdir()
    found = [loop.run("init", str(pool), folder=folder / str(n)) for n in range(repeats)]
    costs["init"] = loop.repeated(found)
    study = folder / "0"
    loop.run("next", "-n", str(_LABELS), "-o", "batch.csv", folder=study)
    label_batch(study)
    costs["ingest"] = loop.run("ingest", "answers.csv", folder=study)
    again = ("next", "--new", "-n", "10", "-o", "more.csv")
    costs["next"] = repeat(repeats, *again, folder=study)
    costs["report"] = repeat(repeats, "report", folder=study)
    costs["report, 5 metrics"] = repeat(repeats, "report", *metrics, folder=study)
    costs["status"] = repeat(repeats, "status", folder=study)
    costs["verify"] = repeat(repeats, "verify", folder=study)
    return costs


def measure_many_labels(pool: Path, folder: Path, rows: int, labels: int) -> dict[str, loop.Cost]:
    """The cost of verbs of a study with so many labels of items that nobody drew."""
    rng = np.random.default_rng(2)
    chosen = rng.choice(rows, min(labels, rows // 2), replace=False)
    answers = (rng.random(len(chosen)) < 0.25).astype(int)
    lines = (f"{id},{answer}\n" for id, answer in zip(chosen, answers, strict=True))
    (folder / "many.csv").write_text("id,label\n" + "".join(lines), encoding="utf-8")
    loop.run("init", str(pool), folder=folder)
    return {
        "ingest": loop.run("ingest", "many.csv", folder=folder),
        "next": loop.run("next", "-n", "10", "-o", "batch.csv", folder=folder),
        "report": loop.run("report", folder=folder),
    }


def measure_models(
    pool: Path, others: list[Path], study: Path, repeats: int
) -> dict[str, loop.Cost]:
    """The cost of verbs in a study of a pool's model and these further ones."""
    named = [f"--model=v{number}={path}" for number, path in enumerate(others, 2)]
    costs = {"init": loop.run("init", str(pool), *named, folder=study)}

    def draw_round() -> None:
        costs["next"] = loop.run("next", "-n", "20", "-o", "batch.csv", "--force", folder=study)
        label_batch(study)
        costs["ingest"] = loop.run("ingest", "answers.csv", folder=study)

    for _ in range(_ROUNDS):
        draw_round()
    costs["report"] = repeat(repeats, "report", folder=study)
    costs["gate"] = repeat(repeats, "report", "--require", "error<=0.9", folder=study)
    if not others:
        return costs
    last = f"v{len(others) + 1}"
    costs["report on the last model, at first"] = loop.run("report", "--model", last, folder=study)
    costs["report on the last model"] = repeat(repeats, "report", "--model", last, folder=study)
    gate = ("report", "--require", f"error({last})-error(model)<=0.1")
    costs["gate for the last model"] = repeat(repeats, *gate, folder=study)
    compared = ("report", "--reference", "model")
    costs["report on all models, at first"] = loop.run(*compared, folder=study)
    costs["report on all models"] = repeat(repeats, *compared, folder=study)
    loop.run("init", "--draw-for", "difference", folder=study)
    first = {name: costs[name] for name in ("next", "ingest")}
    draw_round()
    costs["next for differences"] = costs["next"]
    costs |= first
    costs["report, drawn for differences"] = repeat(repeats, "report", folder=study)
    return costs


def count_bytes(study: Path) -> int:
    """Bytes of the arrays of a study's cache."""
    return sum(path.stat().st_size for path in (study / ".activetest" / "cache").rglob("*.npy"))


def print_costs(
    table: benchmark.Table, rows: str, costs: dict[str, loop.Cost], one_scan: float
) -> None:
    """A row of the table for each verb."""
    for name, cost in costs.items():
        scans = f"{cost.processor / one_scan:.1f}" if one_scan else "-"
        times = f"{cost.processor:.2f} | {cost.seconds:.2f} | {scans} | {cost.memory:.0f}"
        table.add(rows, name, times)


def print_models(options: argparse.Namespace, folder: Path) -> None:
    """What studies of several models cost, and how much they keep."""
    table = benchmark.Table(
        options, "rows | verb | models | processor s | seconds | peak MB | in those of the first"
    )
    counts = list(map(int, options.models.split(",")))
    for rows in map(int, options.rows.split(",")):
        pool, first = folder / f"thin-{rows}.parquet", dict[str, float]()
        if not pool.exists():
            make_thin_pool(pool, rows)
        for count in counts:
            others = make_models(folder, rows, count)
            with tempfile.TemporaryDirectory(dir=folder) as study:
                costs = measure_models(pool, others, Path(study), options.repeats)
                kept = sum(path.stat().st_size for path in Path(study).rglob("*"))
            for verb, cost in costs.items():
                alone = first.setdefault(verb.split()[0].strip(","), cost.processor)
                share = cost.processor / alone
                times = f"{cost.processor:.2f} | {cost.seconds:.2f} | {cost.memory:.0f}"
                table.add(f"{rows:,}", verb, count, times, f"{share:.2f}")
            print(f"{rows:,} rows, {count} models: the study has {kept / 1e6:.0f} MB")


def main() -> None:
    """Make the pools, run everything, print the tables."""
    benchmark.free_threads()
    options = benchmark.read_options(
        __doc__, "folder", rows="1000000,10000000", labels=200_000, repeats=5, models=""
    )
    folder = options.folder.resolve()
    if options.models:
        print_models(options, folder)
        return
    print_imports(options, folder)
    sizes = list(map(int, options.rows.split(",")))
    table = benchmark.Table(options, "rows | verb | processor s | seconds | in scans | peak MB")
    for rows in sizes:
        pool = folder / f"thin-{rows}.parquet"
        if not pool.exists():
            make_thin_pool(pool, rows)
        one_scan = statistics.median(scan(pool) for _ in range(options.repeats))
        with tempfile.TemporaryDirectory(dir=folder) as studies:
            costs = measure(pool, Path(studies), options.repeats)
            print_costs(table, f"{rows:,}", costs, one_scan)
            size = count_bytes(Path(studies) / "0")
            print(f"{rows:,} rows: a scan {one_scan:.2f} s, cache {size / rows:.1f} bytes a row")
    with tempfile.TemporaryDirectory(dir=folder) as study:
        costs = measure_many_labels(
            folder / f"thin-{sizes[0]}.parquet", Path(study), sizes[0], options.labels
        )
        print_costs(table, f"{sizes[0]:,} and {options.labels:,} labels", costs, 0.0)


def print_imports(options: argparse.Namespace, folder: Path) -> None:
    """What Python and bare imports cost, and the help: no verb can be faster."""
    table = benchmark.Table(options, "start | processor s")
    for code in ("pass", *(f"import {names}" for names in _IMPORTS)):
        cost = loop.repeated(
            [loop.run_python("-c", code, folder=folder) for _ in range(options.repeats)]
        )
        table.add(code, f"{cost.processor:.3f}")
    for name in ("help", "version"):
        cost = repeat(options.repeats, f"--{name}", folder=folder)
        table.add(f"{name} of activetest", f"{cost.processor:.3f}")


if __name__ == "__main__":
    main()
