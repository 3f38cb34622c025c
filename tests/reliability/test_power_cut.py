"""Work that a command reports as done survives a power cut, on most people's file system.

The image of a disk is copied as soon as a command returns, without its unwritten pages: what the
copy holds is what the disk would hold if the power went off at that moment.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TOOLS = ("mkfs.ext4", "mount", "umount")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(shutil.which, TOOLS)) or not hasattr(os, "geteuid") or os.geteuid() != 0,
        reason="only root can mount the image of a disk",
    ),
]


@contextlib.contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    """The file system in an image; nothing is written to it on its own for an hour."""
    place.mkdir(exist_ok=True)
    options = "loop,commit=3600"
    done = subprocess.run(
        ["mount", "-o", options, str(image), str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this system mounts no images")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A mounted disk of 64 MiB."""
    image = tmp_path / "disk.img"
    with open(image, "wb") as file:
        file.truncate(64 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    with mounted(image, tmp_path / "disk") as place:
        yield place


@contextlib.contextmanager
def after_a_power_cut(disk: Path) -> Iterator[Path]:
    """The disk as it would come up again, if the power went off now."""
    copy = disk.parent / "copy.img"
    shutil.copyfile(disk.parent / "disk.img", copy)
    with mounted(copy, disk.parent / "copy") as place:
        yield place


def run(folder: Path, *words: str) -> str:
    """The output of a command, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "activetest", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def count(folder: Path, name: str) -> int:
    """A count of `status`."""
    return json.loads(run(folder, "status", "--format", "json"))["counts"][name]


def test_what_is_done_survives(disk, write_pool, monkeypatch, count_trials):
    work = disk / "new" / "folders"
    work.mkdir(parents=True)
    write_pool(work / "pool.parquet", 40)
    os.sync()
    run(work, "init", "pool.parquet", "--seed", "1", "--study", "deep/er/study")
    inside = Path("new") / "folders"
    monkeypatch.setenv("ACTIVETEST_STUDY", "deep/er/study")
    with after_a_power_cut(disk) as copy:
        assert count(copy / inside, "drawn") == 0
    count_trials("power cuts")
    for number in range(1, 6):
        run(work, "next", "--n", "4", "-o", f"batch-{number}.csv")
        with after_a_power_cut(disk) as copy:
            assert count(copy / inside, "pending") == 4
            batch = (copy / inside / f"batch-{number}.csv").read_text()
            assert batch == (work / f"batch-{number}.csv").read_text()
        filled = [line + "cat" * (place > 0) for place, line in enumerate(batch.splitlines())]
        (work / f"batch-{number}.csv").write_text("\n".join(filled))
        run(work, "ingest", f"batch-{number}.csv")
        with after_a_power_cut(disk) as copy:
            assert count(copy / inside, "labeled") == 4 * number
        count_trials("power cuts", 2)
