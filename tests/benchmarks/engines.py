"""Time of one pass of a surrogate over a pool on every engine, and what its start costs.

Makes FOLDER/pool-ROWS-lists.parquet (see loop.py) unless it is there. A surrogate learns from 200
labels, and a pass sums what it expects of every item. All engines have to find the same number, to
the last bit. Of Ray, clusters of one and of two nodes with one processor each are started, where it
is installed. Seconds are those of the wall; processor seconds are those of the pieces alone, so
that a busy machine shows.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import benchmark
import loop
import numpy as np

from activetest.item_statistics.statistic import statistic
from activetest.rounds.fit import get_surrogate
from activetest.study.study import Study
from activetest.system.engines.parcels import pack
from activetest.system.engines.processes import Processes
from activetest.system.engines.ray_tasks import RayTasks
from activetest.system.parallel import Local, Threads, map_reduce, processors, running_on

LABELS = 200


def fit(folder: Path, pool: Path, name: str) -> tuple[Any, Any]:
    """The cache of a new study of the pool, and its surrogate after the first labels."""
    study = Study.create(pool, folder, surrogate=name, seed=1)
    truth = loop._labels(pool)
    batch = study.next(LABELS)
    study.ingest({id: str(truth[int(id)]) for id in batch.ids})
    stored = study._stored
    cache = stored.cache()
    log = stored.log(cache)
    return cache, get_surrogate(log, cache, stored.choices, seed=1)


def time_pass(cache: Any, surrogate: Any, chunk: int | None) -> tuple[float, float, str]:
    """Seconds, processor seconds in pieces, and the sums of one pass."""
    statistics = (statistic(cache.statistics[0]),)

    def sum_piece(piece: tuple[int, int]) -> np.ndarray:
        began = time.thread_time()
        total = surrogate.expected(cache.rows(*piece), statistics).sum(dtype=float)
        return np.array([total, time.thread_time() - began])

    began = time.perf_counter()
    total, spent = map_reduce(cache.chunks(chunk), sum_piece, np.add)
    return time.perf_counter() - began, float(spent), float(total).hex()


@contextmanager
def start_nodes(count: int) -> Iterator[Any]:
    """Ray with so many nodes of one processor each."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    from ray.cluster_utils import Cluster

    one = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=one)
    for _ in range(count - 1):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    with closing(RayTasks(cluster.address)) as engine:
        yield engine
    cluster.shutdown()


# {engine: (numbers of workers, how it is made of one)}; Ray's nodes have one processor each.
SEVERAL = max(processors(), 2)
ENGINES: dict[str, tuple[tuple[int, ...], Callable[[int], Any]]] = {
    "threads": ((1, SEVERAL), lambda workers: closing(Threads(workers))),
    "by default": ((SEVERAL,), lambda _: closing(Local())),
    "processes": ((1, SEVERAL), lambda workers: closing(Processes(workers))),
    "ray": ((processors(),), lambda _: closing(RayTasks("ray"))),
    "nodes of ray": ((1, 2), start_nodes),
}


def measure(options: argparse.Namespace) -> None:
    """Print passes of one engine in this process, as JSON."""
    name, _, workers = options.only.partition(":")
    with open(options.folder / "fitted", "rb") as file:
        head, arrays = pickle.load(file)
    cache, surrogate = pickle.loads(head, buffers=arrays)
    with ENGINES[name][1](int(workers)) as engine, running_on(engine):
        passes = [
            time_pass(cache, surrogate, options.chunk or None) for _ in range(options.repeats + 1)
        ]
    print(json.dumps(passes))


def main() -> None:
    """Run the pass on every engine, and print the table."""
    options = benchmark.read_options(
        __doc__, "folder", rows=1_000_000, surrogate="forest", repeats=3, chunk=0, only=""
    )
    if options.only:
        measure(options)
        return
    pool = options.folder.resolve() / f"pool-{options.rows}-lists.parquet"
    if not pool.exists():
        loop.make_pool(pool, options.rows, "lists")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        head, arrays = pack(fit(Path(folder) / "study", pool, options.surrogate))
        with open(Path(folder) / "fitted", "wb") as file:
            pickle.dump((head, list(map(bytes, arrays))), file)
        print_table(Path(folder), options)


def print_table(folder: Path, options: argparse.Namespace) -> None:
    """A row for every engine: the first pass, and the median of those after it."""
    table = benchmark.Table(
        options, "engine | workers | first pass, s | pass, s | processor seconds | against one"
    )
    found, single = set(), {}
    for name, (numbers, _) in ENGINES.items():
        for workers in numbers if "ray" not in name or find_spec("ray") else ():
            passes = run_engine(folder, f"{name}:{workers}", options)
            seconds = median(each[0] for each in passes[1:])
            spent = median(each[1] for each in passes[1:])
            found |= {each[2] for each in passes}
            base = single.setdefault(name, seconds)
            cells = f"{passes[0][0]:.2f} | {seconds:.2f} | {spent:.2f} | {base / seconds:.2f}"
            table.add(name, workers, cells)
    if len(found) > 1:
        raise SystemExit(f"the engines found {len(found)} different sums")


def run_engine(folder: Path, only: str, options: argparse.Namespace) -> list[list[Any]]:
    """The passes of an engine in a process of its own: one process has one cluster of Ray."""
    words = ["--only", only, "--repeats", f"{options.repeats}", "--chunk", f"{options.chunk}"]
    done = subprocess.run(
        [sys.executable, __file__, str(folder), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
