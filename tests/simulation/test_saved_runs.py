"""A simulation that was interrupted goes on, and ends as if it never had been."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activetest.errors import ChoiceError, StorageError
from activetest.pool.pool import Pool
from activetest.simulation.saved_runs import SavedRuns, hash_package
from activetest.simulation.simulate import simulate
from tests.makers import copy_written

ROOT = Path(__file__).parents[2]
HEADER = {"activetest": "1", "seed": 1}


@pytest.fixture
def play(folder, write_pool):
    """play(**options) simulates on a pool of 40 items whose key is key.csv."""
    write_pool(folder / "pool.parquet", 40)
    lines = [f"item-{row},{'cat' if row % 3 else 'dog'}" for row in range(40)]
    (folder / "key.csv").write_text("\n".join(["id,label", *lines]) + "\n")

    def simulated(**options):
        usual = {"budgets": (5, 10), "runs": 4, "workers": 1, "metrics": ("error", "log-loss")}
        usual["acquisition"] = ("optimal", "uniform", "active-risk")
        pool = Pool.open(str(folder / "pool.parquet"))
        return simulate(pool, folder / "key.csv", **(usual | options))

    return simulated


@pytest.fixture
def saved(play, folder) -> None:
    """Runs that play() keeps in runs.jsonl."""
    copy_written("saved runs", lambda place: play(save=place / "runs.jsonl"), folder)


def finished(path: Path) -> list[tuple[int, int]]:
    """(strategy, run) of every whole line but the first."""
    lines = path.read_text().splitlines()[1:]
    return [(run["strategy"], run["run"]) for run in map(json.loads, lines)]


def test_saved_runs_are_not_made_again(play, folder):
    whole = play(save="runs.jsonl")
    written = Path("runs.jsonl").read_bytes()
    seen = []
    again = play(save="runs.jsonl", progress=lambda done, total: seen.append((done, total)))
    assert again == whole == play()
    assert seen == [(12, 12)]
    assert Path("runs.jsonl").read_bytes() == written


@pytest.mark.parametrize("torn", [b"", b'{"strategy": 1, "run": 2, "fou', b"\xff\xfe{"])
def test_a_torn_last_line_is_made_again(play, saved, torn):
    whole = play(save="runs.jsonl")
    lines = Path("runs.jsonl").read_bytes().splitlines(keepends=True)
    Path("runs.jsonl").write_bytes(b"".join(lines[:6]) + torn)
    assert play(save="runs.jsonl") == whole
    assert sorted(finished(Path("runs.jsonl"))) == [(s, r) for s in range(3) for r in range(4)]


def test_a_torn_first_line_is_a_simulation_that_has_not_begun(play, saved):
    whole = play(save="runs.jsonl")
    first = Path("runs.jsonl").read_bytes().splitlines()[0]
    Path("runs.jsonl").write_bytes(first[:100])
    assert play(save="runs.jsonl") == whole
    assert len(finished(Path("runs.jsonl"))) == 12


def test_more_runs_are_added_to_those_there_are(play, folder):
    play(save="runs.jsonl", runs=2)
    assert len(finished(Path("runs.jsonl"))) == 6
    assert play(save="runs.jsonl", runs=4) == play(runs=4)
    # Those beyond what is asked for do not count.
    assert play(save="runs.jsonl", runs=2) == play(runs=2)


def test_several_workers_write_the_same_as_one(play, folder):
    one = play(save="one.jsonl")
    assert play(save="two.jsonl", workers=2) == one
    lines = [Path(name).read_text().splitlines() for name in ("one.jsonl", "two.jsonl")]
    assert lines[0][0] == lines[1][0]
    assert sorted(lines[0]) == sorted(lines[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 1}, "seed"),
        ({"budgets": (5,)}, "budgets"),
        ({"floor": 0.5}, "strategies"),
        ({"estimators": ("lure",)}, "estimators"),
    ],
)
def test_another_plan_is_another_simulation(play, saved, change, said):
    written = Path("runs.jsonl").read_bytes()
    with pytest.raises(ChoiceError, match=f"another simulation: it differs in {said}$"):
        play(save="runs.jsonl", **change)
    assert Path("runs.jsonl").read_bytes() == written


def test_another_pool_or_key_is_another_simulation(play, saved, folder, write_pool):
    key = Path("key.csv").read_text()
    Path("key.csv").write_text(key.replace("item-1,cat", "item-1,owl"))
    with pytest.raises(ChoiceError, match="differs in key"):
        play(save="runs.jsonl")
    Path("key.csv").write_text(key)
    write_pool(folder / "pool.parquet", 40, seed=1)
    with pytest.raises(ChoiceError, match="differs in pool"):
        play(save="runs.jsonl")


def test_runs_of_other_code_are_another_simulation(play, saved):
    first, *others = Path("runs.jsonl").read_text().splitlines(keepends=True)
    program = json.loads(first)["program"]
    Path("runs.jsonl").write_text(first.replace(program, program[::-1]) + "".join(others))
    with pytest.raises(ChoiceError, match="another simulation: it differs in program$"):
        play(save="runs.jsonl")


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("new.py", True),
        ("surrogates/new.py", True),
        ("sample_data/new.py", False),
        ("a.txt", False),
    ],
)
def test_the_program_is_the_packages_own_code(tmp_path, path, counts):
    for name in ("__init__.py", "rounds.py"):
        (tmp_path / name).write_text(name)
    before = hash_package(tmp_path)
    assert before == hash_package(tmp_path)
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("")
    assert (hash_package(tmp_path) != before) == counts
    (tmp_path / "rounds.py").write_text("other")
    changed = hash_package(tmp_path)
    (tmp_path / "rounds.py").rename(tmp_path / "bounds.py")
    assert len({before, changed, hash_package(tmp_path)}) == 3


@pytest.mark.parametrize("content", ["id,label\n1,cat\n", "[1, 2]\n", "no newline", "{}\n"])
def test_a_file_of_something_else_is_left_alone(play, folder, content):
    Path("runs.jsonl").write_text(content)
    with pytest.raises(ChoiceError, match="is not a saved simulation"):
        play(save="runs.jsonl")
    assert Path("runs.jsonl").read_text() == content


@pytest.mark.parametrize("name", ["nowhere/runs.jsonl", "."])
def test_a_place_that_cannot_be_written(play, folder, name):
    with pytest.raises(StorageError, match="cannot keep runs in"):
        play(save=name)


def test_a_damaged_line_is_named(play, saved):
    lines = Path("runs.jsonl").read_text().splitlines()
    lines[3] = lines[3][:40]
    Path("runs.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(ChoiceError, match="runs.jsonl, line 4, is not a run"):
        play(save="runs.jsonl")


NUMBERS = "0.1, 0.0, 0.2, 5.0"


@pytest.mark.parametrize(
    "line",
    [
        '{"strategy": [0], "run": 5, "found": []}',
        '{"strategy": 0, "run": "5", "found": []}',
        '{"strategy": true, "run": 5, "found": []}',
        '{"strategy": 0, "run": -1, "found": []}',
        '{"strategy": 0, "run": 5}',
        '{"strategy": 0, "run": 5, "found": {}}',
        '{"strategy": 0, "run": 5, "found": [["lure", "error", 5, 0.1]]}',
        f'{{"strategy": 0, "run": 5, "found": [["lure", "error", 5, {NUMBERS}, 1.0, 1.0, 1.0]]}}',
        f'{{"strategy": 0, "run": 5, "found": [["lure", ["error"], 5, {NUMBERS}]]}}',
        f'{{"strategy": 0, "run": 5, "found": [["lure", "error", "5", {NUMBERS}]]}}',
        '{"strategy": 0, "run": 5, "found": [["lure", "error", 5, 0.1, null, 0.2, 5.0]]}',
        '{"strategy": 0, "run": 5, "found": [["lure", "error", 5, "few", 0.0, 0.2, 5.0]]}',
        f'{{"strategy": 0, "run": 5, "found": [["lure", "error", 5, {10**400}, 0.0, 0.2, 5.0]]}}',
        "[]",
    ],
)
def test_a_line_that_is_no_run_is_named_before_anything_is_played(play, folder, line):
    copy_written("two saved runs", lambda place: play(save=place / "runs.jsonl", runs=2), folder)
    with open("runs.jsonl", "a") as file:
        file.write(line + "\n")
    written, seen = Path("runs.jsonl").read_bytes(), []
    with pytest.raises(ChoiceError, match="runs.jsonl, line 8, is not a run") as caught:
        play(save="runs.jsonl", progress=lambda *done: seen.append(done))
    assert "delete that line" in caught.value.hint
    assert seen == [] and Path("runs.jsonl").read_bytes() == written


def test_limits_that_are_not_finite_come_back(tmp_path):
    found = {("lure", "error", 5): (0.5, -math.inf, math.inf, 5.0)}
    with SavedRuns(tmp_path / "runs.jsonl", HEADER) as saved:
        saved.add((0, 1), found)
    with SavedRuns(tmp_path / "runs.jsonl", HEADER) as saved:
        assert saved.runs == {(0, 1): found}


@pytest.mark.skipif(os.name != "posix", reason="only there are files locked")
def test_two_commands_do_not_write_to_one_file(tmp_path):
    path, found = tmp_path / "runs.jsonl", {("lure", "error", 5): (0.5, 0.1, 0.9, 5.0)}
    with SavedRuns(path, HEADER) as saved:
        with pytest.raises(ChoiceError, match="another program is keeping runs in .*runs.jsonl"):
            SavedRuns(path, HEADER)
        saved.add((0, 0), found)
    with SavedRuns(path, HEADER) as saved:
        assert saved.runs == {(0, 0): found}


@pytest.mark.skipif(os.name != "posix", reason="only there are files locked")
def test_a_refused_file_is_free_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    with SavedRuns(path, HEADER):
        pass
    with pytest.raises(ChoiceError, match="another simulation") as caught:
        SavedRuns(path, HEADER | {"seed": 2})
    # The traceback keeps what was refused alive.
    assert caught.tb is not None
    with SavedRuns(path, HEADER) as saved:
        assert saved.runs == {}


def children(parent: int) -> set[int]:
    """Processes that this one started."""
    found = Path(f"/proc/{parent}/task/{parent}/children")
    return set(map(int, found.read_text().split())) if found.exists() else set()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks Linux who is alive")
def test_whoever_kills_it_loses_only_the_runs_that_were_going_on(play, folder):
    """SIGKILL while two workers play: they end as well, and what was finished is used."""
    words = ["simulate", "pool.parquet", "--labels", "key.csv", "--save", "runs.jsonl"]
    words += ["--runs", "200", "--budget", "30", "--batch", "1", "--workers", "2"]
    words += ["--metric", "error", "--acquisition", "optimal", "--estimator", "doubly-robust"]
    code = f"from activetest.cli.app import main\nif __name__ == '__main__': main({words!r})"
    (folder / "main.py").write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = subprocess.Popen([sys.executable, "main.py"], env=environment, cwd=folder)
    saved = Path("runs.jsonl")
    while not (saved.exists() and len(saved.read_text().splitlines()) > 5):
        assert running.poll() is None
        time.sleep(0.02)
    workers = children(running.pid)
    running.send_signal(signal.SIGKILL)
    running.wait()
    while any(Path(f"/proc/{each}/exe").exists() for each in workers):
        time.sleep(0.02)
    there = len(saved.read_text().split("\n")[1:-1])
    assert 5 <= there < 200
    options = {"runs": there + 10, "budgets": (30,), "batch": 1, "metrics": ("error",)}
    options |= {"acquisition": ("optimal",), "estimators": ("doubly-robust",)}
    seen = []
    resumed = play(save="runs.jsonl", progress=lambda done, _: seen.append(done), **options)
    assert seen[0] > 0
    assert resumed == play(**options)
