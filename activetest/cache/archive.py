"""Files of arrays: zip archives of .npy files, not packed, written in any order and mapped.

`numpy.load` reads them, and so does whatever reads a zip. The zip has a checksum (CRC-32) of every
array. Values begin at multiples of 64 bytes, and where they are follows from the names, shapes and
types of the arrays alone: a reader who knows these believes nothing that the file says of itself.
"""

import math
import mmap
import struct
import zlib
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from activetest.nouns.rows import Array

# Which types arrays may have. A manifest from elsewhere may state anything.
_TYPES = {"<f4", "<f8", "<i4", "<i8", "<u8", "|u1"}
# What numpy expects, and the bytes of the header of a .npy file.
_ALIGNMENT, _HEADER = 64, 128
# The longest shape: models, classes or statistics besides the items.
_MOST_AXES = 3
# Bytes that are checked at once.
_AT_ONCE = 2**22
# Sizes and places are 64 bits wide, and stand where the first version of zip had no room for them.
_VERSION, _ELSEWHERE, _DATE = 45, 0xFFFFFFFF, 0x21

# What a manifest states of a file: its size in bytes, arrays {name: [type, shape, checksum]} in
# their order, and the checksum of all that is between and behind them.
Statement = dict[str, Any]


@dataclass
class Member:
    """An array in an archive: what belongs to it begins at the byte `head`, values at `begin`."""

    name: str
    head: int
    shape: tuple[int, ...]
    dtype: np.dtype
    checksum: int = 0

    @property
    def file_name(self) -> bytes:
        """What it is called in the archive."""
        return f"{self.name}.npy".encode()

    @property
    def begin(self) -> int:
        """That of the values: after the headers, and at a multiple of 64 bytes."""
        least = self.head + 54 + len(self.file_name)
        return least + -least % _ALIGNMENT + _HEADER

    @property
    def end(self) -> int:
        """Where the values end."""
        return self.begin + math.prod(self.shape) * self.dtype.itemsize

    @property
    def header(self) -> bytes:
        """The header of the .npy file, as long for every shape."""
        about = f"'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': {self.shape}, "
        text = f"{{{about}}}".ljust(_HEADER - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()

    def local_header(self) -> bytes:
        """What stands before the .npy file."""
        size = self.end - self.begin + _HEADER
        padding = self.begin - _HEADER - self.head - 54 - len(self.file_name)
        extra = struct.pack("<HHQQHH", 1, 16, size, size, 0xD935, padding) + bytes(padding)
        sizes = self.checksum, _ELSEWHERE, _ELSEWHERE, len(self.file_name), len(extra)
        fixed = struct.pack("<IHHHHHIIIHH", 0x04034B50, _VERSION, 0, 0, 0, _DATE, *sizes)
        return fixed + self.file_name + extra

    def directory_entry(self) -> bytes:
        """What the directory at the end of the archive says."""
        size = self.end - self.begin + _HEADER
        extra = struct.pack("<HHQQQ", 1, 24, size, size, self.head)
        sizes = self.checksum, _ELSEWHERE, _ELSEWHERE, len(self.file_name), len(extra)
        versions = 0x02014B50, _VERSION, _VERSION, 0, 0, 0, _DATE
        fixed = struct.pack("<IHHHHHHIIIHHHHHII", *versions, *sizes, 0, 0, 0, 0, _ELSEWHERE)
        return fixed + self.file_name + extra


def read_members(arrays: dict[str, list]) -> dict[str, Member]:
    """The arrays of a statement, by name. Raises ValueError or TypeError for what is none."""
    found, end = {}, 0
    for name, (dtype, shape, checksum) in arrays.items():
        sound = all(isinstance(size, int) and size >= 0 for size in shape)
        if dtype not in _TYPES or not sound or not 1 <= len(shape) <= _MOST_AXES:
            raise ValueError(f"{name} is no array of numbers")
        found[name] = Member(name, end, tuple(shape), np.dtype(dtype), checksum)
        end = found[name].end
    return found


class ArchiveWriter:
    """An archive that is being written by plain writes: a full disk is an OSError."""

    def __init__(self, path: Path) -> None:
        self._file, self._lock = FileIO(path, "w"), Lock()
        self._members: dict[str, Member] = {}

    def create(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        """Begin an array. As long as it is the last one, its first axis may grow."""
        last = max((member.end for member in self._members.values()), default=0)
        self._members[name] = Member(name, last, tuple(shape), np.dtype(dtype))

    def put(self, name: str, values: Array) -> None:
        """A whole array."""
        self.create(name, values.shape, values.dtype)
        self.write(name, 0, values)

    def write(self, name: str, row: int, values: Array) -> None:
        """Write rows row, row + 1, ... of an array."""
        self._write_from(name, row * math.prod(self._members[name].shape[1:]), values)

    def write_across(self, name: str, column: int, values: Array) -> None:
        """Write columns column, column + 1, ... of all T rows of an array; values (T, R)."""
        for row, line in enumerate(values):
            self._write_from(name, row * self._members[name].shape[1] + column, line)

    def extend(self, name: str, values: Array) -> None:
        """Append rows to the last array; for one thread."""
        member = self._members[name]
        rows = member.shape[0]
        member.shape = (rows + len(values), *member.shape[1:])
        self.write(name, rows, values)

    def finish(self, comment: str = "") -> Statement:
        """Complete the file and close it; what a manifest states of it."""
        with self._file as file:
            end = max((member.end for member in self._members.values()), default=0)
            file.truncate(end)
            file.flush()
            with _map_file(Path(str(file.name))) as content:
                for member in self._members.values():
                    with memoryview(content) as whole, whole[member.begin : member.end] as values:
                        member.checksum = zlib.crc32(values, zlib.crc32(member.header))
            members = self._members.values()
            parts = [(each.head, each.local_header() + each.header) for each in members]
            entries = [member.directory_entry() for member in members]
            parts.append((end, _write_directory(end, entries, comment.encode())))
            frame = 0
            for place, part in parts:
                self._write_at(place, part)
                frame = zlib.crc32(part, frame)
            arrays = {
                name: [member.dtype.str, list(member.shape), member.checksum]
                for name, member in self._members.items()
            }
            return {"arrays": arrays, "frame": frame, "size": file.tell()}

    def close(self) -> None:
        """Close the file, complete or not."""
        self._file.close()

    def _write_from(self, name: str, element: int, values: Array) -> None:
        """Write values from an element of the flat array on."""
        member = self._members[name]
        content = np.ascontiguousarray(values, member.dtype).reshape(-1).view(np.uint8)
        self._write_at(member.begin + element * member.dtype.itemsize, content.data)

    def _write_at(self, place: int, content: Any) -> None:
        left = memoryview(content)
        with self._lock:
            self._file.seek(place)
            while left:
                left = left[self._file.write(left) :]


def write_archive(path: Path, arrays: dict[str, Array], comment: str = "") -> Statement:
    """Write whole arrays; what a manifest states of the file. Raises OSError."""
    writer = ArchiveWriter(path)
    try:
        for name, values in arrays.items():
            writer.put(name, values)
        return writer.finish(comment)
    finally:
        writer.close()


def _write_directory(place: int, entries: list[bytes], comment: bytes) -> bytes:
    """The end of an archive: the directory at this place, and where it is."""
    directory = b"".join(entries)
    count, size = len(entries), len(directory)
    fields = 44, _VERSION, _VERSION, 0, 0, count, count, size, place
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, *fields)
    locator = struct.pack("<IIQI", 0x07064B50, 0, place + size, 1)
    many = min(count, 0xFFFF)
    last = 0x06054B50, 0, 0, many, many, _ELSEWHERE, _ELSEWHERE, len(comment)
    return directory + wide + locator + struct.pack("<IHHHHIIH", *last) + comment


def _map_file(path: Path) -> mmap.mmap:
    """The content of a file, to read. Raises OSError, and ValueError where it is empty."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class Archive:
    """An archive as a manifest states it, mapped; an array is checked when first asked for."""

    def __init__(self, path: Path, stated: Statement) -> None:
        """Raises OSError, or ValueError, KeyError or TypeError, where the file is another."""
        self._members = read_members(stated["arrays"])
        self._content = _map_file(path)
        end, frame = 0, 0
        for member in self._members.values():
            frame, end = zlib.crc32(self._content[member.head : member.begin], frame), member.end
        frame = zlib.crc32(self._content[end:], frame)
        if len(self._content) != stated["size"] or frame != stated["frame"]:
            raise ValueError(f"{path} is not as it was written")
        self._checked: dict[str, Array] = {}

    def read(self, name: str) -> Array:
        """A whole array, which cannot be written to. Raises ValueError where it is damaged."""
        # Threads may check one array twice, and agree.
        if name not in self._checked:
            member = self._members[name]
            size = member.end - member.begin
            values = np.frombuffer(self._content, np.uint8, size, member.begin)
            self._check(member, values)
            self._checked[name] = values.view(member.dtype).reshape(member.shape)
        return self._checked[name]

    def release(self, name: str) -> None:
        """Let go of the memory that an array takes, until it is used again."""
        member = self._members[name]
        self._release(member.begin, member.end - member.begin)

    def _check(self, member: Member, values: Array) -> None:
        """Raises ValueError where the bytes of an array are others than were written."""
        checksum = zlib.crc32(member.header)
        for begin in range(0, len(values), _AT_ONCE):
            part = values[begin : begin + _AT_ONCE]
            checksum = zlib.crc32(part.data, checksum)
            if len(values) > _AT_ONCE:
                self._release(member.begin + begin, len(part))
        if checksum != member.checksum:
            raise ValueError(f"{member.name} is not as it was written")

    def _release(self, begin: int, size: int) -> None:
        if size >= mmap.PAGESIZE and hasattr(mmap, "MADV_DONTNEED"):
            before = begin % mmap.PAGESIZE
            self._content.madvise(mmap.MADV_DONTNEED, begin - before, size + before)
