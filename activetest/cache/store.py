"""Folders of arrays that can be built again: `.npy` files, which are mapped, and a manifest.

`numpy.load` reads the files. The manifest states the type and shape of each array and a checksum
(CRC-32) of each piece of it, and carries a checksum of its own. A piece is checked when it is first
read, and nothing is believed that a file says of itself. Where something does not fit there is a
CacheDamaged: nobody computes with it, and it is built again.
"""

import json
import math
import mmap
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from io import BytesIO, FileIO
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from activetest.errors import CacheDamaged, CacheRebuilt
from activetest.nouns.rows import Array
from activetest.system import atomic

MANIFEST = "manifest.json"
# Types that arrays may have, and the longest shape. A manifest from elsewhere may state anything.
_TYPES, _MOST_AXES = {"<f4", "<f8", "<i4", "<i8", "<u8", "|u1"}, 3
# Bytes of the header of every .npy file, and those of values that are checked at once.
HEADER, _AT_ONCE = 128, 2**22
# Bytes of an array that stay in memory, about: a pass over a large pool needs no more of them.
_RESIDENT = 2**27

# Entry of an array in a manifest: its type and shape, the axis along which its items are, where
# each piece of it stops along that axis, and the checksum of each; None for a piece that is known
# to be damaged.
Statement = dict[str, Any]


