"""Frames that are pools: a study keeps its own copy, as a file named by the hash of its content.

The file is complete and on the disk before study.toml names it, so that a crash leaves the old pool
or the new one.
"""

import contextlib
import re
import time
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.errors import PoolError
from activetest.safe_text import mask_secrets
from activetest.study.folder import INSIDE, POOL, hash_file

# What messages call a frame.
NAME = "the frame"
_FILE = re.compile(r"[0-9a-f]{32}\.parquet")
# A file that no study.toml names is removed when it is so old (seconds): a program that has just
# opened the study may be about to read it. One that is read is never removed.
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


def save_frame(frame: Any, place: Path, study: Path | None) -> SavedFrame:
    """Write a frame into the folder `pool` of a folder; that of the study, if it has this one.

    It is on the disk when this returns. Raises PoolError for what is no pool, OSError when the file
    cannot be written.
    """
    from activetest.pool import frames

    folder = place / POOL
    atomic.make_folder(folder)
    written = folder / "frame.parquet"
    frames.save_frame(frame, written)
    name = f"{_name_content(written)}.parquet"
    address = f"{INSIDE}{POOL}/{name}"
    stored = study / POOL / name if study else None
    if stored and stored.is_file() and _name_content(stored) == stored.stem:
        return SavedFrame(stored, address)
    atomic.sync_file(written)
    atomic.move_file(written, folder / name)
    for changed in (folder, place):
        atomic.sync_folder(changed)
    return SavedFrame(folder / name, address)


def keep_frame(file: Path, folder: Path) -> None:
    """Move the file of a frame to its place in a study folder, where it is not there already."""
    target = folder / POOL / file.name
    if file != target:
        atomic.make_folder(target.parent)
        atomic.move_file(file, target)
        atomic.sync_folder(target.parent)
        atomic.sync_folder(folder)


def remove_unused(folder: Path, address: str) -> None:
    """Remove older pools of a study that no process reads, but not the one at `address`.

    Whatever cannot be removed stays.
    """
    place = folder / POOL
    # A link may lead to the pools of another study.
    for file in place.iterdir() if place.is_dir() and not place.is_symlink() else ():
        if not _FILE.fullmatch(file.name) or address == f"{INSIDE}{POOL}/{file.name}":
            continue
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _ABANDONED:
                atomic.remove_unused(file)


def name_pool(address: str) -> str:
    """What reports call the pool at an address of study.toml: a study's own is called pool.

    Studies of earlier versions may hold secrets in their addresses.
    """
    return f"{INSIDE}{POOL}" if address.startswith(INSIDE) else mask_secrets(address)


def name_source(address: str) -> str:
    """What messages call the pool at an address of study.toml."""
    return NAME if address.startswith(INSIDE) else mask_secrets(address)


def _name_content(path: Path) -> str:
    """What a file with this content is called, without the ending."""
    return hash_file(path)[:32]
