"""Pools of other formats than Parquet: a study reads a Parquet file that it converts them to.

The folder `conversion` holds that file and `source.json`, which states the content that it was
converted from. It is a cache: a file that has changed is converted again, and so is one whose
conversion is gone or damaged. A source that was only touched is told by its hash.
"""

import contextlib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from activetest.errors import CacheRebuilt, PoolError
from activetest.pool import convert
from activetest.pool.folders import list_files
from activetest.study.folder import CONVERSION, hash_file
from activetest.system import atomic

_SOURCE = "source.json"
_VERSION = 1
_FILE = re.compile(r"[0-9a-f]{32}\.parquet")
# Conversions of a source that somebody is writing to.
_ATTEMPTS = 3


@dataclass(frozen=True)
class _Source:
    """What a file was converted from, and what it became.

    id         the column that stays text
    judge      the column of the grades that decide which items of a log are there; None: the first
    size       of the source, in bytes; of a folder, of all its files
    time       of its last change, in ns; of a folder, the sum over its files
    hash       of its content
    converted  [name, bytes, time of change in ns, hash of the content] of the Parquet file
    """

    version: int
    id: str
    size: int
    time: int
    hash: str
    converted: tuple[str, int, int, str]
    judge: str | None = None


def write_conversion(
    address: str,
    place: Path,
    *,
    id: str | None,
    columns: Collection[str] = (),
    judge: str | None = None,
) -> Path:
    """Convert a pool into the folder `conversion` of a folder; the Parquet file.

    id       the column that stays text; default: id
    judge    the column of grades without which an item is left out, see convert.to_parquet
    columns  that the study reads, see convert.to_parquet

    It is on the disk when this returns. Raises PoolError for a pool that cannot be read or that
    changes meanwhile, OSError when the folder cannot be written.
    """
    source, folder = convert.check_source(address), place / CONVERSION
    for _ in range(_ATTEMPTS):
        before, content = _measure(source), _hash(source)
        key = hashlib.sha256(
            json.dumps([content, id or "id", *([judge] if judge else [])]).encode()
        ).hexdigest()
        target = folder / f"{key[:32]}.parquet"
        atomic.make_folder(folder)
        convert.to_parquet(address, str(target), id=id, columns=columns, judge=judge)
        if before == _measure(source):
            written = target.stat()
            converted = target.name, written.st_size, written.st_mtime_ns, hash_file(target)
            _write_source(folder, _Source(_VERSION, id or "id", *before, content, converted, judge))
            return target
    raise PoolError(f"{address} changes while it is read", "wait until it is complete")


def keep_conversion(place: Path, study: Path) -> None:
    """Move a conversion to its place in a study. Raises OSError when that cannot be written.

    Where the one that it replaces was damaged the user is told.
    """
    written, folder = place / CONVERSION, study / CONVERSION
    source = _read_source(written)
    if source is None:
        return
    damage = find_damage(study)
    atomic.make_folder(folder)
    # In this order: what source.json names is there.
    for name in (source.converted[0], _SOURCE):
        atomic.move_file(written / name, folder / name)
    for changed in (folder, study):
        atomic.sync_folder(changed)
    _remove_others(folder, source.converted[0])
    if damage:
        warnings.warn(
            f"the conversion of the pool in {folder} was damaged ({damage}); it was made again "
            "from the pool",
            CacheRebuilt,
            stacklevel=2,
        )


def find_conversion(
    address: str, study: Path, *, id: str | None, judge: str | None = None
) -> Path | None:
    """The conversion that a study has of a pool; None where there is none of what the pool is now.

    Raises PoolError for a pool that cannot be read.
    """
    folder = study / CONVERSION
    source = _read_source(folder)
    if source is None or not _is_there(folder, source):
        return None
    if (source.id, source.judge) != (id or "id", judge):
        return None
    with _reading(address):
        size, time = _measure(Path(address))
        if (size, time) != (source.size, source.time):
            if size != source.size or _hash(Path(address)) != source.hash:
                return None
            touched = _Source(**(asdict(source) | {"time": time}))
            # Whoever may not write there compares the content again the next time.
            with contextlib.suppress(OSError):
                _write_source(folder, touched)
    return folder / source.converted[0]


