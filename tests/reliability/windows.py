"""The rules of a Windows file system, where no Windows is at hand.

Nothing is renamed to a name that is taken, and no folder is replaced. A file that is open or mapped
is neither renamed, replaced nor removed, nor is a folder above it. Folders cannot be opened, so
that nothing waits for their names; locks are those of msvcrt. Names may not hold some characters,
nor be those of devices. Open files are read from /proc, so that libraries in C count as well.
"""

import errno
import fcntl
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from activetest.system import locks

_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_ODD = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$')
_MISSING = ("O_DIRECTORY", "O_NOFOLLOW", "geteuid", "fork", "sched_getaffinity")


def install(patch: pytest.MonkeyPatch) -> None:
    """Let this process work as under Windows, until the patch is undone."""
    rename, replace, unlink, rmdir = os.rename, os.replace, os.unlink, os.rmdir
    mkdir, open_file = os.mkdir, os.open

    def rename_like_windows(source: Any, target: Any, **more: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "already exists", os.fspath(target))
        _refuse_open(source)
        check_name(target)
        rename(source, target, **more)

    def replace_like_windows(source: Any, target: Any, **more: Any) -> None:
        if os.path.isdir(target):
            raise _refuse(target)
        for path in (source, target):
            _refuse_open(path)
        check_name(target)
        replace(source, target, **more)

    def guard(remove: Callable) -> Callable:
        def remove_like_windows(path: Any, **more: Any) -> None:
            _refuse_open(path)
            remove(path, **more)

        return remove_like_windows

    def mkdir_like_windows(path: Any, *more: Any, **named: Any) -> None:
        check_name(path)
        mkdir(path, *more, **named)

    def open_like_windows(path: Any, *more: Any, **named: Any) -> int:
        if os.path.isdir(path):
            raise _refuse(path)
        check_name(path)
        return open_file(path, *more, **named)

    functions = {
        "rename": rename_like_windows,
        "replace": replace_like_windows,
        "unlink": guard(unlink),
        "remove": guard(unlink),
        "rmdir": guard(rmdir),
        "mkdir": mkdir_like_windows,
        "open": open_like_windows,
    }
    for name, function in functions.items():
        patch.setattr(os, name, function)
    # By the names of files, as there: Python up to 3.13 asks for each folder, later ones once.
    patch.setattr(shutil, "_use_fd_functions", False)
    if sys.version_info >= (3, 14):
        patch.setattr(shutil, "_rmtree_impl", shutil._rmtree_unsafe)
    for name, module in list(sys.modules.items()):
        if name.startswith("activetest") and getattr(module, "os", None) is os:
            patch.setattr(module, "os", _System())
    patch.setattr(locks, "sys", SimpleNamespace(platform="win32"))
    patch.setattr(locks, "msvcrt", SimpleNamespace(locking=_lock, LK_NBLCK=2), raising=False)


class _System:
    """The module os of Windows."""

    name = "nt"

    def __getattr__(self, name: str) -> Any:
        if name in _MISSING:
            raise AttributeError(name)
        return getattr(os, name)


def _lock(handle: int, mode: int, count: int) -> None:
    """Lock a file, or raise OSError."""
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def list_open() -> set[str]:
    """The files that this process has open or mapped."""
    found = set()
    for handle in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            continue
    with open("/proc/self/maps") as maps:
        lines = (line.rstrip("\n").split(None, 5) for line in maps)
        found |= {parts[5] for parts in lines if len(parts) == 6}
    return found


def check_name(path: Any) -> None:
    """Raises OSError for a name that Windows does not have."""
    name = os.path.basename(os.fspath(path))
    if isinstance(name, str) and (_DEVICES.fullmatch(name) or _ODD.search(name)):
        raise OSError(errno.EINVAL, "no name of a file", os.fspath(path))


def _refuse_open(path: Any) -> None:
    """Raises PermissionError for a file that is open, and for a folder with one in it."""
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if any(each == real or each.startswith(f"{real}/") for each in list_open()):
        raise _refuse(path)


def _refuse(path: Any) -> PermissionError:
    return PermissionError(errno.EACCES, "Access is denied", os.fspath(path))


def find_odd_names(folder: Path) -> list[str]:
    """Files below a folder whose names Windows does not have."""
    return [
        str(path)
        for path in folder.rglob("*")
        if _DEVICES.fullmatch(path.name) or _ODD.search(path.name)
    ]
