"""Runs of a simulation in other processes."""

import operator
import subprocess
import sys
from pathlib import Path

from activetest.simulation.workers import run_tasks

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import activetest as at

print("begins")
found = at.simulate({pool!r}, {key!r}, budgets=20, runs=2, workers=2, metrics="error")
print(len(found), "results")
"""


def test_a_script_may_simulate_without_a_guard_of_its_main_part(tmp_path, write_pool):
    """Workers do not run the script again."""
    pool = str(write_pool(tmp_path / "pool.parquet", 40))
    key = {f"item-{row}": "cat" if row % 3 else "dog" for row in range(40)}
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(pool=pool, key=key))
    done = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "begins" and done.stdout.count("begins") == 1
    assert done.stdout.endswith(" results\n")


def test_who_may_be_interrupted_holds_no_lock_of_what_is_still_to_come(monkeypatch):
    """An interrupt right after such a lock is taken would keep it, and the end would never come."""

    def refuse(*_: object) -> None:
        raise AssertionError("the main thread takes locks of unfinished futures")

    monkeypatch.setattr("concurrent.futures._base._AcquireFutures.__enter__", refuse)
    found = dict(run_tasks(tuple, ((2, 3),), operator.getitem, [0, 1], workers=2))
    assert found == {0: 2, 1: 3}
