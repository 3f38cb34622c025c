"""The folder of a study: where it is, how it is recognised, and what the file system may refuse."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from activetest.errors import StorageError, StudyError

FOLDER = ".activetest"
CONFIG, LEDGER, CACHE, POOL = "study.toml", "ledger.db", "cache", "pool"
CONVERSION = "conversion"
# Begins the address of a file inside the study folder.
INSIDE = "study://"


def is_study(folder: Path) -> bool:
    """Whether a folder holds a study."""
    return (folder / CONFIG).is_file()


def find_study(folder: str | Path | None = None) -> Path:
    """The study folder that a path means, or the nearest one above the working directory.

    Without a path, the environment variable ACTIVETEST_STUDY may name one. Raises StudyError when
    there is no study.
    """
    if folder := folder or os.environ.get("ACTIVETEST_STUDY"):
        folder = Path(folder).absolute()
        for candidate in (folder, folder / FOLDER):
            if is_study(candidate):
                return candidate
        raise StudyError(f"there is no study in {folder}", "start one: `Study.create(pool)`")
    here = Path.cwd()
    for parent in (here, *here.parents):
        if is_study(parent / FOLDER):
            return parent / FOLDER
    raise StudyError(
        f"there is no study in {here} or above",
        "start one: `Study.create(pool)`, or say where it is: `Study.open(folder)`",
    )


def resolve_address(address: str, folder: Path) -> str:
    """An address of study.toml as it opens from any working directory.

    folder  of the study: relative paths are as seen from its parent
    """
    if address.startswith(INSIDE):
        return str(folder / address.removeprefix(INSIDE))
    if "://" in address:
        return address
    path = str(folder.parent / address)
    # A link in it may lead elsewhere than its text says: only what is not there is tidied up.
    return path if os.path.exists(path) else os.path.normpath(path)


@contextmanager
def raising_storage_errors(
    path: Path, *, remedy: str = "choose another `folder`, one you may write to"
) -> Iterator[None]:
    """Turn what the file system refuses while `path` is written into a StorageError.

    remedy  its hint, unless there is no space
    """
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}",
            "free some space" if full else remedy,
        ) from error
