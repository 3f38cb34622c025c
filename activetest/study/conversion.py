"""Pools of other formats than Parquet: a study reads a Parquet file that it converts them to.

The folder `conversion` holds that file and `source.json`, which states the content that it was
converted from. It is a cache: a file that has changed is converted again, and so is one whose
conversion is gone or damaged. A source that was only touched is told by its hash.
"""

import contextlib
import hashlib
import json
import re
import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

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
    """Record of a file's conversion: its source, and the result.

    version    of this record
    id         the column that stays text
    size       of the source, in bytes; of a folder, of all its files
    time       of its last change, in ns; of a folder, the sum over its files
    hash       of its content
    converted  [name, bytes, time of change in ns, hash of the content] of the Parquet file
    judge      the column of the grades that decide which items of a log are there; None: the first
    """

    version: int
    id: str
    size: int
    time: int
    hash: str
    converted: tuple[Any, ...]
    judge: str | None = None


@dataclass(frozen=True)
class Conversion:
    """The Parquet file that a study makes of its pool.

    address  of the pool
    study    folder of the study
    id       the column that stays text; None for id
    judge    the column of grades without which an item of a log is left out; None for the first
    """

    address: str
    study: Path
    id: str | None = None
    judge: str | None = None

    def write(self, place: Path, columns: Collection[str] = ()) -> Path:
        """Convert the pool into the folder `conversion` of a folder; the Parquet file.

        columns  that the study reads, see convert.to_parquet

        It is on the disk when this returns. Raises PoolError for a pool that cannot be read or that
        changes meanwhile, OSError when the folder cannot be written.
        """
        source, folder = convert.check_source(self.address), place / CONVERSION
        id, judge = self.id or "id", self.judge
        for _ in range(_ATTEMPTS):
            before, content = _measure(source), _hash(source)
            about = json.dumps([content, id, *([judge] if judge else [])])
            name = f"{hashlib.sha256(about.encode()).hexdigest()[:32]}.parquet"
            target = folder / name
            atomic.make_folder(folder)
            convert.to_parquet(self.address, str(target), id=self.id, columns=columns, judge=judge)
            if before == _measure(source):
                converted = name, *_measure(target), hash_file(target)
                _write_source(folder, _Source(_VERSION, id, *before, content, converted, judge))
                return target
        raise PoolError(f"{self.address} changes while it is read", "wait until it is complete")

    def find(self, *, by_content: bool = False) -> Path | None:
        """The file that the study has of what the pool is now; None where there is none.

        by_content  read all of both, whatever their sizes and times say, and change nothing

        Raises PoolError for a pool that cannot be read.
        """
        source, folder = _read_source(self.study / CONVERSION), self.study / CONVERSION
        if source is None or (source.id, source.judge) != (self.id or "id", self.judge):
            return None
        path = folder / source.converted[0]
        sound = not find_damage(self.study) if by_content else _is_there(path, source)
        if not sound or not path.exists():
            return None
        try:
            size, time = _measure(Path(self.address))
            if not by_content and (size, time) == (source.size, source.time):
                return path
            if size != source.size or _hash(Path(self.address)) != source.hash:
                return None
        except OSError as error:
            raise PoolError(
                f"{self.address} may not be read: {error.strerror or error}",
                "check its permissions",
            ) from error
        if not by_content:
            # Whoever may not write there compares the content again the next time.
            with contextlib.suppress(OSError):
                _write_source(folder, replace(source, time=time))
        return path

    def ensure(self, columns: Collection[str] = (), *, thorough: bool = False) -> Path:
        """The file of the pool as it is now: that of the study, or made again.

        columns   as of write
        thorough  read all of it: damage may leave its size and time as they were

        Raises as write does.
        """
        path = self.find()
        if path is not None and not (thorough and find_damage(self.study)):
            return path
        with atomic.temporary_folder(self.study, CONVERSION) as place:
            name = self.write(place, columns).name
            keep_conversion(place, self.study)
        return self.study / CONVERSION / name


def keep_conversion(place: Path, study: Path) -> None:
    """Move a conversion to its place in a study. Raises OSError when that cannot be written.

    Where the one that it replaces was damaged the user is told.
    """
    written, folder = place / CONVERSION, study / CONVERSION
    source = _read_source(written)
    if source is None:
        return
    damage, kept = find_damage(study), source.converted[0]
    atomic.make_folder(folder)
    # In this order: what source.json names is there.
    for name in (kept, _SOURCE):
        atomic.move_file(written / name, folder / name)
    for changed in (folder, study):
        atomic.sync_folder(changed)
    # Older ones, unless a process reads them.
    for path in folder.iterdir():
        if _FILE.fullmatch(path.name) and path.name != kept:
            with contextlib.suppress(OSError):
                atomic.remove_unused(path)
    if damage:
        warnings.warn(
            f"the conversion of the pool in {folder} was damaged ({damage}); it was made again "
            "from the pool",
            CacheRebuilt,
            stacklevel=2,
        )


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


def _is_there(path: Path, source: _Source) -> bool:
    """Whether the Parquet file is as it was written, as far as its size and time tell."""
    try:
        return _measure(path) == source.converted[1:3]
    except OSError:
        return False


def _read_source(folder: Path) -> _Source | None:
    """Contents of source.json; None where it is missing or damaged, and where a link leads."""
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