class _Mapped:
    """An array in a file, as a manifest states it; each piece is checked when it is first read."""

    def __init__(self, path: Path, stated: Statement) -> None:
        """Raises OSError, or ValueError, KeyError or TypeError, where the file is another."""
        size = measure_array(stated)
        self.checksums, self._axis = stated["checksums"], stated["axis"]
        self._stops = np.array(stated["stops"], np.int64)
        with open(path, "rb") as file:
            self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if len(self._content) != HEADER + size:
            raise ValueError(f"{path} is not as it was written")
        self._values: Array = np.ndarray(stated["shape"], stated["type"], self._content, HEADER)
        self._checked = [False] * len(self.checksums)
        # Bytes that were read since memory was let go of.
        self._read = 0

    def __len__(self) -> int:
        return self._values.shape[self._axis]

    def find_pieces(self, items: slice | Array) -> Iterable[int]:
        """The pieces of items: of a slice without a step, or of positions. Raises IndexError."""
        if isinstance(items, slice):
            start, stop, _ = items.indices(len(self))
            first, last = np.searchsorted(self._stops, [start, stop - 1], "right").tolist()
            return range(first, last + 1 if start < stop else first)
        if len(items) and not 0 <= items.min() <= items.max() < len(self):
            raise IndexError(f"there are {len(self)} items")
        found: list[int] = np.unique(np.searchsorted(self._stops, items, "right")).tolist()
        return found

    def select(self, items: slice | Array) -> Array:
        """Items, whether they were checked or not."""
        found: Array = self._values[:, items] if self._axis else self._values[items]
        self._read += found.nbytes
        # Whoever still looks at it reads it again.
        if not isinstance(items, slice) or self._read > _RESIDENT:
            self._read = 0
            self.release()
        return found

    def is_whole(self, piece: int) -> bool:
        """Whether a piece is as it was written."""
        # Threads may check one piece twice, and agree.
        if not self._checked[piece]:
            self._checked[piece] = self.sum_piece(piece) == self.checksums[piece]
        return self._checked[piece]

    def sum_piece(self, piece: int) -> int:
        """The checksum of a piece."""
        bounds = slice(self._stops[piece - 1] if piece else 0, self._stops[piece])
        checksum = 0
        for line in self._values if self._axis else [self._values]:
            content = line[bounds].reshape(-1).view(np.uint8)
            for begin in range(0, len(content), _AT_ONCE):
                checksum = zlib.crc32(content[begin : begin + _AT_ONCE].data, checksum)
                if len(content) > _AT_ONCE:
                    self.release()
        return checksum

    def release(self) -> None:
        """Let go of the memory that the array takes, until it is used again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._content.madvise(mmap.MADV_DONTNEED)


def measure_array(stated: Statement) -> int:
    """Bytes of the values of an array.

    Raises ValueError, KeyError or TypeError for what is no statement.
    """
    shape, stops, checksums = stated["shape"], stated["stops"], stated["checksums"]
    whole = all(type(size) is int and size >= 0 for size in [*shape, *stops])
    if (
        not (whole and stated["type"] in _TYPES and 1 <= len(shape) <= _MOST_AXES)
        or stated["axis"] not in range(min(len(shape), 2))
        or not (stops and stops == sorted(stops) and stops[-1] == shape[stated["axis"]])
        or len(stops) != len(checksums)
    ):
        raise ValueError("a manifest states what is no array of numbers")
    return math.prod(shape) * np.dtype(stated["type"]).itemsize


class Store:
    """The arrays of a folder, which stay open as long as this is used: nobody can replace them.

    folder   where it is
    content  what its manifest says: `arrays` is {name: statement}
    text     of the manifest, as it is on the disk
    """

    def __init__(self, folder: Path, content: dict[str, Any], text: str = "") -> None:
        self.folder, self.content, self.text = folder, content, text
        self._open: dict[str, _Mapped] = {}

    @classmethod
    def read_manifest(cls, folder: Path, *versions: int) -> Self:
        """The store of a folder, none of whose files is open yet.

        Raises OSError where there is none, ValueError for one of another version, CacheDamaged for
        a manifest that is not as it was written.
        """
        data = (folder / MANIFEST).read_bytes()
        text = data.decode(errors="replace")
        damage = CacheDamaged(folder, MANIFEST, None, text)
        try:
            content = json.loads(data)
            found = content["version"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damage from error
        if found not in versions:
            raise ValueError(f"cache version {found}")
        if content.pop("checksum", None) != hash_content(content):
            raise damage
        return cls(folder, content, text)

    @property
    def arrays(self) -> dict[str, Statement]:
        """Statement about each array, by its name."""
        arrays: dict[str, Statement] = self.content["arrays"]
        return arrays

    @cached_property
    def digest(self) -> str:
        """Of what the manifest says: another one where an array was built with other values."""
        return hash_content(self.content)

    def __getstate__(self) -> dict[str, Any]:
        """Elsewhere the files are opened again: what they hold is not sent."""
        return {**vars(self), "folder": self.folder.absolute(), "_open": {}}

    def open_files(self) -> Self:
        """The same, with all files open. Raises CacheDamaged where one is known to be damaged."""
        for name in self.arrays:
            if None in self._find(name).checksums:
                raise self._damage(name, self._find(name).checksums.index(None))
        return self

    def read(
        self,
        name: str,
        items: slice | Array = slice(None),
        *,
        pieces: Iterable[int] | None = None,
    ) -> Array:
        """An array, or items of it: those of a slice without a step cannot be written to.

        items   also positions (R,)
        pieces  that are checked: those of the items, unless fewer of them will be used

        Raises CacheDamaged, IndexError.
        """
        array = self._find(name)
        for piece in array.find_pieces(items) if pieces is None else pieces:
            if not array.is_whole(piece):
                raise self._damage(name, piece)
        return array.select(items)

    def find_damage(self) -> list[CacheDamaged]:
        """All damage there is: every array is read."""
        found = []
        for name in self.arrays:
            try:
                array = self._find(name)
            except CacheDamaged as damage:
                found.append(damage)
                continue
            pieces = range(len(array.checksums))
            found += [self._damage(name, each) for each in pieces if not array.is_whole(each)]
        return found

    def release(self, *names: str) -> None:
        """Let go of the memory that arrays take, until they are used again."""
        for name in names:
            self._find(name).release()

    def close(self) -> None:
        """Close all files, where nothing refers to their arrays any more.

        Windows neither moves nor removes a file that is mapped.
        """
        self._open.clear()

    def _find(self, name: str) -> _Mapped:
        """An array. Raises CacheDamaged where its file is another than was written."""
        if name not in self._open:
            try:
                self._open[name] = _Mapped(self.folder / _name_file(name), self.arrays[name])
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise self._damage(name, None) from error
        return self._open[name]

    def _damage(self, name: str, piece: int | None) -> CacheDamaged:
        return CacheDamaged(self.folder, _name_file(name), piece, self.text)


def _name_file(array: str) -> str:
    return f"{array}.npy"


class StoreWriter:
    """A folder that becomes a store: arrays are written by plain writes, in any order.

    A full disk is an OSError; through a map it would end the program.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, _File] = {}
        self._finished: dict[str, Statement] = {}

    def create(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        stops: Sequence[int] = (),
        *,
        axis: int = 0,
        again: bool = False,
    ) -> None:
        """Begin an array. Items are along the axis, and its pieces stop there: default, it is one.

        The first axis grows where more is written.

        again  what an earlier writer of the same array left in the file stays until it is written
        """
        path = self.folder / _name_file(name)
        self._files[name] = _File(path, [*shape], np.dtype(dtype), list(stops), axis, again=again)

    def sum_piece(self, piece: int) -> dict[str, int]:
        """{array: checksum of a piece of it}, of all arrays that are not complete yet.

        Nothing more is written to the piece: its checksums are those of the manifest.
        """
        return {name: file.sum_piece(piece) for name, file in self._files.items()}

    def write(self, name: str, at: int, values: Array) -> None:
        """Write items at, at + 1, ... of an array; (T, R) where items are the second axis."""
        self._files[name].write(at, values)

    def append(self, name: str, values: Array, *, ends_piece: bool = False) -> None:
        """Write items behind the last; for one thread. Whether a piece of the array ends there."""
        file = self._files[name]
        file.write(file.shape[0], values)
        if ends_piece:
            file.stops.append(file.shape[0])

    def put(self, name: str, values: Array, stops: Sequence[int] = ()) -> None:
        """A whole array."""
        self.create(name, values.shape, values.dtype, stops)
        self.write(name, 0, values)

    def take(self, name: str, stated: Statement, content: bytes) -> None:
        """A whole file, of which this is stated: who reads it checks it. Raises OSError."""
        (self.folder / _name_file(name)).write_bytes(content)
        self._finished[name] = stated

    def finish_arrays(self) -> Store:
        """Complete all arrays so far. They can be read from then on."""
        for name, file in self._files.items():
            self._finished[name] = file.finish()
        self._files.clear()
        return Store(self.folder, {"arrays": self._finished})

    def finish(self, content: Mapping[str, Any]) -> None:
        """Complete all arrays, and write the manifest with this content. Raises OSError."""
        self.finish_arrays()
        write_manifest(self.folder, {**content, "arrays": self._finished})

    def close(self) -> None:
        """Close the files, complete or not."""
        for file in self._files.values():
            file.close()


