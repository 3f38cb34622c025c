"""Several processes create one study at the same moment: one does, and the others are told."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from activetest.study.study import Study

ROOT = Path(__file__).parents[2]
PROCESSES, LABELS = 3, 10
# With busy processors, processes may follow one another.
_MOST_TRIALS = 60
TOLD = "another program created it meanwhile"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")


def check_trial(ended: list[tuple[int, str]], interrupted: bool) -> int:
    """Exactly one process created the study; the number of those that were told."""
    left = ended[:-1] if interrupted else ended
    created = [said for code, said in left if code == 0 and said.startswith("created ")]
    told = [said for code, said in left if code == 2 and TOLD in said]
    # Whoever comes late finds the study, and changes nothing.
    late = [said for code, said in left if code == 0 and said.startswith("updated ")]
    assert len(created) + len(told) + len(late) == len(left), ended
    assert len(created) == 1 or (interrupted and not created), ended
    assert not any("No such file" in said for _, said in ended), ended
    return len(told)


def use_study() -> None:
    """Whichever process was first, its study takes labels and keeps them."""
    study = Study.open()
    study.ingest(dict.fromkeys(study.next(LABELS).ids, "cat"))
    assert Study.open().status().counts.labeled == LABELS
    # Leftovers of interrupted processes go with the next that writes there.
    study.next(3, path="batch.csv")


def try_often(
    trials: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_pool: Callable,
    pools: tuple[str, ...] = ("pool.parquet", "pool.csv"),
) -> None:
    """Two of three trials interrupt a process, in two ways; there are more until processes met."""
    rows = "".join(f"item-{row},{'cat' if row else 'dog'}\n" for row in range(2_000))
    for name in pools:
        monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
        command = [sys.executable, str(Path(__file__).with_name("at_once.py")), str(PROCESSES)]
        with subprocess.Popen(
            [*command, "init", name],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver:
            told = 0
            for trial in range(_MOST_TRIALS):
                if trial >= trials // 2 and told:
                    break
                at = folder / f"{name}-{trial}"
                at.mkdir()
                monkeypatch.chdir(at)
                if name == "pool.csv":
                    (at / name).write_text(f"id,pred\n{rows}")
                else:
                    write_pool(at / name, 2_000)
                sent = (0, signal.SIGINT, signal.SIGTERM)[trial % 3]
                driver.stdin.write(f"{at} {int(sent)}\n")
                driver.stdin.flush()
                ended = json.loads(driver.stdout.readline())
                told += check_trial(ended, bool(sent))
                use_study()
                assert sorted(os.listdir(at)) == [".activetest", "batch.csv", name]
            driver.stdin.close()
        assert driver.returncode == 0
        # Or they did not meet.
        assert told


@pytest.mark.parametrize("name", ["pool.csv", pytest.param("pool.parquet", marks=pytest.mark.ci)])
def test_one_of_several_inits_creates_the_study(
    tmp_path, monkeypatch, write_pool, count_trials, name
):
    try_often(3, tmp_path, monkeypatch, write_pool, (name,))
    count_trials("studies that several processes created at the same moment", 3)


@pytest.mark.slow
def test_one_of_many_inits_creates_the_study(tmp_path, monkeypatch, write_pool, count_trials):
    try_often(40, tmp_path, monkeypatch, write_pool)
    count_trials("studies that several processes created at the same moment", 40)
