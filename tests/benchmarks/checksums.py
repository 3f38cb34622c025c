"""Cost of checking the cache for a verb: pairs of runs, with checks and without them.

A pool of four classes, 64 features and that many rows is made in FOLDER, with a study that has 100
labels. Each run is a process; both kinds import the same modules before the clock starts, and take
turns in going first. Printed are the differences of wall and processor seconds, mean and standard
error, over the medians without checks.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import benchmark
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import activetest as at

RUN = """
import os, sys, time
from activetest.cache import store
from activetest.cli.app import main
if sys.argv[1] == "unchecked":
    store._Mapped.is_whole = lambda self, piece: True
sys.stdout = open(os.devnull, "w")
wall, cpu = time.perf_counter(), time.process_time()
code = main(sys.argv[2:])
print(time.perf_counter() - wall, time.process_time() - cpu, file=sys.__stdout__, flush=True)
os._exit(code or 0)
"""


def create_study(folder: Path, rows: int) -> Path:
    """A study of `rows` items with 100 labels."""
    rng = np.random.default_rng(0)
    columns = {"id": [f"item-{row}" for row in range(rows)]}
    probs = rng.dirichlet(np.ones(4), rows).astype(np.float32)
    columns |= {f"prob_{code}": probs[:, code] for code in range(4)}
    columns |= {f"x{place}": rng.normal(size=rows).astype(np.float32) for place in range(64)}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    study = at.Study.create(folder / "pool.parquet", folder / "study", seed=1)
    study.ingest({id: str(place % 4) for place, id in enumerate(study.next(100).ids)})
    return folder / "study"


def measure(kind: str, verb: list[str], study: Path) -> list[float]:
    """Wall and processor seconds of a verb."""
    command = [sys.executable, "-c", RUN, kind, *verb, "--study", str(study)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    options = benchmark.read_options(
        __doc__,
        ("folder", {"type": Path, "help": "an empty folder"}),
        rows={"type": int, "default": 1_000_000, "help": "of the pool (1000000)"},
        pairs={"type": int, "default": 30, "help": "of runs of each verb (30)"},
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    study = create_study(options.folder, options.rows)
    ledger = shutil.copy(study / "ledger.db", options.folder / "ledger.db")
    table = benchmark.Table(options, "command | clock | added, ms | standard error | share")
    for verb in (["next", "-n", "10", "--new"], ["report"]):
        found: dict[str, list[list[float]]] = {"checked": [], "unchecked": []}
        for pair in range(options.pairs):
            for kind in sorted(found, reverse=bool(pair % 2)):
                found[kind].append(measure(kind, verb, study))
                shutil.copy(ledger, study / "ledger.db")
        added = np.subtract(found["checked"], found["unchecked"])
        error = added.std(axis=0, ddof=1) / np.sqrt(len(added))
        share = added.mean(axis=0) / np.median(found["unchecked"], axis=0)
        for place, clock in enumerate(("wall", "processor")):
            numbers = f"{added.mean(axis=0)[place] * 1e3:+.1f}", f"{error[place] * 1e3:.1f}"
            table.add(" ".join(verb), clock, *numbers, f"{share[place]:+.1%}")


if __name__ == "__main__":
    main()
