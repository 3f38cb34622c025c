"""The disk is full at any point of a command: it says so, nothing is lost, and it can be repeated.

With root rights the disk is a small file system with so many bytes left; without, and by default,
no file may grow beyond so many bytes.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests import makers
from tests.reliability.programs import STUDY, find_leftovers, run_here, take_snapshot

# The smallest amount in which a file system gives space away.
PAGE = 4096
# Pages that a command has, from none to more than it needs: at first, each one more matters.
AMOUNTS = [*range(16), *range(16, 300, 6)]

COMMANDS = {
    "init": ["init", "pool.parquet", "--seed", "1"],
    "init of a CSV file": ["init", "pool.csv", "--seed", "1"],
    "init again": ["init", "--metric", "f1[cat]"],
    "init with another seed": ["init", "--seed", "2"],
    "next": ["next", "--n", "40"],
    "next with arrays": ["next", "--n", "5"],
    "next -o": ["next", "--n", "40", "-o", "batch.csv"],
    "ingest": ["ingest", "labels.csv"],
    "ingest --replace": ["ingest", "others.csv", "--replace"],
    "ingest --undo": ["ingest", "--undo"],
    "report": ["report"],
    "report without a cache": ["report"],
}
LABELLED = ("report", "ingest --replace", "ingest --undo", "report without a cache")


def prepare(folder: Path, command: str) -> None:
    """A folder in which the command has something to do."""
    folder.mkdir()
    makers.write_pool(folder / "pool.parquet", 300)
    if command in ("init", "init of a CSV file"):
        rows = [f"item-{row},{'cat' if row % 3 else 'dog'},{row}" for row in range(3000)]
        (folder / "pool.csv").write_text("\n".join(["id,pred,x", *rows]) + "\n")
        return
    arrays = ["--surrogate", "linear"] if command == "next with arrays" else []
    assert run_here(folder, "init", "pool.parquet", "--seed", "1", *arrays) == 0
    if not command.startswith("init"):
        (folder / "first.csv").write_text("id,label\nitem-1,cat\nitem-2,dog\nitem-3,owl\n")
        assert run_here(folder, "ingest", "first.csv") == 0
    if command in ("ingest", *LABELLED):
        assert run_here(folder, "next", "--n", "50") == 0
        drawn = [draw.id for draw in take_snapshot(folder)[0].draws]
        for name, label in (("labels", "cat"), ("others", "dog")):
            rows = [f"{id},{label}" for id in drawn]
            (folder / f"{name}.csv").write_text("\n".join(["id,label", *rows]) + "\n")
    if command in LABELLED:
        assert run_here(folder, "ingest", "labels.csv") == 0
    if command == "report without a cache":
        shutil.rmtree(folder / STUDY / "cache")


def try_with(run: Callable, folder: Path, command: str, after: tuple) -> bool:
    """Whether a command succeeds that has too little space; checks what it leaves."""
    before = take_snapshot(folder)
    code, _, messages = run(folder, *COMMANDS[command])
    left = take_snapshot(folder)
    if code == 0:
        assert left == after
        return True
    assert code == 2, messages
    assert messages.startswith("error: ") and "free some space" in messages, messages
    assert "Traceback" not in messages
    assert left in (before, after), "half of it happened"
    return False


def check_repetition(folder: Path, command: str, after: tuple) -> None:
    """Once there is space, the study goes on."""
    before = take_snapshot(folder)
    if before != after or command.startswith(("report", "next")) or command == "ingest":
        assert run_here(folder, *COMMANDS[command]) == 0
    assert take_snapshot(folder) == after
    if command == "next -o":
        assert (folder / "batch.csv").read_text().count("\n") == 41
    assert find_leftovers(folder) == []


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """scene(command) is a folder in which it has something to do, and what it leads to."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)

    def make(command: str) -> tuple[Path, tuple]:
        prepare(tmp_path / "scene", command)
        shutil.copytree(tmp_path / "scene", tmp_path / "after")
        assert run_here(tmp_path / "after", *COMMANDS[command]) == 0
        return tmp_path / "scene", take_snapshot(tmp_path / "after")

    return make


@pytest.mark.parametrize(("command", "size"), [("next -o", 0), ("ingest", 8192)])
def test_files_that_cannot_grow_lose_nothing(scene, forks, command, size, count_trials):
    folder, after = scene(command)
    assert not try_with(partial(forks.run, size=size), folder, command, after)
    check_repetition(folder, command, after)
    count_trials("files that cannot grow")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_cannot_grow_at_any_size_lose_nothing(
    scene, forks, command, tmp_path, count_trials
):
    folder, after = scene(command)
    for half in range(2 * len(AMOUNTS)):
        work = tmp_path / "work"
        shutil.copytree(folder, work)
        done = try_with(
            partial(forks.run, size=AMOUNTS[half // 2] * PAGE + half % 2 * PAGE // 2),
            work,
            command,
            after,
        )
        check_repetition(work, command, after)
        count_trials("files that cannot grow")
        shutil.rmtree(work)
        if done:
            break
    assert done


@contextlib.contextmanager
def mounted(place: Path, pages: int) -> Iterator[Path]:
    """A file system of so many pages in memory."""
    place.mkdir()
    size = f"size={pages * PAGE}"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this system mounts no file system in memory")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, pages: int) -> Path:
    """A file that leaves so many pages of a file system free."""
    filler = place / "filler"
    state = os.statvfs(place)
    left = state.f_bavail * state.f_frsize - pages * PAGE
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, left) if left > 0 else None
    return filler


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("mount"),
    reason="only root can mount a small disk",
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_loses_nothing(scene, forks, command, tmp_path, count_trials):
    folder, after = scene(command)
    with mounted(tmp_path / "disk", 1024) as disk:
        for pages in AMOUNTS:
            work = disk / "work"
            shutil.copytree(folder, work)
            filler = fill(disk, pages)
            done = try_with(forks.run, work, command, after)
            filler.unlink()
            check_repetition(work, command, after)
            count_trials("full disks")
            shutil.rmtree(work)
            if done:
                break
    assert done
