"""Files and folders that appear whole or not at all.

New content is written under a temporary name next to its place and renamed when it is whole, so
that a reader, or whoever comes after a crash, sees the old content or the new one, never a part.

Temporary names are `.NAME.activetest-xxxxxxxx.tmp`. A temporary file is locked by the process that
writes it, and so is the marker in a temporary folder. The locks end with the process: what has such
a name, and in a folder the marker, and is not locked, was left by a process that was killed, and
whoever next writes to the same folder removes it. No clock is asked. Where the file system has no
locks, it stays.

Work that takes long can be kept instead, in a folder `.NAME.unfinished`, for the next process
that builds the same.
"""

import contextlib
import errno
import gc
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from activetest.system import locks

_FORM = re.compile(r"\..*\.activetest-[0-9a-f]{8}\.tmp", re.DOTALL)
# In every temporary folder, locked while a process works there.
_MARKER = "activetest-temporary"
_TEXT = b"activetest works in this folder and removes it.\n"
# Bytes of the name that a temporary one repeats: the whole may have 255.
_LONGEST = 200
# Folders and files that others may remove before they are locked.
_ATTEMPTS = 100
# Seconds between attempts under Windows: virus scanners and indexers open what is new.
_PAUSES = (0.0, 0.01, 0.03, 0.1, 0.3, 0.6)
_wait = time.sleep


