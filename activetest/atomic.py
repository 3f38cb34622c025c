"""Files and folders that appear whole or not at all.

What is new is written under a temporary name beside its place and renamed when it is complete, so
that a reader, or whoever comes after a crash, sees the old content or the new one, never a part.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

# A temporary folder this old (seconds) was left by a process that was killed.
_ABANDONED = 3600
_SUFFIX = ".tmp"


@contextmanager
def replacing_file(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """The name of a temporary file that takes the place of `path` when the block succeeds.

    The block writes the file; if it fails or leaves no file, what is at `path` stays. The temporary
    file is gone afterwards in any case.

    durable  wait until the content is on the disk before it takes the place, and then until the
             place is, so that a power cut after the block leaves the new file

    Raises OSError when the file system refuses.
    """
    building = path.with_name(f".{path.name}.{_random_name()}{_SUFFIX}")
    try:
        yield building
        if building.exists():
            if durable:
                sync_file(building)
            move_file(building, path)
            if durable:
                sync_folder(path.parent)
    finally:
        building.unlink(missing_ok=True)


def move_file(source: Path, target: Path) -> None:
    """Rename a complete file, in place of any that is at the target, in one step.

    Both must be on the same file system. Raises OSError when the file system refuses.
    """
    os.replace(source, target)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, on systems that can do this."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block succeeds.

    If the block fails it is removed, and what is at `folder` stays. Processes that are reading the
    old folder keep the files they have opened. What killed processes left beside it is removed
    first. Raises OSError when the file system refuses.
    """
    prefix = f".{folder.name}-"
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(folder.parent, prefix)
    building = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    building.chmod(0o755)
    try:
        yield building
        _swap_folders(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


@contextmanager
def completing_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block succeeds, and keeps what is in it.

    It is on the disk afterwards, with its place and the folders above it; the content of its files
    is for the block to sync. What `folder` holds already moves into the new one at the end. If the
    block fails the temporary folder is removed. What killed processes left beside it is removed
    too. Raises FileExistsError when `folder` holds a part of the same name, as after another
    process has completed it, and OSError when the file system refuses; then what is in `folder`
    stays.
    """
    building = folder.with_name(f"{folder.name}.{_random_name()}{_SUFFIX}")
    try:
        building.mkdir(parents=True)
        remove_abandoned(folder.parent, f"{folder.name}.", _SUFFIX)
        yield building
        parts = list(folder.iterdir()) if folder.is_dir() else []
        for part in parts:
            if (building / part.name).exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(part))
        for part in parts:
            # Another process may have removed what it was working on.
            with contextlib.suppress(FileNotFoundError):
                part.rename(building / part.name)
        with contextlib.suppress(FileNotFoundError):
            # Windows renames nothing to a name that is taken. Not empty: another process was first.
            folder.rmdir()
        sync_folder(building)
        building.rename(folder)
        sync_folder(folder.parent)
        for above in folder.parent.parents:
            # They may be new, too; those that are not may be nobody's to open.
            with contextlib.suppress(OSError):
                sync_folder(above)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def remove_abandoned(folder: Path, prefix: str, suffix: str = "") -> None:
    """Remove the temporary folders that killed processes left in a folder more than an hour ago.

    Their names begin with the prefix and end with the suffix.
    """
    for path in folder.iterdir():
        if not (path.name.startswith(prefix) and path.name.endswith(suffix)):
            continue
        # Another process may have removed it meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                shutil.rmtree(path, ignore_errors=True)


def _swap_folders(building: Path, folder: Path) -> None:
    """Rename a complete folder to `folder`; what was there is removed."""
    while True:
        try:
            os.rename(building, folder)
            return
        except OSError:
            # Not empty: an older folder, or one that another process has just put there.
            if not folder.is_dir():
                raise
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            with contextlib.suppress(FileNotFoundError):
                # Into the new folder: Windows renames nothing to a name that is taken.
                os.rename(folder, old / folder.name)
            shutil.rmtree(old, ignore_errors=True)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def _random_name() -> str:
    """Eight hexadecimal digits."""
    return uuid4().hex[:8]