def ensure_conversion(
    address: str,
    study: Path,
    *,
    id: str | None,
    columns: Collection[str] = (),
    judge: str | None = None,
    thorough: bool = False,
) -> Path:
    """The conversion of a pool as it is now: that of the study, or made again.

    columns   that the study reads, see convert.to_parquet
    judge     as of write_conversion
    thorough  read all of the conversion: damage may leave its size and time as they were

    Raises as write_conversion does.
    """
    path = find_conversion(address, study, id=id, judge=judge)
    if path is not None and not (thorough and find_damage(study)):
        return path
    with atomic.temporary_folder(study, CONVERSION) as place:
        name = write_conversion(address, place, id=id, columns=columns, judge=judge).name
        keep_conversion(place, study)
    return study / CONVERSION / name


def find_damage(study: Path) -> str | None:
    """The file of a study's conversion that is not as it was written; None where none is.

    Everything is read and nothing changed. Raises OSError for what cannot be read.
    """
    folder = study / CONVERSION
    source = _read_source(folder)
    if source is None:
        there = not folder.is_symlink() and (folder / _SOURCE).exists()
        return _SOURCE if there else None
    name, _, _, content = source.converted
    try:
        return None if hash_file(folder / name) == content else name
    except FileNotFoundError:
        return None


def find_current(
    address: str, study: Path, *, id: str | None, judge: str | None = None
) -> Path | None:
    """The conversion of what the pool holds now, by the content of both; None where there is none.

    Everything is read and nothing changed. Raises PoolError for a pool that cannot be read, OSError
    for a conversion that cannot.
    """
    folder = study / CONVERSION
    source = _read_source(folder)
    if source is None or (source.id, source.judge) != (id or "id", judge) or find_damage(study):
        return None
    with _reading(address):
        if _hash(Path(address)) != source.hash:
            return None
    path = folder / source.converted[0]
    return path if path.exists() else None


def _measure(source: Path) -> tuple[int, int]:
    """(bytes, time of the last change in ns) of a file; of a folder, the sums over its files."""
    files = list_files(source) if source.is_dir() else [source]
    found = [file.stat() for file in files]
    return sum(each.st_size for each in found), sum(each.st_mtime_ns for each in found)


def _hash(source: Path) -> str:
    """The SHA-256 of a file; of a folder, that of the names and hashes of its files."""
    if not source.is_dir():
        return hash_file(source)
    files = [[str(each.relative_to(source)), hash_file(each)] for each in list_files(source)]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


def _is_there(folder: Path, source: _Source) -> bool:
    """Whether the Parquet file is as it was written, as far as its size and time tell."""
    name, size, time, _ = source.converted
    try:
        found = os.stat(folder / name)
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (size, time)


def _read_source(folder: Path) -> _Source | None:
    """What source.json states; None where it is missing or damaged, and where a link leads."""
    if folder.is_symlink():
        return None
    try:
        found = json.loads((folder / _SOURCE).read_text(encoding="utf-8"))
        name, size, time, content = found["converted"]
        source = _Source(**(found | {"converted": (name, size, time, content)}))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return source if source.version == _VERSION and _FILE.fullmatch(str(name)) else None


def _write_source(folder: Path, source: _Source) -> None:
    with atomic.replacing_file(folder / _SOURCE, durable=True) as building:
        building.write_text(json.dumps(asdict(source)), encoding="utf-8")


def _remove_others(folder: Path, name: str) -> None:
    """Remove older conversions that no process reads."""
    for path in folder.iterdir():
        if _FILE.fullmatch(path.name) and path.name != name:
            with contextlib.suppress(OSError):
                atomic.remove_unused(path)


@contextmanager
def _reading(address: str) -> Iterator[None]:
    """Turn what the file system refuses into a PoolError."""
    try:
        yield
    except OSError as error:
        raise PoolError(
            f"{address} may not be read: {error.strerror or error}", "check its permissions"
        ) from error
