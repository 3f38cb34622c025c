"""Frames that are pools: a study keeps its own copy, as a file named by the hash of its content.

The file is complete and on the disk before study.toml names it, so that a crash leaves the old pool
or the new one.
"""

import contextlib
import hashlib
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.errors import PoolError
from activetest.study.folder import INSIDE, POOL

# What messages call a frame.
NAME = "the frame"
# Begins the name of what a program that was killed leaves in the study folder.
UNFINISHED = f".{POOL}-"
_FILE = re.compile(r"[0-9a-f]{32}\.parquet")
# A file that no study.toml names is removed when it is so old (seconds): a program that has just
# opened the study may still read it.
_ABANDONED = 3600


@dataclass(frozen=True)
class SavedFrame:
    """A frame in a file.

    path     of the file
    address  for study.toml
    """

    path: Path
    address: str


def is_address(pool: Any) -> bool:
    """Whether a pool is given by its address, and not as a frame.

    Raises PoolError for what is neither.
    """
    if isinstance(pool, str | PathLike):
        return True
    from activetest.pool import frames

    if frames.is_frame(pool):
        return False
    raise PoolError(
        f"{type(pool).__name__} is no pool",
        "give the address of a file or folder, or a frame of pandas, Polars or Arrow",
    )


@contextmanager
def saving_frame(frame: Any, folder: Path, *, dry_run: bool) -> Iterator[SavedFrame]:
    """The frame in a file: that of the study in `folder` if it has it, else one that goes away.

    With dry_run the file is among the system's temporary ones. Raises PoolError for what is no
    pool, OSError when the file cannot be written.
    """
    from activetest.pool import frames

    parent = None
    if not dry_run:
        folder.mkdir(parents=True, exist_ok=True)
        atomic.remove_abandoned(folder, UNFINISHED)
        parent = folder
    with tempfile.TemporaryDirectory(
        prefix=UNFINISHED, dir=parent, ignore_cleanup_errors=True
    ) as temporary:
        place = Path(temporary)
        written = place / "frame.parquet"
        frames.save_frame(frame, written)
        name = f"{_hash_file(written)}.parquet"
        stored = folder / POOL / name
        if not dry_run and stored.is_file() and _hash_file(stored) == stored.stem:
            path = stored
        else:
            path = place / name
            atomic.move_file(written, path)
        yield SavedFrame(path, f"{INSIDE}{POOL}/{name}")


def keep_frame(file: Path, folder: Path) -> None:
    """Move the file of a frame to its place in a study folder, where it is not there already."""
    target = folder / POOL / file.name
    if file != target:
        target.parent.mkdir(exist_ok=True)
        atomic.sync_file(file)
        atomic.move_file(file, target)
        atomic.sync_folder(target.parent)
        atomic.sync_folder(folder)


def remove_unused(folder: Path, address: str) -> None:
    """Remove older pools of a study, but not the one at `address`.

    Whatever cannot be removed stays: on Windows, a file that another program reads.
    """
    place = folder / POOL
    for file in place.iterdir() if place.is_dir() else ():
        if not _FILE.fullmatch(file.name) or address == f"{INSIDE}{POOL}/{file.name}":
            continue
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _ABANDONED:
                file.unlink()


def name_pool(address: str) -> str:
    """What reports call the pool at an address of study.toml: a study's own is called pool."""
    return f"{INSIDE}{POOL}" if address.startswith(INSIDE) else address


def name_source(address: str) -> str:
    """What messages call the pool at an address of study.toml."""
    return NAME if address.startswith(INSIDE) else address


def _hash_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
