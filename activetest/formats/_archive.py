"""Members of zip files, in memory and within bounds: nothing is ever written to disk.

An archive may be hostile: a member may unpack to far more than it says, members may lie over each
other, and names may be paths. Members are read one at a time, and refused at the bound.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.formats._json_values import LARGEST, too_large

# The method of members that are compressed with zstd, which Python's zipfile knows from 3.14 on.
_ZSTD = 93
_ENCRYPTED = 1
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
# Errors that Python's zipfile raises for archives that it cannot open.
UNREADABLE = (
    *(zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OverflowError, struct.error),
)
_CHUNK = 2**20
# Limit for all members that are read, unpacked: so many times the size of the archive, and this.
_RATIO = 250
_ALLOWANCE = 2**31


class Archive:
    """A zip file that is open for reading.

    Of members with one name the last counts, as in any program that appends to an archive.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        self.names = tuple(archive.NameToInfo)
        self._left = _ALLOWANCE + _RATIO * path.stat().st_size

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def read(self, name: str) -> bytes:
        """The content of a member. Raises PoolError where it is damaged or too large."""
        place = f"{self.path}, {name}"
        info = self._archive.NameToInfo[name]
        if info.flag_bits & _ENCRYPTED:
            raise PoolError(f"{place} is encrypted", hint="give the log without a password")
        if info.file_size > LARGEST:
            raise too_large(place)
        try:
            parts = self._unpack_zstd(info) if info.compress_type == _ZSTD else self._unpack(info)
            content, checksum = bytearray(), 0
            for part in parts:
                content += part
                checksum = zlib.crc32(part, checksum)
                if len(content) > LARGEST:
                    raise too_large(place)
                self._left -= len(part)
                if self._left < 0:
                    raise PoolError(
                        f"{place}: what {self.path.name} unpacks to is out of all proportion",
                        hint="give the log as it was written",
                    )
            if checksum != info.CRC:
                raise zipfile.BadZipFile("the checksum is wrong")
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error) as error:
            raise PoolError(
                f"{place} is damaged: {error}", hint="copy the file again from where it was written"
            ) from error
        except (NotImplementedError, RuntimeError) as error:
            raise PoolError(
                f"{place} cannot be unpacked: {error}", hint="compress it with deflate or zstd"
            ) from error
        return bytes(content)

    def _unpack(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        with self._archive.open(info) as member:
            while part := member.read(_CHUNK):
                yield part

    def _unpack_zstd(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """The parts of a member, which Arrow unpacks."""
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            mark, *_, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            if mark != b"PK\x03\x04":
                raise zipfile.BadZipFile("it has no header")
            file.seek(name + extra, 1)
            content = file.read(min(info.compress_size, LARGEST + 1))
        if len(content) != info.compress_size:
            raise EOFError("it ends too early")
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as member:
            while part := member.read(_CHUNK):
                yield part


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """An archive. Raises PoolError where it is damaged, or where members lie over each other."""
    with raising_parse_errors(path):
        try:
            archive = zipfile.ZipFile(path)
        except UNREADABLE as error:
            raise PoolError(
                f"{path} is damaged: {error}", hint="copy the file again from where it was written"
            ) from error
        with archive:
            end = 0
            for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
                if info.header_offset < end:
                    raise PoolError(
                        f"{path}: {info.filename} lies over another member",
                        hint="give the log as it was written",
                    )
                end = info.header_offset + _LOCAL_HEADER.size + info.compress_size
            yield Archive(path, archive)
