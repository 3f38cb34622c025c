"""Cost of choosing between groups: one Thompson choice among 1,000 groups of a million items.

Makes FOLDER/choice-ROWS-GROUPS.parquet unless it is there, two classes and a group column whose
groups differ in accuracy, and a study of it with so many labels. Then, in one process and on one
thread, milliseconds after the study is loaded, medians of --repeats: the first choice reads the
pool once, later ones do not; the draw adds keys and probabilities of all rows. Last, the whole
command, Python's start and the surrogate's pass over the pool included.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.rounds import race
from activetest.rounds.fit import find_free_items
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from activetest.wings.groups.between_groups import allocate_draws
from tests.makers import init

_CHUNK = 131_072


def main() -> None:
    """Print a row per task and metric, then the whole command."""
    options = benchmark.read_options(
        __doc__,
        "folder",
        rows=1_000_000,
        groups=1000,
        labels=2000,
        repeats=15,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    pool = options.folder / f"choice-{options.rows}-{options.groups}.parquet"
    truth = made(pool, options.rows, options.groups)
    table = benchmark.Table(options, "task | metric | first choice | a choice | with the draw")
    with tempfile.TemporaryDirectory() as folder:
        study = played(pool, truth, Path(folder) / "study", options.labels)
        for task in ("identify", "estimate"):
            for metric in ("accuracy", "ece[10]"):
                times = measured(study, task, metric, options.repeats)
                cells = " | ".join(f"{one:.0f} ms" for one in times)
                table.add(task, metric, cells)
        command = [sys.executable, "-m", "activetest", "next", "--new", "--n", "10"]
        seconds = [
            clocked(
                lambda: subprocess.run(
                    [*command, "--study", str(study)], check=True, capture_output=True
                )
            )
            for _ in range(3)
        ]
    print(f"\nactivetest next --n 10: {statistics.median(seconds):.2f} s")


def made(path: Path, rows: int, groups: int) -> np.ndarray:
    """(N,) labels of the pool at path, which is written unless it is there."""
    rng = np.random.default_rng(0)
    score = rng.beta(4, 1, rows).astype(np.float32)
    group = rng.integers(groups, size=rows)
    skill = rng.uniform(0.5, 1.0, groups)[group]
    pred = rng.integers(2, size=rows)
    truth = np.where(rng.random(rows) < skill, pred, 1 - pred)
    if not path.exists():
        # The predicted class has the larger probability.
        likely = 0.5 + score / 2
        first = np.where(pred == 0, likely, 1 - likely)
        columns = {"id": np.arange(rows), "prob_0": first, "prob_1": 1 - first}
        columns["place"] = np.array([f"p{code}" for code in range(groups)])[group]
        pq.write_table(pa.table(columns), path, row_group_size=_CHUNK)
    return truth


def played(pool: Path, truth: np.ndarray, folder: Path, labels: int) -> Path:
    """A study with so many labels."""
    init(str(pool), folder=folder, groups=("place",), question="identify", seed=1)
    study = StoredStudy.open(folder)
    batch = folder.with_suffix(".csv")
    ids = [row["id"] for row in next_batch(study, labels).rows]
    batch.write_text("id,label\n" + "".join(f"{id},{truth[int(id)]}\n" for id in ids))
    ingest(study, str(batch))
    return folder


def measured(folder: Path, task: str, metric: str, repeats: int) -> list[float]:
    """Milliseconds of the first choice, of a later one, and of one with its draw."""
    study = StoredStudy.open(folder)
    cache = study.cache()
    log, choices = study.log(cache), replace(study.choices, question=task, metric=metric)
    free = find_free_items(log, cache.size)

    def choice() -> np.ndarray:
        return allocate_draws(log, cache, choices, seed=study.seed, number=2, count=1)[1]

    def draw() -> None:
        strength = np.where(free, choice(), 0.0)
        drawn = race.draw_by_race(cache.hashes, strength, 10, seed=study.seed, stream=2)
        race.draw_probabilities(strength, drawn)

    first = clocked(choice)
    later = [statistics.median(clocked(one) for _ in range(repeats)) for one in (choice, draw)]
    return [1000 * each for each in (first, *later)]


def clocked(work: Callable[[], object]) -> float:
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
