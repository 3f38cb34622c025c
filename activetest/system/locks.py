"""Locks on open files: they end with the process that holds them, however it ends."""

import errno
import os
import stat
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Systems and file systems without locks say so.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
# Windows locks bytes, and nobody else may read these: one far behind the end of any file.
_BEYOND = 2**40


def try_lock(handle: int, *, shared: bool = False) -> bool | None:
    """Whether this process now holds the open file; None where it cannot be known.

    shared  others may hold it too, but only shared as well

    The lock ends when the handle is closed, also by the end of the process. There are systems and
    file systems without locks, and Windows has none that are shared. Raises OSError for a handle
    that is not open.
    """
    if sys.platform == "win32":
        if shared:
            return None
        position = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, position, os.SEEK_SET)
        return True
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


@contextmanager
def holding(path: Path) -> Iterator[bool]:
    """Whether this process holds the regular file at a path, alone, until the block ends.

    False where there are no locks. Windows lets go before the block: there, a file that another
    process has open cannot be removed. Raises OSError for a file that cannot be opened.
    """
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        mine = regular and try_lock(handle) is True and is_at(handle, path)
        if sys.platform == "win32":
            os.close(handle)
            handle = -1
        yield mine
    finally:
        if handle >= 0:
            os.close(handle)


def hold_file(owner: Any, path: Path) -> bool:
    """Hold a file, shared, as long as `owner` lives; whether it is still at its path.

    Whoever wants to remove the file can see by `try_lock` that it is in use. Where there are no
    locks, nothing is held.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    weakref.finalize(owner, os.close, handle)
    try_lock(handle, shared=True)
    return is_at(handle, path)


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file is the one at a path, which may be gone or another one."""
    if sys.platform == "win32":
        # There, nobody removes a file that is open.
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False