class _File:
    """An array that is being written."""

    def __init__(
        self,
        path: Path,
        shape: list[int],
        dtype: np.dtype,
        stops: list[int],
        axis: int,
        *,
        again: bool,
    ) -> None:
        self.shape, self.stops = shape, stops
        self._path, self._dtype, self._axis = path, dtype, axis
        self._file = FileIO(path, "r+" if again and path.exists() else "w+")
        self._lock = Lock()
        # Checksums of pieces, as far as they are known.
        self._sums: dict[int, int] = {}

    def write(self, at: int, values: Array) -> None:
        """Write items at, at + 1, ...: see StoreWriter.write."""
        for number, line in enumerate(values if self._axis else [values]):
            row = number * self.shape[1] + at if self._axis else at * math.prod(self.shape[1:])
            content = np.ascontiguousarray(line, self._dtype).reshape(-1).view(np.uint8)
            self._write_at(HEADER + row * self._dtype.itemsize, content.data)
        self.shape[0] = max(self.shape[0], 0 if self._axis else at + len(values))

    def finish(self) -> Statement:
        """Complete the file and close it; what a manifest states of it."""
        header = BytesIO()
        form = {"descr": self._dtype.str, "fortran_order": False, "shape": tuple(self.shape)}
        np.lib.format.write_array_header_1_0(header, form)
        self._write_at(0, header.getvalue())
        self._file.truncate(HEADER + math.prod(self.shape) * self._dtype.itemsize)
        self.stops = self.stops or [self.shape[self._axis]]
        stated = {"type": self._dtype.str, "shape": self.shape, "axis": self._axis}
        stated["stops"] = self.stops
        pieces = range(len(self.stops))
        stated["checksums"] = [self._sums.get(each) or self.sum_piece(each) for each in pieces]
        self.close()
        return stated

    def sum_piece(self, piece: int) -> int:
        """The checksum of a piece, to which nothing more is written."""
        start, stop = self.stops[piece - 1] if piece else 0, self.stops[piece]
        lines, width = self.shape[: self._axis], math.prod(self.shape[self._axis + 1 :])
        item = width * self._dtype.itemsize
        checksum = 0
        for line in range(math.prod(lines)):
            place = HEADER + (line * self.shape[self._axis] + start) * item
            for part in range(0, (stop - start) * item, _AT_ONCE):
                size = min(_AT_ONCE, (stop - start) * item - part)
                checksum = zlib.crc32(self._read_at(place + part, size), checksum)
        self._sums[piece] = checksum
        return checksum

    def close(self) -> None:
        self._file.close()

    def _write_at(self, place: int, content: Any) -> None:
        left = memoryview(content)
        with self._lock:
            self._file.seek(place)
            while left:
                left = left[self._file.write(left) :]

    def _read_at(self, place: int, size: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            return self._file.read(size)


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest of a folder, in place of any. Raises OSError."""
    # As it will be read: tuples become lists.
    content = json.loads(json.dumps(content))
    text = json.dumps({**content, "checksum": hash_content(content)})
    with atomic.replacing_file(folder / MANIFEST) as building:
        building.write_text(text)


def hash_content(content: Any) -> str:
    """A checksum of what JSON can say."""
    return blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def mark_damaged(damage: CacheDamaged) -> None:
    """Let nobody open a damaged array again, unless its folder was replaced meanwhile.

    Raises the damage itself where the folder may not be written.
    """
    try:
        data = (damage.folder / MANIFEST).read_bytes()
        if data.decode(errors="replace") == damage.manifest:
            content = json.loads(data)
            del content["checksum"]
            checksums = content["arrays"][damage.file.removesuffix(".npy")]["checksums"]
            checksums[damage.piece or 0] = None
            write_manifest(damage.folder, content)
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damage from error


def announce_rebuild(problem: str | None) -> None:
    """Tell the user that what was damaged, if anything was, has been built again.

    It is a sentence and no CacheDamaged, which keeps files open as long as it is there.
    """
    if problem:
        warnings.warn(
            f"{problem}; it was built again, and results are those of an undamaged one",
            CacheRebuilt,
            stacklevel=2,
        )
