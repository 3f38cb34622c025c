"""Passes as tasks of Ray have the results that they have in threads, whatever happens to it."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache as caches
from activetest.errors import ActivetestError, ChoiceError
from activetest.system.engines import make_engine, ray_tasks
from activetest.system.engines.ray_tasks import RayTasks, is_ray
from activetest.system.parallel import Threads, map_reduce, running_on
from tests.guarantees.test_determinism import make_columns, play_here

ROOT = Path(__file__).parents[3]

with_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed"
)


@pytest.fixture(scope="module")
def ray_tasks_here():
    """A cluster of this machine for all tests."""
    engine = RayTasks("ray")
    yield engine
    engine.close()


@pytest.fixture
def installed(monkeypatch):
    """Ray seems to be there, whether it is or not."""
    monkeypatch.setattr(ray_tasks, "_is_installed", lambda: True)


def list_processes() -> list:
    return map_reduce(range(40), lambda piece: [(piece, os.getpid())], list.__add__)


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("ray", True),
        ("ray://head:10001", True),
        ("10.0.0.1:6379", True),
        ("[::1]:6379", True),
        ("head", False),
        ("ray://head", False),
        ("http://head:80", False),
        ("", False),
    ],
)
def test_an_engine_of_ray_is_its_name_or_an_address(address, known):
    assert is_ray(address) == known


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(ray_tasks, "_is_installed", lambda: False)
    with pytest.raises(ChoiceError, match="the engine head:6379 needs Ray") as error:
        make_engine("head:6379")
    assert error.value.hint == "pip install 'activetest[ray]'"


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_that_refuses_is_an_error_with_the_reason(scheme, installed):
    with socket.socket() as taken:
        # Nobody listens there.
        taken.bind(("127.0.0.1", 0))
        engine = make_engine(f"{scheme}127.0.0.1:{taken.getsockname()[1]}")
        with running_on(engine), pytest.raises(ActivetestError, match="cannot be used: .*refused"):
            list_processes()


@with_ray
@pytest.mark.ci
@pytest.mark.parametrize(
    ("kind", "names"), [("classes", ["agreement", "forest"]), ("values", ["residual", "gp"])]
)
def test_draws_and_reports_are_the_same_bytes(kind, names, tmp_path, ray_tasks_here, monkeypatch):
    monkeypatch.setattr(caches, "_CHUNK", 200)
    monkeypatch.setattr(caches, "_FEWEST", 1)
    rows = 500
    columns, labels = make_columns(kind, rows)
    ids = [f"item-{row}" for row in range(rows)]
    key, pool = dict(zip(ids, labels, strict=True)), tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": ids, **columns}), pool, row_group_size=100)
    played = []
    for engine in (Threads(2), ray_tasks_here):
        with running_on(engine):
            played.append(play_here(pool, key, tmp_path / type(engine).__name__, names))
    assert played[0] == played[1]


@with_ray
@pytest.mark.ci
def test_a_worker_that_is_killed_changes_nothing_and_nothing_is_printed(ray_tasks_here, capfd):
    killed = []

    def combine(left, right):
        if len(left) == 20:
            killed.append(right[0][1])
            os.kill(right[0][1], signal.SIGKILL)
        return left + right

    with running_on(ray_tasks_here):
        found = map_reduce(range(80), lambda piece: [(piece, os.getpid())], combine)
    assert [piece for piece, _ in found] == list(range(80)) and killed
    assert os.getpid() not in dict(found).values()
    assert capfd.readouterr() == ("", "")


@with_ray
@pytest.mark.ci
def test_an_error_of_a_piece_is_raised_as_it_is(ray_tasks_here):
    def fail(piece):
        if piece in (3, 5):
            raise ChoiceError(f"piece {piece}", "leave it out")
        return piece

    with running_on(ray_tasks_here), pytest.raises(ChoiceError, match="piece 3") as error:
        map_reduce(range(9), fail, max)
    assert error.value.hint == "leave it out"


@with_ray
@pytest.mark.ci
def test_a_piece_that_ends_every_worker_is_an_error(ray_tasks_here):
    def fail(piece):
        if piece == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    with running_on(ray_tasks_here), pytest.raises(ActivetestError, match="Ray could not do"):
        map_reduce(range(9), fail, max)


def run_program(program: str, *words: str) -> str:
    """The last line that a program prints: a process can be part of one cluster."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


SILENT = """
import sys

from activetest.errors import ActivetestError
from activetest.system.engines import ray_tasks, using
from activetest.system.parallel import map_reduce

ray_tasks._TIMEOUT = 2.0
try:
    with using(sys.argv[1]):
        map_reduce(range(9), lambda piece: piece, max)
except ActivetestError as error:
    print(error)
"""


@with_ray
@pytest.mark.ci
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_host_that_is_no_cluster_is_an_error_within_bounded_time(scheme):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"{scheme}127.0.0.1:{silent.getsockname()[1]}"
        said = run_program(SILENT, address)
    assert said == f"the engine {address} cannot be used: no answer of Ray within 2 s"


# Two nodes of a cluster on one machine: a program of its own, which may have one cluster alone.
CLUSTER = """
import os
import sys

os.environ["RAY_AUTH_MODE"] = "disabled"
from ray.cluster_utils import Cluster

from activetest.system.engines import using
from activetest.system.parallel import map_reduce


def find_node(piece):
    import time

    import ray

    time.sleep(0.1)
    return [(piece, ray.get_runtime_context().get_node_id())]


removed = []


def combine(left, right):
    if len(left) == 10 and "remove" in sys.argv:
        cluster.remove_node(second, allow_graceful=False)
    return left + right


cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
with using(cluster.address):
    found = map_reduce(range(40), find_node, combine)
assert [piece for piece, _ in found] == list(range(40))
print(len({node for _, node in found}), "nodes")
cluster.shutdown()
"""


@with_ray
@pytest.mark.ci
@pytest.mark.parametrize("words", [[], ["remove"]])
def test_two_nodes_share_the_pieces_and_one_may_be_lost(words):
    assert run_program(CLUSTER, *words) == "2 nodes"
