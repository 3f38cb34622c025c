"""Frames and streams that are pools: a study keeps a copy, named by the hash of its content.

The file is complete and on the disk before study.toml names it, so that a crash leaves the old pool
or the new one.
"""

import contextlib
import io
import re
import shutil
import sys
import time
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from activetest import catalog
from activetest.errors import PoolError
from activetest.formats import FAMILY, find_format
from activetest.nouns.file_head import read_head
from activetest.study.folder import INSIDE, POOL, hash_file
from activetest.system import atomic
from activetest.system.safe_text import mask_secrets

# Bytes of a stream that are read at once.
_BLOCK = 2**20
# Name of a frame in messages.
NAME = "the frame"
_FILE = re.compile(r"[0-9a-f]{32}\.parquet")
_CONVERTING = re.compile(r"type: (iconv -f \S+ -t \S+) .*", re.DOTALL)
# A file that no study.toml names is removed when it is so old (seconds): a program that has just
# opened the study may be about to read it. One that is read is never removed.
_ABANDONED = 3600


def is_address(pool: Any) -> bool:
    """Whether a pool is given by its address, and not as a frame.

    Raises PoolError for what is neither.
    """
    if isinstance(pool, str | PathLike):
        return True
    if is_stream(pool):
        return False
    from activetest.pool import frames

    if frames.is_frame(pool):
        return False
    raise PoolError(
        f"{type(pool).__name__} is no pool",
        "give the address of a file or folder, a frame of pandas, Polars or Arrow, or an open file",
    )


def is_stream(pool: Any) -> bool:
    """Whether a pool is given as an open file, such as standard input."""
    return isinstance(pool, io.IOBase) or (
        callable(getattr(pool, "read", None)) and callable(getattr(pool, "readable", None))
    )


def name_stream(stream: Any) -> str:
    """Name of an open file in messages."""
    if stream is getattr(sys.stdin, "buffer", None):
        return "standard input"
    name = getattr(stream, "name", None)
    return name if isinstance(name, str) else "the open file"


def write_stream(stream: Any) -> str:
    """An open file in a call: how it is written in Python."""
    return "sys.stdin.buffer" if stream is getattr(sys.stdin, "buffer", None) else "file"


def save_frame(frame: Any, place: Path, study: Path | None) -> Path:
    """Write a frame into the folder `pool` of a folder; that of the study, if it has this one.

    It is on the disk when this returns. Raises PoolError for what is no pool, OSError when the file
    cannot be written.
    """
    from activetest.pool import frames

    folder = place / POOL
    atomic.make_folder(folder)
    written = folder / "frame.parquet"
    frames.save_frame(frame, written)
    return _keep(written, place, study)


def save_stream(
    stream: BinaryIO,
    place: Path,
    study: Path | None,
    *,
    id: str | None,
    judge: str | None = None,
) -> Path:
    """Write what an open file holds, of any format that pools have, as save_frame does.

    All of it is copied first: some formats, such as zip files, are read from their end.

    id     a column that stays text
    judge  the column of grades without which an item of a log is left out

    Raises PoolError for what is no pool, OSError when the file cannot be written.
    """
    from activetest.pool import convert

    folder, name = place / POOL, name_stream(stream)
    atomic.make_folder(folder)
    raw, written = folder / "stream", folder / "frame.parquet"
    try:
        count, content = copy_stream(stream, raw)
        format = find_format(read_head(raw))
        title = catalog.fact(FAMILY, format, "TITLE") if format else "a table"
        note = f"read from {name}, {title}: {count:,} bytes with the SHA-256 {content}"
        with naming_stream(stream, raw):
            convert.to_parquet(str(raw), str(written), id=id, note=note, judge=judge)
    finally:
        raw.unlink(missing_ok=True)
    return _keep(written, place, study)


@contextlib.contextmanager
def naming_stream(stream: BinaryIO, copy: Path) -> Iterator[None]:
    """Let errors about the copy of an open file name the file that was given."""
    try:
        yield
    except PoolError as error:
        name = name_stream(stream)
        hint = error.hint.replace(repr(str(copy)), write_stream(stream))
        # A line that converts a file is of no use for what has no name.
        hint = _CONVERTING.sub(r"pipe it through: \1", hint)
        raise PoolError(
            error.problem.replace(str(copy), name), hint=hint.replace(str(copy), name)
        ) from error


def copy_stream(stream: BinaryIO, path: Path) -> tuple[int, str]:
    """Copy an open file; its bytes and the SHA-256 of them. Raises PoolError for one of text."""
    with path.open("wb") as file:
        try:
            shutil.copyfileobj(stream, file, _BLOCK)
        except TypeError as error:
            problem = f"{name_stream(stream)} is open as text"
            raise PoolError(problem, "open it in binary mode, 'rb'") from error
    return path.stat().st_size, hash_file(path)


def _keep(written: Path, place: Path, study: Path | None) -> Path:
    """The file under the name of its content; that of the study, if it has this one."""
    folder = place / POOL
    name = f"{_name_content(written)}.parquet"
    stored = study / POOL / name if study else None
    if stored and stored.is_file() and _name_content(stored) == stored.stem:
        return stored
    atomic.sync_file(written)
    atomic.move_file(written, folder / name)
    for changed in (folder, place):
        atomic.sync_folder(changed)
    return folder / name


def write_address(file: Path) -> str:
    """The address in study.toml of the file of a frame."""
    return f"{INSIDE}{POOL}/{file.name}"


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
        if not _FILE.fullmatch(file.name) or address == write_address(file):
            continue
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > _ABANDONED:
                atomic.remove_unused(file)


def name_pool(address: str) -> str:
    """Name in reports of the pool at an address of study.toml: a study's own is called pool.

    An address that was written into study.toml may hold a secret.
    """
    return f"{INSIDE}{POOL}" if address.startswith(INSIDE) else mask_secrets(address)


def name_source(address: str) -> str:
    """Name in messages of the pool at an address of study.toml."""
    return NAME if address.startswith(INSIDE) else mask_secrets(address)


def _name_content(path: Path) -> str:
    """Name of a file with this content, without the ending."""
    return hash_file(path)[:32]
