"""The folder of a study: where it is, and how it is recognised."""

import errno
import hashlib
import os
import stat
from pathlib import Path

from activetest.errors import StudyError
from activetest.nouns.arguments import find_working_directory, read_path

FOLDER = ".activetest"
CONFIG, LEDGER, CACHE, POOL = "study.toml", "ledger.db", "cache", "pool"
CONVERSION = "conversion"
# The outputs of further models, and a cache for each of them.
MODELS, CACHES, PARTS = "models", "caches", "parts"
SUMMARY = "pool.summary"
# Begins the address of a file inside the study folder.
INSIDE = "study://"
# How a file system says that nothing is at a path.
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def is_study(folder: Path, *, damaged: bool = False) -> bool:
    """Whether a folder holds a study, or with `damaged` what is left of one.

    Raises StudyError for a folder that may not be read.
    """
    try:
        return _is_file(folder / CONFIG) or (damaged and _is_file(folder / LEDGER))
    except OSError as error:
        raise StudyError(
            f"{folder} cannot be read: {error.strerror}", "check its permissions"
        ) from error


def _is_file(path: Path) -> bool:
    """Whether there is a file. Raises OSError where nobody may see that.

    From Python 3.14 on Path.is_file says then that there is none.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise


def read_folder(folder: object = None, default: str | None = None) -> Path | None:
    """The folder that was named, by an argument or else by ACTIVETEST_STUDY; else the default.

    Raises StudyError for what is no path, and for a relative one where the working directory has
    been removed.
    """
    if folder is None or (isinstance(folder, str) and not folder):
        folder = os.environ.get("ACTIVETEST_STUDY") or default
    if folder is None:
        return None
    path = read_path("folder", folder, StudyError)
    if not path.is_absolute():
        find_working_directory(StudyError)
    return path


def find_study(folder: str | Path | None = None, *, damaged: bool = False) -> Path:
    """The study folder that a path means, or the nearest one above the working directory.

    Without a path, the environment variable ACTIVETEST_STUDY may name one; is_study
    decides what counts as a study. Raises StudyError when there is none.
    """
    if named := read_folder(folder):
        named = named.absolute()
        for candidate in (named, named / FOLDER):
            if is_study(candidate, damaged=damaged):
                return candidate
        raise StudyError(f"there is no study in {named}", "start one: `Study.create(pool)`")
    here = find_working_directory(StudyError)
    for parent in (here, *here.parents):
        if is_study(parent / FOLDER, damaged=damaged):
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


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal. Raises OSError for one not to be read."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
