"""Passes in processes have the results that they have in threads, whatever happens to a worker."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache as caches
from activetest.cache.cache import ensure_cache
from activetest.errors import ActivetestError, CacheRebuilt
from activetest.pool.pool import Pool
from activetest.system.engines.processes import Processes
from activetest.system.parallel import BLAS_THREADS, Threads, map_reduce, running_on
from tests.guarantees.test_determinism import make_columns, play_here
from tests.makers import change_array

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def processes():
    """Two processes for all tests."""
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture
def small_chunks(monkeypatch):
    """A pool of 500 rows is several pieces."""
    monkeypatch.setattr(caches, "_CHUNK", 200)
    monkeypatch.setattr(caches, "_FEWEST", 1)


def join(left, right):
    return left + right


@pytest.mark.parametrize(
    ("kind", "names"),
    [("classes", ["agreement", "forest", "stack"]), ("values", ["residual", "gp", "external"])],
)
def test_draws_and_reports_are_the_same_bytes(kind, names, tmp_path, processes, small_chunks):
    rows = 500
    columns, labels = make_columns(kind, rows)
    ids = [f"item-{row}" for row in range(rows)]
    key, pool = dict(zip(ids, labels, strict=True)), tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": ids, **columns}), pool, row_group_size=100)
    played = []
    for engine in (Threads(2), processes):
        with running_on(engine):
            played.append(play_here(pool, key, tmp_path / type(engine).__name__, names))
    assert played[0] == played[1]


def test_sums_of_floats_are_added_in_the_order_of_the_pieces(processes):
    pieces = [10.0 ** (7 * (k % 5) - 14) / 3 for k in range(200)]
    sums = set()
    for engine in (Threads(1), processes):
        with running_on(engine):
            sums.add(map_reduce(pieces, lambda x: x, join))
    assert len(sums) == 1


def test_a_worker_that_is_killed_changes_nothing(processes):
    """Each piece counts once, also those that the dead worker had done before."""
    killed = []

    def combine(left, right):
        if len(left) == 20:
            killed.append(right[0][1])
            os.kill(right[0][1], signal.SIGKILL)
        return left + right

    with running_on(processes):
        found = map_reduce(range(80), lambda piece: [(piece, os.getpid())], combine)
    assert [piece for piece, _ in found] == list(range(80))
    assert (
        killed[0] not in {pid for _, pid in found[40:]} and os.getpid() not in dict(found).values()
    )


def test_a_piece_that_ends_every_worker_is_an_error(processes):
    def fail(piece):
        if piece == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    with running_on(processes), pytest.raises(ActivetestError, match="workers died 4 times"):
        map_reduce(range(9), fail, max)


def test_the_first_error_in_the_order_of_the_pieces_is_raised(processes):
    def fail(piece):
        if piece in (3, 5):
            raise KeyError(piece)
        return piece

    with running_on(processes), pytest.raises(KeyError, match="3"):
        map_reduce(range(9), fail, max)


def test_only_a_few_results_exist_at_once(processes):
    begun, most = [], 0

    def pieces():
        for piece in range(50):
            begun.append(piece)
            yield piece

    def combine(left, right):
        nonlocal most
        most = max(most, len(begun) - right)
        return right

    with running_on(processes):
        map_reduce(pieces(), lambda piece: piece, combine)
    assert most <= 4 + 1


def test_a_cache_that_is_damaged_meanwhile_is_built_again_by_the_caller(
    tmp_path, write_pool, processes, small_chunks
):
    pool = Pool.open(write_pool(tmp_path / "pool.parquet", 500))
    cache = ensure_cache(pool, tmp_path / "cache")
    expected = ensure_cache(pool, tmp_path / "other").rows(0, 500).outputs.pred
    change_array(tmp_path / "cache", "pred")
    with running_on(processes), pytest.warns(CacheRebuilt):
        found = map_reduce(cache.chunks(), lambda piece: [cache.rows(*piece).outputs.pred], join)
    assert (np.concatenate(found) == expected).all()


def test_linear_algebra_has_one_thread_at_a_worker(monkeypatch):
    for library in BLAS_THREADS:
        monkeypatch.setenv(library, "2")

    def count(piece):
        import numpy as np
        from threadpoolctl import threadpool_info

        np.linalg.inv(np.eye(3))
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with closing(Processes(1)) as engine, running_on(engine):
        assert map_reduce(range(2), count, set.union) == {1}


SCRIPT = """\
import os
from activetest.system.engines import using
from activetest.system.parallel import map_reduce

print("begins")
with using("processes"):
    print(len({*map_reduce(range(9), lambda piece: [os.getpid()], list.__add__)} - {os.getpid()}))
"""


def test_a_script_needs_no_guard_of_its_main_part(tmp_path):
    """Workers do not run the script again, and end with it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.split()[0] == "begins" and done.stdout.split()[1] in "12"