@contextmanager
def replacing_file(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """The name of a temporary file that takes the place of `path` when the block succeeds.

    The file is there already, and empty; the block writes to it. If the block fails or removes the
    file, what is at `path` stays. The temporary file is gone afterwards in any case.

    durable  wait until the content is on the disk before it takes the place, and then until the
             place is, so that a power cut after the block leaves the new file

    Raises OSError when the file system refuses.
    """
    with contextlib.suppress(FileNotFoundError):
        # A name that is too long is none, although the temporary one may be shorter.
        os.lstat(path)
    remove_leftovers(path.parent)
    held = _Lock()
    try:
        building = _create_file(path, held)
        yield building
        if building.exists():
            if durable:
                sync_file(building)
            if os.name == "nt":
                # Windows moves no file that is open.
                held.close()
            move_file(building, path)
            if durable:
                sync_folder(path.parent)
    finally:
        if os.name == "nt":
            held.close()
        if held.path:
            held.path.unlink(missing_ok=True)
        held.close()


def move_file(source: Path, target: Path) -> None:
    """Rename a complete file, in place of any that is at the target, in one step.

    Both must be on the same file system. Raises OSError when the file system refuses, as Windows
    does where somebody has one of both open.
    """
    _retry(lambda: os.replace(source, target))


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, on systems that can do this."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def temporary_folder(parent: Path | None = None, name: str = "activetest") -> Iterator[Path]:
    """A folder that is removed at the end, with all that is in it.

    parent  where it is created, with the folders above it; default: where the system has temporary
            files
    name    that its own name repeats

    It holds a marker, which has to stay. Raises OSError when the file system refuses.
    """
    parent = parent or Path(tempfile.gettempdir())
    remove_leftovers(parent)
    held = _Lock()
    try:
        yield _create_folder(parent / name, held)
    finally:
        if os.name == "nt":
            held.close()
        if held.path:
            _remove_folder(held.path)
        held.close()


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block succeeds.

    If the block fails it is removed, and what is at `folder` stays. Processes that are reading the
    old folder keep the files they have opened. Raises OSError when the file system refuses, as
    Windows does where somebody reads the old folder: it then stays.
    """
    with temporary_folder(folder.parent, folder.name) as temporary:
        building = temporary / "new"
        building.mkdir()
        yield building
        _swap_folders(building, folder, temporary)


def name_unfinished(folder: Path) -> Path:
    """Where what is built for a folder is kept until it is complete: beside it, or its target."""
    folder = Path(os.path.realpath(folder))
    return folder.with_name(f".{folder.name}.unfinished")


@contextmanager
def continuing_folder(folder: Path, kept: Path) -> Iterator[Path]:
    """As replacing_folder; but what a block that fails has built is kept, and given to the next.

    kept  where it is until then; name_unfinished gives it. Other things that the block puts
          there go when it succeeds

    While another process builds there, and where there are no locks, it is replacing_folder.
    """
    with _holding_kept(kept, create=True) as held:
        if held:
            building = kept / "new"
            building.mkdir(exist_ok=True)
            yield building
            _swap_folders(building, folder, kept)
            if os.name == "nt":
                held.close()
            _remove_folder(kept)
            return
    with replacing_folder(folder) as building:
        yield building


def remove_kept(kept: Path) -> None:
    """Remove what is kept unless a process builds there: see continuing_folder."""
    if not os.path.lexists(kept):
        return
    with _holding_kept(kept) as held:
        if held:
            if os.name == "nt":
                held.close()
            _remove_folder(kept)


def clear_folder(folder: Path) -> None:
    """Remove what can be removed of a temporary or kept folder, but for its marker."""
    for part in list(folder.iterdir()):
        if part.name == _MARKER:
            continue
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                part.unlink()


def is_plain(folder: Path) -> bool:
    """Whether all that is below a folder are folders and files, and none has another name too.

    Whoever writes into what others may have left there writes nowhere else.
    """
    found = [os.lstat(path) for path in folder.rglob("*")]
    return all(
        stat.S_ISDIR(each.st_mode) or (stat.S_ISREG(each.st_mode) and each.st_nlink == 1)
        for each in found
    )


@contextmanager
def _holding_kept(kept: Path, *, create: bool = False) -> Iterator["_Lock | None"]:
    """The lock of a folder that is kept; None where it is another's."""
    held = _Lock()
    try:
        yield held if _hold_kept(kept, held, create=create) else None
    finally:
        held.close()


def _hold_kept(kept: Path, held: "_Lock", *, create: bool) -> bool:
    """Hold a folder that is kept; whether it is this user's, and nobody else holds it."""
    try:
        if create:
            kept.mkdir(0o700, exist_ok=True)
        state = os.lstat(kept)
        mine = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
        if not (mine and stat.S_ISDIR(state.st_mode)):
            return False
        # A folder with content and no marker is somebody's own.
        ours = os.path.lexists(kept / _MARKER) or not any(kept.iterdir())
        return ours and held.open_again(kept / _MARKER)
    except OSError:
        return False


@contextmanager
def creating_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block succeeds and nothing is there.

    It is on the disk afterwards, with its place and the folders above it; the content of its files
    is for the block to sync. If the block fails, it is removed. An empty folder counts as nothing.
    Raises OSError when the file system refuses, as it does where another process was first: what is
    at `folder` then stays as it is.
    """
    # The folder that a link points to is created, not the link.
    folder = Path(os.path.realpath(folder))
    with temporary_folder(folder.parent, folder.name) as temporary:
        building = temporary / "new"
        building.mkdir()
        yield building
        sync_folder(building)
        if os.name == "nt":
            # Windows renames nothing to a name that is taken.
            with contextlib.suppress(OSError):
                folder.rmdir()
        _retry(lambda: os.rename(building, folder))
        sync_folder(folder.parent)
        for above in folder.parent.parents:
            # They may be new, too; those that are not may be nobody's to open.
            with contextlib.suppress(OSError):
                sync_folder(above)


def make_folder(folder: Path) -> None:
    """Make a folder in a folder that is there, if it is not there yet.

    Raises OSError when the file system refuses, and for a link: whatever is written into it or
    removed from it would be elsewhere.
    """
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "its folder is a link", str(folder))


def keep_file(written: Path, target: Path) -> None:
    """Put a complete file into a folder of a folder, so that it is there after a crash.

    Its folder is made if it is not there. Raises OSError as move_file and make_folder do.
    """
    make_folder(target.parent)
    sync_file(written)
    move_file(written, target)
    for changed in (target.parent, target.parent.parent):
        sync_folder(changed)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders that killed processes left in a folder.

    Files that cannot be seen or removed stay.
    """
    found: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found += [Path(entry.path) for entry in entries if _FORM.fullmatch(entry.name)]
    for path in found:
        with contextlib.suppress(OSError):
            _remove_leftover(path)


def remove_unused(path: Path) -> None:
    """Remove a file that no process holds. Where there are no locks, it stays.

    Raises OSError when it cannot be opened or removed.
    """
    with locks.holding(path) as mine:
        if mine:
            path.unlink()


def _remove_leftover(path: Path) -> None:
    """Remove a temporary file or folder that no process holds. Raises OSError."""
    state = os.lstat(path)
    if hasattr(os, "geteuid") and state.st_uid != os.geteuid():
        return
    if stat.S_ISREG(state.st_mode):
        remove_unused(path)
    elif stat.S_ISDIR(state.st_mode):
        if not os.path.lexists(path / _MARKER):
            # Nobody has marked it yet. One with anything in it stays.
            path.rmdir()
            return
        with locks.holding(path / _MARKER) as mine:
            # Its process may have been killed before it wrote all of the text.
            if mine and _TEXT.startswith((path / _MARKER).read_bytes()):
                _remove_folder(path)


class _Lock:
    """A temporary file, and the handle by which this process holds it.

    The path is known before anything is there: an interrupt at any moment finds it.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self._handle = -1

    def open(self, file: Path) -> bool:
        """Create a file and hold it; whether it is still there. Raises OSError."""
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Another process may have removed it before it was locked.
        return locks.try_lock(self._handle) is not False and locks.is_at(self._handle, file)

    def open_again(self, file: Path) -> bool:
        """Hold a file that may be there; whether nobody else does. Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        self._handle = os.open(file, flags, 0o666)
        return locks.try_lock(self._handle) is True and locks.is_at(self._handle, file)

    def write(self, text: bytes) -> None:
        """Write to the file that is held."""
        os.write(self._handle, text)

    def close(self) -> None:
        """Let go of it."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _create_file(path: Path, held: _Lock) -> Path:
    """A new temporary file for `path`, which is held."""
    for _ in range(_ATTEMPTS):
        held.path = building = _name_temporary(path)
        try:
            if held.open(building):
                return building
        except OSError:
            held.path = None
            raise
        held.close()
        with contextlib.suppress(OSError):
            building.unlink()
    raise OSError(f"no temporary file can be kept in {path.parent}")


def _create_folder(path: Path, held: _Lock) -> Path:
    """A new temporary folder for `path`, whose marker is held."""
    for attempt in range(_ATTEMPTS):
        held.path = building = _name_temporary(path)
        try:
            building.mkdir(0o700, parents=True)
            there = held.open(building / _MARKER)
        except FileNotFoundError:
            # Another process may have removed the folder before it was marked.
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        if there:
            held.write(_TEXT)
            return building
        held.close()
        shutil.rmtree(building, ignore_errors=True)
    raise OSError(f"no temporary folder can be kept in {path.parent}")


def _remove_folder(folder: Path) -> None:
    """Remove a temporary folder, its marker last; what cannot be removed stays."""
    with contextlib.suppress(OSError):
        clear_folder(folder)
        if [part.name for part in folder.iterdir()] == [_MARKER]:
            (folder / _MARKER).unlink()
        folder.rmdir()


def _swap_folders(building: Path, folder: Path, temporary: Path) -> None:
    """Rename a complete folder to `folder`; what was there goes into the temporary one.

    Where that fails or is interrupted, what was there comes back.
    """
    while True:
        try:
            _retry(lambda: os.rename(building, folder))
            return
        except OSError:
            # Not empty: an older folder, or one that another process has just put there.
            if not folder.is_dir():
                raise
        old = temporary / f"old-{_random_name()}"
        try:
            with contextlib.suppress(FileNotFoundError):
                _retry(lambda: os.rename(folder, old))  # noqa: B023
            os.rename(building, folder)
            return
        except OSError:
            if not _put_back(old, folder):
                raise
        except BaseException:
            _put_back(old, folder)
            raise


def _put_back(old: Path, folder: Path) -> bool:
    """Rename a folder to where it was; whether another process has put one there since."""
    if not old.is_dir():
        return False
    try:
        os.rename(old, folder)
    except OSError:
        return folder.is_dir()
    return False


def _retry(act: Callable[[], None]) -> None:
    """Act; under Windows again a little later, where somebody has a file open for a moment.

    Files that this process itself has mapped, and nothing refers to any more, are closed before.
    """
    for pause in _PAUSES if os.name == "nt" else ():
        try:
            return act()
        except PermissionError:
            gc.collect()
            _wait(pause)
    return act()


def _name_temporary(path: Path) -> Path:
    """A temporary name beside a path."""
    name = os.fsencode(path.name)[:_LONGEST].decode("utf-8", "ignore")
    return path.with_name(f".{name}.activetest-{_random_name()}.tmp")


def _random_name() -> str:
    """Eight hexadecimal digits."""
    return uuid4().hex[:8]
