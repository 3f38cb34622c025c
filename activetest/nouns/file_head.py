"""The beginning of a file: what tells its format, whatever its name says."""

import codecs
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Bytes of a file that are looked at.
LENGTH = 2**16


@dataclass(frozen=True)
class FileHead:
    """Facts about a file before it is read.

    name   as the user gave it, for messages; its ending is a hint and no more
    start  its first bytes, 65,536 unless more are needed, or all of it
    size   of the whole file, in bytes
    path   where it is, for formats that tell by the end of a file; None where it is no file
    """

    name: str
    start: bytes
    size: int
    path: Path | None = None

    @property
    def suffix(self) -> str:
        """The ending of the name, in lower case and with its point; empty where there is none."""
        return Path(self.name).suffix.lower()

    @property
    def beginning(self) -> bytes:
        """`start` without a byte-order mark, and without white space before anything else."""
        return self.start.removeprefix(codecs.BOM_UTF8).lstrip()

    @property
    def line(self) -> bytes:
        """The first line that holds anything, as far as it is known."""
        return self.beginning.partition(b"\n")[0]

    @property
    def whole(self) -> bool:
        """Whether `start` is all there is."""
        return len(self.start) >= self.size

    @cached_property
    def text(self) -> str | None:
        """The beginning as text, without a byte-order mark; None where it is no UTF-8 text.

        The end may be cut in the middle of a line, but not of a character.
        """
        start = self.start.removeprefix(codecs.BOM_UTF8)
        if b"\0" in start:
            return None
        try:
            return start.decode()
        except UnicodeDecodeError as error:
            if self.whole or error.start < len(start) - 3:
                return None
            return start[: error.start].decode()


def read_head(path: Path, name: str | None = None) -> FileHead:
    """The head of a file.

    name  of the file in messages; default: its path

    Raises OSError where it cannot be read.
    """
    with path.open("rb") as file:
        return FileHead(name or str(path), file.read(LENGTH), path.stat().st_size, path)


def take_head(content: bytes, name: str, length: int = LENGTH) -> FileHead:
    """The head of a file whose content is in memory: so many bytes of it."""
    return FileHead(name, content[:length], len(content))
